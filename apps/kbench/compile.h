// Compiler statistics of the pipelines of full models. Nothing runs and no memory is allocated, so a driver without its GPU is enough.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/kv_format.h"
#include "kernels/library.h"
#include "vk/device.h"
#include "vk/pipeline.h"

namespace kbench {

/// Figures that a driver does not report are absent.
struct Figures {
  std::optional<double> registers;  ///< per lane on AMD and NVIDIA, per subgroup on Intel
  std::optional<double> spills;     ///< of registers to memory
  std::optional<double> scratch;    ///< bytes per lane
  std::optional<double> occupancy;  ///< subgroups per SIMD (AMD), warps per SM (NVIDIA)
  std::optional<double> instructions;
  std::optional<double> cycles;  ///< by the compiler's own weights of loops: comparable for one device and one form of the code
};

/// Of the driver's statistics, under the same names for all drivers.
Figures figures_of(const std::vector<skipstone::vk::PipelineStatistic>& statistics);

/// A pipeline and the driver's statistics of it.
struct CompiledKernel {
  std::string kernel;
  std::string constants;       ///< specialization constants in order, as "64,64,4,8"
  std::uint32_t subgroup = 0;  ///< required subgroup size; 0: any
  std::string pass;            ///< the first pass that uses it: "rows 8", "tree 8", "logits 8", "draft", "prompt 64"
  Figures figures;
  double milliseconds = 0.0;  ///< creation time
  std::string failure;        ///< the driver's reason for rejecting it; empty if it did not
};

/// Each pipeline of decoding, drafting, verification and prompts of `models` (model::synthetic_model's notation) once, in the order of
/// `models`; the pipelines of decoding on matrix units come last in a model, if device and build have them. Throws for unknown models.
std::vector<CompiledKernel> compile(const std::shared_ptr<skipstone::vk::Device>& device, skipstone::kernels::Library& library,
                                    const std::vector<std::string>& models, const skipstone::KvFormats& kv_format,
                                    const std::function<void(const std::string&)>& progress);

/// A tab-separated table with a header line; "-" for an absent figure.
std::string table_of(const std::vector<CompiledKernel>& kernels);

}  // namespace kbench
