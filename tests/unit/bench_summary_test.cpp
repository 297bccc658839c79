// The arithmetic of a sweep, on numbers that can be checked in the head.
#include <gtest/gtest.h>

#include "bench/lists.h"
#include "bench/summary.h"
#include "bench_sweep.h"

namespace cli::bench {
namespace {

TEST(BenchStatistics, Median) {
  EXPECT_EQ(median({}), std::nullopt);
  EXPECT_EQ(median({3}), 3);
  EXPECT_EQ(median({5, 1}), 3);
  EXPECT_EQ(median({9, 1, 2}), 2);
  EXPECT_EQ(median({8, 1, 100, 2}), 5);
}

TEST(BenchStatistics, NothingIsDividedByZero) {
  EXPECT_EQ(quotient(1, 4), 0.25);
  EXPECT_EQ(quotient(1, 0), std::nullopt);
  EXPECT_EQ(quotient(0, 0), std::nullopt);
}

TEST(BenchStatistics, TheFirstTokenIsNotTimed) {
  RunStatistics stats;
  EXPECT_EQ(timed_tokens(stats), 0u);
  EXPECT_EQ(generation_rate(stats), std::nullopt);
  stats.generated_tokens = 1;
  stats.generation_seconds = 1e-6;
  EXPECT_EQ(timed_tokens(stats), 0u);
  EXPECT_EQ(generation_rate(stats), std::nullopt);
  stats.generated_tokens = 11;
  stats.generation_seconds = 2;
  EXPECT_EQ(generation_rate(stats), 5);
}

TEST(BenchSummary, SpeedUpsAreOfTheSamePrompt) {
  // Plain decoding takes 1, 2 and 4 seconds for 10 timed tokens; the drafter 0.5, 4 and 3.2: ratios 2, 0.5, 1.25.
  const Sweep sweep = three_prompts({1, 2, 4}, {0.5, 4, 3.2});
  const std::vector<Summary> summaries = summarise(sweep);
  ASSERT_EQ(summaries.size(), 2u);
  EXPECT_EQ(summaries[0].speedup_median, 1);
  EXPECT_EQ(summaries[0].speedup_total, 1);
  EXPECT_DOUBLE_EQ(*summaries[1].speedup_median, 1.25);
  EXPECT_DOUBLE_EQ(*summaries[1].speedup_total, 7 / 7.7);
  EXPECT_EQ(summaries[0].rate_median, 5);
  EXPECT_DOUBLE_EQ(*summaries[0].rate_total, 30.0 / 7);
  EXPECT_EQ(summaries[1].prompts, 3u);
  EXPECT_EQ(summaries[1].tokens, 33u);
  EXPECT_EQ(summaries[1].timed_tokens, 30u);
}

TEST(BenchSummary, DraftsAreAddedUpByPosition) {
  const std::vector<Summary> summaries = summarise(three_prompts({1, 1, 1}, {1, 1, 1}));
  EXPECT_EQ(summaries[0].acceptance, std::nullopt);
  EXPECT_TRUE(summaries[0].by_position.empty());
  EXPECT_EQ(summaries[0].tokens_per_round, 1);
  const Summary& drafted = summaries[1];
  EXPECT_EQ(drafted.drafted, 18u);
  EXPECT_EQ(drafted.acceptance, 0.5);
  EXPECT_EQ(drafted.tokens_per_round, 2);
  ASSERT_EQ(drafted.by_position.size(), 2u);  // the second prompt had drafts at the first position alone
  EXPECT_EQ(drafted.by_position[0].drafted, 14u);
  EXPECT_EQ(drafted.by_position[0].accepted, 7u);
  EXPECT_EQ(drafted.by_position[1].drafted, 4u);
  EXPECT_EQ(drafted.by_position[1].accepted, 2u);
  EXPECT_EQ(drafted.least_skipped, 2u);
  EXPECT_EQ(drafted.most_skipped, 4u);
}

TEST(BenchSummary, DifferingTextsAreCountedByPromptAndSaid) {
  Sweep sweep = three_prompts({1, 1, 1}, {1, 1, 1});
  EXPECT_EQ(lossless_violation(sweep), "");
  sweep.runs[3].tokens.back() += 1;  // of the second prompt, drafted
  EXPECT_EQ(summarise(sweep)[1].differing, std::vector<std::size_t>{1});
  EXPECT_TRUE(summarise(sweep)[0].differing.empty());
  const std::string sentence = lossless_violation(sweep);
  EXPECT_NE(sentence.find("asd:c=0.9,k=2"), std::string::npos) << sentence;
  EXPECT_NE(sentence.find("1 of 3 prompts (the first in line 20)"), std::string::npos) << sentence;
  EXPECT_EQ(identical_runs(sweep), (std::vector<bool>{true, true, true, false, true, true}));
  sweep.drafters[1].lossless = false;
  EXPECT_EQ(lossless_violation(sweep), "");
}

TEST(BenchSummary, PlainDecodingIsComparedWithItself) {
  Sweep sweep = three_prompts({1, 1, 1}, {1, 1, 1});
  for (std::size_t i = 0; i < 6; ++i) {
    sweep.runs.push_back(sweep.runs[i]);
    sweep.runs.back().repeat = 1;
  }
  EXPECT_EQ(summarise(sweep)[0].runs, 6u);
  EXPECT_EQ(summarise(sweep)[0].prompts, 3u);
  EXPECT_EQ(lossless_violation(sweep), "");
  sweep.runs[6].tokens.pop_back();  // the first prompt's second time, plain
  EXPECT_EQ(summarise(sweep)[0].differing, std::vector<std::size_t>{0});
  EXPECT_NE(lossless_violation(sweep).find("with none"), std::string::npos);
}

TEST(BenchSummary, PromptsThatEndAtOnceHaveNoRate) {
  Sweep sweep = three_prompts({1, 1, 1}, {2, 2, 2});
  for (auto& run : sweep.runs) run.stats.generated_tokens = run.stats.rounds = 0;
  const Summary nothing = summarise(sweep)[1];
  EXPECT_EQ(nothing.rate_median, std::nullopt);
  EXPECT_EQ(nothing.rate_total, std::nullopt);
  EXPECT_EQ(nothing.speedup_median, std::nullopt);
  EXPECT_EQ(nothing.speedup_total, std::nullopt);
  EXPECT_EQ(nothing.tokens_per_round, std::nullopt);
}

using List = std::vector<std::string>;

TEST(BenchDrafterList, SeparatorsAndOptions) {
  EXPECT_EQ(drafter_list({"none,asd,asd:c=0.99"}), (List{"none", "asd", "asd:c=0.99"}));
  EXPECT_EQ(drafter_list({"asd:c=0.99,k=6,asd"}), (List{"none", "asd:c=0.99,k=6", "asd"}));
  EXPECT_EQ(drafter_list({" asd:c=0.99,k=6  asd,asd:k=3 , none"}), (List{"none", "asd:c=0.99,k=6", "asd", "asd:k=3"}));
  EXPECT_EQ(drafter_list({"asd", "asd:k=3,n=4"}), (List{"none", "asd", "asd:k=3,n=4"}));
  EXPECT_EQ(drafter_list({"exit:6,k=4,exit,skip:attn:3,5-7;mlp:9,k=2,asd"}),
            (List{"none", "exit:6,k=4", "exit", "skip:attn:3,5-7;mlp:9,k=2", "asd"}));
  EXPECT_EQ(drafter_list({"skip:mlp:9,attn:3 exit:6"}), (List{"none", "skip:mlp:9,attn:3", "exit:6"}));
}

TEST(BenchDrafterList, AllAreTheLosslessOnesThatNeedNoFile) {
  const List all = drafter_list({"all"});
  EXPECT_EQ(all.front(), "none");
  for (const char* name : {"none", "asd", "exit", "skip", "experts", "mtp", "auto", "lookup", "suffix", "window"})
    EXPECT_EQ(std::ranges::count(all, name), 1) << name;
  for (const char* name : {"sequential", "model", "copy"}) EXPECT_EQ(std::ranges::count(all, name), 0) << name;
  EXPECT_EQ(std::ranges::count(drafter_list({"suffix all"}), "suffix"), 1);
  EXPECT_TRUE(names_all({"asd", "suffix,all"}));
  EXPECT_FALSE(names_all({"asd", "auto:all"}));
}

TEST(BenchDrafterList, PlainDecodingIsAlwaysThere) {
  EXPECT_EQ(drafter_list({"suffix,auto:asd,exit:3 skip"}), (List{"none", "suffix", "auto:asd,exit:3", "skip"}));
  EXPECT_EQ(drafter_list({"auto,asd"}), (List{"none", "auto", "asd"}));
  EXPECT_EQ(drafter_list({}), List{"none"});
  EXPECT_EQ(drafter_list({"none none asd"}), (List{"none", "none", "asd"}));
}

TEST(BenchDrafterList, OptionsWithoutADrafterAreLeftToTheLibraryToRefuse) {
  EXPECT_EQ(drafter_list({"k=6"}), (List{"none", "k=6"}));
  EXPECT_EQ(drafter_list({"asd k=6"}), (List{"none", "asd", "k=6"}));
}

}  // namespace
}  // namespace cli::bench
