#include "selftest/bench.h"

#include <algorithm>
#include <array>

#include "base/stopwatch.h"
#include "selftest/selftest.h"
#include "vk/memory.h"
#include "vk/recorder.h"

namespace skipstone::selftest {

Bench::Bench(std::shared_ptr<vk::Device> device, kernels::Library& library)
    : device_(std::move(device)), library_(library), select_(device_->caps(), device_->tuning()), arena_(device_, vk::Role::readback) {
  // One sequence whose pages lie in the order of its text.
  std::vector<std::byte> state = kernels::bytes(abi::StepState{});
  constexpr std::uint32_t pages = 256;
  for (std::uint32_t page = 0; page < pages; ++page) {
    const auto entry = kernels::bytes(page * std::uint32_t{KV_PAGE});
    state.insert(state.end(), entry.begin(), entry.end());
  }
  put({kernels::ResourceKind::state}, state);
}

vk::Slice Bench::find(const kernels::Resource& resource) const {
  const auto found = std::find_if(buffers_.begin(), buffers_.end(), [&](const auto& entry) { return entry.first == resource; });
  return found == buffers_.end() ? vk::Slice{} : found->second;
}

vk::Slice Bench::make(const kernels::Resource& resource, std::uint64_t bytes) {
  vk::Slice slice = find(resource);
  if (slice && slice.bytes == bytes) return slice;
  if (slice) std::erase_if(buffers_, [&](const auto& entry) { return entry.first == resource; });
  slice = arena_.allocate(bytes);
  buffers_.emplace_back(resource, slice);
  return slice;
}

void Bench::put_bytes(const kernels::Resource& resource, std::span<const std::byte> bytes) {
  std::memcpy(make(resource, bytes.size()).mapped, bytes.data(), bytes.size());
}

void Bench::reserve(const kernels::Resource& resource, std::uint64_t words) {
  const vk::Slice slice = make(resource, words * sizeof(std::uint32_t));
  std::fill_n(reinterpret_cast<std::uint32_t*>(slice.mapped), words, untouched);
}

abi::StepState& Bench::state() { return *reinterpret_cast<abi::StepState*>(find({kernels::ResourceKind::state}).mapped); }

void Bench::set_rows(std::uint32_t base, std::uint32_t rows) {
  state().bases[0] = base;
  state().rows = rows;
}

void Bench::run(std::span<const kernels::Dispatch> dispatches) {
  if (!kernel_ && !dispatches.empty()) kernel_ = dispatches.front().kernel;
  vk::Recorder recorder(device_);
  const kernels::Resolver resolve = [this](const kernels::Resource& resource) { return find(resource); };
  for (const kernels::Dispatch& dispatch : dispatches) kernels::record(recorder, library_, dispatch, resolve);
  const vk::Commands commands = recorder.finish();
  vk::Queue(device_).submit_and_wait(commands);
}

double copy_bandwidth(std::shared_ptr<vk::Device> device) {
  // Larger than last-level caches of today (server CPUs: up to about 100 MiB shared by a core's group); a small heap gives what it can.
  constexpr std::uint64_t wanted = std::uint64_t{256} << 20, least = std::uint64_t{16} << 20;
  const vk::Caps& caps = device->caps();
  std::uint64_t bytes = std::max(least, std::min({wanted, caps.device_bytes() / 8, caps.max_allocation / 2}));
  bytes = bytes / 4096 * 4096;
  vk::Arena arena(device, vk::Role::kv, bytes);
  const vk::Slice from = arena.allocate(bytes), to = arena.allocate(bytes);
  vk::Recorder recorder(device);
  recorder.copy(from, to);
  const vk::Commands commands = recorder.finish();
  vk::Queue queue(device);
  queue.submit_and_wait(commands);  // first touch
  std::array<double, 5> seconds{};
  for (double& time : seconds) {
    const Stopwatch watch;
    queue.submit_and_wait(commands);
    time = watch.seconds();
  }
  std::sort(seconds.begin(), seconds.end());
  return 2.0 * static_cast<double>(bytes) / seconds[seconds.size() / 2];
}

}  // namespace skipstone::selftest
