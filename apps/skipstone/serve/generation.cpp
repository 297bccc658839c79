#include "serve/generation.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>
#include <random>
#include <utility>

#include "chat/conversation_prompt.h"
#include "options/sampling.h"
#include "results/statistics.h"
#include "serve/json_text.h"

namespace cli::serve {

using skipstone::Json;
using skipstone::SortedJson;

namespace {

/// Whether the library refuses what it was given.
bool is_refusal(const skipstone::error& error) {
  return error.status() == SKIPSTONE_INVALID_ARGUMENT || error.status() == SKIPSTONE_UNSUPPORTED;
}

/// Runs `work` and turns the library's refusal into a client's error: ApiError (400) about `field`. Other exceptions pass through.
template <typename Work>
auto about(const char* field, const Work& work) {
  try {
    return work();
  } catch (const skipstone::error& error) {
    if (!is_refusal(error)) throw;
    throw ApiError(400, error.what(), field);
  }
}

const char* field_of(Form form) { return form == Form::completion ? "prompt" : form == Form::responses ? "input" : "messages"; }

/// The ids of the calls in a conversation.
SortedJson call_ids(const std::string& messages) {
  SortedJson ids = SortedJson::array();
  if (messages.find("\"tool_calls\"") == std::string::npos) return ids;
  for (const SortedJson& message : SortedJson::parse(messages)) {
    const auto calls = message.is_object() ? message.find("tool_calls") : message.end();
    if (!message.is_object() || calls == message.end() || !calls->is_array()) continue;
    for (const SortedJson& call : *calls) {
      const auto id = call.is_object() ? call.find("id") : call.end();
      if (call.is_object() && id != call.end() && id->is_string()) ids.push_back(id->get<std::string>());
    }
  }
  return ids;
}

/// Ids that are made up with it are in no other conversation, whatever its seed.
std::uint64_t random_seed() {
  thread_local std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

TokenLogprobs token_logprobs(const Model& model, const skipstone_chunk& chunk) {
  TokenLogprobs own{model.engine.piece(chunk.token), chunk.logprob, {}};
  for (std::size_t i = 0; i < chunk.top_count; ++i) own.top.push_back({model.engine.piece(chunk.top[i].token), chunk.top[i].logprob, {}});
  return own;
}

/// The prompt in front of a completion.
struct Echo {
  std::string text;
  std::vector<TokenLogprobs> logprobs;
};

/// One choice of an answer.
class Choice {
 public:
  /// `answering`: of the answer, which the request's choices share.
  Choice(const Model& model, const GenerationRequest& request, std::uint32_t index, Answer& answer, std::mutex& answering, Metrics& metrics)
      : model_(model), request_(request), index_(index), answer_(answer), answering_(answering), metrics_(metrics) {}

  /// Called once when the prompt has been read.
  std::function<void()> on_prompt_read;
  SortedJson used_ids;                   ///< of the calls in the conversation
  skipstone_grammar* grammar = nullptr;  ///< what the answer fits
  const Echo* echo = nullptr;            ///< until it is given, with the first token: an error before that has a status of its own
  void run(const std::vector<skipstone_token>& tokens, const std::string& prompt_end, std::uint64_t seed, Cancellation& cancellation,
           Usage& usage);
  /// Gives the echo, unless it was given.
  void begin();

 private:
  skipstone_session_params params(std::size_t prompt_tokens, std::uint64_t seed, Cancellation& cancellation) const;
  bool take(const skipstone_chunk& chunk);
  bool take_event(const skipstone_chat_event& event);
  void add(Piece piece);
  std::string reason(const skipstone_stats& stats) const;

  const Model& model_;
  const GenerationRequest& request_;
  const std::uint32_t index_;
  Answer& answer_;
  std::mutex& answering_;
  Metrics& metrics_;
  std::optional<skipstone::ChatParser> parser_;
  std::vector<TokenLogprobs> logprobs_;  ///< since the last piece
  std::string drafter_;
  bool ended_ = false, called_ = false, in_reasoning_ = false;
  bool stopped_ = false;  ///< a stop text has ended the answer,
  bool cut_ = false;      ///< in the middle of a call
  std::uint64_t reasoning_tokens_ = 0;
};

skipstone_session_params Choice::params(std::size_t prompt_tokens, std::uint64_t seed, Cancellation& cancellation) const {
  skipstone_session_params params = skipstone::session_params();
  for (const SamplingField& field : sampling_fields) copy_value(field, request_.sampling, params);
  params.penalty_begin = static_cast<std::int64_t>(prompt_tokens);
  params.logit_bias = request_.logit_bias.data();
  params.logit_bias_count = request_.logit_bias.size();
  params.seed = seed;
  params.draft = request_.draft.c_str();
  params.grammar = grammar;
  params.logprobs = request_.logprobs ? 1 : 0;
  params.top_logprobs = request_.top_logprobs;
  params.progress = [](const char*, double, void* data) { return static_cast<const Cancellation*>(data)->cancelled() ? 1 : 0; };
  params.user_data = &cancellation;
  return params;
}

void Choice::add(Piece piece) {
  piece.drafter = drafter_;
  const std::lock_guard lock(answering_);
  answer_.add(index_, piece, std::exchange(logprobs_, {}));
}

void Choice::begin() {
  const Echo* const given = std::exchange(echo, nullptr);
  if (given == nullptr) return;
  const std::lock_guard lock(answering_);
  answer_.add(index_, {Piece::Kind::text, given->text, "", ""}, given->logprobs);
}

bool Choice::take_event(const skipstone_chat_event& event) {
  const std::string text(event.text, event.bytes);
  switch (event.kind) {
    case SKIPSTONE_CHAT_TEXT:
      in_reasoning_ = false;
      cut_ = cut_ || (stopped_ && *event.note != '\0');
      add({Piece::Kind::text, text, "", ""});
      break;
    case SKIPSTONE_CHAT_REASONING:
      in_reasoning_ = true;
      add({Piece::Kind::reasoning, text, "", ""});
      break;
    case SKIPSTONE_CHAT_TOOL_CALL_BEGIN:
      in_reasoning_ = false;
      called_ = true;
      add({Piece::Kind::call_begin, event.name, event.id, ""});
      break;
    case SKIPSTONE_CHAT_TOOL_CALL_ARGUMENTS:
      add({Piece::Kind::call_arguments, text, "", ""});
      break;
    case SKIPSTONE_CHAT_TOOL_CALL_END:
      add({Piece::Kind::call_end, "", "", ""});
      break;
    default:
      break;
  }
  return true;
}

bool Choice::take(const skipstone_chunk& chunk) {
  begin();
  drafter_ = chunk.drafter == nullptr ? "" : chunk.drafter;
  const bool end =
      parser_ && chunk.token >= 0 && chunk.bytes == 0 && std::ranges::find(model_.end_tokens, chunk.token) != model_.end_tokens.end();
  if (chunk.token >= 0) {
    metrics_.token();
    if (const auto read = std::exchange(on_prompt_read, {})) read();
    if (in_reasoning_) ++reasoning_tokens_;
    if (request_.logprobs && !end) {
      logprobs_.push_back(token_logprobs(model_, chunk));
    }
  }
  const std::string_view text(chunk.text, chunk.bytes);
  if (!parser_) {
    if (!text.empty()) add({Piece::Kind::text, std::string(text), "", ""});
    return true;
  }
  const skipstone::OnChatEvent on_event = [this](const skipstone_chat_event& event) { return take_event(event); };
  if (!text.empty()) {
    parser_->push(text, on_event);
  } else if (chunk.token >= 0 && model_.engine.piece(chunk.token).empty()) {
    parser_->push(chunk.token, on_event);  // a format marker without text
  }
  stopped_ = !parser_->stop_text().empty();
  ended_ = ended_ || end || stopped_;
  return !ended_;
}

/// "length" for all that is not whole, whether or not there are calls in front of it.
std::string Choice::reason(const skipstone_stats& stats) const {
  const bool stopped = ended_ || stats.stop_reason == SKIPSTONE_STOP_END_TOKEN || stats.stop_reason == SKIPSTONE_STOP_STRING;
  if (!stopped || cut_) return "length";
  return called_ ? "tool_calls" : "stop";
}

void Choice::run(const std::vector<skipstone_token>& tokens, const std::string& prompt_end, std::uint64_t seed, Cancellation& cancellation,
                 Usage& usage) {
  skipstone::Session session = about("draft", [&] { return skipstone::Session(model_.engine, params(tokens.size(), seed, cancellation)); });
  std::vector<std::string> stop = request_.stop;
  if (request_.form != Form::completion) {
    // Calls are given when they are whole: a client could not take back a part of one that ends badly.
    SortedJson options = {{"prompt", prompt_end},
                          {"tool_calls", request_.parse_tool_calls},
                          {"id_seed", random_seed()},
                          {"used_ids", used_ids},
                          {"stop", std::exchange(stop, model_.stop_strings)}};
    if (!request_.tools.empty()) options["tools"] = SortedJson::parse(request_.tools);
    parser_.emplace(model_.chat, json_text(options));
  }
  session.set_stop(stop);
  const Cancellation::Scope scope(cancellation, session);
  const auto room = static_cast<std::uint32_t>(model_.context - tokens.size());
  const skipstone_stats stats = session.generate(tokens, std::min(request_.max_tokens.value_or(room), room),
                                                 [&](const skipstone_chunk& chunk) { return take(chunk) && !cancellation.cancelled(); });
  begin();
  if (parser_) parser_->finish([this](const skipstone_chat_event& event) { return take_event(event); });
  const std::lock_guard lock(answering_);
  answer_.end_choice(index_, reason(stats), std::exchange(logprobs_, {}));
  if (parser_) usage.stop_text = parser_->stop_text();
  const RunStatistics statistics = read_statistics(session);
  usage.cached_tokens += statistics.cached_tokens;
  usage.completion_tokens += statistics.generated_tokens;
  usage.reasoning_tokens += reasoning_tokens_;
  usage.rounds += statistics.rounds;
  usage.drafted += statistics.drafted;
  usage.accepted += statistics.accepted;
  usage.prompt_seconds += statistics.prompt_seconds;
  usage.generation_seconds += statistics.generation_seconds;
  usage.plain_seconds =
      statistics.plain_seconds > 0 && usage.plain_seconds ? std::optional(*usage.plain_seconds + statistics.plain_seconds) : std::nullopt;
  metrics_.generated(statistics);
}

std::vector<skipstone_token> tokens_of(const Model& model, const GenerationRequest& request, const Cancellation& cancellation,
                                       std::string& prompt_end) {
  const auto keep_going = [&cancellation] { return !cancellation.cancelled(); };
  if (request.form == Form::completion) {
    if (request.prompt_tokens.empty())
      return about("prompt", [&] { return model.engine.tokenize(request.prompt, true, true, keep_going); });
    for (const skipstone_token token : request.prompt_tokens) {
      if (static_cast<std::uint32_t>(token) >= model.vocabulary)
        refuse("prompt", "token {} is outside the vocabulary of {}", token, model.vocabulary);
    }
    return request.prompt_tokens;
  }
  chat::Prompt prompt = chat::read_prompt(show_conversation(model, request, keep_going));
  prompt_end = std::move(prompt.end);
  return std::move(prompt.tokens);
}

/// The log-probabilities of a text's tokens, each after those before it. The first one has none.
std::vector<TokenLogprobs> logprobs_of(const Model& model, const std::vector<skipstone_token>& tokens, std::uint32_t top,
                                       Cancellation& cancellation) {
  skipstone_session_params params = skipstone::session_params();
  params.draft = "none";
  params.logprobs = 1;
  params.top_logprobs = top;
  skipstone::Session session(model.engine, params);
  const Cancellation::Scope scope(cancellation, session);
  std::vector<TokenLogprobs> all{{model.engine.piece(tokens.front()), std::numeric_limits<float>::quiet_NaN(), {}}};
  session.score(tokens, [&](const skipstone_chunk& chunk) {
    all.push_back(token_logprobs(model, chunk));
    return !cancellation.cancelled();
  });
  return all;
}

}  // namespace

Model::Model(skipstone::Engine loaded, const std::string& chat_template, const std::string& alias)
    : engine(std::move(loaded)), chat(engine, chat_template), end_tokens(chat.end_tokens()), stop_strings(chat.stop_strings()) {
  const skipstone_engine_info info = engine.info();
  name = alias.empty() ? info.model_name : alias;
  known_as = {name, info.model_name};
  context = info.context;
  vocabulary = info.vocabulary;
  for (std::uint32_t token = 0; token < vocabulary; ++token)
    longest_piece = std::max(longest_piece, engine.piece(static_cast<skipstone_token>(token)).size());
}

std::string show_conversation(const Model& model, const GenerationRequest& request, const std::function<bool()>& keep_going) {
  try {
    return model.chat.show(request.messages, request.tools, request.template_options, keep_going);
  } catch (const skipstone::error& error) {
    if (!is_refusal(error)) throw;
    const std::string given = skipstone_last_error_where(), field = field_of(request.form);
    if (given.empty()) throw ApiError(400, error.what(), field);
    const std::string place = request.places.in_request(given, field);
    std::string sentence = error.what();
    if (const std::size_t at = sentence.find(given); at != std::string::npos) sentence.replace(at, given.size(), place);
    throw ApiError(400, sentence, place.substr(0, place.find_first_of(".[")));
  }
}

void check_length(const Model& model, const GenerationRequest& request) {
  constexpr std::size_t escape_bytes = 6;  // of JSON for one byte at most
  const std::size_t conversation = request.messages.size() + request.tools_bytes + request.template_options.size();
  const std::size_t bytes = request.form == Form::completion ? request.prompt.size() : conversation / escape_bytes;
  const char* field = request.form == Form::completion                ? "prompt"
                      : request.tools_bytes > request.messages.size() ? "tools"
                                                                      : field_of(request.form);
  if (bytes <= model.context * model.longest_piece) return;
  throw ApiError(
      400, fmt::format("the text has {} bytes, which is more than the context of this server, {} tokens, can hold", bytes, model.context),
      field, "context_length_exceeded");
}

Usage generate(const Model& model, const GenerationRequest& request, std::uint64_t seed, Cancellation& cancellation, Answer& answer,
               Metrics& metrics, const OfferJob& offer) {
  std::string prompt_end;
  const std::vector<skipstone_token> tokens = tokens_of(model, request, cancellation, prompt_end);
  for (const skipstone_token_bias& bias : request.logit_bias) {
    if (static_cast<std::uint32_t>(bias.token) >= model.vocabulary)
      refuse("logit_bias", "token {} is outside the vocabulary of {}", bias.token, model.vocabulary);
  }
  const char* field = field_of(request.form);
  if (tokens.empty()) throw ApiError(400, "the prompt is empty; give at least one character of text", field);
  if (tokens.size() >= model.context) {
    throw ApiError(
        400,
        fmt::format("the prompt has {} tokens, but the context of this server is {} tokens, answer and all", tokens.size(), model.context),
        field, "context_length_exceeded");
  }
  Usage usage;
  usage.prompt_tokens = tokens.size();
  usage.seed = seed;
  answer.set_prompt_tokens(usage.prompt_tokens);
  Echo echo;
  if (request.echo) echo.text = request.prompt.empty() ? model.engine.detokenize(tokens) : request.prompt;
  if (request.echo && request.logprobs) {
    echo.logprobs = logprobs_of(model, tokens, request.top_logprobs, cancellation);
    // SentencePiece puts a space before a text.
    const auto first = std::ranges::find_if(echo.logprobs, [](const TokenLogprobs& token) { return !token.token.empty(); });
    if (first != echo.logprobs.end() && first->token.starts_with(' ') && !echo.text.starts_with(' ')) first->token.erase(0, 1);
  }
  const SortedJson used_ids = call_ids(request.messages);
  std::optional<skipstone::Grammar> grammar;
  if (request.format) {
    if (request.parse_tool_calls)
      throw ApiError(400, "an answer that has to fit a format cannot call tools; leave one of both out", "tools");
    const bool chat = request.form != Form::completion;
    const skipstone::Grammar text = make_grammar(*request.format);
    grammar = chat ? text.answers_of(model.chat, prompt_end) : text;
  }
  std::mutex answering;
  Choices choices(request.n, cancellation, offer, [&](std::uint32_t i, const std::function<void()>& on_prompt_read) {
    Choice choice(model, request, i, answer, answering, metrics);
    choice.on_prompt_read = on_prompt_read;
    choice.used_ids = used_ids;
    if (grammar) choice.grammar = grammar->get();
    if (request.echo) choice.echo = &echo;
    try {
      choice.run(tokens, prompt_end, seed + i, cancellation, usage);
    } catch (const skipstone::error& error) {
      if (i == 0 || error.status() != SKIPSTONE_CANCELLED) throw;
      choice.begin();
      const std::lock_guard lock(answering);
      answer.end_choice(i, "length", {});
    }
  });
  choices.run();
  usage.cached_tokens = std::min(usage.cached_tokens, usage.prompt_tokens);
  return usage;
}

}  // namespace cli::serve
