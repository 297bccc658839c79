// Stop strings against their definition, at every way of cutting a text.
#include "text/stop_strings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace skipstone::text {
namespace {

/// The definition: of all places where a stop string is, the one that ends first; of those that end together, the longest.
std::string before_stop(const std::string& text, const std::vector<std::string>& stops) {
  for (std::size_t end = 1; end <= text.size(); ++end) {
    std::size_t longest = 0;
    for (const std::string& stop : stops) {
      if (stop.size() <= end && std::string_view(text).substr(end - stop.size(), stop.size()) == stop)
        longest = std::max(longest, stop.size());
    }
    if (longest > 0) return text.substr(0, end - longest);
  }
  return text;
}

std::string through(StopStrings stops, const std::vector<std::string_view>& pieces) {
  std::string out;
  for (const std::string_view piece : pieces) {
    out += stops.push(piece);
    if (stops.stopped()) return out;
  }
  return out + stops.finish();
}

std::string random_text(std::minstd_rand& random, std::size_t most) {
  std::string text;
  for (std::size_t length = 1 + random() % most; length > 0; --length) text.push_back("aab\n"[random() % 4]);
  return text;
}

TEST(StopStrings, EndTheTextExactlyBeforeThemHoweverItIsCut) {
  std::minstd_rand random(1);
  int stopped = 0;
  for (int round = 0; round < 1000; ++round) {
    const std::string text = random_text(random, 24);
    std::vector<std::string> stops;
    for (std::size_t count = 1 + random() % 3; count > 0; --count) stops.push_back(random_text(random, 5));
    const std::string expected = before_stop(text, stops);
    stopped += expected != text ? 1 : 0;
    SCOPED_TRACE(testing::Message() << "round " << round);
    const std::string_view view = text;
    for (std::size_t cut = 0; cut <= text.size(); ++cut) {
      ASSERT_EQ(through(StopStrings(stops), {view.substr(0, cut), view.substr(cut)}), expected) << "cut at " << cut;
    }
    std::vector<std::string_view> bytes;
    for (std::size_t i = 0; i < text.size(); ++i) bytes.push_back(view.substr(i, 1));
    ASSERT_EQ(through(StopStrings(stops), bytes), expected);
  }
  EXPECT_GT(stopped, 300);
  EXPECT_LT(stopped, 1000);
}

TEST(StopStrings, HoldBackNoMoreThanMayBeTheBeginningOfOne) {
  StopStrings stops({"\nUser:"});
  EXPECT_EQ(stops.push("Yes."), "Yes.");
  EXPECT_EQ(stops.push("\nUs"), "");
  EXPECT_EQ(stops.push("ually"), "\nUsually");
  EXPECT_EQ(stops.push("\n\nUser"), "\n");
  EXPECT_EQ(stops.push(": Why?"), "");
  EXPECT_TRUE(stops.stopped());
  EXPECT_EQ(stops.push("more"), "");
  EXPECT_EQ(stops.finish(), "");
}

TEST(StopStrings, WhatNoTextCouldEndWithIsRefused) {
  for (const std::vector<std::string>& wrong : {std::vector<std::string>{""},
                                                {"fine", "\xff"},
                                                {std::string(StopStrings::longest + 1, 'x')},
                                                std::vector<std::string>(StopStrings::most + 1, "x")}) {
    try {
      StopStrings{wrong};
      ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::invalid_argument);
    }
  }
  EXPECT_NO_THROW(StopStrings(std::vector<std::string>(StopStrings::most, "x")));
}

}  // namespace
}  // namespace skipstone::text
