// Sessions: made, read and continued.
#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/engine_options.h"
#include "api/guard.h"
#include "api/handles.h"
#include "base/log.h"
#include "base/poll.h"
#include "engine/engine_state.h"
#include "skipstone/skipstone_experimental.h"
#include "speculation/registry.h"
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
  params.frequency_penalty = defaults.frequency_penalty;
  params.presence_penalty = defaults.presence_penalty;
  params.draft = "auto";
  params.rounds = SKIPSTONE_ROUNDS_AUTOMATIC;
  params.pipeline_drafts = -1;
  params.penalty_begin = -1;
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

std::vector<sample::TokenBias> biases_from(const skipstone_session_params& params) {
  constexpr std::size_t most_biases = 1024;
  api::require_array(params.logit_bias, params.logit_bias_count, most_biases, "biases of logit_bias");
  std::vector<sample::TokenBias> biases;
  for (size_t i = 0; i < params.logit_bias_count; ++i) biases.push_back({params.logit_bias[i].token, params.logit_bias[i].bias});
  std::ranges::sort(biases, {}, &sample::TokenBias::token);
  const auto twice = std::ranges::adjacent_find(biases, {}, &sample::TokenBias::token);
  if (twice != biases.end()) fail_about("logit_bias", Code::invalid_argument, "logit_bias has token {} twice", twice->token);
  return biases;
}

engine::SessionOptions options_from(const skipstone_session_params& params) {
  engine::SessionOptions options;
  options.sampling.temperature = params.temperature;
  options.sampling.top_k = params.top_k;
  options.sampling.top_p = params.top_p;
  options.sampling.min_p = params.min_p;
  options.sampling.repeat_penalty = params.repeat_penalty;
  options.sampling.repeat_last = params.repeat_last;
  options.sampling.seed = params.seed;
  options.sampling.frequency_penalty = params.frequency_penalty;
  options.sampling.presence_penalty = params.presence_penalty;
  if (params.penalty_begin < -1)
    fail_about("penalty_begin", Code::invalid_argument, "penalty_begin is {}, but has to be -1 or a position of the conversation",
               params.penalty_begin);
  if (params.penalty_begin >= 0) options.sampling.penalty_begin = static_cast<std::uint64_t>(params.penalty_begin);
  options.sampling.logit_bias = biases_from(params);
  constexpr std::uint32_t most_logprobs = 20;
  if (params.top_logprobs > most_logprobs) {
    fail_about("top_logprobs", Code::invalid_argument, "log-probabilities of {} tokens are too many; {} are possible", params.top_logprobs,
               most_logprobs);
  }
  if (params.logprobs != 0) options.sampling.top_logprobs = static_cast<int>(params.top_logprobs);
  if (params.sampler != nullptr) {
    if (params.verify == SKIPSTONE_VERIFY_REJECTION) {
      fail(Code::invalid_argument,
           "a sampler of the caller's and verification by rejection do not go together; it would need distributions");
    }
    options.sampling.rule = [sampler = params.sampler, data = params.sampler_data](std::span<const float> logits,
                                                                                   std::span<const text::Token> text) {
      return sampler(logits.data(), logits.size(), text.data(), text.size(), data);
    };
  }
  options.sampling.check();
  const std::string_view draft = params.draft == nullptr ? "none" : params.draft;
  speculation::members_of(draft);  // refuses what is too long before anything is done with it
  options.draft = draft;
  if (params.rounds < SKIPSTONE_ROUNDS_AUTOMATIC || params.rounds > SKIPSTONE_ROUNDS_DEVICE) {
    fail_about("rounds", Code::invalid_argument, "rounds {} is none of skipstone_rounds", params.rounds);
  }
  options.rounds = static_cast<engine::Rounds>(params.rounds);
  if (params.pipeline_drafts < -1 || params.pipeline_drafts > 1)
    fail_about("pipeline_drafts", Code::invalid_argument, "pipeline_drafts is {}, but has to be -1, 0 or 1", params.pipeline_drafts);
  if (params.pipeline_drafts >= 0) options.pipeline_drafts = params.pipeline_drafts != 0;
  if (params.verify < SKIPSTONE_VERIFY_COUPLED || params.verify > SKIPSTONE_VERIFY_REJECTION) {
    fail_about("verify", Code::invalid_argument, "verify {} is none of skipstone_verification", params.verify);
  }
  options.verification = static_cast<sample::Verification>(params.verify);
  api::require_array(params.draft_corpus, params.draft_corpus_count, api::most_files, "files of draft_corpus");
  for (size_t i = 0; i < params.draft_corpus_count; ++i) {
    api::require(params.draft_corpus[i], "a file of draft_corpus");
    options.draft_corpus.emplace_back(params.draft_corpus[i]);
  }
  if (params.draft_optional != 0) {
    options.left_out = [](const std::string& why) { log::warning("a drafter is left out: {}", why); };
  }
  const auto experiments = api::read_params(params.experiments);
  if (experiments.synthetic_acceptance_count > 0) {
    api::require_array(experiments.synthetic_acceptance, experiments.synthetic_acceptance_count, speculation::most_drafts,
                       "probabilities of synthetic_acceptance");
    options.synthetic_acceptance.assign(experiments.synthetic_acceptance,
                                        experiments.synthetic_acceptance + experiments.synthetic_acceptance_count);
    engine::check_synthetic(options);
  }
  options.ignore_end = params.ignore_end != 0;
  if (params.grammar != nullptr) options.grammar = params.grammar->grammar;
  return options;
}

/// Taking notice of a cancellation clears it.
void cancel_between_passes(skipstone_session& handle) {
  handle.session->cancel_when([&cancel = handle.cancel] { return cancel.exchange(false); });
}

}  // namespace

extern "C" {

void skipstone_session_experiments_init(skipstone_session_experiments* experiments, size_t struct_size) {
  api::init(experiments, struct_size);
}

void skipstone_session_params_init(skipstone_session_params* params, size_t struct_size) { api::init(params, struct_size); }

skipstone_status skipstone_session_params_recommend(const skipstone_engine* engine, skipstone_session_params* params) {
  return api::guard([&] {
    api::require(engine, "engine");
    api::require(params, "params");
    const engine::RecommendedSampling& sampling = engine->engine->state().file.sampling;
    skipstone_session_params filled = api::read_params(params);
    filled.temperature = sampling.temperature.value_or(filled.temperature);
    filled.top_k = sampling.top_k.value_or(filled.top_k);
    filled.top_p = sampling.top_p.value_or(filled.top_p);
    filled.min_p = sampling.min_p.value_or(filled.min_p);
    filled.repeat_penalty = sampling.repeat_penalty.value_or(filled.repeat_penalty);
    filled.repeat_last = sampling.repeat_last.value_or(filled.repeat_last);
    api::give(filled, params);
  });
}

skipstone_status skipstone_session_check_params(const skipstone_session_params* given) {
  return api::guard([&] {
    const auto options = options_from(api::read_params(given));
    if (!options.left_out) speculation::make_drafter(options.draft);
  });
}

skipstone_status skipstone_session_create(skipstone_engine* engine, const skipstone_session_params* given, skipstone_session** session) {
  return api::guard([&] {
    api::require(engine, "engine");
    api::require(session, "session");
    *session = nullptr;
    const auto params = api::read_params(given);
    auto options = options_from(params);
    auto handle = std::make_unique<skipstone_session>();
    handle->engine = engine->engine;
    const engine::Engine* const used = handle->engine.get();
    api::Within::require_outside(used);
    auto [progress, ask] = api::polled_progress_from(params.progress, params.user_data, "making a session", used);
    const Poll polled(std::move(ask));
    options.progress = std::move(progress);
    handle->session = std::make_unique<engine::Session>(handle->engine, options);
    cancel_between_passes(*handle);
    *session = handle.release();
  });
}

void skipstone_session_free(skipstone_session* session) {
  if (session != nullptr && session->in_use.is_mine()) session->cancel.store(true);  // the call whose callback this is ends soon
  api::free_handle(session);
}

skipstone_status skipstone_session_prefill(skipstone_session* session, const skipstone_token* tokens, size_t count) {
  return api::guard([&] {
    api::require(session, "session");
    const api::SessionUse use(*session);
    api::require_array(tokens, count, api::most_tokens, "tokens");
    session->session->prefill({tokens, tokens + count});
  });
}

skipstone_status skipstone_session_copy_from(skipstone_session* session, skipstone_session* from) {
  return api::guard([&] {
    api::require(session, "session");
    api::require(from, "from");
    if (session == from) return;
    const api::SessionUse use(*session), use_from(*from);
    session->session->copy_from(*from->session);
    session->last = {};
  });
}

skipstone_status skipstone_session_fork(skipstone_session* session, skipstone_session** fork) {
  return api::guard([&] {
    api::require(fork, "fork");
    *fork = nullptr;
    api::require(session, "session");
    const api::SessionUse use(*session);
    auto handle = std::make_unique<skipstone_session>();
    handle->engine = session->engine;
    handle->stop = session->stop;
    handle->session = session->session->fork();
    cancel_between_passes(*handle);
    *fork = handle.release();
  });
}

skipstone_status skipstone_session_save(skipstone_session* session, const char* path) {
  return api::guard([&] {
    api::require(session, "session");
    api::require(path, "path");
    const api::SessionUse use(*session);
    session->session->save(path);
  });
}

skipstone_status skipstone_session_load(skipstone_session* session, const char* path) {
  return api::guard([&] {
    api::require(session, "session");
    api::require(path, "path");
    const api::SessionUse use(*session);
    session->session->load(path);
    session->last = {};
  });
}

void skipstone_session_cancel(skipstone_session* session) {
  if (session != nullptr) session->cancel.store(true);
}

const char* skipstone_stop_reason_name(skipstone_stop_reason reason) {
  if (reason < SKIPSTONE_STOP_MAX_TOKENS || reason > SKIPSTONE_STOP_STRING) return "unknown";
  return speculation::to_string(static_cast<speculation::StopReason>(reason));
}

const skipstone_token* skipstone_session_tokens(const skipstone_session* session, size_t* count) {
  if (count != nullptr) *count = 0;
  if (session == nullptr) return nullptr;
  const api::ReadAccess access(*session);
  if (!access) return nullptr;
  if (count != nullptr) *count = session->last.tokens.size();
  return session->last.tokens.data();
}

}  // extern "C"
