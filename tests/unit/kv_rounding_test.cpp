// Blocks of quantised caches against numbers worked out by hand, and what rounding may cost.
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

constexpr KvFormat blocks[] = {KvFormat::q8_0, KvFormat::q4_0, KvFormat::q5_1};

Values filled(float first, float others) {
  Values values;
  values.fill(others);
  values[0] = first;
  return values;
}

TEST(KvRounding, ScaleIsTheLargestOver127) {
  const KvBlock block = quantise_kv(KvFormat::q8_0, filled(-254.0f, 3.0f));
  EXPECT_EQ(half_to_float(block.scale), 2.0f);
  EXPECT_EQ(block.quants[0], -127);
  EXPECT_EQ(block.quants[1], 2);  // 1.5
  EXPECT_EQ(block.value(0), -254.0f);
  EXPECT_EQ(block.value(1), 4.0f);
}

TEST(KvRounding, TiesGoAwayFromZero) {
  EXPECT_EQ(quantise_kv(KvFormat::q8_0, filled(127.0f, 2.5f)).quants[9], 3);
  EXPECT_EQ(quantise_kv(KvFormat::q8_0, filled(127.0f, -2.5f)).quants[9], -3);
  EXPECT_EQ(quantise_kv(KvFormat::q8_0, filled(127.0f, std::nextafter(2.5f, 0.0f))).quants[9], 2);
  EXPECT_EQ(quantise_kv(KvFormat::q8_0, filled(127.0f, 0.5f)).quants[9], 1);
  EXPECT_EQ(quantise_kv(KvFormat::q8_0, filled(127.0f, std::nextafter(-0.5f, 0.0f))).quants[9], 0);
}

TEST(KvRounding, SmallScalesAreDenormalAndStillDivide) {
  const float unit = 0x1p-24f;  // the least half
  EXPECT_EQ(quantise_kv(KvFormat::q8_0, filled(127 * unit, 40 * unit)).quants[1], 40);
  const KvBlock clamped = quantise_kv(KvFormat::q8_0, filled(176 * unit, 40 * unit));  // 176 / 127 rounds down to 1 unit
  EXPECT_EQ(half_to_float(clamped.scale), unit);
  EXPECT_EQ(clamped.quants[0], 127);
  EXPECT_EQ(clamped.quants[1], 40);
  EXPECT_EQ(quantise_kv(KvFormat::q8_0, filled(60 * unit, 40 * unit)), KvBlock{});  // rounds to no scale at all
}

TEST(KvRounding, Q4_0HasTheLargestAtMinusEight) {
  for (const float sign : {1.0f, -1.0f}) {
    Values values = filled(sign * 16.0f, sign * -1.0f);  // a tie: -1 / -2 = 0.5
    values[1] = sign * -16.0f;                           // the other end has no quant of its own
    values[2] = sign * 1.0f;
    values[3] = sign * std::nextafter(-1.0f, 0.0f);
    const KvBlock block = quantise_kv(KvFormat::q4_0, values);
    EXPECT_EQ(half_to_float(block.scale), sign * -2.0f);
    EXPECT_EQ(block.quants[0], -8);
    EXPECT_EQ(block.quants[1], 7);
    EXPECT_EQ(block.quants[2], 0);  // -0.5, up
    EXPECT_EQ(block.quants[3], 0);
    EXPECT_EQ(block.quants[4], 1);  // 0.5, up
    EXPECT_EQ(block.value(0), values[0]);
  }
  const float unit = 0x1p-24f;
  EXPECT_EQ(quantise_kv(KvFormat::q4_0, filled(-8 * unit, 3 * unit)).quants[1], 3);
  const KvBlock clamped = quantise_kv(KvFormat::q4_0, filled(-11 * unit, 11 * unit));  // 11 / 8 rounds down to 1 unit
  EXPECT_EQ(half_to_float(clamped.scale), unit);
  EXPECT_EQ(clamped.quants[0], -8);
  EXPECT_EQ(clamped.quants[1], 7);
  EXPECT_EQ(quantise_kv(KvFormat::q4_0, filled(-3 * unit, unit)), KvBlock{});
  EXPECT_EQ(quantise_kv(KvFormat::q4_0, filled(-0.0f, 0.0f)), KvBlock{});
}

TEST(KvRounding, Q5_1GoesFromTheLeastToTheLargest) {
  Values values = filled(-3.0f, 1.5f);
  values[1] = 59.0f;
  const KvBlock block = quantise_kv(KvFormat::q5_1, values);
  EXPECT_EQ(half_to_float(block.scale), 2.0f);
  EXPECT_EQ(half_to_float(block.minimum), -3.0f);
  EXPECT_EQ(block.quants[0], 0);
  EXPECT_EQ(block.quants[1], 31);
  EXPECT_EQ(block.quants[2], 2);  // 2.25
  EXPECT_EQ(block.value(1), 59.0f);
  values[2] = 2.0f;
  EXPECT_EQ(quantise_kv(KvFormat::q5_1, values).quants[2], 3);  // 2.5, up
  const KvBlock constant = quantise_kv(KvFormat::q5_1, filled(2.5f, 2.5f));
  EXPECT_EQ(constant.scale, 0);
  EXPECT_EQ(constant.value(7), 2.5f);
  EXPECT_EQ(quantise_kv(KvFormat::q5_1, filled(-0.0f, 0.0f)).minimum, 0x8000);
  const KvBlock raised =
      quantise_kv(KvFormat::q5_1, filled(2049.0f + 0x1p-8f, 2080.0f));  // the minimum rounds to 2050: above the least value
  EXPECT_EQ(half_to_float(raised.minimum), 2050.0f);
  EXPECT_EQ(raised.quants[0], 0);
  EXPECT_FALSE(std::isfinite(quantise_kv(KvFormat::q5_1, filled(-70000.0f, -69999.0f)).value(1)));
  EXPECT_TRUE(std::isnan(quantise_kv(KvFormat::q5_1, filled(-3e38f, 3e38f)).value(1)));
}

TEST(KvRounding, WhatIsNoNumberMakesTheBlockNone) {
  for (const KvFormat format : blocks) {
    for (const float bad : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(), std::nanf(""), -1e7f}) {
      const KvBlock block = quantise_kv(format, filled(1.0f, bad));
      EXPECT_FALSE(std::isfinite(block.value(0))) << to_string(format) << " " << bad;
      EXPECT_EQ(block.quants[3], 0) << to_string(format) << " " << bad;
    }
  }
}

// The ends of a range are off by more where the scale was rounded to a half, and the largest of Q4_0's other sign by a whole quant.
TEST(KvRounding, IsOffByHalfAQuant) {
  for (const KvFormat format : blocks) {
    const float most = format == KvFormat::q4_0 ? 1.01f : 0.5625f;  // of q8_0 the largest: 127.06
    for (std::uint32_t seed = 0; seed < 200; ++seed) {
      Values values;
      for (std::uint32_t i = 0; i < kv_block; ++i) {
        const auto word = static_cast<std::int32_t>(philox({i, seed, 0, 0}, {1, 2})[0]);
        values[i] = std::ldexp(static_cast<float>(word), -40 + static_cast<int>(seed % 20));
      }
      const KvBlock block = quantise_kv(format, values);
      const float scale = std::abs(half_to_float(block.scale)), offset = std::abs(half_to_float(block.minimum)) * 0x1p-11f;
      for (std::uint32_t i = 0; i < kv_block; ++i)
        EXPECT_LE(std::abs(block.value(i) - values[i]), most * scale + offset) << to_string(format) << " " << seed;
      std::vector<float> rounded(values.begin(), values.end());
      round_kv(format, rounded);
      for (std::uint32_t i = 0; i < kv_block; ++i) EXPECT_EQ(rounded[i], block.value(i));
      if (format != KvFormat::q8_0) continue;
      const std::vector<float> once = rounded;
      round_kv(format, rounded);
      EXPECT_EQ(once, rounded);
    }
    std::vector<float> odd(kv_block + 1);
    EXPECT_THROW(round_kv(format, odd), Error);
  }
}

}  // namespace
}  // namespace skipstone::ref
