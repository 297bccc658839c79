#include "vk/memory.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "base/status.h"
#include "vk/vulkan_state.h"

namespace skipstone::vk {
namespace {

constexpr std::uint64_t mib = 1u << 20;
constexpr VkMemoryPropertyFlags local = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
constexpr VkMemoryPropertyFlags host = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
constexpr VkMemoryPropertyFlags cached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;

struct RoleRow {
  Role role;
  const char* name;
  bool map;
  bool large_heap_first;  ///< else the type with the fewest properties beyond those asked for
  bool on_host;           ///< never device-local memory where there is other memory; held beside the device's account
  std::uint64_t first_block, largest_block;
  VkMemoryPropertyFlags flags[2];  ///< to be tried in order; 0: no second choice
};

// Read-back memory is cached, for reads from write-combined memory are 13 times slower; and always coherent (the specification promises a
// coherent type), so that the host never has to flush or invalidate. Blocks start small: a 30 MB model must not take hundreds.
constexpr RoleRow role_rows[] = {
    {Role::weights, "weights", true, true, false, 4 * mib, 256 * mib, {local, 0}},
    {Role::host_weights, "weights in host memory", true, false, true, 4 * mib, 256 * mib, {host, 0}},
    {Role::kv, "KV cache", false, true, false, 4 * mib, 64 * mib, {local, 0}},
    {Role::activations, "activations", false, true, false, 4 * mib, 64 * mib, {local, 0}},
    {Role::state, "state", true, true, false, 1 * mib, 32 * mib, {local | host, host}},
    {Role::staging, "staging", true, false, false, 1 * mib, 32 * mib, {host, 0}},
    {Role::readback, "read-back", true, false, false, 1 * mib, 32 * mib, {host | cached, host}},
};

const RoleRow& row_of(Role role) {
  return *std::find_if(std::begin(role_rows), std::end(role_rows), [&](const RoleRow& row) { return row.role == role; });
}

std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) { return (value + unit - 1) / unit * unit; }

std::uint64_t slice_alignment(const Caps& caps) { return std::max<std::uint64_t>({caps.storage_alignment, caps.texel_alignment, 64}); }

/// Memory types for a role, best first. `usable`: the types a buffer may have.
std::vector<std::uint32_t> candidates(const DeviceState& device, const RoleRow& row, std::uint32_t usable) {
  constexpr VkMemoryPropertyFlags known = local | host | cached;  // others (protected, lazily allocated, uncached, ...) are never wanted
  const auto& memory = device.memory;
  std::vector<VkMemoryPropertyFlags> wishes;
  if (row.role == Role::weights && device.caps.unified_memory) wishes.push_back(local | host);
  for (const auto flags : row.flags) {
    if (flags != 0) wishes.push_back(flags);
  }
  std::vector<std::uint32_t> found;
  for (const VkMemoryPropertyFlags wish : wishes) {
    std::vector<std::uint32_t> types;
    for (std::uint32_t i = 0; i < memory.memoryTypeCount; ++i) {
      const auto flags = memory.memoryTypes[i].propertyFlags;
      if ((usable >> i & 1) != 0 && (flags & wish) == wish && (flags & ~known) == 0) types.push_back(i);
    }
    const auto is_local = [&](std::uint32_t type) { return (memory.memoryTypes[type].propertyFlags & local) != 0; };
    if (row.on_host && !std::ranges::all_of(types, is_local)) std::erase_if(types, is_local);
    const auto extra = [&](std::uint32_t type) { return std::popcount(memory.memoryTypes[type].propertyFlags & ~wish); };
    const auto heap = [&](std::uint32_t type) { return memory.memoryHeaps[memory.memoryTypes[type].heapIndex].size; };
    std::stable_sort(types.begin(), types.end(), [&](std::uint32_t a, std::uint32_t b) {
      if (row.large_heap_first && heap(a) != heap(b)) return heap(a) > heap(b);
      if (extra(a) != extra(b)) return extra(a) < extra(b);
      return heap(a) > heap(b);
    });
    for (const std::uint32_t type : types) {
      if (std::find(found.begin(), found.end(), type) == found.end()) found.push_back(type);
    }
  }
  return found;
}

/// A block, or null where the driver has no memory for it.
std::unique_ptr<Block> make_block(DeviceState& device, const RoleRow& row, std::uint64_t bytes) {
  auto block = std::make_unique<Block>();
  block->device = &device;
  block->bytes = bytes;
  block->on_host = row.on_host;
  auto info = make<VkBufferCreateInfo>(VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO);
  info.size = bytes;
  info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
               VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT;
  if (row.role == Role::state && device.caps.conditional_dispatch) info.usage |= VK_BUFFER_USAGE_CONDITIONAL_RENDERING_BIT_EXT;
  const VkResult made = device.fn.vkCreateBuffer(device.handle, &info, nullptr, &block->buffer);
  if (made == VK_ERROR_OUT_OF_DEVICE_MEMORY || made == VK_ERROR_OUT_OF_HOST_MEMORY) return nullptr;
  check(made, "vkCreateBuffer");
  VkMemoryRequirements needs{};
  device.fn.vkGetBufferMemoryRequirements(device.handle, block->buffer, &needs);

  for (const std::uint32_t type : candidates(device, row, needs.memoryTypeBits)) {
    const auto& properties = device.memory.memoryTypes[type];
    if (needs.size > device.memory.memoryHeaps[properties.heapIndex].size) continue;  // some drivers promise it and fail at first use
    if (!device.reserve(needs.size, row.on_host)) return nullptr;
    auto allocation = make<VkMemoryAllocateInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO);
    allocation.allocationSize = needs.size;
    allocation.memoryTypeIndex = type;
    if (device.fn.vkAllocateMemory(device.handle, &allocation, nullptr, &block->memory) != VK_SUCCESS) {
      block->memory = VK_NULL_HANDLE;
      device.release(needs.size, row.on_host);
      continue;
    }
    block->allocated = needs.size;
    check(device.fn.vkBindBufferMemory(device.handle, block->buffer, block->memory, 0), "vkBindBufferMemory");
    if (row.map && (properties.propertyFlags & host) == host) {
      void* mapped = nullptr;
      check(device.fn.vkMapMemory(device.handle, block->memory, 0, VK_WHOLE_SIZE, 0, &mapped), "vkMapMemory");
      block->mapped = static_cast<std::byte*>(mapped);
    }
    device.name(VK_OBJECT_TYPE_BUFFER, object_id(block->buffer), row.name);
    device.name(VK_OBJECT_TYPE_DEVICE_MEMORY, object_id(block->memory), row.name);
    return block;
  }
  return nullptr;
}

/// Bytes of each heap that are free now, as far as the driver says.
std::vector<std::uint64_t> available_in_heaps(const DeviceState& device) {
  auto budget = make<VkPhysicalDeviceMemoryBudgetPropertiesEXT>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT);
  auto all = make<VkPhysicalDeviceMemoryProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2);
  if (device.memory_budget) all.pNext = &budget;
  device.instance->state().fn.vkGetPhysicalDeviceMemoryProperties2(device.physical, &all);
  std::vector<std::uint64_t> available;
  for (std::uint32_t i = 0; i < device.memory.memoryHeapCount; ++i) {
    const std::uint64_t bytes = device.memory_budget ? budget.heapBudget[i] : device.caps.heaps[i].bytes;
    const bool local_heap = device.caps.heaps[i].device_local;
    const std::uint64_t own =
        (local_heap ? device.allocated.load() : 0) + (local_heap != device.caps.has_host_heap() ? device.allocated_on_host.load() : 0);
    const std::uint64_t used = device.memory_budget ? budget.heapUsage[i] : own;
    available.push_back(bytes - std::min(used, bytes));
  }
  return available;
}

/// Of the heaps that are device-local, or of the others.
std::uint64_t most_available(const DeviceState& device, bool local_heaps) {
  const std::vector<std::uint64_t> available = available_in_heaps(device);
  std::uint64_t most = 0;
  for (std::size_t i = 0; i < available.size(); ++i) {
    if (device.caps.heaps[i].device_local == local_heaps) most = std::max(most, available[i]);
  }
  return most;
}

[[noreturn]] void fail_out_of_memory(const DeviceState& device, const RoleRow& row, std::uint64_t bytes) {
  const auto in_mib = [](std::uint64_t value) { return (value + mib - 1) / mib; };
  const auto tenths = [](std::uint64_t value) { return static_cast<double>(value) / mib; };
  const std::uint64_t held = device.account->held(), limit = device.account->limit();
  if (!row.on_host && bytes > device.account->left()) {
    fail(
        Code::out_of_memory,
        "{:.1f} MiB more for {} would pass the memory limit of {:.1f} MiB, of which {:.1f} MiB are held already; raise the limit, or use a "
        "smaller model or context",
        tenths(bytes), row.name, tenths(limit), tenths(held));
  }
  std::uint64_t heap_bytes = 0, available = 0;
  const auto types = candidates(device, row, ~0u);
  if (!types.empty()) {
    const std::uint32_t heap = device.memory.memoryTypes[types.front()].heapIndex;
    heap_bytes = device.caps.heaps[heap].bytes;
    available = available_in_heaps(device)[heap];
  }
  fail(Code::out_of_memory,
       "device '{}' has no {} MiB for {}: {} MiB are held already, its heap has {} MiB with {} MiB available, and one allocation may have "
       "{} MiB; "
       "use a smaller model or context, or another device",
       device.caps.name, in_mib(bytes), row.name, in_mib(row.on_host ? device.allocated_on_host : device.allocated), in_mib(heap_bytes),
       in_mib(available), in_mib(device.caps.max_allocation));
}

}  // namespace

Block::~Block() {
  if (mapped != nullptr) device->fn.vkUnmapMemory(device->handle, memory);
  if (buffer != VK_NULL_HANDLE) device->fn.vkDestroyBuffer(device->handle, buffer, nullptr);
  if (memory == VK_NULL_HANDLE) return;
  device->fn.vkFreeMemory(device->handle, memory, nullptr);
  device->release(allocated, on_host);
}

std::uint64_t Device::memory_available() const { return most_available(*state_, true); }

std::optional<std::uint64_t> Device::host_memory_available() const {
  return state_->caps.has_host_heap() ? std::optional(most_available(*state_, false)) : std::nullopt;
}

Slice Slice::part(std::uint64_t at, std::uint64_t length) const {
  if (at > bytes || length > bytes - at) {
    fail(Code::internal, "a part of {} bytes at {} was asked of a memory slice of {} bytes", length, at, bytes);
  }
  return {block, offset + at, length, mapped == nullptr ? nullptr : mapped + at};
}

struct Arena::State {
  struct Entry {
    std::unique_ptr<Block> block;
    std::uint64_t used = 0;
  };
  const RoleRow* row = nullptr;
  std::uint64_t block_bytes = 0;
  std::uint64_t allocated = 0;
  std::vector<Entry> entries;

  /// `left`: bytes that the account still has.
  std::uint64_t next_block(std::uint64_t request, const Caps& caps, std::uint64_t left) const {
    // A quarter of the bytes held: at most about a fifth of an arena is unused, with few blocks all the same. Where a limit is near, a
    // block takes a small part of what is left, so that its unused end does not decide whether a model fits. A request of more than half a
    // block has one to itself, whose end would be of little use to others.
    const std::uint64_t usual = std::clamp(allocated / 4, row->first_block, row->largest_block);
    if (block_bytes == 0 && request > usual / 2) return request;
    const std::uint64_t grown = block_bytes != 0 ? block_bytes : std::min(usual, std::max(left / 64, slice_alignment(caps)));
    return std::max(request,
                    std::min(round_up(grown, slice_alignment(caps)), caps.max_allocation / slice_alignment(caps) * slice_alignment(caps)));
  }
};

Arena::Arena(std::shared_ptr<Device> device, Role role, std::uint64_t block_bytes)
    : device_(std::move(device)), state_(std::make_unique<State>()) {
  state_->row = &row_of(role);
  state_->block_bytes = block_bytes;
}
Arena::~Arena() = default;

std::uint64_t Arena::allocated() const { return state_->allocated; }

Slice Arena::allocate(std::uint64_t bytes, Shortage shortage) {
  if (bytes == 0) return {};
  DeviceState& device = device_->state();
  const std::uint64_t alignment = slice_alignment(device.caps);
  if (bytes > device.caps.max_allocation) fail_out_of_memory(device, *state_->row, bytes);
  const std::uint64_t padded = round_up(bytes, alignment);

  State::Entry* entry = nullptr;
  for (auto& candidate : state_->entries) {
    if (candidate.block->bytes - candidate.used >= padded) {
      entry = &candidate;
      break;
    }
  }
  if (entry == nullptr) {
    const std::uint64_t left = state_->row->on_host ? std::numeric_limits<std::uint64_t>::max() : device.account->left();
    const std::uint64_t wished = state_->next_block(padded, device.caps, left);
    auto block = make_block(device, *state_->row, wished);
    if (block == nullptr && wished > padded) block = make_block(device, *state_->row, padded);
    while (block == nullptr && shortage == Shortage::makes_room && device.account->make_room(padded))
      block = make_block(device, *state_->row, padded);
    if (block == nullptr) fail_out_of_memory(device, *state_->row, bytes);
    if (block->mapped == nullptr) {
      submit_once(device, [&](VkCommandBuffer commands) { device.fn.vkCmdFillBuffer(commands, block->buffer, 0, VK_WHOLE_SIZE, 0); });
    }
    state_->allocated += block->allocated;
    entry = &state_->entries.emplace_back(State::Entry{std::move(block), 0});
  }
  Slice slice{entry->block.get(), entry->used, bytes, entry->block->mapped};
  entry->used += padded;
  if (slice.mapped != nullptr) {
    slice.mapped += slice.offset;
    std::memset(slice.mapped, 0, padded);  // by slice, so that a block's unused end never takes real memory
  }
  return slice;
}

}  // namespace skipstone::vk
