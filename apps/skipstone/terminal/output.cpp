#include "terminal/output.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <system_error>
#include <utility>

#include "base/env.h"
#include "base/escape.h"
#include "base/platform/console.h"
#include "json/json.h"
#include "terminal/exit_code.h"
#include "terminal/interrupt.h"

namespace cli {
namespace {

namespace platform = skipstone::platform;
using platform::Stream;

const char* escape(Style style) {
  switch (style) {
    case Style::dim:
      return "\033[0;2m";
    case Style::green:
      return "\033[0;32m";
    case Style::plain:
      break;
  }
  return "\033[0m";
}

bool silent = false;

}  // namespace

void silence() { silent = true; }

void write_error(std::string_view bytes) {
  if (!silent) platform::write_or_drop(Stream::error, bytes);
}

void write_sequence(std::string_view sequence) { platform::write_or_drop(Stream::output, sequence); }

void note(std::string_view line) { write_error(skipstone::message_text(line) + '\n'); }

void note_lines(std::string_view lines) {
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    note(lines.substr(0, end));
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
}

Output::Output(bool colour) : colour_(colour), terminal_(platform::is_terminal(Stream::output)) {
  // Checked before any work: standard output was closed when the program started, or is open for reading only.
  if (!platform::is_writable(Stream::output)) fail(ExitCode::failure, "standard output cannot be written: it is closed");
}

Output::~Output() {
  if (colour_ && style_ != Style::plain && !closed_) write_sequence("\033[0m");
}

void Output::plain() {
  if (colour_ && style_ != Style::plain) write_raw(escape(Style::plain));
  style_ = Style::plain;
}

bool Output::write(std::string_view text, Style style) {
  if (text.empty()) return !closed_;
  if (colour_ && style != style_) {
    style_ = style;
    write_raw(escape(style));
  }
  return terminal_ ? write_raw(without_control_characters(text)) : write_raw(text);
}

bool Output::write_raw(std::string_view bytes) {
  while (!bytes.empty() && !closed_ && !silent) {
    std::error_code error;
    bytes.remove_prefix(platform::write_some(Stream::output, bytes, error));
    if (!error) continue;
    closed_ = true;  // no further writes, not even the reset of the style
    if (error != std::errc::broken_pipe) fail(ExitCode::failure, "standard output cannot be written: {}", error.message());
  }
  return !closed_;
}

std::string without_control_characters(std::string_view text) {
  std::string safe;
  safe.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool c0 = (byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7F;
    const bool c1 = byte == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0;
    if (!c0 && !c1) {
      safe += text[i];
      continue;
    }
    safe += "\xEF\xBF\xBD";
    if (c1) ++i;
  }
  return safe;
}

bool wants_colour(const std::string& when) {
  if (when == "always") return true;
  return when == "auto" && platform::has_control_sequences(Stream::output) && !skipstone::env::get("NO_COLOR");
}

std::string bytes_text(double bytes) {
  constexpr std::array<const char*, 5> units = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (bytes >= 1024.0 && unit + 1 < units.size()) {
    bytes /= 1024.0;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.2f} {}", bytes, units[unit]);
}

std::string bytes_text(const skipstone::Json& bytes) { return bytes_text(static_cast<double>(bytes.get<std::uint64_t>())); }

std::size_t ErasableLine::columns() {
  const std::size_t told = platform::columns(Stream::error);
  return (told > 0 ? told : 80) - 1;
}

void ErasableLine::draw(std::string_view text) {
  drawn_ = true;
  write_error(fmt::format("\r\033[K{:.{}}", text, columns()));
}

void ErasableLine::clear() {
  if (std::exchange(drawn_, false)) write_error("\r\033[K");
}

Progress::Progress() : terminal_(platform::is_terminal(Stream::error)), start_(Clock::now()) {}

void Progress::update(const std::string& stage, double done) {
  const auto now = Clock::now();
  if (now - start_ < std::chrono::seconds(1)) return;
  if (!terminal_) {
    if (stage != stage_) note("{} ...", stage);
    stage_ = stage;
    return;
  }
  if (stage == stage_ && now - last_ < std::chrono::milliseconds(100)) return;
  stage_ = stage;
  last_ = now;
  constexpr std::size_t percent = 6;  // " 100 %"
  const std::size_t columns = ErasableLine::columns();
  line_.draw(fmt::format("{:.{}} {:3.0f} %", skipstone::escaped(stage), columns > percent ? columns - percent : 1, 100.0 * done));
}

std::function<bool(const char*, double)> Progress::until_interrupted() {
  return [this](const char* stage, double done) {
    update(stage, done);
    return !interrupt::requested();
  };
}

}  // namespace cli
