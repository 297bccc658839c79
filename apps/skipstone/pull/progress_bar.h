// The progress of a download on standard error.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "terminal/output.h"

namespace cli::pull {

class ProgressBar {
 public:
  /// `name`: what is fetched, of `total` bytes in all, `done` of which were there before.
  ProgressBar(const std::string& name, std::uint64_t total, std::uint64_t done);

  /// On a terminal one line that is redrawn, with speed and time left; elsewhere a line for each tenth.
  void update(std::uint64_t done);

 private:
  using Clock = std::chrono::steady_clock;

  void draw(std::uint64_t done, double seconds);

  std::uint64_t total_, first_;
  bool terminal_;
  ErasableLine line_;
  std::uint64_t tenth_;
  Clock::time_point start_ = Clock::now(), last_;
};

}  // namespace cli::pull
