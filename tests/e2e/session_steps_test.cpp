// Generations in steps and conversations that are taken back: the texts of generations at once, whatever drafts, budgets and modes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "fixtures/slow_device.h"
#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_model.h"
#include "skipstone/skipstone.hpp"

namespace {

using Tokens = std::vector<skipstone_token>;

/// Every way of drafting: none, passes, chains of both, lookups, trees, blocks. On SwiftShader, which is slow, one of each cost.
const std::vector<const char*> drafters = [] {
  std::vector<const char*> all{"none",           "exit:2,k=3", "suffix", "auto", "lookup", "skip:attn:1;mlp:2,k=4", "suffix+exit:2,k=2",
                               "ngram:unigram=1"};
  if (skipstone::fixtures::slow_device()) all.resize(3);
  return all;
}();
constexpr const char* prompt = "the quick brown fox and the quick brown dog and the quick";
constexpr std::uint32_t most = 40;

class Steps : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    directory_ = new skipstone::fixtures::TemporaryDirectory;
    const std::string file = (directory_->path() / "tiny.gguf").string();
    skipstone::fixtures::TinyConfig config;
    config.layers = 3;
    config.dim = config.ffn = 32;
    config.heads = 2;
    config.kv_heads = 1;
    config.context = 256;
    config.tied = false;
    skipstone::fixtures::write_tiny_model(config, file);
    auto params = skipstone::engine_params();
    params.model_path = file.c_str();
    engine_ = new skipstone::Engine(params);
  }
  static void TearDownTestSuite() {
    delete engine_;
    delete directory_;
    engine_ = nullptr;
    directory_ = nullptr;
  }

  static skipstone::Session open(const char* draft, float temperature = 0) {
    auto params = skipstone::session_params();
    params.draft = draft;
    params.temperature = temperature;
    params.seed = 11;
    return skipstone::Session(*engine_, params);
  }

  static std::string text_of(skipstone::Session& session, const Tokens& tokens, std::uint32_t count) {
    std::string text;
    session.generate(tokens, count, [&](const skipstone_chunk& chunk) {
      text.append(chunk.text, chunk.bytes);
      return true;
    });
    return text;
  }

  static skipstone::Engine* engine_;
  static skipstone::fixtures::TemporaryDirectory* directory_;
};
skipstone::Engine* Steps::engine_ = nullptr;
skipstone::fixtures::TemporaryDirectory* Steps::directory_ = nullptr;

TEST_F(Steps, TheTextIsThatOfAGenerationAtOnce) {
  const Tokens tokens = engine_->tokenize(prompt);
  const Tokens more = engine_->tokenize(" and so", false);
  int steps = 0;
  for (const char* draft : drafters) {
    for (const float temperature : {0.0f, 0.8f}) {
      auto plain = open(draft, temperature);
      const std::string expected = text_of(plain, tokens, most);
      const Tokens expected_tokens = plain.tokens();
      const std::string expected_more = text_of(plain, more, 8);
      for (const skipstone_step_mode mode : {SKIPSTONE_STEP_WAIT, SKIPSTONE_STEP_POLL}) {
        for (const std::uint64_t microseconds : {0u, 2000u}) {
          SCOPED_TRACE(testing::Message() << draft << ", temperature " << temperature << ", mode " << mode << ", " << microseconds
                                          << " us");
          auto session = open(draft, temperature);
          std::string text;
          session.begin(tokens, most, [&](const skipstone_chunk& chunk) {
            text.append(chunk.text, chunk.bytes);
            return true;
          });
          EXPECT_EQ(text, "");
          for (++steps; !session.step(microseconds, mode); ++steps) {
          }
          EXPECT_EQ(text, expected);
          EXPECT_EQ(session.tokens(), expected_tokens);
          EXPECT_EQ(session.length(), tokens.size() + expected_tokens.size());
          EXPECT_EQ(text_of(session, more, 8), expected_more) << "the conversation goes on alike";
        }
      }
    }
  }
  EXPECT_GT(steps, 200);
}

TEST_F(Steps, UntilItHasEndedNothingElseIsDoneWithTheSession) {
  auto session = open("exit:2,k=3"), other = open("none");
  EXPECT_THROW(session.step(0), skipstone::error) << "nothing has begun";
  const Tokens tokens = engine_->tokenize(prompt);
  session.begin(tokens, most);
  EXPECT_FALSE(session.step(0));
  EXPECT_THROW(session.begin(tokens, 1), skipstone::error);
  EXPECT_THROW(session.generate(tokens, 1), skipstone::error);
  EXPECT_THROW(session.prefill(tokens), skipstone::error);
  EXPECT_THROW(session.copy_from(other), skipstone::error);
  EXPECT_THROW(other.copy_from(session), skipstone::error);
  EXPECT_THROW(session.rewind(1), skipstone::error);
  EXPECT_THROW(session.logits(), skipstone::error);
  std::int32_t done = 7;
  EXPECT_EQ(skipstone_session_step(session.get(), 0, 5, &done), SKIPSTONE_INVALID_ARGUMENT);
  EXPECT_EQ(done, 0) << "a wrong mode ends nothing";
  while (!session.step(1000)) {
  }
  EXPECT_EQ(session.tokens().size(), most);
  EXPECT_EQ(session.length(), tokens.size() + most);
}

TEST_F(Steps, WhatGenerateRefusesBeginRefuses) {
  auto session = open("none");
  EXPECT_THROW(session.begin({}, 4), skipstone::error);
  EXPECT_THROW(session.begin(Tokens(1000, 5), 4), skipstone::error);
  session.begin(engine_->tokenize(prompt), 0);
  EXPECT_TRUE(session.step(0)) << "no tokens are asked for";
}

TEST_F(Steps, CancelledAndThrownOutOfTheyEndWithWhatWasSaid) {
  const Tokens tokens = engine_->tokenize(prompt);
  auto plain = open("exit:2,k=3");
  const std::string all = text_of(plain, tokens, most);
  auto session = open("exit:2,k=3");
  std::string text;
  int chunks = 0;
  session.begin(tokens, most, [&](const skipstone_chunk& chunk) {
    text.append(chunk.text, chunk.bytes);
    if (++chunks == 5) session.cancel();
    return true;
  });
  while (!session.step(100)) {
  }
  EXPECT_EQ(session.stats().stop_reason, SKIPSTONE_STOP_CANCELLED);
  EXPECT_EQ(text, all.substr(0, text.size()));
  EXPECT_EQ(session.tokens().size(), 5u);
  EXPECT_EQ(text + text_of(session, {}, most - 5), all) << "it goes on as if it had never stopped";

  session.reset();
  session.begin(tokens, most, [](const skipstone_chunk&) -> bool { throw std::runtime_error("the game is over"); });
  EXPECT_THROW(
      {
        while (!session.step(100)) {
        }
      },
      std::runtime_error);
  session.reset();
  EXPECT_EQ(text_of(session, tokens, most), all);
}

// A step of no time is a layer of a pass, so cancellations come within and between the passes of drafts, trials and verifications. A pass
// is three layers and the head.
TEST_F(Steps, CancelledWithinARoundItEndsAtTheNextPassAndGoesOnLater) {
  const Tokens tokens = engine_->tokenize(prompt);
  for (const char* draft : drafters) {
    for (const float temperature : {0.0f, 0.9f}) {
      auto plain = open(draft, temperature);
      const std::string all = text_of(plain, tokens, most);
      auto session = open(draft, temperature);
      for (int before = 1; before <= 16; ++before) {
        SCOPED_TRACE(testing::Message() << draft << ", temperature " << temperature << ", " << before << " steps");
        std::string text;
        session.reset();
        session.begin(tokens, most, [&](const skipstone_chunk& chunk) {
          text.append(chunk.text, chunk.bytes);
          return true;
        });
        bool ended = false;
        for (int i = 0; i < before && !ended; ++i) ended = session.step(0);
        if (ended) break;
        session.cancel();
        int steps = 0;
        while (!session.step(0)) ++steps;
        EXPECT_LE(steps, 4);
        EXPECT_EQ(session.stats().stop_reason, SKIPSTONE_STOP_CANCELLED);
        const auto said = static_cast<std::uint32_t>(session.tokens().size());
        ASSERT_LT(said, most);
        EXPECT_EQ(text, all.substr(0, text.size()));
        EXPECT_EQ(text + text_of(session, {}, most - said), all) << "it goes on as if it had never stopped";
      }
    }
  }
}

TEST_F(Steps, ResetAndFreeBreakOffAnywhere) {
  const Tokens tokens = engine_->tokenize(prompt);
  auto plain = open("auto");
  const std::string all = text_of(plain, tokens, most);
  auto session = open("auto");
  for (const skipstone_step_mode mode : {SKIPSTONE_STEP_WAIT, SKIPSTONE_STEP_POLL}) {
    for (int steps : {0, 1, 2, 7, 30}) {
      session.begin(tokens, most);
      for (int i = 0; i < steps; ++i) session.step(0, mode);
      session.reset();
      EXPECT_EQ(session.length(), 0u);
      EXPECT_EQ(text_of(session, tokens, most), all) << steps;
      session.reset();
      auto freed = open("suffix");
      freed.begin(tokens, most);
      for (int i = 0; i < steps; ++i) freed.step(0, mode);
    }
  }
}

TEST_F(Steps, GoesOnAfterRewindingAsIfItHadEndedThere) {
  const Tokens tokens = engine_->tokenize(prompt), more = engine_->tokenize(" but then", false);
  for (const char* draft : drafters) {
    for (const std::size_t back : {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{13}, std::size_t{most}}) {
      SCOPED_TRACE(testing::Message() << draft << ", " << back << " tokens");
      auto ended = open(draft), rewound = open(draft);
      if (back < most) {
        text_of(ended, tokens, most - static_cast<std::uint32_t>(back));
      } else {
        ended.prefill(tokens);
      }
      text_of(rewound, tokens, most);
      rewound.rewind(back);
      ASSERT_EQ(rewound.length(), ended.length());
      if (back < most) {
        EXPECT_EQ(text_of(rewound, {}, 3), text_of(ended, {}, 3));
      }
      EXPECT_EQ(text_of(rewound, more, 9), text_of(ended, more, 9));
    }
  }
  auto session = open("none");
  text_of(session, tokens, 4);
  EXPECT_THROW(session.rewind(tokens.size() + 5), skipstone::error);
  session.rewind(tokens.size() + 4);
  EXPECT_EQ(session.length(), 0u);
  auto fresh = open("none");
  EXPECT_EQ(text_of(session, tokens, most), text_of(fresh, tokens, most));
}

bool within_character(const std::string& text, std::size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80;
}

/// Ends before a stop string that is taken from the text itself, wherever its tokens lie in a round; and what follows is as without drafts.
TEST_F(Steps, StopStringsEndTheTextBeforeThemWhateverTheDrafter) {
  const Tokens tokens = engine_->tokenize(prompt), more = engine_->tokenize(" but then", false);
  auto plain = open("none");
  const std::string all = text_of(plain, tokens, most);
  ASSERT_GT(all.size(), 20u);
  std::minstd_rand random(3);
  for (const char* draft : drafters) {
    auto session = open(draft);
    for (int round = 0; round < 6; ++round) {
      std::size_t first = random() % (all.size() - 4), last = first + 1 + random() % 6;
      while (within_character(all, first)) ++first;
      while (last <= first || within_character(all, last)) ++last;
      const std::string stop = all.substr(first, last - first), expected = all.substr(0, all.find(stop));
      SCOPED_TRACE(testing::Message() << draft << ", stop \"" << stop << '"');
      auto reference = open("none");
      reference.set_stop({stop});
      const std::string without = text_of(reference, tokens, most);
      session.reset();
      session.set_stop({"never in it at all", stop});
      EXPECT_EQ(text_of(session, tokens, most), expected);
      EXPECT_EQ(without, expected);
      EXPECT_EQ(session.stats().stop_reason, SKIPSTONE_STOP_STRING);
      EXPECT_EQ(session.tokens(), reference.tokens());
      session.set_stop({});
      reference.set_stop({});
      EXPECT_EQ(text_of(session, more, 9), text_of(reference, more, 9));
    }
  }
  auto session = open("none");
  std::size_t last = all.size() - 3;
  while (within_character(all, last)) --last;
  session.set_stop({all.substr(last) + "no"});
  EXPECT_EQ(text_of(session, tokens, most), all) << "what might have been the beginning of one comes out at the end";
  EXPECT_EQ(session.stats().stop_reason, SKIPSTONE_STOP_MAX_TOKENS);
  EXPECT_THROW(session.set_stop({""}), skipstone::error);
}

skipstone_token most_likely(const std::vector<float>& logits) {
  return static_cast<skipstone_token>(std::ranges::max_element(logits) - logits.begin());
}

TEST_F(Steps, LogitsAreThoseThatTheTokensWereChosenFromAndChangeNothing) {
  const Tokens tokens = engine_->tokenize(prompt);
  for (const char* draft : drafters) {
    SCOPED_TRACE(draft);
    auto plain = open(draft), session = open(draft), read = open(draft);
    const std::string all = text_of(plain, tokens, most);
    EXPECT_THROW(session.logits(), skipstone::error) << "of nothing";
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
  for (const std::vector<float>& hidden : {read, state}) {  // behind the norm, whose weights are near one
    double squares = 0;
    for (const float value : hidden) {
      ASSERT_TRUE(std::isfinite(value));
      squares += static_cast<double>(value) * static_cast<double>(value);
    }
    EXPECT_NEAR(std::sqrt(squares / 32), 1.0, 0.5);
  }
}

struct Rule {
  const skipstone::Session* session = nullptr;
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
      auto params = skipstone::session_params();
      params.draft = draft;
      params.sampler = choose;
      params.sampler_data = &rule;
      skipstone::Session session(*engine_, params);
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
  auto params = skipstone::session_params();
  params.sampler = [](const float*, std::size_t, const skipstone_token*, std::size_t, void*) -> skipstone_token { return -1; };
  skipstone::Session session(*engine_, params);
  const Tokens tokens = engine_->tokenize(prompt);
  try {
    session.generate(tokens, 4);
    ADD_FAILURE();
  } catch (const skipstone::error& error) {
    EXPECT_EQ(error.status(), SKIPSTONE_INVALID_ARGUMENT);
  }
  params.verify = SKIPSTONE_VERIFY_REJECTION;
  EXPECT_THROW(skipstone::Session(*engine_, params), skipstone::error);
}

}  // namespace
