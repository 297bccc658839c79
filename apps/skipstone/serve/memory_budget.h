// One account of the memory that a server gives to its clients, so that it refuses before its system has to.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

namespace cli::serve {

/// What memory is for: connections with what was read of their headers, bodies of requests until these are answered, answers that are sent
/// whole, events of streams that are not sent yet.
enum class MemoryUse { connections, bodies, answers, events };
inline constexpr std::array memory_uses{MemoryUse::connections, MemoryUse::bodies, MemoryUse::answers, MemoryUse::events};
const char* name_of(MemoryUse use);

/// From any thread.
class MemoryBudget {
 public:
  explicit MemoryBudget(std::size_t limit_bytes) : limit_(limit_bytes) {}
  std::size_t limit() const { return limit_; }
  std::size_t used() const { return all_; }
  std::size_t used(MemoryUse use) const { return used_[static_cast<std::size_t>(use)]; }
  /// What was given back since the last call.
  std::size_t take_given_back() { return given_back_.exchange(0); }
  /// The most bytes that large shares may make of the whole; the rest is for small ones, so that few large requests do not shut others out.
  std::size_t limit_of_large() const { return limit_ / 4 * 3; }
  /// The last part is for connections alone, so that a client can always be told.
  std::size_t limit_of_small() const { return limit_ / 16 * 15; }

 private:
  friend class MemoryShare;
  /// False, and nothing is changed, where there is no room for `more` bytes of a share that then has `bytes`.
  bool take(MemoryUse use, std::size_t more, std::size_t bytes);
  void give_back(MemoryUse use, std::size_t bytes);

  const std::size_t limit_;
  std::atomic<std::size_t> all_{0}, given_back_{0};
  std::array<std::atomic<std::size_t>, memory_uses.size()> used_{};
};

/// A part of a budget, given back by the destructor. One thread at a time.
class MemoryShare {
 public:
  /// From this size on a share is large.
  static constexpr std::size_t large_bytes = std::size_t{64} << 10;

  MemoryShare() = default;
  MemoryShare(std::shared_ptr<MemoryBudget> budget, MemoryUse use) : budget_(std::move(budget)), use_(use) {}
  MemoryShare(MemoryShare&& other) noexcept : budget_(std::move(other.budget_)), use_(other.use_), bytes_(std::exchange(other.bytes_, 0)) {}
  MemoryShare& operator=(MemoryShare&& other) noexcept;
  ~MemoryShare() { shrink(0); }

  std::size_t bytes() const { return bytes_; }
  /// False, and nothing is changed, where the budget has no room. Always true for a share of no budget.
  bool resize(std::size_t bytes);

 private:
  void shrink(std::size_t bytes) noexcept;
  std::shared_ptr<MemoryBudget> budget_;
  MemoryUse use_ = MemoryUse::connections;
  std::size_t bytes_ = 0;
};

}  // namespace cli::serve
