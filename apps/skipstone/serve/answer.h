// An answer to the client in the requested form: at its end, or as server-sent events during generation.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "json/json_fwd.h"
#include "serve/api_error.h"
#include "serve/generation_request.h"
#include "serve/http/server.h"

namespace cli::serve {

/// A part of an answer.
struct Piece {
  enum class Kind { text, reasoning, call_begin, call_arguments, call_end };
  Kind kind = Kind::text;
  std::string text;     ///< call_begin: the tool's name
  std::string id;       ///< call_begin: the call's id
  std::string drafter;  ///< the drafter of an accepted draft; "": the model's own token
};

struct TokenLogprobs {
  std::string token;  ///< its bytes
  float logprob = 0;  ///< NaN: of a prompt's first token, which has none
  std::vector<TokenLogprobs> top;
};

/// The token counts and times of an answer.
struct Usage {
  std::uint64_t prompt_tokens = 0, cached_tokens = 0, completion_tokens = 0, reasoning_tokens = 0;
  std::uint64_t rounds = 0, drafted = 0, accepted = 0;
  double prompt_seconds = 0, generation_seconds = 0;
  /// That plain decoding would have taken instead of generation_seconds (RunStatistics); nothing where a choice does not know.
  std::optional<double> plain_seconds = 0.0;
  std::uint64_t seed = 0;
  std::string stop_text;  ///< of the request, if it ended the answer
};

/// llama.cpp's names, tokens_per_round, seed, and plain_ms where it is known.
skipstone::Json timings_json(const Usage& usage);

/// Used by the thread that generates. A stream's header is sent with its first event: what fails before has a status of its own.
class Answer {
 public:
  /// `exchange`: of a stream, an EventStream. `memory` is charged for the parts of the answer that are kept until its end.
  Answer(const GenerationRequest& request, std::string model, std::shared_ptr<Exchange> exchange, MemoryShare memory);
  virtual ~Answer() = default;
  Answer(const Answer&) = delete;
  Answer& operator=(const Answer&) = delete;

  /// Called before the prompt is read.
  virtual void set_prompt_tokens(std::uint64_t) {}
  /// `logprobs`: of the tokens since the last piece of the choice, if requested.
  virtual void add(std::uint32_t choice, const Piece& piece, const std::vector<TokenLogprobs>& logprobs) = 0;
  /// `reason`: "stop", "length", "tool_calls".
  virtual void end_choice(std::uint32_t choice, const std::string& reason, const std::vector<TokenLogprobs>& logprobs) = 0;
  /// Called when all choices have ended.
  virtual void finish(const Usage& usage) = 0;

 protected:
  bool stream() const { return request_.stream; }
  /// Charges the memory that an answer keeps of a piece; throws ApiError (503) if there is none left.
  void keep(const Piece& piece, const std::vector<TokenLogprobs>& logprobs);
  void keep(std::size_t bytes);
  /// `event`: the event's name, "" for none.
  static std::string event_text(const skipstone::Json& data, const std::string& event = {});
  void send_events(std::string text) { exchange_->send(std::move(text)); }
  void send_event(const skipstone::Json& data, const std::string& event = {}) { send_events(event_text(data, event)); }
  void end_stream(bool done_mark);
  void respond(const skipstone::Json& document);
  void respond_text(std::string document);

  const GenerationRequest& request_;
  const std::string model_, id_;
  const std::int64_t created_;

 private:
  std::shared_ptr<Exchange> exchange_;
  MemoryShare memory_;
};

std::unique_ptr<Answer> make_answer(const GenerationRequest& request, const std::string& model, const std::shared_ptr<Exchange>& exchange,
                                    MemoryShare memory);

/// Makes any text valid UTF-8.
std::string valid_text(const std::string& text);
/// 24 random hexadecimal digits.
std::string random_id();

}  // namespace cli::serve
