#include "progress.h"

#include <fmt/format.h>

#include "base/escape.h"
#include "base/platform/console.h"
#include "interrupt.h"
#include "output.h"

namespace cli {

using namespace std::chrono_literals;
namespace platform = skipstone::platform;

Progress::Progress() : terminal_(platform::is_terminal(platform::Stream::error)), start_(Clock::now()) {}

Progress::~Progress() { clear(); }

void Progress::update(const std::string& stage, double done) {
  const auto now = Clock::now();
  if (now - start_ < 1s) return;
  if (!terminal_) {
    if (stage != stage_) note("{} ...", stage);
    stage_ = stage;
    return;
  }
  if (stage == stage_ && now - last_ < 100ms) return;
  stage_ = stage;
  last_ = now;
  shown_ = true;
  // A line that wraps could not be erased.
  const std::size_t told = platform::columns(platform::Stream::error), columns = told > 0 ? told : 80;
  write_error(fmt::format("\r\033[K{:.{}} {:3.0f} %", skipstone::escaped(stage), columns > 8 ? columns - 7 : 1, 100.0 * done));
}

std::function<bool(const char*, double)> Progress::until_interrupted() {
  return [this](const char* stage, double done) {
    update(stage, done);
    return !interrupt::requested();
  };
}

void Progress::clear() {
  if (!shown_) return;
  shown_ = false;
  write_error("\r\033[K");
}

}  // namespace cli
