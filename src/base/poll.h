// Cancellation of long work on the host: reading JSON, rendering, tokenizing.
#pragma once

#include <cstddef>
#include <functional>

namespace skipstone {

/// During its lifetime, work of its thread calls `ask` from time to time; `ask` throws to cancel the work. A Poll belongs to the
/// thread and is no parameter, since every loop over a text would have to pass it on.
class Poll {
 public:
  /// About a millisecond of work, in the units of work().
  static constexpr std::size_t period = 16384;

  /// An empty `ask` never stops the work, and hides an outer Poll.
  explicit Poll(std::function<void()> ask);
  ~Poll();
  Poll(const Poll&) = delete;
  Poll& operator=(const Poll&) = delete;

  /// This thread's innermost Poll; null if it has none. Loops fetch it once.
  static Poll* current() noexcept;

  /// `amount`: about as many bytes as a tokenizer gets through in the same time.
  void work(std::size_t amount) {
    done_ += amount;
    if (done_ >= period) ask();
  }

 private:
  void ask();

  std::function<void()> ask_;
  std::size_t done_ = 0;
  Poll* outer_;
};

/// Reports work done by this thread.
inline void poll(std::size_t amount) {
  if (Poll* asking = Poll::current()) asking->work(amount);
}

}  // namespace skipstone
