#include "serve/answer.h"

#include <fmt/format.h>

#include <chrono>
#include <random>

#include "serve/answer_forms.h"
#include "serve/anthropic_answer.h"
#include "serve/json_text.h"

namespace cli::serve {

using skipstone::Json;

namespace {

double per_second(std::uint64_t count, double seconds) { return seconds > 0 ? static_cast<double>(count) / seconds : 0.0; }

const char* prefix_of(Form form) {
  return form == Form::chat ? "chatcmpl-" : form == Form::completion ? "cmpl-" : form == Form::responses ? "resp_" : "msg_";
}

}  // namespace

std::string random_id() {
  thread_local std::random_device device;
  return fmt::format("{:08x}{:08x}{:08x}", device(), device(), device());
}

std::string valid_text(const std::string& text) { return Json::parse(json_text(Json(text))).get<std::string>(); }

Json timings_json(const Usage& usage) {
  const std::uint64_t read = usage.prompt_tokens - usage.cached_tokens;
  Json timings = {{"prompt_n", read},
                  {"cache_n", usage.cached_tokens},
                  {"prompt_ms", usage.prompt_seconds * 1e3},
                  {"prompt_per_second", per_second(read, usage.prompt_seconds)},
                  {"predicted_n", usage.completion_tokens},
                  {"predicted_ms", usage.generation_seconds * 1e3},
                  {"predicted_per_second", per_second(usage.completion_tokens, usage.generation_seconds)},
                  {"draft_n", usage.drafted},
                  {"draft_n_accepted", usage.accepted},
                  {"rounds", usage.rounds},
                  {"tokens_per_round", per_second(usage.accepted + usage.rounds, static_cast<double>(usage.rounds))},
                  {"seed", usage.seed}};
  if (usage.plain_seconds.value_or(0) > 0) timings["plain_ms"] = *usage.plain_seconds * 1e3;
  return timings;
}

Answer::Answer(const GenerationRequest& request, std::string model, std::shared_ptr<Exchange> exchange, MemoryShare memory)
    : request_(request),
      model_(std::move(model)),
      id_(prefix_of(request.form) + random_id()),
      created_(std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count()),
      exchange_(std::move(exchange)),
      memory_(std::move(memory)) {}

void Answer::keep(std::size_t bytes) {
  if (!memory_.resize(memory_.bytes() + bytes)) throw ApiError(503, "the memory of this server for answers is used up; ask again later");
}

void Answer::keep(const Piece& piece, const std::vector<TokenLogprobs>& logprobs) {
  // Size in the final document: a token with its bytes is an object of three members and a list.
  constexpr std::size_t logprob_bytes = 700;
  std::size_t bytes = piece.text.size() + piece.id.size();
  if (!stream())
    for (const TokenLogprobs& token : logprobs) bytes += logprob_bytes * (1 + token.top.size());
  keep(bytes);
}

std::string Answer::event_text(const Json& data, const std::string& event) {
  return (event.empty() ? std::string() : "event: " + event + "\n") + "data: " + json_text(data) + "\n\n";
}

void Answer::end_stream(bool done_mark) {
  if (done_mark) exchange_->send("data: [DONE]\n\n");
  exchange_->end();
}

void Answer::respond(const Json& document) { respond_text(json_text(document)); }

void Answer::respond_text(std::string document) { exchange_->respond({200, "application/json", std::move(document), {}}); }

std::unique_ptr<Answer> make_answer(const GenerationRequest& request, const std::string& model, const std::shared_ptr<Exchange>& exchange,
                                    MemoryShare memory) {
  switch (request.form) {
    case Form::chat:
      return std::make_unique<ChatAnswer>(request, model, exchange, std::move(memory));
    case Form::completion:
      return std::make_unique<CompletionAnswer>(request, model, exchange, std::move(memory));
    case Form::messages:
      return std::make_unique<anthropic::MessageAnswer>(request, model, exchange, std::move(memory));
    case Form::responses:
      break;
  }
  return std::make_unique<ResponsesAnswer>(request, model, exchange, std::move(memory));
}

}  // namespace cli::serve
