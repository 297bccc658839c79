// Runs workloads: checks each against the oracle, then times it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "exec/kv_buffers.h"
#include "exec/pass_buffers.h"
#include "kbench/workload.h"
#include "kernels/library.h"
#include "vk/device.h"
#include "vk/pipeline.h"

namespace kbench {

struct Settings {
  Sizes sizes;
  std::vector<std::string> operations;         ///< empty: all
  std::vector<skipstone::gguf::Type> formats;  ///< empty: all that have kernels
  std::vector<std::uint32_t> rows{1, 2, 4, 8, 16, 32};
  std::uint32_t samples = 7;  ///< of each workload, in turn
  double warm_up_seconds = 0.3, sample_seconds = 0.02;
  std::uint64_t working_set = 0;            ///< bytes of matrices that a sample goes through; 0: more than the device's caches hold
  bool timestamps = true;                   ///< use timestamps if the device has them
  std::optional<skipstone::vk::Tier> tier;  ///< of the tiled kernels; none: the device's default; limited by build and device
  std::uint32_t tile = 0;                   ///< edge of their tiles; 0: the built-in choice
};

struct Result {
  std::string operation, format, shape, kernel;
  std::uint32_t rows = 1;
  std::string failure;  ///< the check's failure; nothing is timed then
  std::vector<double> seconds;
  double bytes = 0, flops = 0;
  std::vector<skipstone::vk::PipelineStatistic> statistics;  ///< as the driver reports them
};

/// Measures on one device; its weights and buffers are reused by all workloads.
class Measurement {
 public:
  Measurement(const std::shared_ptr<skipstone::vk::Device>& device, skipstone::kernels::Library& library, const Settings& settings);

  /// Measures every operation of the settings; `progress` gets the name of the current one and stops the run by throwing.
  std::vector<Result> run(const std::function<void(const std::string&)>& progress);

 private:
  struct Timed;
  std::vector<Result> run(const Operation& operation, skipstone::gguf::Type format);
  std::string check(const Operation& operation, skipstone::gguf::Type format, const std::vector<Workload>& works);
  void place_matrices(const skipstone::kernels::Matrix& matrix);
  void fill_operands(const Dispatch& dispatch);
  skipstone::vk::Slice slice(const skipstone::kernels::Resource& resource) const;
  Timed prepare(const Request& request, const Workload& work, Result result);
  void set_state(const Timed& timed);
  double once(Timed& timed);
  std::uint64_t working_set() const;

  std::shared_ptr<skipstone::vk::Device> device_;
  skipstone::kernels::Library& library_;
  Settings settings_;
  skipstone::vk::Tuning tuning_;
  skipstone::kernels::Selector select_;
  skipstone::exec::PassBuffers buffers_;
  skipstone::exec::KvBuffers cache_;
  skipstone::vk::Arena vectors_;
  std::map<std::uint32_t, skipstone::vk::Slice> scratch_;
  skipstone::vk::Slice vector_;
  std::unique_ptr<skipstone::vk::Arena> matrices_;
  std::vector<std::vector<std::vector<skipstone::vk::Slice>>> copies_;  ///< planes of each part of each copy of the matrix
  skipstone::vk::Queue queue_;
};

/// Multiplications and additions of single precision per second, measured with fused multiply-adds. Throws internal if the device's
/// sums are wrong.
double peak_flops(const std::shared_ptr<skipstone::vk::Device>& device);

}  // namespace kbench
