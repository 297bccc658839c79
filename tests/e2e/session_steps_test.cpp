// Generations in steps and conversations that are rolled back: the texts of generations at once, whatever drafts, budgets and modes.
#include "session_steps.h"

#include <gtest/gtest.h>

#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace skipstone::e2e {
namespace {

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
  EXPECT_THROW(session.step(0), error) << "nothing has begun";
  const Tokens tokens = engine_->tokenize(prompt);
  session.begin(tokens, most);
  EXPECT_FALSE(session.step(0));
  EXPECT_THROW(session.begin(tokens, 1), error);
  EXPECT_THROW(session.generate(tokens, 1), error);
  EXPECT_THROW(session.prefill(tokens), error);
  EXPECT_THROW(session.copy_from(other), error);
  EXPECT_THROW(other.copy_from(session), error);
  EXPECT_THROW(session.rewind(1), error);
  EXPECT_THROW(session.logits(), error);
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
  EXPECT_THROW(session.begin({}, 4), error);
  EXPECT_THROW(session.begin(Tokens(1000, 5), 4), error);
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
  EXPECT_THROW(session.rewind(tokens.size() + 5), error);
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
  EXPECT_THROW(session.set_stop({""}), error);
}

}  // namespace
}  // namespace skipstone::e2e
