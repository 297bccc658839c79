#include "vk/memory_account.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace skipstone::vk {

MemoryAccount::MemoryAccount(std::uint64_t limit, MakeRoom make_room) : limit_(limit), make_room_(std::move(make_room)) {}

std::uint64_t MemoryAccount::held() const {
  const std::lock_guard lock(mutex_);
  return held_;
}

std::uint64_t MemoryAccount::held_on(const DeviceId& device) const {
  const std::lock_guard lock(mutex_);
  const auto found = held_on_.find(device);
  return found == held_on_.end() ? 0 : found->second;
}

std::uint64_t MemoryAccount::left_beside(std::uint64_t held) const {
  return limit_ == 0 ? std::numeric_limits<std::uint64_t>::max() : limit_ - std::min(held, limit_);
}

bool MemoryAccount::take(const DeviceId& device, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (limit_ != 0 && (held_ > limit_ || bytes > limit_ - held_)) return false;
  held_on_[device] += bytes;
  held_ += bytes;
  return true;
}

void MemoryAccount::give_back(const DeviceId& device, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  held_on_[device] -= bytes;
  held_ -= bytes;
}

bool MemoryAccount::make_room(std::uint64_t bytes) const { return make_room_ && (limit_ == 0 || bytes <= limit_) && make_room_(bytes); }

}  // namespace skipstone::vk
