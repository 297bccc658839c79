#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "sample/candidates.h"

namespace skipstone::sample {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();

/// Everything sorted.
std::vector<Token> by_sorting(const std::vector<float>& logits, std::size_t k) {
  std::vector<Token> order;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (logits[i] == logits[i]) order.push_back(static_cast<Token>(i));
  }
  const auto logit = [&](Token token) { return logits[static_cast<std::size_t>(token)]; };
  std::stable_sort(order.begin(), order.end(), [&](Token a, Token b) { return logit(a) > logit(b); });
  order.resize(k, -1);
  return order;
}

TEST(TopK, IsWhatSortingGives) {
  std::mt19937 random(4);
  std::normal_distribution<float> normal(0, 2);
  for (int i = 0; i < 3000; ++i) {
    std::vector<float> logits(random() % 400);
    const bool coarse = random() % 2 == 0;  // many ties
    for (float& logit : logits) {
      logit = coarse ? static_cast<float>(random() % 7) : normal(random);
      if (random() % 20 == 0) logit = random() % 3 == 0 ? nan : random() % 2 == 0 ? -inf : inf;
    }
    std::vector<Token> top(random() % 30);
    top_k(logits, top);
    ASSERT_EQ(top, by_sorting(logits, top.size())) << i;
  }
}

TEST(TopK, OfRowsThatRiseAndFall) {
  std::vector<float> rising(1000), nothing(100, nan);
  std::iota(rising.begin(), rising.end(), -500.0f);
  std::vector<Token> top(3);
  top_k(rising, top);
  EXPECT_EQ(top, (std::vector<Token>{999, 998, 997}));
  std::ranges::reverse(rising);
  top_k(rising, top);
  EXPECT_EQ(top, (std::vector<Token>{0, 1, 2}));
  top_k(nothing, top);
  EXPECT_EQ(top, (std::vector<Token>{-1, -1, -1}));
}

}  // namespace
}  // namespace skipstone::sample
