// Logits and hidden states after conversations, tokens that the caller chooses by them, and the sampling that a model file recommends.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "fixtures/temporary_directory.h"
#include "session_steps.h"
#include "unit/edited_model.h"

namespace skipstone::e2e {
namespace {

skipstone_token most_likely(const std::vector<float>& logits) {
  return static_cast<skipstone_token>(std::ranges::max_element(logits) - logits.begin());
}

TEST_F(Steps, LogitsAreThoseThatTheTokensWereChosenFromAndChangeNothing) {
  const Tokens tokens = engine_->tokenize(prompt);
  for (const char* draft : drafters) {
    SCOPED_TRACE(draft);
    auto plain = open(draft), session = open(draft), read = open(draft);
    const std::string all = text_of(plain, tokens, most);
    EXPECT_THROW(session.logits(), error) << "of nothing";
    read.prefill(tokens);
    const std::vector<float> first = read.logits();
    EXPECT_EQ(read.logits(), first);
    std::string text = text_of(session, tokens, 1);
    EXPECT_EQ(most_likely(first), session.tokens().back());
    for (std::uint32_t i = 1; i < most; ++i) {
      text += text_of(session, {}, 1);
      const std::vector<float> logits = session.logits();
      EXPECT_EQ(most_likely(logits), session.tokens().back());
    }
    EXPECT_EQ(text, all);
    // The same after drafts and verifications of many rows, to the bit.
    text_of(session, {}, 3);
    auto whole = open(draft);
    text_of(whole, tokens, most + 3);
    EXPECT_EQ(session.logits(), whole.logits());
    EXPECT_EQ(text_of(session, {}, 5), text_of(whole, {}, 5));
    whole.copy_from(read);
    EXPECT_EQ(whole.logits(), first) << "a prompt that was copied";
  }
}

TEST_F(Steps, HiddenStatesAreWhatTheLogitsAreMadeOf) {
  const Tokens tokens = engine_->tokenize(prompt);
  auto session = open("exit:2,k=3");
  session.prefill(tokens);
  const std::vector<float> read = session.hidden_state();
  ASSERT_EQ(read.size(), 32u);
  session.generate({tokens.back()}, 9);
  const std::vector<float> state = session.hidden_state();
  EXPECT_NE(read, state);
  for (const std::vector<float>& hidden : {read, state}) {  // after the norm, whose weights are near one
    double squares = 0;
    for (const float value : hidden) {
      ASSERT_TRUE(std::isfinite(value));
      squares += static_cast<double>(value) * static_cast<double>(value);
    }
    EXPECT_NEAR(std::sqrt(squares / 32), 1.0, 0.5);
  }
}

struct Rule {
  const Session* session = nullptr;
  std::size_t prompt = 0;
  int calls = 0;
};

// Allows the tokens of every other id alone, and looks at the text.
skipstone_token choose(const float* logits, std::size_t vocabulary, const skipstone_token* text, std::size_t count, void* data) {
  auto& rule = *static_cast<Rule*>(data);
  ++rule.calls;
  EXPECT_GE(count, rule.prompt);
  const std::size_t parity = (static_cast<std::size_t>(text[count - 1]) + count) % 2;
  std::size_t best = parity;
  for (std::size_t token = parity; token < vocabulary; token += 2) {
    if (logits[token] > logits[best]) best = token;
  }
  return static_cast<skipstone_token>(best);
}

TEST_F(Steps, ASamplerOfTheCallersDecidesWhateverTheDrafter) {
  const Tokens tokens = engine_->tokenize(prompt);
  Tokens expected;
  for (const char* draft : drafters) {
    for (const bool stepped : {false, true}) {
      SCOPED_TRACE(testing::Message() << draft << (stepped ? ", stepped" : ""));
      Rule rule{nullptr, tokens.size(), 0};
      auto params = session_params();
      params.draft = draft;
      params.sampler = choose;
      params.sampler_data = &rule;
      Session session(*engine_, params);
      if (stepped) {
        session.begin(tokens, most);
        while (!session.step(500)) {
        }
      } else {
        session.generate(tokens, most);
      }
      if (expected.empty()) expected = session.tokens();
      EXPECT_EQ(session.tokens(), expected);
      EXPECT_GE(rule.calls, static_cast<int>(most));
    }
  }
  skipstone_token last = tokens.back();
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ((static_cast<std::size_t>(expected[i]) + static_cast<std::size_t>(last) + tokens.size() + i) % 2, 0u);
    last = expected[i];
  }
}

TEST_F(Steps, ASamplerThatChoosesNoTokenEndsTheGeneration) {
  auto params = session_params();
  params.sampler = [](const float*, std::size_t, const skipstone_token*, std::size_t, void*) -> skipstone_token { return -1; };
  Session session(*engine_, params);
  const Tokens tokens = engine_->tokenize(prompt);
  try {
    session.generate(tokens, 4);
    ADD_FAILURE();
  } catch (const error& error) {
    EXPECT_EQ(error.status(), SKIPSTONE_INVALID_ARGUMENT);
  }
  params.verify = SKIPSTONE_VERIFY_REJECTION;
  EXPECT_THROW(Session(*engine_, params), error);
}

// What a model file recommends of sampling.
TEST(RecommendedSampling, TakesThePlaceOfDefaultsWhereTheFileHasAny) {
  const fixtures::TemporaryDirectory directory;
  const std::string file = (directory.path() / "model.gguf").string();
  tests::EditedModel model;
  model.set("general.sampling.temp", 0.6f).set("general.sampling.top_k", std::int32_t{20}).set("general.sampling.top_p", 7.0f);
  model.write(file);
  auto params = engine_params();
  params.model_path = file.c_str();
  const Engine engine(params);
  auto sampling = session_params();
  sampling.draft = "suffix";
  const auto defaults = sampling;
  check(skipstone_session_params_recommend(engine.get(), &sampling));
  EXPECT_FLOAT_EQ(sampling.temperature, 0.6f);
  EXPECT_EQ(sampling.top_k, 20u);
  EXPECT_EQ(sampling.top_p, defaults.top_p) << "7 is no share";
  EXPECT_EQ(sampling.min_p, defaults.min_p);
  EXPECT_STREQ(sampling.draft, "suffix");
  sampling.struct_size = 0;
  EXPECT_EQ(skipstone_session_params_recommend(engine.get(), &sampling), SKIPSTONE_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace skipstone::e2e
