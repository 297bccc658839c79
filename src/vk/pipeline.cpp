#include "vk/pipeline.h"

#include <atomic>
#include <cstring>
#include <mutex>
#include <optional>
#include <system_error>

#include "base/hash.h"
#include "base/input_file.h"
#include "base/log.h"
#include "base/output_file.h"
#include "base/platform/files.h"
#include "base/status.h"
#include "vk/vulkan_state.h"

namespace skipstone::vk {
namespace {

// Our own header in front of the driver's data: drivers differ in how they handle a truncated or overwritten file.
struct CacheFrame {
  char magic[8] = {'S', 'K', 'I', 'P', 'V', 'K', 'P', '1'};
  std::uint64_t bytes = 0;
  std::uint64_t hash = 0;
};

constexpr std::uint64_t most_cache_bytes = std::uint64_t{1} << 30;

/// The driver's data in `file`; empty if it is missing, damaged, or of another device or driver.
std::vector<char> read_cache(const std::string& file, const Caps& caps) {
  if (!platform::is_there(file)) return {};
  const auto ignored = [&](const char* why) {
    log::info("pipeline cache '{}' is ignored: {}", file, why);
    return std::vector<char>{};
  };
  std::string bytes;
  try {
    bytes = read_whole_file(file, most_cache_bytes);
  } catch (const Error& failure) {
    return ignored(failure.what());
  }
  CacheFrame frame;
  const CacheFrame expected;
  if (bytes.size() < sizeof frame) return ignored("it is not such a file");
  std::memcpy(&frame, bytes.data(), sizeof frame);
  if (std::memcmp(frame.magic, expected.magic, sizeof frame.magic) != 0) return ignored("it is not such a file");
  if (bytes.size() - sizeof frame != frame.bytes) return ignored("its size is wrong");
  std::vector<char> data(bytes.begin() + sizeof frame, bytes.end());
  if (fnv1a({data.data(), data.size()}) != frame.hash) return ignored("it is damaged");
  VkPipelineCacheHeaderVersionOne header{};
  if (data.size() < sizeof header) return ignored("it has no header");
  std::memcpy(&header, data.data(), sizeof header);
  if (header.headerSize < sizeof header || header.headerVersion != VK_PIPELINE_CACHE_HEADER_VERSION_ONE ||
      header.vendorID != caps.vendor_id || header.deviceID != caps.device_id ||
      std::memcmp(header.pipelineCacheUUID, caps.cache_uuid.data(), caps.cache_uuid.size()) != 0) {
    return ignored("it belongs to another device or driver");
  }
  return data;
}

void write_cache(const std::string& file, std::span<const char> data) {
  platform::create_folder_of(file);
  CacheFrame frame;
  frame.bytes = data.size();
  frame.hash = fnv1a({data.data(), data.size()});
  try {
    OutputFile out(file);
    out.write(std::as_bytes(std::span(&frame, 1)));
    out.write(std::as_bytes(data));
    out.finish();
  } catch (const Error& failure) {
    log::warning("the pipeline cache could not be saved: {}", failure.what());
  }
}

double number_of(const VkPipelineExecutableStatisticKHR& entry) {
  switch (entry.format) {
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_BOOL32_KHR:
      return entry.value.b32 != 0 ? 1 : 0;
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_INT64_KHR:
      return static_cast<double>(entry.value.i64);
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_UINT64_KHR:
      return static_cast<double>(entry.value.u64);
    default:
      return entry.value.f64;
  }
}

void log_statistics(const Pipeline& pipeline, const std::string& name) {
  std::string text;
  for (const PipelineStatistic& entry : pipeline.statistics()) {
    text += fmt::format("{}{} {:g}", text.empty() ? "" : ", ", entry.name, entry.value);
  }
  if (!text.empty()) log::info("kernel {}: {}", name, text);
}

void check_spec(const PipelineSpec& spec, const Caps& caps) {
  constexpr std::uint32_t spirv_magic = 0x07230203;
  const char* name = spec.name;
  if (spec.spirv.size() < 5 || spec.spirv[0] != spirv_magic) fail(Code::internal, "kernel {} has no SPIR-V", name);
  if (spec.bindings > caps.max_storage_buffers) {
    fail(Code::unsupported, "kernel {} uses {} buffers, the device '{}' binds at most {}", name, spec.bindings, caps.name,
         caps.max_storage_buffers);
  }
  if (spec.push_bytes % 4 != 0 || spec.push_bytes > caps.max_push_bytes) {
    fail(Code::unsupported, "kernel {} has {} bytes of push constants, the device '{}' takes whole words and at most {}", name,
         spec.push_bytes, caps.name, caps.max_push_bytes);
  }
  const std::uint32_t size = spec.required_subgroup;
  if (size != 0 && (size < caps.min_subgroup_size || size > caps.max_subgroup_size || (size & (size - 1)) != 0)) {
    fail(Code::unsupported, "kernel {} needs subgroups of {}, the device '{}' has {} to {}", name, size, caps.name, caps.min_subgroup_size,
         caps.max_subgroup_size);
  }
}

VkPipelineLayout pipeline_layout(DeviceState& device, const PipelineSpec& spec) {
  const VkDescriptorSetLayout set_layout = device.set_layout(spec.bindings, spec.texel_bindings);
  const VkPushConstantRange push{VK_SHADER_STAGE_COMPUTE_BIT, 0, spec.push_bytes};
  auto info = make<VkPipelineLayoutCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO);
  info.setLayoutCount = 1;
  info.pSetLayouts = &set_layout;
  info.pushConstantRangeCount = spec.push_bytes == 0 ? 0 : 1;
  info.pPushConstantRanges = &push;
  VkPipelineLayout layout = VK_NULL_HANDLE;
  check(device.fn.vkCreatePipelineLayout(device.handle, &info, nullptr, &layout), "vkCreatePipelineLayout");
  return layout;
}

/// A pipeline needs its code only while it is made.
class ShaderModule {
 public:
  ShaderModule(const DeviceState& device, std::span<const std::uint32_t> spirv) : device_(device) {
    auto info = make<VkShaderModuleCreateInfo>(VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
    info.codeSize = spirv.size_bytes();
    info.pCode = spirv.data();
    check(device.fn.vkCreateShaderModule(device.handle, &info, nullptr, &handle_), "vkCreateShaderModule");
  }
  ~ShaderModule() { device_.fn.vkDestroyShaderModule(device_.handle, handle_, nullptr); }
  ShaderModule(const ShaderModule&) = delete;
  ShaderModule& operator=(const ShaderModule&) = delete;

  VkShaderModule handle() const { return handle_; }

 private:
  const DeviceState& device_;
  VkShaderModule handle_ = VK_NULL_HANDLE;
};

}  // namespace

Pipeline::Pipeline() : state_(std::make_unique<PipelineState>()) {}

Pipeline::~Pipeline() {
  const DeviceState& device = state_->device->state();
  if (state_->handle != VK_NULL_HANDLE) device.fn.vkDestroyPipeline(device.handle, state_->handle, nullptr);
  if (state_->layout != VK_NULL_HANDLE) device.fn.vkDestroyPipelineLayout(device.handle, state_->layout, nullptr);
}

struct PipelineFactory::State {
  std::string file;
  VkPipelineCache cache = VK_NULL_HANDLE;
  std::mutex saving;
  std::uint64_t saved = 0;  // hash of the file's contents; under `saving`
  // A pipeline was made since; some drivers' data differ from call to call even so.
  std::atomic<bool> changed{false};
  std::atomic<std::size_t> hits{0};
};

PipelineFactory::PipelineFactory(std::shared_ptr<Device> device, std::string cache_file)
    : device_(std::move(device)), state_(std::make_unique<State>()) {
  state_->file = std::move(cache_file);
  DeviceState& state = device_->state();
  std::vector<char> data;
  if (!state_->file.empty()) data = read_cache(state_->file, state.caps);
  auto info = make<VkPipelineCacheCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO);
  info.initialDataSize = data.size();
  info.pInitialData = data.data();
  if (!data.empty() && state.fn.vkCreatePipelineCache(state.handle, &info, nullptr, &state_->cache) == VK_SUCCESS) {
    state_->saved = fnv1a({data.data(), data.size()});
    return;
  }
  info.initialDataSize = 0;
  info.pInitialData = nullptr;
  // Without a cache the next start is slower, and nothing else.
  const VkResult result = state.fn.vkCreatePipelineCache(state.handle, &info, nullptr, &state_->cache);
  if (result == VK_SUCCESS) return;
  state_->cache = VK_NULL_HANDLE;
  log::info("pipelines are not cached: vkCreatePipelineCache failed with {}", result_name(result));
}

PipelineFactory::~PipelineFactory() {
  try {
    save();
  } catch (const std::exception& error) {
    log::info("the pipeline cache is not saved: {}", error.what());
  }
  const DeviceState& device = device_->state();
  device.fn.vkDestroyPipelineCache(device.handle, state_->cache, nullptr);
}

void PipelineFactory::save() {
  if (state_->file.empty() || state_->cache == VK_NULL_HANDLE) return;
  const std::lock_guard lock(state_->saving);
  if (!state_->changed.exchange(false)) return;
  const DeviceState& device = device_->state();
  std::vector<char> data;
  VkResult result = VK_INCOMPLETE;
  while (result == VK_INCOMPLETE) {  // while other threads make pipelines it may grow between the two calls
    std::size_t bytes = 0;
    if (device.fn.vkGetPipelineCacheData(device.handle, state_->cache, &bytes, nullptr) != VK_SUCCESS || bytes == 0) return;
    data.resize(bytes);
    result = device.fn.vkGetPipelineCacheData(device.handle, state_->cache, &bytes, data.data());
    if (result >= 0) data.resize(bytes);
  }
  if (result != VK_SUCCESS) return;
  const std::uint64_t hash = fnv1a({data.data(), data.size()});
  if (hash == state_->saved) return;
  write_cache(state_->file, data);
  state_->saved = hash;
}

std::unique_ptr<Pipeline> PipelineFactory::create(const PipelineSpec& spec) {
  DeviceState& device = device_->state();
  check_spec(spec, device.caps);
  std::unique_ptr<Pipeline> pipeline(new Pipeline);
  PipelineState& state = *pipeline->state_;
  state.device = device_;
  state.name = spec.name;
  state.bindings = spec.bindings;
  state.texel_bindings = spec.texel_bindings;
  state.push_bytes = spec.push_bytes;

  state.layout = pipeline_layout(device, spec);
  const ShaderModule module(device, spec.spirv);
  std::vector<VkSpecializationMapEntry> entries;
  for (std::uint32_t i = 0; i < spec.constants.size(); ++i) entries.push_back({i, i * 4, 4});
  const VkSpecializationInfo constants{static_cast<std::uint32_t>(entries.size()), entries.data(), 4 * entries.size(),
                                       spec.constants.data()};
  auto subgroup =
      make<VkPipelineShaderStageRequiredSubgroupSizeCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO);
  subgroup.requiredSubgroupSize = spec.required_subgroup;
  auto info = make<VkComputePipelineCreateInfo>(VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO);
  info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  if (spec.required_subgroup != 0 && device.caps.subgroup_size_control) info.stage.pNext = &subgroup;
  if (spec.required_subgroup != 0 && device.caps.full_subgroups)
    info.stage.flags |= VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT;
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = module.handle();
  info.stage.pName = "main";
  info.stage.pSpecializationInfo = entries.empty() ? nullptr : &constants;
  info.layout = state.layout;
  VkPipelineCreationFeedback feedback{};
  VkPipelineCreationFeedback stage_feedback{};
  auto feedback_info = make<VkPipelineCreationFeedbackCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_CREATION_FEEDBACK_CREATE_INFO);
  feedback_info.pPipelineCreationFeedback = &feedback;
  feedback_info.pipelineStageCreationFeedbackCount = 1;
  feedback_info.pPipelineStageCreationFeedbacks = &stage_feedback;
  if (device.creation_feedback) info.pNext = &feedback_info;
  if (device.pipeline_statistics) info.flags |= VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR;
  const VkResult result = device.fn.vkCreateComputePipelines(device.handle, state_->cache, 1, &info, nullptr, &state.handle);
  if (result == VK_ERROR_OUT_OF_HOST_MEMORY || result == VK_ERROR_OUT_OF_DEVICE_MEMORY || result == VK_ERROR_DEVICE_LOST) {
    check(result, "vkCreateComputePipelines");
  }
  if (result != VK_SUCCESS) {
    const char* reason = result_name(result);
    fail(Code::unsupported, "the driver of '{}' ({}) refuses kernel {} ({}): update the driver or choose another device", device.caps.name,
         device.caps.driver_name, state.name, reason);
  }
  state_->changed = true;
  if ((feedback.flags & VK_PIPELINE_CREATION_FEEDBACK_APPLICATION_PIPELINE_CACHE_HIT_BIT) != 0) ++state_->hits;
  device.name(VK_OBJECT_TYPE_PIPELINE, object_id(state.handle), spec.name);
  if (device.pipeline_statistics) log_statistics(*pipeline, state.name);
  return pipeline;
}

std::size_t PipelineFactory::cache_hits() const { return state_->hits; }

std::vector<PipelineStatistic> Pipeline::statistics() const {
  const DeviceState& device = state_->device->state();
  if (!device.pipeline_statistics) return {};
  auto info = make<VkPipelineExecutableInfoKHR>(VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR);
  info.pipeline = state_->handle;
  std::uint32_t count = 0;
  if (device.fn.vkGetPipelineExecutableStatisticsKHR(device.handle, &info, &count, nullptr) != VK_SUCCESS) return {};
  std::vector<VkPipelineExecutableStatisticKHR> list(count, {VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR, nullptr, "", "", {}, {}});
  if (device.fn.vkGetPipelineExecutableStatisticsKHR(device.handle, &info, &count, list.data()) != VK_SUCCESS) return {};
  std::vector<PipelineStatistic> statistics;
  statistics.reserve(list.size());
  for (const auto& entry : list) statistics.push_back({static_cast<const char*>(entry.name), number_of(entry)});
  return statistics;
}

std::string pipeline_cache_file(const std::string& directory, const Caps& caps, std::uint64_t shader_hash) {
  if (directory.empty()) return {};
  std::string uuid;
  for (const std::uint8_t byte : caps.cache_uuid) uuid += fmt::format("{:02x}", byte);
  return fmt::format("{}/{:04x}-{:04x}-{:08x}-{}-{:016x}.pipelines", directory, caps.vendor_id, caps.device_id, caps.driver_version, uuid,
                     shader_hash);
}

}  // namespace skipstone::vk
