#include "vk/hazard_tracker.h"

#include <algorithm>
#include <iterator>

namespace skipstone::vk {

void ByteRanges::insert(std::uint64_t begin, std::uint64_t end) {
  if (begin >= end) return;
  auto next = ranges_.upper_bound(begin);
  if (next != ranges_.begin()) {
    const auto previous = std::prev(next);
    if (previous->second >= begin) {  // touches or overlaps: grow that one
      begin = previous->first;
      end = std::max(end, previous->second);
      next = ranges_.erase(previous);
    }
  }
  while (next != ranges_.end() && next->first <= end) {
    end = std::max(end, next->second);
    next = ranges_.erase(next);
  }
  ranges_.emplace_hint(next, begin, end);
}

bool ByteRanges::overlaps(std::uint64_t begin, std::uint64_t end) const {
  if (begin >= end) return false;
  const auto next =
      ranges_.lower_bound(end);  // the first range that starts at or after the end; the one before it is the last that may overlap
  return next != ranges_.begin() && std::prev(next)->second > begin;
}

bool HazardTracker::conflicts(const Use& use) const {
  const Pending& pending = pending_[index(use.stage)];
  const auto found = pending.buffers.find(use.buffer);
  if (found == pending.buffers.end()) return false;
  const std::uint64_t end = use.offset + use.bytes;
  if (found->second.written.overlaps(use.offset, end)) return true;
  return use.writes && found->second.read.overlaps(use.offset, end);
}

HazardTracker::Barrier HazardTracker::add(std::span<const Use> uses, bool always) {
  Barrier barrier;
  for (const Use& use : uses) {
    const Pending& pending = pending_[index(use.stage)];
    if (pending.stages != 0 && (always || conflicts(use))) {
      barrier.to = static_cast<std::uint8_t>(barrier.to | use.stage);
      barrier.from = static_cast<std::uint8_t>(barrier.from | pending.stages);
    }
  }
  for (const Stage stage : {compute, transfer, indirect, condition}) {
    if ((barrier.to & stage) != 0) pending_[index(stage)] = {};
  }
  for (const Use& use : uses) {
    for (Pending& pending : pending_) {
      pending.stages = static_cast<std::uint8_t>(pending.stages | use.stage);
      Ranges& ranges = pending.buffers[use.buffer];
      if (use.reads) ranges.read.insert(use.offset, use.offset + use.bytes);
      if (use.writes) ranges.written.insert(use.offset, use.offset + use.bytes);
    }
  }
  return barrier;
}

}  // namespace skipstone::vk
