// A conversation in a terminal: reads lines, runs commands and shows answers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "chat/conversation.h"
#include "chat/line_input.h"
#include "chat/screen.h"

namespace cli::chat {

/// A piece of an answer.
struct Piece {
  enum class Kind { text, reasoning, call_begin, call_arguments, call_end };
  Kind kind = Kind::text;
  std::string text = {};  ///< call_begin: the tool's name
  std::string id = {};    ///< call_begin: the call's id
  bool drafted = false;   ///< an accepted draft
  bool complete = true;   ///< call_end; false: the call was truncated and is void
};

/// Adds a piece to the answer that it is a part of.
void record(const Piece& piece, Message& said);
/// Writes it; false if the output's reader is gone.
bool show(const Piece& piece, Screen& screen);

/// The result of a turn.
struct Turn {
  bool interrupted = false, context_full = false, out_of_tokens = false;
  std::uint64_t tokens = 0;       ///< of the answer
  std::uint64_t read_tokens = 0;  ///< prompt tokens that were not cached
  std::uint64_t rounds = 0;
  double seconds = 0;  ///< of the answer alone
  std::string drafter = {};
};

/// The model's side. Functions throw skipstone::error or Failure with a sentence.
class Answerer {
 public:
  virtual ~Answerer() = default;

  /// The next message of `conversation`; `on_piece` false stops it.
  virtual Turn answer(const Conversation& conversation, const std::function<bool(const Piece&)>& on_piece) = 0;

  /// The number of tokens of the conversation's prompt, and of the context.
  virtual std::size_t count(const Conversation& conversation) = 0;
  virtual std::size_t context() const = 0;
  /// The longest context that the model was trained for; 0: it does not say.
  virtual std::size_t trained_context() const = 0;

  virtual std::string model_name() const = 0;
  virtual std::string drafter() const = 0;
  virtual void set_drafter(const std::string& specification) = 0;
  /// Sets another seed for the next answer; false if decoding is greedy.
  virtual bool reseed() = 0;
  /// Statistics of the last answer; "" before it.
  virtual std::string statistics() const = 0;
};

class Dialogue {
 public:
  Dialogue(Answerer& answerer, LineInput& input, Screen& screen) : answerer_(answerer), input_(input), screen_(screen) {}

  Conversation& conversation() { return conversation_; }

  /// Runs until /quit, Ctrl-D, two Ctrl-C at an empty prompt, the input's end, or the output's reader is gone.
  void run();

 private:
  struct Command {
    const char* name;
    const char* argument;
    const char* help;
    void (Dialogue::*run)(const std::string& argument);
  };
  static const std::vector<Command>& commands();

  bool read_message(std::string& message);
  void run_command(const std::string& line);
  void send(const std::string& text);
  void answer();
  void say_end(const Turn& turn);
  bool fits();
  void offer_room();

  void help(const std::string&);
  void system(const std::string& text);
  void draft(const std::string& specification);
  void statistics(const std::string&);
  void retry(const std::string&);
  void undo(const std::string&);
  void drop(const std::string& count);
  void clear(const std::string&);
  void save(const std::string& path);
  void load(const std::string& path);
  void copy(const std::string&);
  void quit(const std::string&) { over_ = true; }

  Answerer& answerer_;
  LineInput& input_;
  Screen& screen_;
  Conversation conversation_;
  std::string unsent_;  ///< a message that could not be answered; /retry sends it again
  bool over_ = false, warned_ = false;
};

}  // namespace cli::chat
