#include <cmath>
#include <limits>
#include <utility>

#include "fuzz/api/caller.h"

namespace skipstone::fuzz {

const std::vector<Caller::Call>& Caller::session_calls() {
  static const std::vector<Call> calls = {&Caller::create,     &Caller::generate, &Caller::generate, &Caller::generate,
                                          &Caller::begin,      &Caller::go_on,    &Caller::go_on,    &Caller::prefill,
                                          &Caller::copy,       &Caller::fork,     &Caller::set_stop, &Caller::save_or_load,
                                          &Caller::rewind,     &Caller::reset,    &Caller::cancel,   &Caller::numbers,
                                          &Caller::statistics, &Caller::measure,  &Caller::free_own, &Caller::check_params};
  return calls;
}

namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float infinite = std::numeric_limits<float>::infinity();

struct Experiments {
  double chances[4] = {0.5, 0.25, 0, 1};
  skipstone_session_experiments given{};
};

}  // namespace

/// Random parameters of a session, some of them wrong.
static skipstone_session_params params_of(Random& random, Experiments& experiments, const char* const* files) {
  static const std::string many = [] {
    std::string text = "auto";
    for (int i = 0; i < 20000; ++i) text += "+auto";
    return text;
  }();
  const std::vector<const char*> drafts = {
      "none",   "exit:2,k=3", "suffix",    "lookup",  "suffix+exit:1", "auto", "asd",        "recycle",       "auto:lookup,suffix",
      "jacobi", "psychic",    "auto+auto", "exit:99", "copy:none",     "+",    many.c_str(), "skip:attn:0-9", nullptr};
  skipstone_session_params params;
  skipstone_session_params_init(&params, sizeof(params));
  const auto wrong = [&] { return random.one_in(60); };
  params.draft = drafts[random.below(random.one_in(3) ? drafts.size() : 5)];
  params.temperature = wrong() ? nan : wrong() ? -1 : wrong() ? infinite : random.one_in(2) ? 0.0f : 0.8f;
  if (wrong()) params.top_k = UINT32_MAX;
  if (wrong()) params.top_p = random.one_in(2) ? nan : 2;
  if (wrong()) params.min_p = nan;
  if (wrong()) params.repeat_penalty = random.one_in(2) ? 0 : nan;
  if (wrong()) params.repeat_last = UINT32_MAX;
  if (wrong()) params.frequency_penalty = random.one_in(2) ? 3 : nan;
  if (random.one_in(8)) params.presence_penalty = 1;
  if (random.one_in(8)) params.logprobs = 1, params.top_logprobs = static_cast<uint32_t>(random.below(25));
  if (wrong()) params.rounds = random.one_in(2) ? -1 : 77;
  if (wrong()) params.verify = random.one_in(2) ? -1 : 77;
  if (wrong()) params.pipeline_drafts = 5;
  if (random.one_in(8)) params.penalty_begin = static_cast<int64_t>(random.below(20)) - 2;
  static const skipstone_token_bias biases[] = {{3, 5}, {1, -100}, {2, 0}, {INT32_MAX, 1}, {3, 1}};
  if (random.one_in(8)) params.logit_bias = biases, params.logit_bias_count = random.below(wrong() ? 6 : 4);
  if (wrong()) params.logit_bias_count = random.one_in(2) ? 1 : SIZE_MAX / 8;
  if (random.one_in(6)) params.verify = SKIPSTONE_VERIFY_REJECTION;
  if (random.one_in(6)) params.rounds = static_cast<int32_t>(random.below(3));
  if (random.one_in(10)) params.draft_optional = 1;
  if (random.one_in(30)) params.draft_corpus = files, params.draft_corpus_count = random.one_in(2) ? 1 : SIZE_MAX / 16;
  if (wrong()) params.draft_corpus_count = 1;
  skipstone_session_experiments_init(&experiments.given, sizeof(experiments.given));
  if (random.one_in(20)) {
    params.experiments = &experiments.given;
    experiments.given.synthetic_acceptance = wrong() ? nullptr : experiments.chances;
    experiments.given.synthetic_acceptance_count = random.one_in(2) ? 4 : SIZE_MAX / 8;
  }
  if (wrong()) params.struct_size = random.one_in(2) ? 0 : SIZE_MAX;
  return params;
}

void Caller::create() {
  Experiments experiments;
  const char* files[] = {shared_.model.c_str()};
  skipstone_session_params params = params_of(random_, experiments, files);
  params.progress = a_progress();
  params.user_data = this;
  if (one_in(10)) params.sampler = &Caller::on_sample, params.sampler_data = this;
  skipstone_session* made = nullptr;
  const bool given = taken(skipstone_session_create(an_engine(), one_in(30) ? nullptr : &params, one_in(60) ? nullptr : &made), "create");
  expect(given == (made != nullptr), "create", "a session stands for success");
  skipstone_session_free(std::exchange(session_, made));
}

void Caller::check_params() {
  Experiments experiments;
  const char* files[] = {shared_.model.c_str()};
  skipstone_session_params params = params_of(random_, experiments, files);
  taken(skipstone_session_check_params(one_in(20) ? nullptr : &params), "check_params");
  static_cast<void>(skipstone_draft_is_lossless(params.draft));
  if (params.struct_size == sizeof(params)) taken(skipstone_session_params_recommend(an_engine(), &params), "recommend");
}

void Caller::free_own() { skipstone_session_free(std::exchange(session_, nullptr)); }

void Caller::generate() {
  std::size_t count = 0;
  const skipstone_token* prompt = tokens(count);
  const auto most = either<uint32_t>({0, 1, 4, 8, UINT32_MAX});
  taken(skipstone_session_generate(a_session(), prompt, count, depth_ > 0 ? 2 : most, one_in(4) ? nullptr : &Caller::on_chunk, this),
        "generate");
}

void Caller::begin() {
  std::size_t count = 0;
  const skipstone_token* prompt = tokens(count);
  skipstone_session* session = session_;  // its callbacks come later: a shared one may be stepped by the other caller
  taken(skipstone_session_begin(session, prompt, count, 8, one_in(2) ? nullptr : &Caller::on_chunk, this), "begin");
}

void Caller::go_on() {
  skipstone_session* session = one_in(20) ? nullptr : session_;
  int32_t done = 0;
  const auto time = either<uint64_t>({0, 100, 1000, UINT64_MAX});
  taken(skipstone_session_step(session, depth_ > 0 ? 0 : time, either<int32_t>({0, 0, 1, -1, 9}), one_in(30) ? nullptr : &done), "step");
}

void Caller::prefill() {
  std::size_t count = 0;
  const skipstone_token* prompt = tokens(count);
  taken(skipstone_session_prefill(a_session(), prompt, count), "prefill");
}

void Caller::copy() { taken(skipstone_session_copy_from(a_session(), a_session()), "copy_from"); }

void Caller::fork() {
  skipstone_session* made = nullptr;
  const bool given = taken(skipstone_session_fork(a_session(), one_in(60) ? nullptr : &made), "fork");
  expect(given == (made != nullptr), "fork", "a session stands for success");
  if (made != nullptr) skipstone_session_free(std::exchange(session_, made));
}

void Caller::save_or_load() {
  const std::string file = shared_.folder + (one_in(2) ? "/conversation" : "/none/conversation");
  const char* path = one_in(20) ? nullptr : one_in(20) ? shared_.model.c_str() : file.c_str();
  if (one_in(2) && path != shared_.model.c_str()) {
    taken(skipstone_session_save(a_session(), path), "save");
  } else {
    taken(skipstone_session_load(a_session(), path), "load");
  }
}

void Caller::set_stop() {
  const char* strings[] = {"a", any_text(), "stop"};
  taken(skipstone_session_set_stop(a_session(), one_in(20) ? nullptr : strings, a_count(3)), "set_stop");
}

void Caller::rewind() { taken(skipstone_session_rewind(a_session(), one_in(5) ? SIZE_MAX : random_.below(6)), "rewind"); }

void Caller::reset() { taken(skipstone_session_reset(a_session()), "reset"); }

void Caller::cancel() { skipstone_session_cancel(a_session()); }

void Caller::numbers() {
  std::vector<float> room(4096);
  std::size_t count = 0;
  const std::size_t capacity = one_in(3) ? 0 : one_in(3) ? 1 : room.size();
  float* target = one_in(20) ? nullptr : room.data();
  const auto call = one_in(2) ? skipstone_session_logits : skipstone_session_hidden_state;
  taken(call(a_session(), target, capacity, one_in(20) ? nullptr : &count), "numbers");
}

void Caller::statistics() {
  info_given<skipstone_stats>("stats",
                              [](skipstone_stats* stats, Caller& self) { return skipstone_session_stats(self.a_session(), stats); });
  char* json = nullptr;
  text_given(skipstone_session_report(a_session(), &json), "report", json);
  taken(one_in(2) ? skipstone_session_report(a_session(), nullptr) : SKIPSTONE_OK, "report");
  std::size_t count = 0;
  static_cast<void>(skipstone_session_tokens(a_session(), one_in(10) ? nullptr : &count));
  static_cast<void>(skipstone_session_length(a_session()));
  static_cast<void>(skipstone_stop_reason_name(static_cast<skipstone_stop_reason>(random_.below(9))));
}

void Caller::measure() {
  skipstone_work work;
  skipstone_work_init(&work, sizeof(work));
  const auto number = [&] { return one_in(8) ? UINT32_MAX : static_cast<uint32_t>(random_.below(4)); };
  work.depth = number();
  work.prompt = number();
  work.generate = number();
  if (one_in(3)) work.rows = number();
  if (one_in(8)) work.chains = number();
  double seconds = 0;
  taken(skipstone_session_measure(a_session(), one_in(20) ? nullptr : &work, one_in(20) ? nullptr : &seconds), "measure");
  taken(skipstone_session_agreement(a_session(), &seconds), "agreement");
}

}  // namespace skipstone::fuzz
