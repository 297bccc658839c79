// The progress of a download on standard error.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace cli::pull {

class ProgressBar {
 public:
  /// `name`: what is fetched, of `total` bytes in all, `done` of which were there before.
  ProgressBar(std::string name, std::uint64_t total, std::uint64_t done);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// On a terminal one line that is redrawn, with speed and time left; elsewhere a line for each tenth.
  void update(std::uint64_t done);

 private:
  using Clock = std::chrono::steady_clock;

  void draw(std::uint64_t done, double seconds) const;

  std::string name_;
  std::uint64_t total_, first_;
  bool terminal_, shown_ = false;
  std::uint64_t tenth_;
  Clock::time_point start_ = Clock::now(), last_;
};

}  // namespace cli::pull
