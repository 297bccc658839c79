// The three forms of OpenAI's API that an answer may have.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "json/json.h"
#include "serve/answer.h"

namespace cli::serve {

/// What chat completions and completions have in common: streams of chunks with one choice each.
class ChunkedAnswer : public Answer {
 protected:
  using Answer::Answer;
  /// Sends the chunk that ends a choice. That of the last choice waits for the timings, which it has with it.
  void send_end(skipstone::Json chunk);
  /// `usage_chunk`: without choices, for clients that ask for usage; others expect a choice in every chunk.
  void finish_stream(skipstone::Json usage_chunk, const Usage& usage);

 private:
  std::uint32_t ended_ = 0;     ///< choices
  skipstone::Json last_chunk_;  ///< null until all choices have ended
};

class ChatAnswer : public ChunkedAnswer {
 public:
  using ChunkedAnswer::ChunkedAnswer;
  void add(std::uint32_t choice, const Piece& piece, const std::vector<TokenLogprobs>& logprobs) override;
  void end_choice(std::uint32_t choice, const std::string& reason, const std::vector<TokenLogprobs>& logprobs) override;
  void finish(const Usage& usage) override;

 private:
  struct Call {
    std::string id, name, arguments;
  };
  struct Choice {
    std::string text, reasoning, reason, drafter;
    std::vector<Call> calls;
    std::vector<TokenLogprobs> logprobs;
    bool begun = false;
  };
  Choice& choice_at(std::uint32_t choice);
  skipstone::Json chunk(std::uint32_t choice, skipstone::Json delta, const std::vector<TokenLogprobs>& logprobs,
                        const std::string& reason) const;
  skipstone::Json choice_json(std::uint32_t index) const;
  std::vector<Choice> choices_;
};

class CompletionAnswer : public ChunkedAnswer {
 public:
  using ChunkedAnswer::ChunkedAnswer;
  void add(std::uint32_t choice, const Piece& piece, const std::vector<TokenLogprobs>& logprobs) override;
  void end_choice(std::uint32_t choice, const std::string& reason, const std::vector<TokenLogprobs>& logprobs) override;
  void finish(const Usage& usage) override;

 private:
  struct Choice {
    std::string text, reason;
    std::vector<TokenLogprobs> logprobs;
    std::vector<std::size_t> offsets;  ///< of these tokens in the text, in characters
    std::size_t offset = 0;            ///< of the next token whose log-probability is given
    bool echoed = false;
  };
  Choice& choice_at(std::uint32_t choice);
  skipstone::Json document(skipstone::Json choices) const;
  std::vector<Choice> choices_;
};

class ResponsesAnswer : public Answer {
 public:
  using Answer::Answer;
  void add(std::uint32_t choice, const Piece& piece, const std::vector<TokenLogprobs>& logprobs) override;
  void end_choice(std::uint32_t choice, const std::string& reason, const std::vector<TokenLogprobs>& logprobs) override;
  void finish(const Usage& usage) override;

 private:
  struct Item {
    std::string type, id, call_id, name, text;
    bool done = false, cut = false;
  };
  void begin();
  std::string numbered(const std::string& name, skipstone::Json data);
  void event(const std::string& name, skipstone::Json data);
  Item& item_of(const std::string& type, const Piece& piece);
  void close_item();
  skipstone::Json item_json(const Item& item) const;
  skipstone::Json document(const std::string& status, const Usage* usage) const;
  std::vector<Item> items_;
  std::string reason_;
  std::uint64_t events_ = 0;
  bool begun_ = false;
};

}  // namespace cli::serve
