// The source of a user's input lines.
#pragma once

#include <memory>
#include <string>

namespace cli::chat {

struct Line {
  enum class Kind {
    text,
    end,        ///< Ctrl-D, end of the input, or a signal that ends programs
    interrupt,  ///< Ctrl-C; the typed text is discarded
  };
  Kind kind = Kind::end;
  std::string text = {};   ///< may contain line ends if it was pasted
  bool was_empty = false;  ///< of interrupt: nothing had been typed
};

class LineInput {
 public:
  virtual ~LineInput() = default;

  /// Reads a line. The prompt is shown only on terminals.
  virtual Line read(const std::string& prompt) = 0;

  /// Adds a message to the history.
  virtual void remember(const std::string&) {}
};

/// Unedited lines of standard input. Throws Failure if it cannot be read.
std::unique_ptr<LineInput> open_plain_input();

/// An editor with a history that is kept in `history_file` ("": nowhere), readable only by its owner; null if the build has no editor
/// or standard input and output are no terminals with line editing.
std::unique_ptr<LineInput> open_line_editor(const std::string& history_file);

}  // namespace cli::chat
