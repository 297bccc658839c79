#include "chat/dialogue.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <optional>

#include "base/number.h"
#include "base/status.h"
#include "chat/conversation.h"
#include "chat/terminal_text.h"
#include "skipstone/skipstone.hpp"
#include "terminal/exit_code.h"
#include "terminal/interrupt.h"

namespace cli::chat {
namespace {

constexpr std::size_t longest_copy = 100000;  // bytes of base64 that terminals accept; xterm's limit is the smallest

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" \t\r\n") + 1 - first);
}

std::string counted(std::size_t count, const char* thing) { return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s"); }

/// Runs `function` and prints its error. A lost device or exhausted memory ends the conversation; after other errors it continues.
template <typename Function>
void explained(Function function) {
  try {
    function();
  } catch (const skipstone::error& error) {
    if (error.status() == SKIPSTONE_DEVICE_LOST || error.status() == SKIPSTONE_OUT_OF_MEMORY) throw;
    print_error(error.what());
  } catch (const skipstone::Error& error) {
    print_error(error.what());
  }
}

}  // namespace

const std::vector<Dialogue::Command>& Dialogue::commands() {
  static const std::vector<Command> all = {
      {"help", "", "what there is", &Dialogue::help},
      {"system", "[TEXT]", "show or set the system message; - removes it", &Dialogue::system},
      {"draft", "[DRAFTER]", "show or change the drafter, as --draft has it", &Dialogue::draft},
      {"stats", "", "statistics of the last answer", &Dialogue::statistics},
      {"retry", "", "answer the last message again", &Dialogue::retry},
      {"undo", "", "take back the last message and its answer", &Dialogue::undo},
      {"drop", "[N]", "forget the first N exchanges, to make room", &Dialogue::drop},
      {"clear", "", "forget all but the system message", &Dialogue::clear},
      {"save", "FILE", "write the conversation to a file (JSON)", &Dialogue::save},
      {"load", "FILE", "go on with the conversation of a file", &Dialogue::load},
      {"copy", "", "put the last answer into the terminal's clipboard", &Dialogue::copy},
      {"quit", "", "end; so does Ctrl-D", &Dialogue::quit},
  };
  return all;
}

void Dialogue::run() {
  for (std::string message; !over_ && !screen_.closed() && read_message(message);) {
    if (message.starts_with("//")) {
      send(message.substr(1));
    } else if (message.starts_with('/')) {
      explained([&] { run_command(trimmed(message)); });
    } else if (!trimmed(message).empty()) {
      send(message);
    }
    if (interrupt::terminated()) break;
  }
}

/// Reads lines up to one that does not end with a backslash. False at the end of the input.
bool Dialogue::read_message(std::string& message) {
  message.clear();
  for (bool more = false;;) {
    const Line line = input_.read(more ? ". " : "> ");
    if (line.kind == Line::Kind::end) {
      if (message.empty()) return false;
      break;
    }
    if (line.kind == Line::Kind::interrupt) {
      if (line.was_empty && !more && warned_) return false;
      if (line.was_empty && !more) screen_.status("Ctrl-C again or Ctrl-D ends; /help says what else there is");
      warned_ = line.was_empty && !more;
      message.clear();
      more = false;
      continue;
    }
    warned_ = false;
    std::string text = line.text;
    const bool goes_on_here = goes_on(text);
    message += (more ? "\n" : "") + text;
    more = goes_on_here;
    if (!more) break;
  }
  if (!trimmed(message).empty()) input_.remember(message);
  return true;
}

void Dialogue::run_command(const std::string& line) {
  const std::size_t space = std::min(line.find_first_of(" \t\n"), line.size());
  const std::string name = line.substr(1, space - 1) == "exit" ? "quit" : line.substr(1, space - 1);
  const auto found = std::ranges::find_if(commands(), [&](const Command& command) { return name == command.name; });
  if (found == commands().end()) {
    screen_.status(fmt::format("there is no /{}; /help lists what there is, and //... sends a message that begins with /", name));
    return;
  }
  (this->*found->run)(trimmed(line.substr(space)));
}

// ---- answers ----

void Dialogue::send(const std::string& text) {
  conversation_.add({.role = "user", .content = text});
  unsent_.clear();
  explained([&] { answer(); });
}

void record(const Piece& piece, Message& said) {
  switch (piece.kind) {
    case Piece::Kind::text:
      said.content += piece.text;
      break;
    case Piece::Kind::reasoning:
      said.reasoning += piece.text;
      break;
    case Piece::Kind::call_begin:
      said.calls.push_back({piece.text, piece.id, {}});
      break;
    case Piece::Kind::call_arguments:
      said.calls.back().arguments += piece.text;
      break;
    case Piece::Kind::call_end:
      if (!piece.complete) said.calls.pop_back();
      break;
  }
}

bool show(const Piece& piece, Screen& screen) {
  switch (piece.kind) {
    case Piece::Kind::text:
      return screen.text(piece.text, piece.drafted);
    case Piece::Kind::reasoning:
      return screen.reasoning(piece.text);
    case Piece::Kind::call_begin:
      return screen.begin_call(piece.text);
    case Piece::Kind::call_arguments:
      return screen.call_arguments(piece.text);
    case Piece::Kind::call_end:
      return screen.end_call();
  }
  return true;
}

void Dialogue::answer() {
  Message said{.role = "assistant"};
  const auto on_piece = [&](const Piece& piece) {
    record(piece, said);
    return show(piece, screen_);
  };
  std::optional<Turn> turn;
  try {
    if (fits()) turn = answerer_.answer(conversation_, on_piece);
  } catch (...) {
    screen_.end_answer();
    unsent_ = conversation_.roll_back();
    throw;
  }
  screen_.end_answer();
  const bool silent = said.content.empty() && said.reasoning.empty() && said.calls.empty();
  if (!turn || (silent && turn->interrupted)) {
    unsent_ = conversation_.roll_back();
    if (turn) screen_.status("stopped before the first word; /retry asks again");
    interrupt::take();
    return;
  }
  conversation_.add(std::move(said));
  say_end(*turn);
  interrupt::take();
}

/// The status line below an answer.
void Dialogue::say_end(const Turn& turn) {
  std::string line = fmt::format("[{}", counted(turn.tokens, "token"));
  if (turn.seconds > 0 && turn.tokens > 0) line += fmt::format(" · {:.1f} tokens/s", static_cast<double>(turn.tokens) / turn.seconds);
  if (turn.rounds > 0) line += fmt::format(" · {:.2f} tokens a round", static_cast<double>(turn.tokens) / static_cast<double>(turn.rounds));
  if (!turn.drafter.empty()) line += " · " + turn.drafter;
  line += fmt::format(" · read {}", turn.read_tokens);
  if (turn.interrupted) line += " · stopped";
  if (turn.out_of_tokens) line += fmt::format(" · cut at the limit of {} (-n)", counted(turn.tokens, "token"));
  screen_.status(line + "]");
  if (turn.context_full) {
    screen_.status("the context is full: the answer was cut");
    offer_room();
  }
}

bool Dialogue::fits() {
  const std::size_t tokens = answerer_.count(conversation_), context = answerer_.context();
  if (tokens < context) return true;
  screen_.status(
      fmt::format("the context is full: the conversation has {} and {} fit; nothing was asked", counted(tokens, "token"), context));
  offer_room();
  return false;
}

/// Lists the exchanges that could be dropped, and the tokens that this frees.
void Dialogue::offer_room() {
  const std::size_t all = answerer_.count(conversation_), exchanges = conversation_.exchanges();
  for (std::size_t count = 1; count < exchanges && count <= 3; ++count) {
    Conversation shorter = conversation_;
    shorter.drop_first(count);
    const std::size_t left = answerer_.count(shorter);
    screen_.status(fmt::format("  /drop {} forgets the first {}: {} of room", count, count == 1 ? "exchange" : counted(count, "exchange"),
                               counted(all - std::min(all, left), "token")));
  }
  screen_.status("  /undo takes back the last exchange, /clear forgets all; then /retry asks again");
  const std::size_t context = answerer_.context(), trained = answerer_.trained_context();
  if (trained > context) {
    screen_.status(fmt::format("  the model was trained for {} tokens: skipstone chat --ctx {} has more room", trained,
                               std::min(trained, 2 * context)));
  }
}

// ---- commands ----

void Dialogue::help(const std::string&) {
  for (const Command& command : commands())
    screen_.status(fmt::format("  /{:<18}{}", fmt::format("{} {}", command.name, command.argument), command.help));
  screen_.status(
      "A line that ends with \\ continues in the next; pasted lines are one message. Ctrl-C stops an answer and keeps what was said.");
}

void Dialogue::system(const std::string& text) {
  if (text.empty()) {
    screen_.status(conversation_.system().empty() ? "there is no system message" : "system: " + conversation_.system());
    return;
  }
  conversation_.set_system(text == "-" ? "" : text);
  screen_.status(text == "-" ? "the system message is gone" : "the system message counts from the next answer on");
}

void Dialogue::draft(const std::string& specification) {
  if (!specification.empty()) answerer_.set_drafter(specification);
  screen_.status("drafter: " + answerer_.drafter());
}

void Dialogue::statistics(const std::string&) {
  const std::string text = answerer_.statistics();
  if (text.empty()) return screen_.status("nothing was answered yet");
  note_lines(text);
}

void Dialogue::retry(const std::string&) {
  const std::string said = unsent_.empty() ? conversation_.roll_back() : unsent_;
  if (said.empty()) return screen_.status("there is no message to answer");
  if (unsent_.empty() && !answerer_.reseed()) screen_.status("without sampling (--temp) the answer is the same");
  send(said);
}

void Dialogue::undo(const std::string&) {
  const std::string said = conversation_.roll_back();
  screen_.status(said.empty() ? "there is nothing to take back" : fmt::format("taken back: {}", said));
}

void Dialogue::drop(const std::string& count) {
  const auto wanted = count.empty() ? std::size_t{1} : skipstone::parse_number<std::size_t>(count);
  if (!wanted || *wanted == 0) {
    return screen_.status(fmt::format("'{}' is no number of exchanges", count));
  }
  const std::size_t before = conversation_.exchanges();
  conversation_.drop_first(*wanted);
  screen_.status(fmt::format("{} forgotten, {} left", counted(before - conversation_.exchanges(), "exchange"), conversation_.exchanges()) +
                 (unsent_.empty() ? "" : "; /retry sends your last message"));
}

void Dialogue::clear(const std::string&) {
  conversation_.clear();
  screen_.status("all but the system message is forgotten");
}

void Dialogue::save(const std::string& path) {
  if (path.empty()) return screen_.status("/save needs a file's name");
  save_conversation(conversation_, answerer_.model_name(), path);
  screen_.status(fmt::format("saved {} to {}", counted(conversation_.messages().size(), "message"), path));
}

void Dialogue::load(const std::string& path) {
  if (path.empty()) return screen_.status("/load needs a file's name");
  conversation_ = load_conversation(path);
  unsent_.clear();
  screen_.status(fmt::format("{} from {}", counted(conversation_.messages().size(), "message"), path));
  for (const Message& message : conversation_.messages()) {
    screen_.text((message.role == "user" ? "> " : "") + message.content, false);
    screen_.end_answer();
  }
}

void Dialogue::copy(const std::string&) {
  const Message* const answer = conversation_.last_answer();
  if (answer == nullptr) return screen_.status("there is no answer to copy");
  if (!screen_.terminal()) return screen_.status("standard output is no terminal; there is no clipboard to copy to");
  const std::string sequence = copy_sequence(answer->content);
  if (sequence.size() > longest_copy) return screen_.status("the answer is too long for a terminal's clipboard; /save writes it to a file");
  screen_.control(sequence);
  screen_.status(fmt::format("copied {} (where the terminal allows it)", counted(answer->content.size(), "byte")));
}

}  // namespace cli::chat
