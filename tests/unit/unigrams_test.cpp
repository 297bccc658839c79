#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "speculation/bigrams.h"

namespace skipstone::speculation {
namespace {

using sample::Token;

/// From the definition: d(x)^2 = mean over y of <u_x - m, u_y - m>^2.
std::vector<double> distances_of(const std::vector<float>& embeddings, std::size_t width) {
  const std::size_t count = embeddings.size() / width;
  std::vector<double> mean(width), distances(count);
  for (std::size_t i = 0; i < embeddings.size(); ++i) mean[i % width] += static_cast<double>(embeddings[i]) / static_cast<double>(count);
  const auto centred = [&](std::size_t x, std::size_t i) { return static_cast<double>(embeddings[x * width + i]) - mean[i]; };
  for (std::size_t x = 0; x < count; ++x) {
    for (std::size_t y = 0; y < count; ++y) {
      double product = 0;
      for (std::size_t i = 0; i < width; ++i) product += centred(x, i) * centred(y, i);
      distances[x] += product * product / static_cast<double>(count);
    }
  }
  return distances;
}

TEST(Unigrams, AreTheTokensNearestToTheMean) {
  std::mt19937 random(6);
  std::normal_distribution<float> normal(0, 1);
  for (const std::size_t count : {1u, 3u, 300u, 515u}) {
    constexpr std::size_t width = 12;
    std::vector<float> embeddings(count * width);
    for (std::size_t i = 0; i < embeddings.size(); ++i) embeddings[i] = 0.3f + normal(random) * (i % width < 3 ? 2.0f : 0.5f);
    std::size_t read = 0;
    double last = -1;
    const auto ranking = unigram_ranking(
        static_cast<std::uint32_t>(count), width, 25,
        [&](std::uint32_t first, std::uint32_t rows) {
          read += rows;
          return std::span<const float>(embeddings).subspan(first * width, rows * width);
        },
        [&](double done) {
          EXPECT_GT(done, last);
          EXPECT_LT(last = done, 1);
        });
    EXPECT_EQ(read, 3 * count);
    ASSERT_EQ(ranking.size(), std::min<std::size_t>(25, count));
    const std::vector<double> distances = distances_of(embeddings, width);
    std::vector<double> sorted = distances;
    std::ranges::sort(sorted);
    for (std::size_t i = 0; i < ranking.size(); ++i) {
      EXPECT_NEAR(distances.at(static_cast<std::size_t>(ranking[i])), sorted[i], 1e-4 * (1 + sorted[i])) << i;
    }
  }
}

}  // namespace
}  // namespace skipstone::speculation
