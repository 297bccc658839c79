// Which commands of a recording need a barrier before them. Pure bookkeeping: no Vulkan, tested without a device.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>

namespace skipstone::vk {

/// A set of bytes [begin, end), kept as disjoint ranges.
class ByteRanges {
 public:
  void insert(std::uint64_t begin, std::uint64_t end);
  bool overlaps(std::uint64_t begin, std::uint64_t end) const;

 private:
  std::map<std::uint64_t, std::uint64_t> ranges_;  // begin -> end
};

class HazardTracker {
 public:
  enum Stage : std::uint8_t { compute = 1, transfer = 2, indirect = 4, condition = 8 };

  struct Use {
    const void* buffer = nullptr;
    std::uint64_t offset = 0, bytes = 0;
    Stage stage = compute;
    bool reads = false, writes = false;
  };

  /// Sets of stages; to == 0: no barrier is needed.
  struct Barrier {
    std::uint8_t from = 0, to = 0;
    explicit operator bool() const { return to != 0; }
  };

  /// Adds a command with these uses and returns the barrier that must precede it. `always`: a barrier against all earlier commands even
  /// without a hazard (for timestamps).
  Barrier add(std::span<const Use> uses, bool always = false);

 private:
  struct Ranges {
    ByteRanges read, written;
  };
  /// Accesses by earlier commands that a later command of this stage is not ordered after yet. One for each stage: a barrier orders only
  /// the stages that it names, so that dispatches need not wait for work that only a later copy depends on.
  struct Pending {
    std::uint8_t stages = 0;
    std::unordered_map<const void*, Ranges> buffers;
  };
  bool conflicts(const Use& use) const;
  static std::size_t index(Stage stage) { return static_cast<std::size_t>(std::countr_zero(static_cast<std::uint8_t>(stage))); }

  std::array<Pending, 4> pending_;
};

}  // namespace skipstone::vk
