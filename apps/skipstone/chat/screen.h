// How a conversation is shown. Nothing but a terminal gets escape sequences.
#pragma once

#include <string>
#include <string_view>

#include "output.h"

namespace cli::chat {

class Screen {
 public:
  /// `colour`: as --color has it.
  explicit Screen(const std::string& colour);

  bool terminal() const { return terminal_; }

  /// Pieces of an answer. False where nobody reads any more.
  bool text(std::string_view piece, bool drafted);
  bool reasoning(std::string_view piece);
  bool begin_call(std::string_view name);
  bool call_arguments(std::string_view json);
  bool end_call();

  /// Ends the line of an answer.
  void end_answer();

  /// A line about the answer, on standard error.
  void status(const std::string& line);

  /// Something for the terminal itself, such as a clipboard's sequence.
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
