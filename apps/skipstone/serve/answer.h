// An answer on its way to the client, in the form that it was asked for: whole, or as server-sent events while it is made.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "json/json_fwd.h"
#include "serve/api_error.h"
#include "serve/generation_request.h"
#include "serve/http_server.h"

namespace cli::serve {

/// A part of an answer.
struct Piece {
  enum class Kind { text, reasoning, call_begin, call_arguments, call_end };
  Kind kind = Kind::text;
  std::string text;     ///< call_begin: the tool's name
  std::string id;       ///< of a call, at its beginning
  std::string drafter;  ///< whose accepted draft it came from; "": the model's own token
};

struct TokenLogprobs {
  std::string token;  ///< its bytes
  float logprob = 0;
  std::vector<TokenLogprobs> top;
};

/// What an answer took.
struct Usage {
  std::uint64_t prompt_tokens = 0, found_tokens = 0, completion_tokens = 0, reasoning_tokens = 0;
  std::uint64_t rounds = 0, drafted = 0, accepted = 0;
  double prompt_seconds = 0, generation_seconds = 0;
  std::uint64_t seed = 0;
};

/// llama.cpp's names, and tokens_per_round.
skipstone::Json timings_json(const Usage& usage);

/// Used by the thread that generates.
class Answer {
 public:
  /// `memory`: what is kept of the answer until its end is charged there.
  Answer(const GenerationRequest& request, std::string model, std::shared_ptr<Exchange> exchange, MemoryShare memory);
  virtual ~Answer() = default;
  Answer(const Answer&) = delete;
  Answer& operator=(const Answer&) = delete;

  /// `logprobs`: of the tokens since the last piece of the choice, where they were asked for.
  virtual void add(std::uint32_t choice, const Piece& piece, const std::vector<TokenLogprobs>& logprobs) = 0;
  /// `reason`: "stop", "length", "tool_calls".
  virtual void end_choice(std::uint32_t choice, const std::string& reason, const std::vector<TokenLogprobs>& logprobs) = 0;
  /// All choices have ended.
  virtual void finish(const Usage& usage) = 0;
  /// Something went wrong: as an error's status where nothing was sent, as the stream's last event else.
  void fail(const ApiError& error);

 protected:
  bool stream() const { return request_.stream; }
  /// Charges what an answer keeps of a piece; throws ApiError (503) where there is no memory for it.
  void keep(const Piece& piece, const std::vector<TokenLogprobs>& logprobs);
  void keep(std::size_t bytes);
  /// `event`: the event's name, "" for none.
  static std::string event_text(const skipstone::Json& data, const std::string& event = {});
  void send_events(std::string text);
  void send_event(const skipstone::Json& data, const std::string& event = {}) { send_events(event_text(data, event)); }
  void end_stream(bool done_mark);
  void respond(const skipstone::Json& document);

  const GenerationRequest& request_;
  const std::string model_, id_;
  const std::int64_t created_;

 private:
  std::shared_ptr<Exchange> exchange_;
  MemoryShare memory_;
  bool begun_ = false;
};

std::unique_ptr<Answer> make_answer(const GenerationRequest& request, const std::string& model, const std::shared_ptr<Exchange>& exchange,
                                    MemoryShare memory);

/// A text that is UTF-8, whatever came.
std::string valid_text(const std::string& text);
/// 24 hexadecimal digits of nobody's choosing.
std::string random_id();

}  // namespace cli::serve
