// Rows of a large vocabulary are sampled from the candidates that the device finds, as if the host had looked at all of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "base/philox.h"
#include "base/stopwatch.h"
#include "engine/candidate_rows.h"
#include "engine/engine.h"
#include "engine/engine_state.h"
#include "engine/round_mode_policy.h"
#include "exec/executor.h"
#include "fixtures/slow_device.h"
#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_model.h"
#include "gpu/test_device.h"
#include "sample/sampler.h"

namespace skipstone::engine {
namespace {

using text::Token;

constexpr std::uint32_t vocabulary = 152'000, context = 256, tokens_per_text = 10;

std::shared_ptr<Engine> load(const fixtures::TemporaryDirectory& directory) {
  fixtures::TinyConfig config;
  config.layers = 2;
  config.vocab = vocabulary;
  config.type = gguf::Type::q8_0;
  const std::string path = directory.file("large-vocabulary.gguf");
  fixtures::write_tiny_model(config, path);
  EngineOptions options;
  options.kernels = fixtures::TestDevice::get().kernels;
  options.context = context;
  options.model_path = path;
  return Engine::load(options);
}

/// Words of a text's number: which filters, which tokens.
class Choices {
 public:
  explicit Choices(std::uint32_t text) : text_(text) {}
  std::uint32_t below(std::uint32_t limit) {
    if (next_ % 4 == 0) words_ = philox({text_, next_ / 4, 0, 0}, {7, 7});
    return words_[next_++ % 4] % limit;
  }
  template <typename T>
  T one_of(std::initializer_list<T> values) {
    return values.begin()[below(static_cast<std::uint32_t>(values.size()))];
  }

 private:
  std::uint32_t text_, next_ = 0;
  std::array<std::uint32_t, 4> words_{};
};

sample::SamplerParams make_sampling(Choices& choices, std::uint32_t text) {
  sample::SamplerParams params;
  params.temperature = choices.one_of({0.05f, 0.2f, 0.5f, 0.8f, 1.0f, 1.4f});
  params.top_k = choices.one_of({0u, 0u, 1u, 40u, 128u, 500u});
  params.top_p = choices.one_of({1.0f, 1.0f, 0.95f, 0.5f});
  params.min_p = choices.one_of({0.0f, 0.0f, 0.02f, 0.3f});
  params.repeat_penalty = choices.one_of({1.0f, 1.0f, 1.2f});
  params.repeat_last = choices.one_of({64u, 16u, 200u});
  params.frequency_penalty = choices.one_of({0.0f, 0.0f, 0.4f, -0.3f});
  params.presence_penalty = choices.one_of({0.0f, 0.0f, 0.3f});
  if (text % 16 == 0) params.temperature = 0, params.repeat_penalty = 1.1f;
  if (text % 3 == 0) params.penalty_begin = 16;  // the answer's begin
  for (Token token = 0; text % 4 == 0 && token < 900; token += 100)
    params.logit_bias.push_back({token, choices.one_of({-100.0f, -2.0f, 1.0f, 6.0f})});
  params.seed = 1000 + text;
  return params;
}

std::vector<Token> make_prompt(Choices& choices) {
  // Twice the same, for drafters that look for what was there before.
  std::vector<Token> prompt;
  for (int i = 0; i < 8; ++i) prompt.push_back(static_cast<Token>(choices.below(vocabulary)));
  const std::vector<Token> again = prompt;
  prompt.insert(prompt.end(), again.begin(), again.end());
  return prompt;
}

std::vector<Token> generate(const std::shared_ptr<Engine>& engine, const sample::SamplerParams& sampling, const std::string& draft,
                            bool candidates, const std::vector<Token>& prompt) {
  SessionOptions options;
  options.sampling = sampling;
  options.draft = draft;
  options.candidates = candidates;
  options.ignore_end = true;
  Session session(engine, options);
  return session.generate(prompt, tokens_per_text, [](const speculation::Emitted&) { return true; }).tokens;
}

class SamplingOnDevice : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    directory = new fixtures::TemporaryDirectory;
    engine = new std::shared_ptr<Engine>(load(*directory));
  }
  static void TearDownTestSuite() {
    delete engine;
    delete directory;
  }
  static inline fixtures::TemporaryDirectory* directory = nullptr;
  static inline std::shared_ptr<Engine>* engine = nullptr;
};

TEST_F(SamplingOnDevice, TextsAreThoseOfTheHostsSampler) {
  const std::uint32_t texts = fixtures::full_sweep() ? 1000 : fixtures::slow_device() ? 20 : 50;
  const exec::BatchScheduler& passes = (*engine)->state().passes->scheduler();
  const exec::BatchScheduler::Totals before = passes.totals();
  std::uint64_t rows = 0;
  for (std::uint32_t text = 0; text < texts; ++text) {
    Choices choices(text);
    const sample::SamplerParams sampling = make_sampling(choices, text);
    const std::vector<Token> prompt = make_prompt(choices);
    const std::vector<Token> wanted = generate(*engine, sampling, "none", false, prompt);
    const std::uint64_t rows_before = passes.totals().rows;
    const std::string draft = choices.one_of<const char*>({"none", "lookup:k=5", "exit:1,k=3", "suffix:alpha=4,k=12,p=0", "recycle:n=11"});
    const std::vector<Token> got = generate(*engine, sampling, draft, true, prompt);
    rows += passes.totals().rows - rows_before;
    EXPECT_EQ(got, wanted) << "text " << text << " with " << draft;
  }
  const std::uint64_t candidate_rows = passes.totals().candidate_rows - before.candidate_rows;
  EXPECT_GT(candidate_rows, rows / 3);  // top-k 500 and long penalties look at whole rows; else the device was not asked
  RecordProperty("candidate_rows", std::to_string(candidate_rows));
}

// Where candidates do not decide, rows are looked at whole for a while, and then candidates are tried again.
TEST(CandidateRows, PausesWhereCandidatesDoNotDecide) {
  CandidateRows rows({.temperature = 1.0f, .top_k = 0, .top_p = 0.9f}, vocabulary, true);
  const sample::Sampler sampler({.temperature = 1.0f, .top_k = 0, .top_p = 0.9f});
  abi::CandidateResult undecided{};
  undecided.likely = CANDIDATE_SLOTS + 1;
  CandidateRequests requests;
  const auto asks = [&] {
    requests.clear();
    rows.add(requests, {}, 1);
    return !requests.rows().empty();
  };
  std::uint32_t asked = 0, whole = 0;
  while (asks()) {
    ASSERT_LT(++asked, 20u) << "it never stops asking";
    EXPECT_FALSE(rows.choose(sampler, requests.rows()[0], undecided, {}, 1));
  }
  EXPECT_GT(asked, 2u) << "one row or two are no habit";
  do ASSERT_LT(++whole, 1000u) << "it never asks again";
  while (!asks());
  EXPECT_GT(whole, 200u);
}

// Rows that ask for candidates beside rows that ask for logits: one pass serves both.
TEST_F(SamplingOnDevice, InCompany) {
  constexpr std::uint32_t sequences = 4;
  std::vector<std::vector<Token>> wanted, got(sequences);
  const auto text_of = [&](std::uint32_t i, bool candidates) {
    Choices choices(5000 + i);
    const sample::SamplerParams sampling = make_sampling(choices, i + 1);
    return generate(*engine, sampling, i == 3 ? "lookup:k=5" : "none", candidates && i != 1, make_prompt(choices));
  };
  for (std::uint32_t i = 0; i < sequences; ++i) wanted.push_back(text_of(i, false));
  std::vector<std::thread> threads;
  threads.reserve(sequences);
  for (std::uint32_t i = 0; i < sequences; ++i) threads.emplace_back([&, i] { got[i] = text_of(i, true); });
  for (std::thread& thread : threads) thread.join();
  for (std::uint32_t i = 0; i < sequences; ++i) EXPECT_EQ(got[i], wanted[i]) << i;
}

// The score of a text is what the model says of its tokens while it generates them, and leaves the conversation as it is.
TEST_F(SamplingOnDevice, AScoreHasTheLogprobsOfTheText) {
  Choices choices(1);
  SessionOptions options;
  options.sampling = make_sampling(choices, 1);
  options.sampling.top_logprobs = 3;
  options.ignore_end = true;
  const auto keep = [](std::vector<sample::Logprobs>& into) {
    return [&into](const speculation::Emitted& emitted) {
      into.push_back(*emitted.logprobs);
      return true;
    };
  };
  std::vector<Token> text = make_prompt(choices);
  const std::size_t prompt = text.size();
  std::vector<sample::Logprobs> generated, scored;
  Session session(*engine, options);
  const std::vector<Token> answer = session.generate(text, 40, keep(generated)).tokens;
  text.insert(text.end(), answer.begin(), answer.end());
  session.score(text, keep(scored));
  ASSERT_EQ(scored.size(), text.size() - 1);
  for (std::size_t i = 0; i < answer.size(); ++i) {
    const sample::Logprobs &one = scored[prompt - 1 + i], &other = generated[i];
    EXPECT_NEAR(one.chosen, other.chosen, 1e-3) << i;
    ASSERT_EQ(one.top.size(), 3u);
    EXPECT_NEAR(one.top[0].logprob, other.top[0].logprob, 1e-3) << i;
  }
  EXPECT_EQ(session.history(), text);
  std::vector<sample::Logprobs> none;
  session.score({5}, keep(none));
  session.score({}, keep(none));
  EXPECT_TRUE(none.empty());
  EXPECT_THROW(session.score(std::vector<Token>(context + 1, 5), keep(none)), Error);
  EXPECT_THROW(session.score(text, [](const speculation::Emitted&) { return false; }), Error);
  EXPECT_EQ(session.generate({7}, 1, keep(none)).tokens.size(), 1u);
}

// A pass with candidates, and its logits: from the device while it has them, made again afterwards.
TEST_F(SamplingOnDevice, WholeRowsAreToBeHadBehindAPass) {
  const Engine::State& state = (*engine)->state();
  exec::Executor passes(*state.passes), other(*state.passes);
  const std::vector<Token> tokens = {5, 17, 80'000, 9};
  exec::PassSpec spec{.layers = exec::LayerPlan::full(state.model->config.layer_count()), .bucket = 4, .output = exec::Output::logits};
  passes.run(spec, {.tokens = tokens});
  std::vector<std::vector<float>> wanted;
  for (std::uint32_t row = 0; row < 4; ++row) wanted.emplace_back(passes.logits(row).begin(), passes.logits(row).end());
  const std::vector<abi::CandidateRequest> requests(4);
  spec.output = exec::Output::candidates;
  for (const bool disturbed : {false, true}) {
    passes.run(spec, {.tokens = tokens, .candidates = requests});
    ASSERT_NE(passes.candidates(3), nullptr);
    if (disturbed) other.run(spec, {.tokens = std::span(tokens).first(2), .base = 3, .candidates = std::span(requests).first(2)});
    for (const std::uint32_t row : {2u, 0u, 3u}) {
      const std::span<const float> logits = passes.logits(row);
      EXPECT_TRUE(std::ranges::equal(logits, wanted[row])) << row << (disturbed ? ", made again" : "");
    }
  }
}

// The candidates of a row decide its token without the other logits; prints the host's time for it, from the device's answer to the token
// (docs/results/sampling.md).
TEST_F(SamplingOnDevice, CandidatesDecideARow) {
  const Engine::State& state = (*engine)->state();
  exec::Executor passes(*state.passes);
  const std::vector<Token> tokens = {5, 17, 80'000, 9, 33, 1, 2, 3};
  std::vector<Token> history(64);
  for (std::size_t i = 0; i < history.size(); ++i) history[i] = static_cast<Token>(i * 997);
  sample::SamplerParams filters[4];
  filters[0] = {.temperature = 0.8f, .top_k = 40, .top_p = 0.95f, .repeat_penalty = 1.1f};
  filters[1] = {.temperature = 0.1f, .top_k = 0, .top_p = 0.9f};
  filters[2] = {.temperature = 1.0f, .top_k = 0, .top_p = 1.0f, .min_p = 0.05f, .presence_penalty = 0.5f};
  filters[3] = {.temperature = 1.0f, .top_k = 0, .top_p = 1.0f};
  for (sample::SamplerParams& params : filters) {
    params.seed = 3;
    CandidateRows rows(params, vocabulary, true);
    sample::Sampler sampler(params);
    std::vector<double> seconds, seconds_of_all;
    std::size_t decided = 0;
    for (std::uint32_t turn = 0; turn < 12; ++turn) {
      const Stopwatch asking;
      CandidateRequests requests;
      for (std::uint32_t row = 0; row < 8; ++row) rows.add(requests, history, turn * 8 + row);
      const double asked = asking.seconds();
      passes.run({.layers = exec::LayerPlan::full(state.model->config.layer_count()), .bucket = 8, .output = exec::Output::candidates},
                 {.tokens = tokens, .candidates = requests.rows()});
      for (std::uint32_t row = 0; row < 8; ++row) {
        const Stopwatch watch;
        const auto choice = rows.choose(sampler, requests.rows()[row], *passes.candidates(row), history, turn * 8 + row);
        seconds.push_back(watch.seconds() + asked / 8);
        if (row > 0) continue;
        decided += choice.has_value();
        const std::span<const float> logits = passes.logits(row);
        const Stopwatch whole;
        const sample::Choice wanted = sampler.choose(logits, history, turn * 8 + row);
        seconds_of_all.push_back(whole.seconds());
        EXPECT_EQ(choice.value_or(wanted).token, wanted.token);
      }
    }
    EXPECT_EQ(decided, 12u) << "temperature " << params.temperature << ", top-p " << params.top_p;
    const double host = median(seconds), whole = median(seconds_of_all);
    std::printf("temperature %.1f, top-k %u, top-p %.2f, min-p %.2f: %.3f ms of the host's for a row, %.3f ms for all of its logits\n",
                static_cast<double>(params.temperature), params.top_k, static_cast<double>(params.top_p), static_cast<double>(params.min_p),
                host * 1e3, whole * 1e3);
  }
}

// A measurement (docs/results/sampling.md): whole generations with and without candidates, in turn. Tuning::candidates_from of CPU devices
// follows from it.
TEST_F(SamplingOnDevice, DISABLED_SpeedWithCandidates) {
  std::vector<Token> prompt;
  for (Token i = 0; i < 40; ++i) prompt.push_back(i % 4 + 10);
  sample::SamplerParams filters[3];
  filters[0] = {.temperature = 0.8f, .top_k = 40, .top_p = 0.95f};
  filters[1] = {.temperature = 0.1f, .top_k = 0, .top_p = 0.9f};
  filters[2] = {.temperature = 1.0f, .top_k = 0, .top_p = 1.0f};
  for (const sample::SamplerParams& sampling : filters) {
    for (const char* draft : {"none", "lookup:k=7"}) {
      std::vector<double> ratios;
      for (int pair = 0; pair < 7; ++pair) {
        double seconds[2] = {};
        for (const bool candidates : {false, true}) {
          SessionOptions options;
          options.sampling = sampling;
          options.draft = draft;
          options.candidates = candidates;
          options.ignore_end = true;
          Session session(*engine, options);
          seconds[candidates] = session.generate(prompt, 60, [](const speculation::Emitted&) { return true; }).stats.generation_seconds;
        }
        ratios.push_back(seconds[0] / seconds[1]);
      }
      std::printf("temperature %.1f, top-k %u, top-p %.2f, %s: %.2f times as fast with candidates\n",
                  static_cast<double>(sampling.temperature), sampling.top_k, static_cast<double>(sampling.top_p), draft, median(ratios));
    }
  }
}

}  // namespace
}  // namespace skipstone::engine
