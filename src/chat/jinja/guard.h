// Limits of a template. It comes with an untrusted model: it is a program that must end soon and stay small.
#pragma once

#include <cstddef>
#include <cstdint>

namespace skipstone::chat::jinja {

struct Limits {
  std::uint64_t steps = 1'000'000;                 ///< evaluated nodes and similar work; each byte of variables adds some
  std::size_t live_bytes = std::size_t{12} << 20;  ///< of values at one time
  std::size_t text_bytes = std::size_t{6} << 20;   ///< of one text, the output included
  int depth = 1000;                                ///< nodes within nodes while rendering, macros' calls included
};

constexpr std::size_t most_source_bytes = std::size_t{256} << 10;
constexpr std::size_t most_nodes = 100'000;  ///< of a parsed template
constexpr std::size_t most_names = 2'000;    ///< of variables and macros
constexpr int most_syntax_depth = 200;       ///< parentheses, operators in a row, blocks
constexpr int most_value_depth = 520;        ///< lists within lists: as deep as parse_json() takes documents, and some templates' own

/// Counts steps and the memory of values. Throws invalid_argument where a limit is passed.
class Guard {
 public:
  explicit Guard(const Limits& limits) : limits_(limits) { look_again(); }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  const Limits& limits() const { return limits_; }

  void step(std::uint64_t count = 1) {
    steps_ += count;
    if (steps_ > next_poll_) poll_now();
  }
  /// Work over `bytes` bytes of text, which is quick but not free.
  void step_over(std::size_t bytes) { step(bytes / 256); }

  void take(std::size_t bytes) {
    step(1 + bytes / 256);
    live_ += bytes;
    if (live_ > limits_.live_bytes) fail_memory(bytes);
  }
  void give_back(std::size_t bytes) noexcept { live_ -= bytes; }

  /// Goes one level deeper for its lifetime.
  class Level {
   public:
    explicit Level(Guard& guard) : guard_(guard) {
      if (++guard_.depth_ > guard_.limits_.depth) guard_.fail_depth();
    }
    ~Level() { --guard_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Guard& guard_;
  };

 private:
  /// Throws past the limit; else polls for cancellation of this thread's work (base/poll.h).
  void poll_now();
  void look_again();
  [[noreturn]] void fail_memory(std::size_t bytes);
  [[noreturn]] void fail_depth();

  Limits limits_;
  std::uint64_t steps_ = 0;
  std::uint64_t next_poll_ = 0;  ///< the number of steps at which to check the limit and to poll
  std::size_t live_ = 0;
  int depth_ = 0;
};

/// The memory of one value, given back with it. Without a guard it counts nothing: literals and variables outlive a rendering.
class Charge {
 public:
  Charge() = default;
  Charge(Guard* guard, std::size_t bytes) {
    if (guard != nullptr) guard->take(bytes);
    guard_ = guard;
    bytes_ = bytes;
  }
  ~Charge() {
    if (guard_ != nullptr) guard_->give_back(bytes_);
  }
  Charge(const Charge&) = delete;
  Charge& operator=(const Charge&) = delete;

  void step(std::uint64_t count) {
    if (guard_ != nullptr) guard_->step(count);
  }
  void grow(std::size_t bytes) {
    if (guard_ != nullptr) guard_->take(bytes);
    bytes_ += bytes;
  }

 private:
  Guard* guard_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace skipstone::chat::jinja
