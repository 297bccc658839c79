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

  /// `done`: 0 to 1. On a terminal one line that is redrawn; on other streams one line a stage.
  void update(const std::string& stage, double done);

  /// A progress callback for library calls: update(), until Ctrl-C ends the call. The line has to outlive it.
  std::function<bool(const char*, double)> until_interrupted();

  /// Erases the line; to be called before anything else is printed.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;

  bool terminal_;
  bool shown_ = false;
  std::string stage_;
  Clock::time_point start_, last_;
};

}  // namespace cli
