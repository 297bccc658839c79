// Who answers in tests of the dialogue.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "chat/dialogue.h"
#include "skipstone/skipstone.hpp"
#include "terminal/interrupt.h"

namespace cli::chat {

/// Says the last message back, in capitals; messages of the test's own say what else is to happen.
class Echo : public Answerer {
 public:
  Turn answer(const Conversation& conversation, const std::function<bool(const Piece&)>& on_piece) override {
    const std::string& said = conversation.messages().back().content;
    if (said == "fail") throw skipstone::error(SKIPSTONE_INVALID_ARGUMENT, "the template raises: no");
    Turn turn{.tokens = 4, .read_tokens = 7, .rounds = 2, .seconds = 0.5, .drafter = drafter_};
    if (said == "think") on_piece({.kind = Piece::Kind::reasoning, .text = "Hm."});
    if (said == "call") {
      on_piece({.kind = Piece::Kind::call_begin, .text = "ping", .id = "c1"});
      on_piece({.kind = Piece::Kind::call_arguments, .text = "{}"});
      on_piece({.kind = Piece::Kind::call_end});
      return turn;
    }
    std::string answer = conversation.system() + "<" + said + ">";
    for (char& c : answer) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 32 : c);
    on_piece({.kind = Piece::Kind::text, .text = answer});
    on_piece({.kind = Piece::Kind::text, .text = " " + std::to_string(seed_), .drafted = true});
    for (int i = 0; said == "long" && i < 2000; ++i) {
      if (interrupt::requested()) {
        turn.interrupted = true;
        break;
      }
      on_piece({.kind = Piece::Kind::text, .text = "."});
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return turn;
  }

  std::size_t count(const Conversation& conversation) override {
    std::size_t bytes = 0;
    for (const Message& message : conversation.messages()) bytes += message.content.size() + 1;
    return bytes;
  }
  std::size_t context() const override { return context_; }
  std::size_t trained_context() const override { return trained_context_; }
  std::string model_name() const override { return "echo"; }
  std::string drafter() const override { return drafter_; }
  void set_drafter(const std::string& specification) override {
    if (specification == "bad") throw skipstone::error(SKIPSTONE_INVALID_ARGUMENT, "there is no drafter 'bad'");
    drafter_ = specification;
  }
  bool reseed() override { return ++seed_ > 0; }
  std::string statistics() const override { return "rounds 2\n"; }

  std::size_t context_ = 1000, trained_context_ = 0;

 private:
  std::string drafter_ = "asd";
  int seed_ = 0;
};

}  // namespace cli::chat
