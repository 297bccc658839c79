#include "progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace cli {

using namespace std::chrono_literals;

Progress::Progress() : terminal_(isatty(STDERR_FILENO) == 1), start_(Clock::now()) {}

Progress::~Progress() { clear(); }

void Progress::update(const std::string& stage, double done) {
  const auto now = Clock::now();
  if (now - start_ < 1s) return;
  if (!terminal_) {
    if (stage != stage_) fmt::print(stderr, "{} ...\n", stage);
    stage_ = stage;
    return;
  }
  if (stage == stage_ && now - last_ < 100ms) return;
  stage_ = stage;
  last_ = now;
  shown_ = true;
  fmt::print(stderr, "\r\033[K{} {:3.0f} %", stage, 100.0 * done);
  std::fflush(stderr);
}

void Progress::clear() {
  if (!shown_) return;
  shown_ = false;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
}

}  // namespace cli
