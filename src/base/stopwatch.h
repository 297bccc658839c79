// Measures elapsed time by the monotonic clock.
#pragma once

#include <chrono>

namespace skipstone {

/// Starts when constructed.
class Stopwatch {
 public:
  std::chrono::steady_clock::duration elapsed() const { return std::chrono::steady_clock::now() - start_; }
  double seconds() const { return std::chrono::duration<double>(elapsed()).count(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace skipstone
