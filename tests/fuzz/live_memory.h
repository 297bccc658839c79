// How much memory a piece of work takes: the usual operator new, counted. For programs with one thread; link live_memory.cpp into them.
#pragma once

#include <cstddef>

namespace skipstone::fuzz {

/// Counts from when it is made.
class LiveMemory {
 public:
  LiveMemory();
  /// Bytes, beyond those that were held before, that were held at one time.
  std::size_t most() const;

 private:
  std::size_t before_;
};

}  // namespace skipstone::fuzz
