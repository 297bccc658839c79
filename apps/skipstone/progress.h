// A line on standard error for work that takes over a second.
#pragma once

#include <chrono>
#include <string>

namespace cli {

class Progress {
 public:
  Progress();
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `done`: 0 to 1. On a terminal one line that changes; elsewhere one line a stage.
  void update(const std::string& stage, double done);

  /// Takes the line away; to be called before anything else is printed.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;

  bool terminal_;
  bool shown_ = false;
  std::string stage_;
  Clock::time_point start_, last_;
};

}  // namespace cli
