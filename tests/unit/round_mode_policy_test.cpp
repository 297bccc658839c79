#include "engine/round_mode_policy.h"

#include <gtest/gtest.h>

namespace skipstone::engine {
namespace {

// Feeds a switch with rounds that take `host` or `device` seconds a row until it has chosen; gives the number of rounds that it looked at.
int feed(RoundModePolicy& rounds, double host, double device, double first = 1.0) {
  int turns = 0;
  while (rounds.measures() && turns < 1000) {
    const bool warm = turns / 2 >= static_cast<int>(RoundModePolicy::warm_up);
    const std::uint32_t rows = 1 + static_cast<std::uint32_t>(turns * 7 % 5);
    rounds.record_time((warm ? 1.0 : first) * rows * (rounds.on_device() ? device : host), rows);
    ++turns;
  }
  return turns;
}

TEST(RoundModePolicy, SaidIsDone) {
  for (const Rounds way : {Rounds::host, Rounds::device}) {
    RoundModePolicy rounds(way);
    EXPECT_FALSE(rounds.measures());
    rounds.record_time(9.0, 1);
    EXPECT_EQ(rounds.on_device(), way == Rounds::device);
  }
}

TEST(RoundModePolicy, TakesTurnsAndKeepsTheFaster) {
  RoundModePolicy first(Rounds::automatic);
  EXPECT_FALSE(first.on_device());
  first.record_time(0.01, 1);
  EXPECT_TRUE(first.on_device());
  first.record_time(0.01, 1);
  EXPECT_FALSE(first.on_device());

  RoundModePolicy device(Rounds::automatic), host(Rounds::automatic), even(Rounds::automatic);
  EXPECT_EQ(feed(device, 0.011, 0.010), 2 * static_cast<int>(RoundModePolicy::warm_up + RoundModePolicy::samples));
  EXPECT_TRUE(device.on_device());
  feed(host, 0.010, 0.011);
  EXPECT_FALSE(host.on_device());
  feed(even, 0.010, 0.010);
  EXPECT_FALSE(even.on_device());
}

TEST(RoundModePolicy, FirstRoundsAndOutliersDoNotCount) {
  RoundModePolicy rounds(Rounds::automatic);
  int turns = 0;
  while (rounds.measures()) {
    const bool recorded = turns < 4, hiccup = turns == 9 || turns == 13;
    rounds.record_time(recorded || hiccup ? 5.0 : rounds.on_device() ? 0.010 : 0.012, 1);
    ++turns;
  }
  EXPECT_TRUE(rounds.on_device());
}

TEST(RoundModePolicy, LongRoundsStayWithTheHost) {
  RoundModePolicy rounds(Rounds::automatic);
  EXPECT_EQ(feed(rounds, 0.3, 0.1), 2 * static_cast<int>(RoundModePolicy::warm_up) + 1);
  EXPECT_FALSE(rounds.on_device());
}

}  // namespace
}  // namespace skipstone::engine
