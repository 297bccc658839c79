// A budget of the memory that a server spends on its clients, so that it refuses requests before the system runs out.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

namespace cli::serve {

/// Uses of memory: connections with their header buffers, bodies of requests until these are answered, answers that are sent at once,
/// unsent events of streams.
enum class MemoryUse { connections, bodies, answers, events };
inline constexpr std::array memory_uses{MemoryUse::connections, MemoryUse::bodies, MemoryUse::answers, MemoryUse::events};
const char* name_of(MemoryUse use);

/// Thread-safe.
class MemoryBudget {
 public:
  explicit MemoryBudget(std::size_t limit_bytes) : limit_(limit_bytes) {}
  std::size_t limit() const { return limit_; }
  std::size_t used() const { return all_; }
  std::size_t used(MemoryUse use) const { return used_[static_cast<std::size_t>(use)]; }
  /// Bytes released since the last call.
  std::size_t take_given_back() { return given_back_.exchange(0); }
  /// The most bytes that large shares may take; the remainder is for small ones, so that a few large requests do not block others.
  std::size_t limit_of_large() const { return limit_ / 4 * 3; }
  /// The last part is for connections alone, so that a client can always get an answer.
  std::size_t limit_of_small() const { return limit_ / 16 * 15; }

 private:
  friend class MemoryShare;
  /// False, with nothing changed, if there is no room for `more` bytes of a share that then has `bytes`.
  bool take(MemoryUse use, std::size_t more, std::size_t bytes);
  void give_back(MemoryUse use, std::size_t bytes);

  const std::size_t limit_;
  std::atomic<std::size_t> all_{0}, given_back_{0};
  std::array<std::atomic<std::size_t>, memory_uses.size()> used_{};
};

/// A part of a budget, released by the destructor. One thread at a time.
class MemoryShare {
 public:
  /// Shares of at least this size are large.
  static constexpr std::size_t large_bytes = std::size_t{64} << 10;

  MemoryShare() = default;
  MemoryShare(std::shared_ptr<MemoryBudget> budget, MemoryUse use) : budget_(std::move(budget)), use_(use) {}
  MemoryShare(MemoryShare&& other) noexcept : budget_(std::move(other.budget_)), use_(other.use_), bytes_(std::exchange(other.bytes_, 0)) {}
  MemoryShare& operator=(MemoryShare&& other) noexcept;
  ~MemoryShare() { shrink(0); }

  std::size_t bytes() const { return bytes_; }
  /// False, with nothing changed, if the budget has no room. Always true for a share of no budget.
  bool resize(std::size_t bytes);

 private:
  void shrink(std::size_t bytes) noexcept;
  std::shared_ptr<MemoryBudget> budget_;
  MemoryUse use_ = MemoryUse::connections;
  std::size_t bytes_ = 0;
};

}  // namespace cli::serve
