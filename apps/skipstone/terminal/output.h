// The program's three standard streams. Standard output is unbuffered, so that text streams; it reports when its reader is gone and when it
// cannot be written. Messages and progress on standard error are for people, and write errors there are ignored.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "json/json_fwd.h"

namespace cli {

/// From now on nothing is written: for processes that work for another one.
void silence();

/// Writes raw bytes to standard error and ignores errors. For sequences that move the cursor; else note().
void write_error(std::string_view bytes);

/// Writes one of the program's escape sequences to the terminal on standard output and ignores errors.
void write_sequence(std::string_view sequence);

/// A line on standard error, safe to print whatever it holds.
void note(std::string_view line);
template <typename... Arguments>
void note(fmt::format_string<Arguments...> line, Arguments&&... arguments) {
  note(std::string_view(fmt::format(line, std::forward<Arguments>(arguments)...)));
}

/// Several such lines.
void note_lines(std::string_view lines);

enum class Style { plain, dim, green };

class Output {
 public:
  /// `colour`: styles become escape sequences. On a terminal, control characters in written text are replaced, because
  /// a model's text must not control the terminal. Throws Failure if standard output is closed.
  explicit Output(bool colour);
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  /// False if the reader is gone (`| head`): no error, but further output is useless. Throws Failure if writing fails (full disk).
  bool write(std::string_view text, Style style = Style::plain);

  /// Back to no style.
  void plain();

  bool closed() const { return closed_; }

 private:
  bool write_raw(std::string_view bytes);

  bool colour_, terminal_;
  bool closed_ = false;
  Style style_ = Style::plain;
};

/// Control characters (C0 but line feed and tab, DEL, C1) replaced by U+FFFD.
std::string without_control_characters(std::string_view text);

/// "auto": standard output is a terminal that takes colours and NO_COLOR is not set; "always"; "never".
bool wants_colour(const std::string& when);

/// "1.50 GiB".
std::string bytes_text(double bytes);
std::string bytes_text(const skipstone::Json& bytes);  ///< `bytes` is an integer

/// The last line on standard error, of a terminal, drawn anew and erased.
class ErasableLine {
 public:
  ErasableLine() = default;
  ~ErasableLine() { clear(); }
  ErasableLine(const ErasableLine&) = delete;
  ErasableLine& operator=(const ErasableLine&) = delete;

  /// How many columns it may have: one that wraps could not be erased.
  static std::size_t columns();
  void draw(std::string_view text);
  void clear();
  bool is_drawn() const { return drawn_; }

 private:
  bool drawn_ = false;
};

/// A line on standard error for work that takes over a second.
class Progress {
 public:
  Progress();
  /// `done`: 0 to 1. On a terminal one line that is redrawn; on other streams one line a stage.
  void update(const std::string& stage, double done);

  /// A progress callback for library calls: update(), until Ctrl-C ends the call. The line has to outlive it.
  std::function<bool(const char*, double)> until_interrupted();

  /// Erases the line; to be called before anything else is printed.
  void clear() { line_.clear(); }

 private:
  using Clock = std::chrono::steady_clock;

  bool terminal_;
  ErasableLine line_;
  std::string stage_;
  Clock::time_point start_, last_;
};

}  // namespace cli
