#include "vk/recorder.h"

#include <algorithm>

#include "base/status.h"
#include "vk/hazard_tracker.h"
#include "vk/vulkan_state.h"

namespace skipstone::vk {
namespace {

constexpr std::uint32_t sets_per_pool = 256;
constexpr std::uint32_t descriptors_per_set = 7;  // on average: products of matrices, most of all dispatches, have 8
constexpr std::uint32_t pairs_per_query_pool = 256;

VkPipelineStageFlags stages_of(std::uint8_t stages) {
  VkPipelineStageFlags flags = 0;
  if ((stages & HazardTracker::compute) != 0) flags |= VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
  if ((stages & HazardTracker::transfer) != 0) flags |= VK_PIPELINE_STAGE_TRANSFER_BIT;
  if ((stages & HazardTracker::indirect) != 0) flags |= VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT;
  if ((stages & HazardTracker::condition) != 0) flags |= VK_PIPELINE_STAGE_CONDITIONAL_RENDERING_BIT_EXT;
  return flags;
}

VkAccessFlags writes_of(std::uint8_t stages) {
  VkAccessFlags flags = 0;
  if ((stages & HazardTracker::compute) != 0) flags |= VK_ACCESS_SHADER_WRITE_BIT;
  if ((stages & HazardTracker::transfer) != 0) flags |= VK_ACCESS_TRANSFER_WRITE_BIT;
  return flags;
}

VkAccessFlags accesses_of(std::uint8_t stages) {
  VkAccessFlags flags = 0;
  if ((stages & HazardTracker::compute) != 0) flags |= VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
  if ((stages & HazardTracker::transfer) != 0) flags |= VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
  if ((stages & HazardTracker::indirect) != 0) flags |= VK_ACCESS_INDIRECT_COMMAND_READ_BIT;
  if ((stages & HazardTracker::condition) != 0) flags |= VK_ACCESS_CONDITIONAL_RENDERING_READ_BIT_EXT;
  return flags;
}

HazardTracker::Use use_of(const Slice& slice, HazardTracker::Stage stage, Access access) {
  return {slice.block, slice.offset, slice.bytes, stage, access != Access::write, access != Access::read};
}

}  // namespace

struct Recorder::State {
  std::shared_ptr<Device> owner;
  DeviceState& device;
  std::unique_ptr<CommandsState> out;
  HazardTracker hazards;
  bool timestamps = false;  ///< around dispatches
  bool whole = false;       ///< around everything
  Slice condition;          // that the commands being recorded depend on; empty: none
  std::uint32_t sets_left = 0, descriptors_left = 0, pairs_used = pairs_per_query_pool;
  std::string first_label, last_label;
  std::vector<HazardTracker::Use> uses;  // kept for its memory

  State(std::shared_ptr<Device> from, Timestamps wanted)
      : owner(std::move(from)),
        device(owner->state()),
        out(std::make_unique<CommandsState>(owner)),
        timestamps(wanted == Timestamps::dispatches && device.caps.timestamps),
        whole(wanted == Timestamps::whole && device.caps.timestamps) {
    auto pool = make<VkCommandPoolCreateInfo>(VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
    pool.queueFamilyIndex = device.family.index;
    check(device.fn.vkCreateCommandPool(device.handle, &pool, nullptr, &out->pool), "vkCreateCommandPool");
    auto allocation = make<VkCommandBufferAllocateInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO);
    allocation.commandPool = out->pool;
    allocation.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    allocation.commandBufferCount = 1;
    check(device.fn.vkAllocateCommandBuffers(device.handle, &allocation, &out->buffer), "vkAllocateCommandBuffers");
    auto begin = make<VkCommandBufferBeginInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
    begin.flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT;  // a round has the same draft pass several times in one submission
    check(device.fn.vkBeginCommandBuffer(out->buffer, &begin), "vkBeginCommandBuffer");
    // Against everything that the queue ran before, this recording's last replay included.
    constexpr std::uint8_t always = HazardTracker::compute | HazardTracker::transfer | HazardTracker::indirect;
    const std::uint8_t all = device.caps.conditional_dispatch ? always | HazardTracker::condition : always;
    emit({all, all});
    if (whole) begin_time("recording");
  }

  CommandsState& commands() {
    if (out == nullptr) fail(Code::internal, "a recorder was used after finish()");
    return *out;
  }

  void emit(HazardTracker::Barrier barrier) {
    auto memory = make<VkMemoryBarrier>(VK_STRUCTURE_TYPE_MEMORY_BARRIER);
    memory.srcAccessMask = writes_of(barrier.from);
    memory.dstAccessMask = accesses_of(barrier.to);
    device.fn.vkCmdPipelineBarrier(out->buffer, stages_of(barrier.from), stages_of(barrier.to), 0, 1, &memory, 0, nullptr, 0, nullptr);
  }

  /// Adds `uses`, with a barrier where they need one.
  void order(bool timed) {
    if (const auto barrier = hazards.add(uses, timed)) {
      emit(barrier);
      ++out->barriers;
    }
  }

  VkDescriptorSet allocate_set(const PipelineState& pipeline) {
    const std::uint32_t bindings = pipeline.bindings;
    if (sets_left == 0 || descriptors_left < bindings) {
      sets_left = sets_per_pool;
      descriptors_left = std::max(sets_per_pool * descriptors_per_set, bindings);
      const VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, descriptors_left},
                                            {VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER, descriptors_left}};
      auto info = make<VkDescriptorPoolCreateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO);
      info.maxSets = sets_left;
      info.poolSizeCount = 2;
      info.pPoolSizes = sizes;
      VkDescriptorPool& pool = out->descriptor_pools.emplace_back(VK_NULL_HANDLE);  // the entry first: nothing fails after the pool is made
      check(device.fn.vkCreateDescriptorPool(device.handle, &info, nullptr, &pool), "vkCreateDescriptorPool");
    }
    const VkDescriptorSetLayout layout = device.set_layout(bindings, pipeline.texel_bindings);
    auto info = make<VkDescriptorSetAllocateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO);
    info.descriptorPool = out->descriptor_pools.back();
    info.descriptorSetCount = 1;
    info.pSetLayouts = &layout;
    VkDescriptorSet set = VK_NULL_HANDLE;
    check(device.fn.vkAllocateDescriptorSets(device.handle, &info, &set), "vkAllocateDescriptorSets");
    --sets_left;
    descriptors_left -= bindings;
    return set;
  }

  void check_dispatch(const PipelineState& pipeline, std::span<const Binding> bindings, std::span<const std::byte> push) const {
    const char* name = pipeline.name.c_str();
    if (bindings.size() != pipeline.bindings)
      fail(Code::internal, "kernel {} has {} bindings, {} were given", name, pipeline.bindings, bindings.size());
    if (push.size() != pipeline.push_bytes) {
      fail(Code::internal, "kernel {} takes {} bytes of push constants, {} were given", name, pipeline.push_bytes, push.size());
    }
    for (std::size_t i = 0; i < bindings.size(); ++i) {
      const Slice& slice = bindings[i].slice;
      if (!slice || slice.bytes == 0) fail(Code::internal, "binding {} of kernel {} is empty", i, name);
      if (slice.offset % device.caps.storage_alignment != 0) {
        fail(Code::internal, "binding {} of kernel {} starts at byte {}, which is not a multiple of the device's {}", i, name, slice.offset,
             device.caps.storage_alignment);
      }
      if (slice.bytes > device.caps.max_storage_range) {
        fail(Code::internal, "binding {} of kernel {} has {} bytes, the device binds at most {}", i, name, slice.bytes,
             device.caps.max_storage_range);
      }
      if (slice.offset > slice.block->bytes || slice.bytes > slice.block->bytes - slice.offset) {
        fail(Code::internal, "binding {} of kernel {} ends after its block", i, name);
      }
    }
  }

  VkBufferView make_view(const Block& block, std::uint64_t offset, std::uint64_t range) {
    if (range / 16 > device.caps.max_texels) {
      fail(Code::internal, "a texel binding has {} elements, the device takes at most {}", range / 16, device.caps.max_texels);
    }
    auto info = make<VkBufferViewCreateInfo>(VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO);
    info.buffer = block.buffer;
    info.format = VK_FORMAT_R32G32B32A32_UINT;
    info.offset = offset;
    info.range = range;
    VkBufferView& view = out->views.emplace_back(VK_NULL_HANDLE);
    check(device.fn.vkCreateBufferView(device.handle, &info, nullptr, &view), "vkCreateBufferView");
    return view;
  }

  void bind_set(const PipelineState& pipeline, std::span<const Binding> bindings) {
    if (bindings.empty()) return;
    const VkDescriptorSet set = allocate_set(pipeline);
    std::vector<VkDescriptorBufferInfo> buffers(bindings.size());
    std::vector<VkBufferView> texels(bindings.size(), VK_NULL_HANDLE);
    std::vector<VkWriteDescriptorSet> writes;
    for (std::uint32_t i = 0; i < bindings.size(); ++i) {
      const Slice& slice = bindings[i].slice;
      // Kernels read in words of up to 16 bytes: a slice's last word is within its padding, but must be within the bound range too.
      const std::uint64_t range =
          std::min({(slice.bytes + 15) / 16 * 16, slice.block->bytes - slice.offset, device.caps.max_storage_range});
      auto write = make<VkWriteDescriptorSet>(VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET);
      write.dstSet = set;
      write.dstBinding = i;
      write.descriptorCount = 1;
      write.descriptorType = binding_type(pipeline.texel_bindings, i);
      if (write.descriptorType == VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER) {
        texels[i] = make_view(*slice.block, slice.offset, range);
        write.pTexelBufferView = &texels[i];
      } else {
        buffers[i] = {slice.block->buffer, slice.offset, range};
        write.pBufferInfo = &buffers[i];
      }
      writes.push_back(write);
    }
    device.fn.vkUpdateDescriptorSets(device.handle, static_cast<std::uint32_t>(writes.size()), writes.data(), 0, nullptr);
    device.fn.vkCmdBindDescriptorSets(out->buffer, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.layout, 0, 1, &set, 0, nullptr);
  }

  void begin_time(std::string_view label) {
    if (pairs_used == pairs_per_query_pool) {
      auto info = make<VkQueryPoolCreateInfo>(VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO);
      info.queryType = VK_QUERY_TYPE_TIMESTAMP;
      info.queryCount = 2 * pairs_per_query_pool;
      VkQueryPool& pool = out->query_pools.emplace_back(VK_NULL_HANDLE);
      check(device.fn.vkCreateQueryPool(device.handle, &info, nullptr, &pool), "vkCreateQueryPool");
      device.fn.vkCmdResetQueryPool(out->buffer, pool, 0, info.queryCount);
      pairs_used = 0;
    }
    const TimedLabel& timed = out->timed.emplace_back(TimedLabel{std::string(label), out->query_pools.back(), 2 * pairs_used++});
    // At the compute stage, not the top of the pipe: that would be reached while the dispatch before still runs.
    device.fn.vkCmdWriteTimestamp(out->buffer, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, timed.pool, timed.first);
  }

  void end_time() {
    const TimedLabel& timed = out->timed.back();
    device.fn.vkCmdWriteTimestamp(out->buffer, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, timed.pool, timed.first + 1);
  }

  void begin_label(std::string_view label) {
    if (first_label.empty()) first_label = label;
    last_label = label;
    const auto begin = device.instance->state().debug.vkCmdBeginDebugUtilsLabelEXT;
    if (begin == nullptr) return;
    auto info = make<VkDebugUtilsLabelEXT>(VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT);
    info.pLabelName = last_label.c_str();
    begin(out->buffer, &info);
  }

  void end_label() {
    if (const auto end = device.instance->state().debug.vkCmdEndDebugUtilsLabelEXT) end(out->buffer);
  }

  /// Everything for a dispatch except the dispatch itself, which `run` records.
  template <typename Run>
  void record(const Pipeline& kernel, std::span<const Binding> bindings, std::span<const std::byte> push, const Slice* arguments,
              std::string_view label, const Run& run) {
    CommandsState& target = commands();
    const PipelineState& pipeline = kernel.state();
    check_dispatch(pipeline, bindings, push);
    uses.clear();
    for (const Binding& binding : bindings) uses.push_back(use_of(binding.slice, HazardTracker::compute, binding.access));
    if (arguments != nullptr) uses.push_back(use_of(*arguments, HazardTracker::indirect, Access::read));
    begin_label(label);
    order(timestamps);
    device.fn.vkCmdBindPipeline(target.buffer, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.handle);
    bind_set(pipeline, bindings);
    if (!push.empty()) {
      device.fn.vkCmdPushConstants(target.buffer, pipeline.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, static_cast<std::uint32_t>(push.size()),
                                   push.data());
    }
    if (timestamps) begin_time(label);
    run(target.buffer);
    if (timestamps) end_time();
    end_label();
    ++target.dispatches;
  }
};

Recorder::Recorder(std::shared_ptr<Device> device, Timestamps timestamps)
    : state_(std::make_unique<State>(std::move(device), timestamps)) {}
Recorder::~Recorder() = default;

void Recorder::dispatch(const Pipeline& pipeline, std::span<const Binding> bindings, std::span<const std::byte> push, std::uint32_t x,
                        std::uint32_t y, std::uint32_t z, std::string_view label) {
  const auto& most = state_->device.caps.max_workgroup_count;
  if (x > most[0] || y > most[1] || z > most[2]) {
    fail(Code::internal, "kernel {} was dispatched with {} x {} x {} workgroups, the device takes at most {} x {} x {}",
         pipeline.state().name, x, y, z, most[0], most[1], most[2]);
  }
  state_->record(pipeline, bindings, push, nullptr, label,
                 [&](VkCommandBuffer buffer) { state_->device.fn.vkCmdDispatch(buffer, x, y, z); });
}

void Recorder::dispatch_indirect(const Pipeline& pipeline, std::span<const Binding> bindings, std::span<const std::byte> push,
                                 const Slice& arguments, std::string_view label) {
  if (!arguments || arguments.bytes < 12 || arguments.offset % 4 != 0) {
    fail(Code::internal, "kernel {} needs 12 bytes of group counts at a multiple of 4, but was given {} at {}", pipeline.state().name,
         arguments.bytes, arguments.offset);
  }
  const Slice counts = arguments.part(0, 12);
  state_->record(pipeline, bindings, push, &counts, label,
                 [&](VkCommandBuffer buffer) { state_->device.fn.vkCmdDispatchIndirect(buffer, counts.block->buffer, counts.offset); });
}

void Recorder::copy(const Slice& from, const Slice& to) {
  if (from.bytes != to.bytes) fail(Code::internal, "a copy of {} bytes was recorded to a slice of {} bytes", from.bytes, to.bytes);
  if (from.bytes == 0) return;
  State& state = *state_;
  CommandsState& target = state.commands();
  state.uses = {use_of(from, HazardTracker::transfer, Access::read), use_of(to, HazardTracker::transfer, Access::write)};
  state.order(false);
  const VkBufferCopy region{from.offset, to.offset, from.bytes};
  state.device.fn.vkCmdCopyBuffer(target.buffer, from.block->buffer, to.block->buffer, 1, &region);
}

void Recorder::fill(const Slice& slice, std::uint32_t word) {
  if (slice.offset % 4 != 0 || slice.bytes % 4 != 0) {
    fail(Code::internal, "a fill needs whole words, but was given {} bytes at {}", slice.bytes, slice.offset);
  }
  if (slice.bytes == 0) return;
  State& state = *state_;
  CommandsState& target = state.commands();
  state.uses = {use_of(slice, HazardTracker::transfer, Access::write)};
  state.order(false);
  state.device.fn.vkCmdFillBuffer(target.buffer, slice.block->buffer, slice.offset, slice.bytes, word);
}

void Recorder::begin_condition(const Slice& word) {
  State& state = *state_;
  CommandsState& target = state.commands();
  if (!state.device.caps.conditional_dispatch) fail(Code::internal, "the device {} has no conditional dispatches", state.device.caps.name);
  if (state.condition || !word || word.bytes < 4 || word.offset % 4 != 0) {
    fail(Code::internal, "a condition needs a word at a multiple of 4 and none around it, but was given {} bytes at {}", word.bytes,
         word.offset);
  }
  state.condition = word.part(0, 4);
  state.uses = {use_of(state.condition, HazardTracker::condition, Access::read)};
  state.order(false);
  auto begin = make<VkConditionalRenderingBeginInfoEXT>(VK_STRUCTURE_TYPE_CONDITIONAL_RENDERING_BEGIN_INFO_EXT);
  begin.buffer = word.block->buffer;
  begin.offset = word.offset;
  state.device.fn.vkCmdBeginConditionalRenderingEXT(target.buffer, &begin);
}

void Recorder::end_condition() {
  State& state = *state_;
  CommandsState& target = state.commands();
  if (!state.condition) fail(Code::internal, "a condition was ended that was not begun");
  state.device.fn.vkCmdEndConditionalRenderingEXT(target.buffer);
  // A device may read the word before every command that depends on it: a writer of the word has to wait for the last of them.
  state.uses = {use_of(state.condition, HazardTracker::condition, Access::read)};
  state.order(false);
  state.condition = {};
}

Commands Recorder::finish() {
  CommandsState& target = state_->commands();
  if (state_->condition) fail(Code::internal, "a recording was finished within a condition");
  DeviceState& device = state_->device;
  if (state_->whole) state_->end_time();
  auto memory = make<VkMemoryBarrier>(VK_STRUCTURE_TYPE_MEMORY_BARRIER);
  memory.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
  memory.dstAccessMask = VK_ACCESS_HOST_READ_BIT;
  device.fn.vkCmdPipelineBarrier(target.buffer, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
                                 VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &memory, 0, nullptr, 0, nullptr);
  check(device.fn.vkEndCommandBuffer(target.buffer), "vkEndCommandBuffer");
  target.description = target.dispatches == 0
                           ? "copies"
                           : fmt::format("{} dispatches from '{}' to '{}'", target.dispatches, state_->first_label, state_->last_label);
  return Commands(std::move(state_->out));
}

CommandsState::~CommandsState() {
  if (timeline != nullptr) timeline->wait_quietly(value);
  DeviceState& state = device->state();
  for (const VkBufferView view : views) state.fn.vkDestroyBufferView(state.handle, view, nullptr);
  for (const VkQueryPool query_pool : query_pools) state.fn.vkDestroyQueryPool(state.handle, query_pool, nullptr);
  for (const VkDescriptorPool descriptor_pool : descriptor_pools) state.fn.vkDestroyDescriptorPool(state.handle, descriptor_pool, nullptr);
  if (pool != VK_NULL_HANDLE) state.fn.vkDestroyCommandPool(state.handle, pool, nullptr);
}

Commands::Commands(std::unique_ptr<CommandsState> state) : state_(std::move(state)) {}
Commands::~Commands() = default;
Commands::Commands(Commands&&) noexcept = default;
Commands& Commands::operator=(Commands&&) noexcept = default;
std::uint32_t Commands::dispatches() const { return state_->dispatches; }
std::uint32_t Commands::barriers() const { return state_->barriers; }

std::vector<LabelTime> Commands::times() const {
  std::vector<LabelTime> times;
  const DeviceState& device = state_->device->state();
  const std::uint32_t bits = device.family.timestamp_bits;
  const std::uint64_t mask = bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  for (const TimedLabel& timed : state_->timed) {
    std::uint64_t ticks[2] = {};
    const VkResult result = device.fn.vkGetQueryPoolResults(device.handle, timed.pool, timed.first, 2, sizeof ticks, ticks, sizeof ticks[0],
                                                            VK_QUERY_RESULT_64_BIT);
    if (result == VK_NOT_READY) return {};
    check(result, "vkGetQueryPoolResults");
    times.push_back(
        {timed.label, static_cast<double>((ticks[1] - ticks[0]) & mask) * static_cast<double>(device.caps.timestamp_period_ns) * 1e-3});
  }
  return times;
}

}  // namespace skipstone::vk
