#include "output.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/escape.h"
#include "exit_code.h"

namespace cli {
namespace {

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

}  // namespace

void prepare_standard_streams() {
  std::signal(SIGPIPE, SIG_IGN);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) != -1 || errno != EBADF) continue;
    // The wrong way round: reading from, or writing to, a closed stream stays an error. It gets the lowest number that is free, its own.
    [[maybe_unused]] const int taken = open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

void write_error(std::string_view bytes) { std::fwrite(bytes.data(), 1, bytes.size(), stderr); }

void write_sequence(std::string_view sequence) {
  [[maybe_unused]] const auto written = ::write(STDOUT_FILENO, sequence.data(), sequence.size());
}

void note(std::string_view line) { write_error(skipstone::message_text(line) + '\n'); }

void note_lines(std::string_view lines) {
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    note(lines.substr(0, end));
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
}

Output::Output(bool colour) : colour_(colour), terminal_(isatty(STDOUT_FILENO) == 1) {
  // Known before any work: it was closed when the program started, or is open for reading only.
  const int flags = fcntl(STDOUT_FILENO, F_GETFL);
  if (flags == -1 || (flags & O_ACCMODE) == O_RDONLY) fail(ExitCode::failure, "standard output cannot be written: it is closed");
}

Output::~Output() {
  if (colour_ && style_ != Style::plain && !closed_) [[maybe_unused]]
    const auto written = ::write(STDOUT_FILENO, "\033[0m", 4);
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
  while (!bytes.empty() && !closed_) {
    const ssize_t written = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (written >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EPIPE) {
      closed_ = true;
    } else if (errno != EINTR) {
      closed_ = true;  // nothing more is tried, not even the reset of the style
      fail(ExitCode::failure, "standard output cannot be written: {}", std::strerror(errno));
    }
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
  if (when != "auto" || isatty(STDOUT_FILENO) != 1) return false;
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  return (no_color == nullptr || *no_color == '\0') && term != nullptr && std::strcmp(term, "dumb") != 0;
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

}  // namespace cli
