// Compute pipelines from embedded SPIR-V, made once, kept in a VkPipelineCache on disk.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace skipstone::vk {

class Device;
struct PipelineState;

struct PipelineSpec {
  const char* name = "";  ///< for debug labels and messages
  std::span<const std::uint32_t> spirv;
  std::uint32_t bindings = 0;        ///< buffers 0..bindings-1 of set 0
  std::uint32_t texel_bindings = 0;  ///< bit i: binding i is a uniform texel buffer of R32G32B32A32_UINT, else a storage buffer
  std::uint32_t push_bytes = 0;
  std::vector<std::uint32_t> constants;  ///< specialization constant i has value constants[i]
  std::uint32_t required_subgroup = 0;   ///< 0: whatever the driver takes; else workgroups are whole subgroups of this many lanes
};

/// A driver's statistic of a compiled kernel: "Register Count", "Spilled VGPRs", ...; yes and no are 1 and 0.
struct PipelineStatistic {
  std::string name;
  double value = 0;
};

class Pipeline {
 public:
  ~Pipeline();
  /// Empty if the device was not created to report them, or the driver has none.
  std::vector<PipelineStatistic> statistics() const;
  Pipeline(const Pipeline&) = delete;
  PipelineState& state() const { return *state_; }

 private:
  friend class PipelineFactory;
  Pipeline();
  std::unique_ptr<PipelineState> state_;
};

class PipelineFactory {
 public:
  /// `cache_file`: where the VkPipelineCache is kept ("" for none). A file of another device, driver or with a damaged header is ignored.
  PipelineFactory(std::shared_ptr<Device> device, std::string cache_file);
  ~PipelineFactory();  ///< saves the cache (temporary file, then rename; failure is only logged)

  /// Throws unsupported naming the kernel where the driver refuses it. The caller keeps pipelines; equal specs are not looked up here.
  /// From any thread; the driver makes pipelines of several threads at the same time.
  std::unique_ptr<Pipeline> create(const PipelineSpec& spec);
  void save();
  /// Pipelines that the driver says it found in the cache (VK_EXT_pipeline_creation_feedback); 0 where it does not say.
  std::size_t cache_hits() const;

 private:
  std::shared_ptr<Device> device_;
  struct State;
  std::unique_ptr<State> state_;
};

/// `directory`/`vendor-device-driver-uuid-<hash>.pipelines`: one file per device, driver and shader set. "" where directory is "".
std::string pipeline_cache_file(const std::string& directory, const struct Caps& caps, std::uint64_t shader_hash);

}  // namespace skipstone::vk
