// The program's three standard streams. Standard output is unbuffered, so that text streams; it says when its reader is gone and when it
// cannot be written. What goes to standard error is for people, and nothing depends on their getting it.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "json/json_fwd.h"

namespace cli {

/// From now on nothing is written: in processes that work for another one.
void silence();

/// Bytes to standard error, as they are; nothing happens where they cannot be written. For what moves the cursor; else note().
void write_error(std::string_view bytes);

/// An escape sequence of the program's own to the terminal on standard output; nothing happens where it cannot be written.
void write_sequence(std::string_view sequence);

/// A line on standard error, safe to print whatever it holds.
void note(std::string_view line);
template <typename... Arguments>
void note(fmt::format_string<Arguments...> line, Arguments&&... arguments) {
  note(std::string_view(fmt::format(line, std::forward<Arguments>(arguments)...)));
}

/// Several lines, each of them so.
void note_lines(std::string_view lines);

enum class Style { plain, dim, green };

class Output {
 public:
  /// `colour`: styles become escape sequences. On a terminal, control characters in what is written are replaced, because
  /// text of a model must not drive the terminal. Throws Failure where standard output is closed.
  explicit Output(bool colour);
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  /// False where the reader is gone (`| head`): no error, but nothing more is of use. Throws Failure where writing fails (full disk).
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
std::string bytes_text(const skipstone::Json& bytes);  ///< a whole number of them

}  // namespace cli
