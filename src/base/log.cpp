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
  platform::write_or_drop(platform::Stream::error, fmt::format("{}{}\n", name, text));  // a failure here cannot be reported
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

/// Whether this thread is in a sink, which may call code that logs: such a message is dropped.
bool& is_writing() {
  thread_local bool writing = false;
  return writing;
}

}  // namespace

void set_sink(Sink sink) {
  State& s = state();
  std::unique_lock lock(s.mutex, std::defer_lock);
  if (!is_writing()) lock.lock();
  s.sink = std::move(sink);
}
void set_level(Level level) { state().level = level; }

void write(Level level, fmt::string_view format, fmt::format_args args) {
  State& s = state();
  if (level < s.level || is_writing()) return;
  try {
    const std::string text = message_text(fmt::vformat(format, args));
    const std::lock_guard lock(s.mutex);
    const Sink sink = s.sink;  // the sink may set another
    is_writing() = true;
    const auto written = [] { is_writing() = false; };
    try {
      if (sink) sink(level, text);
    } catch (...) {
      written();
      throw;
    }
    written();
  } catch (const std::bad_alloc&) {  // destructors and threads log as well
  }
}

}  // namespace skipstone::log
