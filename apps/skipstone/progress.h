// A line on standard error for work that takes over a second.
#pragma once

#include <chrono>
#include <functional>
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

  /// What the library's calls report to: update(), until Ctrl-C ends the call. The line has to outlive it.
  std::function<bool(const char*, double)> until_interrupted();

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
