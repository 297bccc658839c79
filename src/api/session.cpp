// Sessions: generating, and what came out.
#include <optional>
#include <string>
#include <vector>

#include "api/engine_options.h"
#include "api/guard.h"
#include "api/handles.h"
#include "base/log.h"
#include "spec/registry.h"
#include "text/tokenizer.h"

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
    const skipstone_chunk chunk{text.c_str(), text.size(), token, drafted ? 1 : 0};
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
  if (params.synthetic_acceptance_count > 0) {
    api::require(params.synthetic_acceptance, "synthetic_acceptance");
    options.synthetic_acceptance.assign(params.synthetic_acceptance, params.synthetic_acceptance + params.synthetic_acceptance_count);
    engine::check_synthetic(options);
  }
  options.progress = api::progress_from(params.progress, params.user_data, "making a session");
  return options;
}

}  // namespace

extern "C" {

skipstone_session_params skipstone_session_default_params(void) {
  const sample::SamplerParams defaults;
  skipstone_session_params params{};
  params.struct_size = sizeof(params);
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

skipstone_status skipstone_session_check_params(const skipstone_session_params* given) {
  return api::guard([&] {
    const auto options = options_from(api::adopt(given, skipstone_session_default_params()));
    if (!options.left_out) spec::make_drafter(options.draft);
  });
}

skipstone_status skipstone_session_create(skipstone_engine* engine, const skipstone_session_params* given, skipstone_session** session) {
  return api::guard([&] {
    api::require(engine, "engine");
    api::require(session, "session");
    *session = nullptr;
    const auto options = options_from(api::adopt(given, skipstone_session_default_params()));
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
    session->session->reset();
    session->last = {};
  });
}

skipstone_status skipstone_session_read(skipstone_session* session, const skipstone_token* tokens, size_t count) {
  return api::guard([&] {
    api::require(session, "session");
    if (count > 0) api::require(tokens, "tokens");
    session->session->read({tokens, tokens + count});
  });
}

skipstone_status skipstone_session_take_over(skipstone_session* session, skipstone_session* from) {
  return api::guard([&] {
    api::require(session, "session");
    api::require(from, "from");
    session->session->take_over(*from->session);
    session->last = {};
  });
}

skipstone_status skipstone_session_generate(skipstone_session* session, const skipstone_token* tokens, size_t count, uint32_t max_tokens,
                                            skipstone_chunk_fn chunk, void* user_data) {
  return api::guard([&] {
    api::require(session, "session");
    if (count > 0) api::require(tokens, "tokens");
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

skipstone_status skipstone_session_get_stats(const skipstone_session* session, skipstone_stats* stats) {
  return api::guard([&] {
    api::require(session, "session");
    const spec::Stats& from = session->last.stats;
    skipstone_stats filled{};
    filled.stop_reason = static_cast<int32_t>(session->last.stop);
    filled.draft_positions = static_cast<uint32_t>(from.by_position.size());
    filled.prompt_tokens = from.prompt_tokens;
    filled.generated_tokens = from.generated_tokens;
    filled.rounds = from.rounds;
    filled.drafted = from.drafted;
    filled.accepted = from.accepted;
    filled.skipped_sublayers = from.skipped_sublayers;
    filled.sublayers = from.sublayers;
    filled.prompt_seconds = from.prompt_seconds;
    filled.generation_seconds = from.generation_seconds;
    filled.draft_seconds = from.draft_seconds;
    filled.verify_seconds = from.verify_seconds;
    filled.host_seconds = from.host_seconds();
    filled.device_seconds = from.device_seconds;
    filled.round_seconds = from.round_seconds;
    filled.device_rounds = from.device_rounds;
    filled.refreshes = from.refreshes;
    filled.refreshed_sets = from.refreshed_sets;
    filled.refresh_seconds = from.refresh_seconds;
    filled.early_tokens = from.early_exits.tokens;
    filled.early_layers = from.early_exits.layers;
    filled.early_confident = from.early_exits.confident;
    filled.early_guessed = from.early_exits.drafted;
    filled.early_full = from.early_exits.full;
    filled.guesses_rejected = from.early_exits.rejected;
    filled.lossy = from.early_exits.tokens > 0 ? 1 : 0;
    const engine::CorpusFacts& corpus = session->session->corpus();
    filled.corpus_tokens = corpus.tokens;
    filled.corpus_bytes = corpus.bytes;
    filled.corpus_seconds = corpus.seconds;
    filled.drafter_shares = static_cast<uint32_t>(from.by_drafter.size());
    filled.strategies = static_cast<uint32_t>(from.by_strategy.size());
    api::give(filled, stats);
  });
}

skipstone_status skipstone_session_agreement(skipstone_session* session, double* share) {
  return api::guard([&] {
    api::require(session, "session");
    api::require(share, "share");
    if (session->last.tokens.empty()) fail(Code::invalid_argument, "nothing was generated that the model could agree with");
    *share = session->session->agreement(session->last.tokens.size());
  });
}

skipstone_status skipstone_session_draft_position(const skipstone_session* session, uint32_t position, uint64_t* drafted,
                                                  uint64_t* accepted) {
  return api::guard([&] {
    api::require(session, "session");
    const auto& positions = session->last.stats.by_position;
    if (position >= positions.size()) {
      fail(Code::invalid_argument, "there is no draft position {}; the last generation had {}", position, positions.size());
    }
    if (drafted != nullptr) *drafted = positions[position].drafted;
    if (accepted != nullptr) *accepted = positions[position].accepted;
  });
}

skipstone_status skipstone_session_drafter_share(const skipstone_session* session, uint32_t index, skipstone_drafter_share* share) {
  return api::guard([&] {
    api::require(session, "session");
    api::require(share, "share");
    const auto& shares = session->last.stats.by_drafter;
    if (index >= shares.size())
      fail(Code::invalid_argument, "there is no drafter's share {}; the last generation had {}", index, shares.size());
    *share = {shares[index].name.c_str(), shares[index].rounds, shares[index].drafted, shares[index].accepted};
  });
}

skipstone_status skipstone_session_strategy(const skipstone_session* session, uint32_t index, skipstone_strategy* strategy) {
  return api::guard([&] {
    api::require(session, "session");
    api::require(strategy, "strategy");
    const auto& all = session->last.stats.by_strategy;
    if (index >= all.size()) fail(Code::invalid_argument, "there is no strategy {}; the last generation had {}", index, all.size());
    const spec::StrategyCounts& counts = all[index];
    *strategy = {counts.name.c_str(),     counts.rows,           counts.by_rank.data(),
                 counts.by_length.data(), counts.by_rank.size(), counts.by_length.size()};
  });
}

const char* skipstone_session_drafter(const skipstone_session* session) {
  return session == nullptr ? "" : session->last.stats.drafter.c_str();
}

const char* skipstone_session_skip_set(const skipstone_session* session) {
  return session == nullptr ? "" : session->last.stats.plan.c_str();
}

const char* skipstone_session_explanation(const skipstone_session* session) {
  return session == nullptr ? "" : session->last.stats.explanation.c_str();
}

const skipstone_token* skipstone_session_tokens(const skipstone_session* session, size_t* count) {
  if (count != nullptr) *count = session == nullptr ? 0 : session->last.tokens.size();
  return session == nullptr ? nullptr : session->last.tokens.data();
}

const float* skipstone_session_thresholds(const skipstone_session* session, size_t* count) {
  if (count != nullptr) *count = session == nullptr ? 0 : session->last.stats.thresholds.size();
  return session == nullptr ? nullptr : session->last.stats.thresholds.data();
}

const float* skipstone_session_attention_cosine(const skipstone_session* session, size_t* count) {
  if (session == nullptr) {
    if (count != nullptr) *count = 0;
    return nullptr;
  }
  const std::vector<float>& cosine = session->session->attention_cosine();
  if (count != nullptr) *count = cosine.size();
  return cosine.data();
}

}  // extern "C"
