// Messages for people, safe to print whatever they contain (base/escape.h). They go to a sink that the application sets (standard error by
// default), never to standard output.
#pragma once

#include <fmt/core.h>

#include <functional>
#include <string>
#include <string_view>

namespace skipstone::log {

enum class Level { debug = 0, info = 1, warning = 2, error = 3 };

using Sink = std::function<void(Level, std::string_view)>;

/// Replaces the sink; an empty function silences the library. Not to be called while other threads log.
void set_sink(Sink sink);

/// Messages below `level` are dropped. The default is `warning`, or `debug` where SKIPSTONE_LOG=debug, `info` where it is info.
void set_level(Level level);

/// Without memory for it, a message is dropped.
void write(Level level, fmt::string_view format, fmt::format_args args);

template <typename... Args>
void debug(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::debug, format, fmt::make_format_args(args...));
}
template <typename... Args>
void info(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::info, format, fmt::make_format_args(args...));
}
template <typename... Args>
void warning(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::warning, format, fmt::make_format_args(args...));
}

}  // namespace skipstone::log
