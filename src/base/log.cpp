#include "base/log.h"

#include <fmt/format.h>

#include <atomic>
#include <mutex>
#include <new>

#include "base/env.h"
#include "base/escape.h"
#include "base/platform/console.h"

namespace skipstone::log {
namespace {

Level initial_level() {
  const auto wanted = env::get("SKIPSTONE_LOG");
  if (wanted == "debug") return Level::debug;
  if (wanted == "info") return Level::info;
  return Level::warning;
}

void to_standard_error(Level level, std::string_view text) {
  const char* name = level == Level::warning ? "warning: " : level == Level::error ? "error: " : "";
  platform::write_or_drop(platform::Stream::error, fmt::format("{}{}\n", name, text));  // there is nobody left to tell
}

struct State {
  std::mutex mutex;
  std::atomic<Level> level = initial_level();
  Sink sink = to_standard_error;
};

State& state() {
  static State instance;
  return instance;
}

}  // namespace

void set_sink(Sink sink) { state().sink = std::move(sink); }
void set_level(Level level) { state().level = level; }

void write(Level level, fmt::string_view format, fmt::format_args args) {
  State& s = state();
  if (level < s.level || !s.sink) return;
  try {
    const std::string text = message_text(fmt::vformat(format, args));
    const std::lock_guard lock(s.mutex);
    s.sink(level, text);
  } catch (const std::bad_alloc&) {  // destructors and threads log as well
  }
}

}  // namespace skipstone::log
