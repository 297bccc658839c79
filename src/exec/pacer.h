// Who decides when the next pieces of a pass run, so that a program can have its own work between them.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>

namespace skipstone::exec {

class Pacer {
 public:
  using Clock = std::chrono::steady_clock;
  virtual ~Pacer() = default;
  /// How many of the next pieces are to run now, as one submission; at least one. `seconds`: what each took lately, 0 where it has not run.
  /// May wait, and throw to end the pass.
  virtual std::size_t next(std::span<const double> seconds) = 0;
  /// They have been submitted; they are done, or will never be.
  virtual void submitted() = 0;
  virtual void done() = 0;
  /// The time, without that which the functions above have waited.
  virtual Clock::time_point now() const = 0;
};

}  // namespace skipstone::exec
