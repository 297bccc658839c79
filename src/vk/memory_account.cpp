#include "vk/memory_account.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace skipstone::vk {

MemoryAccount::MemoryAccount(std::uint64_t limit, MakeRoom make_room) : limit_(limit), make_room_(std::move(make_room)) {}

std::uint64_t MemoryAccount::left() const {
  return limit_ == 0 ? std::numeric_limits<std::uint64_t>::max() : limit_ - std::min<std::uint64_t>(held_, limit_);
}

bool MemoryAccount::take(std::uint64_t bytes) {
  std::uint64_t held = held_;
  do {
    if (limit_ != 0 && (held > limit_ || bytes > limit_ - held)) return false;
  } while (!held_.compare_exchange_weak(held, held + bytes));
  return true;
}

bool MemoryAccount::make_room(std::uint64_t bytes) const { return make_room_ && (limit_ == 0 || bytes <= limit_) && make_room_(bytes); }

}  // namespace skipstone::vk
