// Decides when the next slices of a pass run, so that a program can have its own work between them.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>

namespace skipstone::exec {

class PassSlicer {
 public:
  using Clock = std::chrono::steady_clock;
  virtual ~PassSlicer() = default;
  /// Number of next slices to run now, as one submission; at least one. `seconds`: the recent time of each, 0 if it has not run. May wait,
  /// and throw to end the pass.
  virtual std::size_t next(std::span<const double> seconds) = 0;
  /// The slices have been submitted; they are done, or will never be.
  virtual void submitted() = 0;
  virtual void done() = 0;
  /// The time, excluding the waits of the functions above.
  virtual Clock::time_point now() const = 0;
};

}  // namespace skipstone::exec
