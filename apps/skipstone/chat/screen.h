// Shows a conversation. Only terminals get escape sequences.
#pragma once

#include <string>
#include <string_view>

#include "terminal/output.h"

namespace cli::chat {

class Screen {
 public:
  /// `colour`: the value of --color.
  explicit Screen(const std::string& colour);

  bool terminal() const { return terminal_; }

  /// Shows a piece of an answer. False if the output's reader is gone.
  bool text(std::string_view piece, bool drafted);
  bool reasoning(std::string_view piece);
  bool begin_call(std::string_view name);
  bool call_arguments(std::string_view json);
  bool end_call();

  /// Ends the line of an answer.
  void end_answer();

  /// Prints a line about the answer on standard error.
  void status(const std::string& line);

  /// Writes an escape sequence to the terminal, such as the clipboard's.
  void control(std::string_view sequence);

  bool closed() const { return output_.closed(); }

 private:
  enum class Part { none, text, reasoning, call };
  bool begin(Part part);

  const bool terminal_, colour_, dim_status_;
  Output output_;
  Part part_ = Part::none;
  bool line_begun_ = false;
};

}  // namespace cli::chat
