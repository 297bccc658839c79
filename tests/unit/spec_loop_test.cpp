#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <random>
#include <set>
#include <string>

#include "base/status.h"
#include "speculation/corpus.h"
#include "speculation/loop.h"
#include "speculation/registry.h"
#include "unit/fake_sequence.h"
#include "unit/token_drafter.h"

namespace skipstone::speculation {
namespace {

using test::decode_plainly;
using test::Expected;
using test::FakeModel;
using test::FakeSequence;
using test::limits_of;
using test::TokenDrafter;

std::vector<Token> prompt_of(std::mt19937_64& random, std::size_t length, std::uint32_t vocabulary) {
  std::vector<Token> prompt(length);
  for (Token& token : prompt) token = static_cast<Token>(random() % vocabulary);
  return prompt;
}

struct Case {
  FakeModel model;
  std::uint32_t context = 0, max_rows = 0;
  std::set<Token> ends;
  std::string drafter;
  std::uint32_t token_drafts = 0;  ///< where drafter is "tokens"
  double skill = 0;
  std::uint64_t rounds_at_once = 0;  ///< FakeSequence::rounds_at_once

  std::unique_ptr<Drafter> make() const {
    if (drafter == "tokens") return std::make_unique<TokenDrafter>(model, token_drafts, skill);
    auto made = make_drafter(drafter);
    // A document of the model's own text, as copying has use for; and with a difference.
    const auto read_text = [fake = model](const std::string& file) {
      std::vector<Token> document = decode_plainly(fake, {0}, 200, 100, {}, 0).tokens;
      if (file == "changed") document[7] = 0;
      return document;
    };
    const auto corpus = [read_text] { return std::make_shared<const Corpus>(read_text("")); };
    ModelFacts facts{.layers = 12, .exit_layer = 6, .read_text = read_text, .corpus = corpus, .heads = 1, .experts_used = 4};
    facts.bigrams = [fake = model] {
      std::vector<Token> next;
      for (std::uint32_t token = 0; token < fake.vocabulary; ++token) {
        for (std::uint32_t i = 0; i < 4; ++i) next.push_back(static_cast<Token>(test::mix(4 * token + i) % fake.vocabulary));
      }
      return std::make_shared<const Bigrams>(4, next);
    };
    facts.load_model = [](const std::string&) { return 5u; };
    made->attach(facts);
    return made;
  }
};

/// The drafters that no pass of some of the layers is made for, alone and in chains with others.
const char* const free_drafters[] = {"lookup",
                                     "lookup:max=6,min=2,k=31",
                                     "suffix",
                                     "suffix:k=31,alpha=5,p=0",
                                     "copy:same,k=6",
                                     "copy:changed,k=31,min=2",
                                     "jacobi:k=1",
                                     "jacobi:k=31",
                                     "lookahead",
                                     "lookahead:w=8,n=4,g=2",
                                     "lookahead:w=5,n=2,g=6,prompt=0",
                                     "suffix:min=3+asd:k=4",
                                     "suffix:min=3+asd:k=4,refresh=3",
                                     "lookup:min=3+exit:4,k=3+jacobi",
                                     "copy:changed,min=2+lookup:min=2+lookahead",
                                     "ngram",
                                     "ngram:k=25,w=4,q=2",
                                     "ngram:k=3,w=4,rows=block",
                                     "recycle",
                                     "model:x.gguf",
                                     "suffix:min=3+model:x.gguf,k=20,gamma=0.1+lookup",
                                     "window:2,5,k=7,gamma=0",
                                     "window:0,1",
                                     "suffix:min=3+mtp:gamma=0.3+experts:2,k=3",
                                     "ngram:bigram=0,q=2,rows=block+asd:k=4+recycle:n=9"};

Case random_case(std::mt19937_64& random) {
  Case c;
  c.model.seed = random();
  c.model.vocabulary = static_cast<std::uint32_t>(random() % 30 + 2);
  c.model.agreement = static_cast<double>(random() % 5) / 4;
  c.model.broken_drafts = random() % 4 == 0 ? 0.1 : 0.0;
  if (random() % 2 == 0) {
    c.model.sampling.temperature = 0.8f;
    c.model.sampling.repeat_penalty = random() % 2 == 0 ? 1.2f : 1.0f;
    c.model.sampling.seed = random();
  }
  c.context = static_cast<std::uint32_t>(random() % 80 + 1);
  c.max_rows = static_cast<std::uint32_t>(random() % 17 + 1);
  for (std::uint64_t i = random() % 3; i > 0; --i) c.ends.insert(static_cast<Token>(random() % c.model.vocabulary));
  c.rounds_at_once = random() % 3;
  if (random() % 2 == 0) c.model.memory = random() % 4 + 1;
  switch (random() % 6) {
    case 0:
      c.drafter = "none";
      break;
    case 2:
    case 3:
      c.drafter = free_drafters[random() % std::size(free_drafters)];
      break;
    case 1:
      c.drafter = "tokens";
      c.token_drafts = static_cast<std::uint32_t>(random() % 20);
      c.skill = static_cast<double>(random() % 4) * 0.3;
      break;
    default:
      c.drafter = "asd:k=" + std::to_string(random() % 20 + 1) + ",gamma=0." + std::to_string(random() % 3) +
                  ",adaptive=" + std::to_string(random() % 2);
      c.drafter += random() % 2 == 0 ? ",cs=0" : ",refresh=" + std::to_string(random() % 5);
  }
  return c;
}

void expect_consistent(const Stats& stats, const Outcome& outcome) {
  EXPECT_EQ(stats.generated_tokens, outcome.tokens.size());
  EXPECT_LE(stats.accepted, stats.drafted);
  std::uint64_t drafted = 0, accepted = 0;
  for (std::size_t i = 0; i < stats.by_position.size(); ++i) {
    drafted += stats.by_position[i].drafted;
    accepted += stats.by_position[i].accepted;
    EXPECT_LE(stats.by_position[i].accepted, stats.by_position[i].drafted);
    if (i > 0) {
      EXPECT_LE(stats.by_position[i].drafted, stats.by_position[i - 1].drafted);
      EXPECT_LE(stats.by_position[i].accepted, stats.by_position[i - 1].accepted);
    }
  }
  EXPECT_LE(drafted, stats.drafted);  // of a tree's drafts, those side by side are one position
  EXPECT_EQ(accepted, stats.accepted);
  // Every round gives what it accepted and one token of the model's own, but for the last, which may have been cut short; and one token is
  // prefill's.
  EXPECT_LE(stats.generated_tokens, stats.accepted + stats.rounds + 1);
  EXPECT_GE(stats.host_seconds(), 0.0);
  EXPECT_GE(stats.prompt_seconds, 0.0);
}

/// One conversation of three turns through one sequence and one drafter, every turn against plain decoding.
void run_conversation(const Case& c, std::mt19937_64& random) {
  FakeSequence sequence(c.model, c.context, c.max_rows);
  sequence.rounds_at_once = c.rounds_at_once;
  const auto drafter = c.make();
  std::vector<Token> text = prompt_of(random, random() % 12 + 1, c.model.vocabulary);
  for (int turn = 0; turn < 3 && text.size() <= c.context; ++turn) {
    const auto max_tokens = static_cast<std::uint32_t>(random() % 40);
    const std::size_t cancel_after = random() % 3 == 0 ? random() % 20 + 1 : 0;
    const Expected expected = decode_plainly(c.model, text, c.context, max_tokens, c.ends, cancel_after);
    std::vector<Token> seen;
    const std::uint32_t before = sequence.committed();
    std::uint64_t from_drafts = 0;
    const Outcome outcome = generate(sequence, *drafter, text, limits_of(max_tokens, c.ends), [&](const Emitted& emitted) {
      seen.push_back(emitted.token);
      if (emitted.drafted) ++from_drafts;
      return seen.size() != cancel_after;
    });
    ASSERT_EQ(outcome.tokens, expected.tokens) << "turn " << turn;
    ASSERT_EQ(seen, expected.tokens);
    // Accepted drafts after a stop are not emitted; every round emits at most one token that was not drafted, and the prompt gives one.
    EXPECT_LE(from_drafts, outcome.stats.accepted);
    EXPECT_LE(seen.size(), from_drafts + outcome.stats.rounds + 1);
    ASSERT_EQ(to_string(outcome.stop), std::string(to_string(expected.stop)));
    expect_consistent(outcome.stats, outcome);

    const bool read = max_tokens > 0 && text.size() < c.context;
    EXPECT_EQ(outcome.stats.prompt_tokens, read ? text.size() - before : 0);
    text.insert(text.end(), seen.begin(), seen.end());
    // The same for every drafter, so that what a session does next cannot depend on it.
    const std::size_t committed = !read ? before : seen.empty() ? text.size() : text.size() - 1;
    ASSERT_EQ(sequence.committed(), committed);
    ASSERT_EQ(sequence.cached(), (std::vector<Token>(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(committed))));
    const bool needs_token = committed == text.size();
    for (std::uint64_t i = needs_token ? random() % 5 + 1 : random() % 5; i > 0; --i)
      text.push_back(static_cast<Token>(random() % c.model.vocabulary));
  }
}

TEST(Generate, IsPlainDecodingForEveryDrafterAndLimit) {
  std::mt19937_64 random(20240601);
  for (int i = 0; i < 1500; ++i) {
    const Case c = random_case(random);
    SCOPED_TRACE("case " + std::to_string(i) + ": " + c.drafter + ", context " + std::to_string(c.context) + ", rows " +
                 std::to_string(c.max_rows));
    ASSERT_NO_THROW(run_conversation(c, random));
    if (HasFatalFailure()) return;
  }
}

TEST(Generate, ContinuesExactlyAfterAnExceptionAnywhere) {
  std::mt19937_64 random(77);
  int failures = 0;
  for (int i = 0; i < 600; ++i) {
    Case c = random_case(random);
    c.context = 80;
    SCOPED_TRACE("case " + std::to_string(i) + ": " + c.drafter);
    const std::vector<Token> prompt = prompt_of(random, 5, c.model.vocabulary);
    const Expected expected = decode_plainly(c.model, prompt, c.context, 40, c.ends, 0);
    FakeSequence sequence(c.model, c.context, c.max_rows);
    sequence.rounds_at_once = c.rounds_at_once;
    const auto drafter = c.make();
    sequence.fail_at = random() % 30;
    const std::size_t throw_at = random() % 2 == 0 ? random() % 10 + 1 : 0;
    std::vector<Token> text = prompt, seen;
    const Emit emit = [&](const Emitted& emitted) {
      seen.push_back(emitted.token);
      text.push_back(emitted.token);
      if (seen.size() == throw_at) throw std::runtime_error("the reader has gone");
      return true;
    };
    StopReason stop = StopReason::cancelled;
    for (int attempt = 0; attempt < 3; ++attempt) {  // at most one failure of the sequence and one of the reader
      try {
        stop = generate(sequence, *drafter, std::vector<Token>(text), limits_of(static_cast<std::uint32_t>(40 - seen.size()), c.ends), emit)
                   .stop;
        break;
      } catch (const std::logic_error& error) {
        FAIL() << error.what();
      } catch (const std::runtime_error&) {
        ++failures;
        ASSERT_LT(sequence.committed(), text.size());
        const std::vector<Token> cached = sequence.cached();
        ASSERT_TRUE(std::equal(cached.begin(), cached.end(), text.begin()));
      }
    }
    ASSERT_EQ(seen, expected.tokens);
    ASSERT_EQ(stop, expected.stop);
  }
  EXPECT_GT(failures, 300);
}

// All but the times of a generation: what must not depend on how rounds are run.
std::string facts(const Outcome& outcome) {
  const Stats& s = outcome.stats;
  std::string text = std::string(to_string(outcome.stop)) + " " + std::to_string(s.rounds) + " " + std::to_string(s.drafted) + " " +
                     std::to_string(s.accepted) + ":";
  for (const DraftPosition& at : s.by_position) text += " " + std::to_string(at.drafted) + "/" + std::to_string(at.accepted);
  for (const Token token : outcome.tokens) text += " " + std::to_string(token);
  return text;
}

TEST(Generate, RoundsAtOnceGiveTheTextAndTheStatisticsOfRoundsByStep) {
  std::mt19937_64 random(4242);
  std::uint64_t at_once = 0, ended = 0;
  for (int i = 0; i < 500; ++i) {
    Case c = random_case(random);
    c.drafter = "asd:cs=1,k=" + std::to_string(random() % 20 + 1) + ",gamma=0." + std::to_string(random() % 9);
    const std::vector<Token> prompt = prompt_of(random, 3, c.model.vocabulary);
    if (prompt.size() > c.context) continue;
    const auto most = static_cast<std::uint32_t>(random() % 60);
    std::string by_step;
    for (const std::uint64_t every : {0u, 1u, 2u}) {
      FakeSequence sequence(c.model, c.context, c.max_rows);
      sequence.rounds_at_once = every;
      const auto drafter = c.make();
      std::string emitted;
      const Outcome outcome = generate(sequence, *drafter, prompt, limits_of(most, c.ends), [&](const Emitted& e) {
        emitted += (e.drafted ? " d" : " m") + std::to_string(e.margin);
        return true;
      });
      const std::string told = facts(outcome) + emitted + " " + std::to_string(sequence.committed());
      if (every == 0) by_step = told;
      EXPECT_EQ(told, by_step) << c.drafter << ", every " << every;
      EXPECT_LE(outcome.stats.device_rounds, outcome.stats.rounds);
      at_once += outcome.stats.device_rounds;
      ended += outcome.stop == StopReason::end_token ? 1 : 0;
    }
  }
  EXPECT_GT(at_once, 1000u);
  EXPECT_GT(ended, 100u);
}

TEST(Generate, SpeculationUnderSamplingUsesOneTextForAllSeeds) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    FakeModel model;
    model.vocabulary = 200;
    model.sampling = {
        .temperature = 1.1f, .top_k = 50, .top_p = 0.95f, .min_p = 0.02f, .repeat_penalty = 1.15f, .repeat_last = 32, .seed = seed};
    const std::vector<Token> prompt = {5, 6, 7};
    const auto expected = decode_plainly(model, prompt, 400, 200, {}, 0).tokens;
    for (const char* specification : {"none", "asd", "asd:k=3", "asd:gamma=0,adaptive=0,k=15", "exit:4", "exit:gamma=0.3,k=15",
                                      "skip:attn:1,4-6;mlp:2,k=5", "lookup", "suffix:alpha=4", "jacobi", "lookahead", "suffix:min=2+asd"}) {
      FakeSequence sequence(model, 400, 16);
      const auto drafter = make_drafter(specification);
      drafter->attach({.layers = sequence.limits().layers, .exit_layer = 6});
      const Outcome outcome = generate(sequence, *drafter, prompt, limits_of(200), {});
      ASSERT_EQ(outcome.tokens, expected) << specification << " seed " << seed;
      if (std::string(specification) != "none") {
        EXPECT_GT(outcome.stats.drafted, 0u);
      }
    }
  }
}

TEST(Generate, RefreshedSkipSetsChangeNoText) {
  FakeModel model;
  const std::vector<Token> prompt = {5, 6, 7};
  const auto expected = decode_plainly(model, prompt, 600, 400, {}, 0).tokens;
  for (const char* drafter : {"asd:rule1=0,refresh=25,k=4", "lookup:min=3+asd:rule1=0,refresh=25", "auto:asd:refresh=25", "asd:rule1=0"}) {
    for (const std::uint64_t at_once : {0u, 2u}) {
      const bool refreshes = std::string(drafter).find("refresh") != std::string::npos;
      FakeSequence sequence(model, 600, 16);
      sequence.rounds_at_once = at_once;
      const auto made = make_drafter(drafter);
      made->attach({.layers = sequence.limits().layers});
      std::vector<Token> history = prompt, text;
      std::uint64_t measured = 0;
      for (int turn = 0; turn < 2; ++turn) {
        const Outcome outcome = generate(sequence, *made, history, limits_of(200), {});
        text.insert(text.end(), outcome.tokens.begin(), outcome.tokens.end());
        history.insert(history.end(), outcome.tokens.begin(), outcome.tokens.end());
        // At tokens 25, 50, ... of the turn, up to a round later each time; the last round's are of no use any more.
        EXPECT_EQ(outcome.stats.refreshes > 0, refreshes);
        EXPECT_LE(outcome.stats.refreshes, 7u);
        EXPECT_GE(outcome.stats.refreshes, refreshes ? 4u : 0u);
        EXPECT_LE(outcome.stats.refreshed_sets, outcome.stats.refreshes);
        EXPECT_EQ(outcome.stats.refreshed_sets > 0, refreshes) << "these cosines differ from window to window";
        measured += outcome.stats.refreshes;
      }
      EXPECT_EQ(text, expected) << drafter;
      EXPECT_EQ(sequence.measured.size(), measured);
      // The newest tokens, as many as a pass takes, and none that a turn began with.
      for (const auto& [committed, tokens] : sequence.measured) EXPECT_EQ(tokens, 16u) << committed;
    }
  }
}

TEST(Generate, ARefreshTakesNoTokenOfThePrompt) {
  FakeModel model;
  FakeSequence sequence(model, 100, 16);
  const Outcome outcome = generate(sequence, *make_drafter("asd:rule1=0,refresh=1"), std::vector<Token>{5, 6, 7}, limits_of(40), {});
  EXPECT_EQ(outcome.stats.refreshes, outcome.stats.rounds - 1) << "after every round but the last";
  ASSERT_FALSE(sequence.measured.empty());
  for (const auto& [committed, tokens] : sequence.measured) EXPECT_EQ(tokens, std::min(committed - 3, 16u));
}

TEST(Generate, TrialsOfPlansChangeNoText) {
  FakeModel model;
  model.agreement = 0.6;
  const std::vector<Token> prompt = {5, 6, 7};
  const auto expected = decode_plainly(model, prompt, 600, 500, {}, 0).tokens;
  for (const std::uint64_t at_once : {0u, 2u}) {
    FakeSequence sequence(model, 600, 16);
    sequence.rounds_at_once = at_once;
    const auto drafter = make_drafter("skip:attn:3-6;mlp:4-6,gamma=0,k=4,online=0.5");
    drafter->attach({.layers = sequence.limits().layers});
    std::vector<Token> text;
    std::vector<Token> history = prompt;
    for (int turn = 0; turn < 2; ++turn) {
      const Outcome outcome = generate(sequence, *drafter, history, limits_of(250), {});
      text.insert(text.end(), outcome.tokens.begin(), outcome.tokens.end());
      history.insert(history.end(), outcome.tokens.begin(), outcome.tokens.end());
    }
    EXPECT_EQ(text, expected);
    EXPECT_GE(sequence.scores, 2u);
    EXPECT_EQ(sequence.cached(), std::vector<Token>(history.begin(), history.end() - 1));
  }
}

TEST(Generate, ATrialThatFailsLeavesTheTextAsItIs) {
  FakeModel model;
  const std::vector<Token> prompt = {5, 6, 7};
  const auto expected = decode_plainly(model, prompt, 600, 200, {}, 0).tokens;
  for (std::uint64_t pass = 20; pass < 120; ++pass) {
    FakeSequence sequence(model, 600, 16);
    sequence.fail_at = pass;
    const auto drafter = make_drafter("skip:attn:3-6;mlp:4-6,gamma=0,k=4,online=0.5");
    drafter->attach({.layers = sequence.limits().layers});
    std::vector<Token> history = prompt;
    const auto keep = [&](const Emitted& emitted) {
      history.push_back(emitted.token);
      return true;
    };
    EXPECT_THROW(generate(sequence, *drafter, prompt, limits_of(200), keep), Error);
    const std::size_t had = history.size() - prompt.size();
    const Outcome rest = generate(sequence, *drafter, std::vector<Token>(history), limits_of(static_cast<std::uint32_t>(200 - had)), keep);
    EXPECT_EQ(std::vector<Token>(history.begin() + 3, history.end()), expected) << pass;
  }
}

TEST(StopReason, Names) {
  EXPECT_STREQ(to_string(StopReason::max_tokens), "max_tokens");
  EXPECT_STREQ(to_string(StopReason::end_token), "end_token");
  EXPECT_STREQ(to_string(StopReason::context_full), "context_full");
  EXPECT_STREQ(to_string(StopReason::cancelled), "cancelled");
}

}  // namespace
}  // namespace skipstone::speculation
