#include "selftest/bench.h"

#include <algorithm>

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

}  // namespace skipstone::selftest
