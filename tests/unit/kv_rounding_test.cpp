// Blocks of a Q8_0 cache against numbers worked out by hand, and what rounding may cost.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/half.h"
#include "base/philox.h"
#include "base/status.h"
#include "ref/operations.h"

namespace skipstone::ref {
namespace {

using Values = std::array<float, kv_block>;

Values filled(float first, float others) {
  Values values;
  values.fill(others);
  values[0] = first;
  return values;
}

TEST(KvRounding, ScaleIsTheLargestOver127) {
  const KvBlock block = quantise_kv(filled(-254.0f, 3.0f));
  EXPECT_EQ(half_to_float(block.scale), 2.0f);
  EXPECT_EQ(block.quants[0], -127);
  EXPECT_EQ(block.quants[1], 2);  // 1.5
  EXPECT_EQ(block.value(0), -254.0f);
  EXPECT_EQ(block.value(1), 4.0f);
}

TEST(KvRounding, TiesGoAwayFromZero) {
  EXPECT_EQ(quantise_kv(filled(127.0f, 2.5f)).quants[9], 3);
  EXPECT_EQ(quantise_kv(filled(127.0f, -2.5f)).quants[9], -3);
  EXPECT_EQ(quantise_kv(filled(127.0f, std::nextafter(2.5f, 0.0f))).quants[9], 2);
  EXPECT_EQ(quantise_kv(filled(127.0f, 0.5f)).quants[9], 1);
  EXPECT_EQ(quantise_kv(filled(127.0f, std::nextafter(-0.5f, 0.0f))).quants[9], 0);
}

TEST(KvRounding, SmallScalesAreDenormalAndStillDivide) {
  const float unit = 0x1p-24f;  // the least half
  EXPECT_EQ(quantise_kv(filled(127 * unit, 40 * unit)).quants[1], 40);
  const KvBlock clamped = quantise_kv(filled(176 * unit, 40 * unit));  // 176 / 127 rounds down to 1 unit
  EXPECT_EQ(half_to_float(clamped.scale), unit);
  EXPECT_EQ(clamped.quants[0], 127);
  EXPECT_EQ(clamped.quants[1], 40);
  EXPECT_EQ(quantise_kv(filled(60 * unit, 40 * unit)), KvBlock{});  // rounds to no scale at all
}

TEST(KvRounding, WhatIsNoNumberMakesTheBlockNone) {
  for (const float bad : {std::numeric_limits<float>::infinity(), std::nanf(""), -1e7f}) {
    const KvBlock block = quantise_kv(filled(1.0f, bad));
    EXPECT_TRUE(std::isnan(block.value(0))) << bad;
    EXPECT_EQ(block.quants[3], 0) << bad;
  }
}

TEST(KvRounding, IsOffByHalfAQuant) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    Values values;
    for (std::uint32_t i = 0; i < kv_block; ++i)
      values[i] =
          std::ldexp(static_cast<float>(static_cast<std::int32_t>(philox({i, seed, 0, 0}, {1, 2})[0])), -40 + static_cast<int>(seed % 20));
    const KvBlock block = quantise_kv(values);
    const float scale = half_to_float(block.scale);
    for (std::uint32_t i = 0; i < kv_block; ++i)
      EXPECT_LE(std::abs(block.value(i) - values[i]), 0.5625f * scale) << seed;  // the largest: 127.06
    std::vector<float> twice(values.begin(), values.end());
    round_kv(KvFormat::q8_0, twice);
    std::vector<float> once = twice;
    round_kv(KvFormat::q8_0, twice);
    EXPECT_EQ(once, twice);
  }
  std::vector<float> odd(kv_block + 1);
  EXPECT_THROW(round_kv(KvFormat::q8_0, odd), Error);
}

}  // namespace
}  // namespace skipstone::ref
