// A search that ranks share: who tries how many sets, where profiles lie, and which of them is the result.
#include "tune/tune_ranks.h"

#include <gtest/gtest.h>

#include "json/json.h"
#include "terminal/exit_code.h"

namespace cli {
namespace {

using skipstone::Json;

Json report(const char* skip_set, double expected, const Json& measured, bool interrupted = false) {
  const Json runs = measured.is_null() ? Json() : Json{{"speedup", measured}};
  return {{"profile",
           {{"skip_set", skip_set},
            {"expected", {{"speedup", expected}}},
            {"measured", runs},
            {"found", {{"device", "a device"}, {"driver", "a driver"}}}}},
          {"interrupted", interrupted},
          {"evaluations", 7}};
}

TEST(TuneRanks, ShareTheSetsAndLoseNone) {
  for (const std::size_t ranks : {1u, 2u, 3u, 7u}) {
    std::uint32_t sum = 0;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const std::uint32_t share = share_of_iterations(20, rank, ranks);
      EXPECT_GE(share, 20 / ranks);
      EXPECT_LE(share, 20 / ranks + 1);
      sum += share;
    }
    EXPECT_EQ(sum, 20u);
  }
  EXPECT_THROW(share_of_iterations(2, 0, 3), Failure);
}

TEST(TuneRanks, HaveProfilesBesideTheWantedOne) {
  EXPECT_EQ(profile_of_rank("a.b/code.json", 0), "a.b/code.json");
  EXPECT_EQ(profile_of_rank("a.b/code.json", 12), "a.b/code.rank12.json");
}

TEST(TuneRanks, TheFastestProfileIsTheResult) {
  const Json merged = merge_searches({report("attn:1", 1.5, 1.1), report("attn:2", 1.2, 1.3), report("attn:3", 1.9, 1.2)});
  EXPECT_EQ(merged["profile"]["skip_set"], "attn:2");
  EXPECT_EQ(merged["ranks"].size(), 3u);
  EXPECT_EQ(merged["ranks"][2]["rank"], 2);
  EXPECT_EQ(merged["ranks"][2]["speedup"], 1.2);
  EXPECT_EQ(ranks_text(merged).substr(0, 60), "rank 0       7 sets, best 1.100 in real runs: attn:1 (a devi");
}

TEST(TuneRanks, WhatWasMeasuredCountsBeforeWhatIsExpected) {
  const Json one = merge_searches({report("attn:1", 1.9, Json(), true), report("attn:2", 1.2, 0.9)});
  EXPECT_EQ(one["profile"]["skip_set"], "attn:2");
  EXPECT_TRUE(one["interrupted"].get<bool>());
  const Json none = merge_searches({report("attn:1", 1.1, Json()), report("attn:2", 1.2, Json())});
  EXPECT_EQ(none["profile"]["skip_set"], "attn:2");
  EXPECT_FALSE(none["interrupted"].get<bool>());
}

TEST(TuneRanks, EqualProfilesAreTheFirstRanks) {
  EXPECT_EQ(merge_searches({report("attn:1", 1, 1.1), report("attn:2", 2, 1.1)})["profile"]["skip_set"], "attn:1");
}

}  // namespace
}  // namespace cli
