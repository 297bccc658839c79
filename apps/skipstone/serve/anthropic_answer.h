// Answers in the form of Anthropic's Messages API.
#pragma once

#include <string>
#include <vector>

#include "serve/answer.h"

namespace cli::serve::anthropic {

class MessageAnswer : public Answer {
 public:
  using Answer::Answer;
  void set_prompt_tokens(std::uint64_t tokens) override { prompt_tokens_ = tokens; }
  void add(std::uint32_t choice, const Piece& piece, const std::vector<TokenLogprobs>& logprobs) override;
  void end_choice(std::uint32_t choice, const std::string& reason, const std::vector<TokenLogprobs>& logprobs) override;
  void finish(const Usage& usage) override;

 private:
  /// Of a stream only the last block is kept, without its text.
  struct Block {
    std::string type;  ///< "text", "thinking", "tool_use"; "" once it has ended
    std::string text;  ///< tool_use: the input, as JSON
    std::string id, name;
  };
  void begin();
  void event(const std::string& name, const skipstone::Json& data);
  void open(Block block);
  void close();
  void write(const std::string& text, const std::string& drafter);
  skipstone::Json message(const skipstone::Json& usage) const;
  std::string content_json() const;

  std::vector<Block> blocks_;
  std::size_t opened_ = 0;   ///< blocks of the answer
  std::string white_space_;  ///< text that is no block yet, as blocks of white space alone are none
  std::string reason_;
  std::uint64_t prompt_tokens_ = 0;
  bool begun_ = false;
};

/// Turns an error in the form of OpenAI's API into one of Anthropic's, {"type": "error", "error": {"type", "message"}}; other replies stay
/// as they are.
HttpReply with_error_form(HttpReply reply);

}  // namespace cli::serve::anthropic
