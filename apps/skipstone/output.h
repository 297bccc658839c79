// Standard output: unbuffered, so that text streams; says when its reader is gone and when it cannot be written.
#pragma once

#include <string>
#include <string_view>

namespace cli {

enum class Style { plain, dim, green };

class Output {
 public:
  /// `colour`: styles become escape sequences. On a terminal, control characters in what is written are replaced, because
  /// text of a model must not drive the terminal.
  explicit Output(bool colour);
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  /// False where the reader is gone (`| head`): no error, but nothing more is of use. Throws Failure where writing fails (full disk).
  bool write(std::string_view text, Style style = Style::plain);

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

}  // namespace cli
