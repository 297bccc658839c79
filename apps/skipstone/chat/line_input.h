// Where a user's lines come from.
#pragma once

#include <memory>
#include <string>

namespace cli::chat {

struct Line {
  enum class Kind {
    text,
    end,        ///< Ctrl-D, end of the input, or a signal that ends programs
    interrupt,  ///< Ctrl-C; what was typed is gone
  };
  Kind kind = Kind::end;
  std::string text = {};   ///< may hold line ends, where it was pasted
  bool was_empty = false;  ///< of interrupt: nothing had been typed
};

class LineInput {
 public:
  virtual ~LineInput() = default;

  /// The prompt is shown on terminals alone.
  virtual Line read(const std::string& prompt) = 0;

  /// Puts a message into the history.
  virtual void remember(const std::string&) {}
};

/// Lines of standard input as they are. Throws Failure where it cannot be read.
std::unique_ptr<LineInput> open_plain_input();

/// An editor with a history that is kept in `history_file` ("": nowhere), readable for its owner alone; null where the build has none
/// or standard input and output are no terminals that can be edited on.
std::unique_ptr<LineInput> open_line_editor(const std::string& history_file);

}  // namespace cli::chat
