// Sessions: made, read and continued.
#include <optional>
#include <string>
#include <vector>

#include "api/engine_options.h"
#include "api/guard.h"
#include "api/handles.h"
#include "base/log.h"
#include "skipstone/skipstone_experimental.h"
#include "spec/registry.h"
#include "text/tokenizer.h"

namespace skipstone::api {

template <>
skipstone_session_params defaults<skipstone_session_params>() {
  const sample::SamplerParams defaults;
  skipstone_session_params params{};
  params.temperature = defaults.temperature;
  params.top_k = defaults.top_k;
  params.top_p = defaults.top_p;
  params.min_p = defaults.min_p;
  params.repeat_penalty = defaults.repeat_penalty;
  params.repeat_last = defaults.repeat_last;
  params.seed = defaults.seed;
  params.draft = "asd";
  params.rounds = SKIPSTONE_ROUNDS_AUTOMATIC;
  params.verify = SKIPSTONE_VERIFY_COUPLED;
  return params;
}

template <>
skipstone_session_experiments defaults<skipstone_session_experiments>() {
  return {};
}

}  // namespace skipstone::api

using namespace skipstone;

namespace {

/// The tokens of one generation on their way to the caller's callback.
class Stream {
 public:
  Stream(skipstone_session& session, bool at_text_start, skipstone_chunk_fn chunk, void* user_data)
      : session_(session), chunk_(chunk), user_data_(user_data) {
    if (session.engine->has_tokenizer()) decoder_.emplace(session.engine->tokenizer(), at_text_start);
  }

  /// False where the caller or a cancellation asks to stop.
  bool push(text::Token token, bool drafted) {
    const bool go_on = chunk_ == nullptr || hand_over(decoder_ ? decoder_->push(token) : "", token, drafted);
    return !session_.cancel.exchange(false) && go_on;
  }

  void finish() {
    if (chunk_ == nullptr || !decoder_) return;
    const std::string rest = decoder_->finish();
    if (!rest.empty()) hand_over(rest, -1, false);
  }

 private:
  bool hand_over(const std::string& text, text::Token token, bool drafted) {
    const skipstone_chunk chunk{text.c_str(), text.size(), token, drafted ? 1 : 0, sizeof(skipstone_chunk)};
    return chunk_(&chunk, user_data_) == 0;
  }

  skipstone_session& session_;
  std::optional<text::StreamDecoder> decoder_;  ///< none where the model has no tokenizer
  skipstone_chunk_fn chunk_;
  void* user_data_;
};

engine::SessionOptions options_from(const skipstone_session_params& params) {
  engine::SessionOptions options;
  options.sampling.temperature = params.temperature;
  options.sampling.top_k = params.top_k;
  options.sampling.top_p = params.top_p;
  options.sampling.min_p = params.min_p;
  options.sampling.repeat_penalty = params.repeat_penalty;
  options.sampling.repeat_last = params.repeat_last;
  options.sampling.seed = params.seed;
  options.sampling.check();
  options.draft = params.draft == nullptr ? "none" : params.draft;
  if (params.rounds < SKIPSTONE_ROUNDS_AUTOMATIC || params.rounds > SKIPSTONE_ROUNDS_DEVICE) {
    fail(Code::invalid_argument, "rounds {} is none of skipstone_rounds", params.rounds);
  }
  options.rounds = static_cast<engine::Rounds>(params.rounds);
  if (params.verify < SKIPSTONE_VERIFY_COUPLED || params.verify > SKIPSTONE_VERIFY_REJECTION) {
    fail(Code::invalid_argument, "verify {} is none of skipstone_verification", params.verify);
  }
  options.verification = static_cast<sample::Verification>(params.verify);
  if (params.draft_corpus_count > 0) api::require(params.draft_corpus, "draft_corpus");
  for (size_t i = 0; i < params.draft_corpus_count; ++i) {
    api::require(params.draft_corpus[i], "a file of draft_corpus");
    options.draft_corpus.emplace_back(params.draft_corpus[i]);
  }
  if (params.draft_optional != 0) {
    options.left_out = [](const std::string& why) { log::warning("a drafter is left out: {}", why); };
  }
  const auto experiments = api::adopt(params.experiments);
  if (experiments.synthetic_acceptance_count > 0) {
    api::require(experiments.synthetic_acceptance, "synthetic_acceptance");
    options.synthetic_acceptance.assign(experiments.synthetic_acceptance,
                                        experiments.synthetic_acceptance + experiments.synthetic_acceptance_count);
    engine::check_synthetic(options);
  }
  options.progress = api::progress_from(params.progress, params.user_data, "making a session");
  return options;
}

}  // namespace

extern "C" {

void skipstone_session_experiments_init(skipstone_session_experiments* experiments, size_t struct_size) {
  api::init(experiments, struct_size);
}

void skipstone_session_params_init(skipstone_session_params* params, size_t struct_size) { api::init(params, struct_size); }

skipstone_status skipstone_session_check_params(const skipstone_session_params* given) {
  return api::guard([&] {
    const auto options = options_from(api::adopt(given));
    if (!options.left_out) spec::make_drafter(options.draft);
  });
}

skipstone_status skipstone_session_create(skipstone_engine* engine, const skipstone_session_params* given, skipstone_session** session) {
  return api::guard([&] {
    api::require(engine, "engine");
    api::require(session, "session");
    *session = nullptr;
    const auto options = options_from(api::adopt(given));
    auto handle = std::make_unique<skipstone_session>();
    handle->engine = engine->engine;
    handle->session = std::make_unique<engine::Session>(engine->engine, options);
    *session = handle.release();
  });
}

void skipstone_session_free(skipstone_session* session) { delete session; }

skipstone_status skipstone_session_reset(skipstone_session* session) {
  return api::guard([&] {
    api::require(session, "session");
    const api::Use use(*session);
    session->session->reset();
    session->last = {};
  });
}

skipstone_status skipstone_session_prefill(skipstone_session* session, const skipstone_token* tokens, size_t count) {
  return api::guard([&] {
    api::require(session, "session");
    const api::Use use(*session);
    if (count > 0) api::require(tokens, "tokens");
    session->session->read({tokens, tokens + count});
  });
}

skipstone_status skipstone_session_copy_from(skipstone_session* session, skipstone_session* from) {
  return api::guard([&] {
    api::require(session, "session");
    api::require(from, "from");
    if (session == from) return;
    const api::Use use(*session), use_from(*from);
    session->session->take_over(*from->session);
    session->last = {};
  });
}

skipstone_status skipstone_session_generate(skipstone_session* session, const skipstone_token* tokens, size_t count, uint32_t max_tokens,
                                            skipstone_chunk_fn chunk, void* user_data) {
  return api::guard([&] {
    api::require(session, "session");
    if (count > 0) api::require(tokens, "tokens");
    const api::Use use(*session);
    session->last = {};
    const std::vector<text::Token> prompt(tokens, tokens + count);
    const bool at_text_start =
        session->session->history().empty() && session->engine->has_tokenizer() && session->engine->tokenizer().decode(prompt).empty();
    Stream stream(*session, at_text_start, chunk, user_data);
    session->last = session->session->generate(prompt, max_tokens,
                                               [&](const spec::Emitted& emitted) { return stream.push(emitted.token, emitted.drafted); });
    stream.finish();
  });
}

void skipstone_session_cancel(skipstone_session* session) {
  if (session != nullptr) session->cancel.store(true);
}

const char* skipstone_stop_reason_name(skipstone_stop_reason reason) {
  if (reason < SKIPSTONE_STOP_MAX_TOKENS || reason > SKIPSTONE_STOP_CANCELLED) return "unknown";
  return spec::to_string(static_cast<spec::StopReason>(reason));
}

const skipstone_token* skipstone_session_tokens(const skipstone_session* session, size_t* count) {
  if (count != nullptr) *count = session == nullptr ? 0 : session->last.tokens.size();
  return session == nullptr ? nullptr : session->last.tokens.data();
}

}  // extern "C"
