#include "base/half.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

namespace skipstone {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

/// The value by the definition of binary16 (IEEE 754-2019, 3.4), through ldexp.
double half_value(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const double mantissa = bits & 1023;
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  if (exponent == 31) return mantissa == 0 ? sign * static_cast<double>(infinity) : std::nan("");
  return exponent == 0 ? sign * std::ldexp(mantissa, -24) : sign * std::ldexp(mantissa + 1024.0, exponent - 25);
}

TEST(Half, EveryValueConvertsExactlyAndBack) {
  for (std::uint32_t i = 0; i < 65536; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const float value = half_to_float(bits);
    const double expected = half_value(bits);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(value)) << i;
      ASSERT_TRUE(std::isnan(half_to_float(float_to_half(value)))) << i;
      continue;
    }
    ASSERT_EQ(static_cast<double>(value), expected) << i;
    ASSERT_EQ(std::signbit(value), (i & 0x8000) != 0) << i;
    ASSERT_EQ(float_to_half(value), bits) << i;
  }
}

TEST(Half, RoundsToNearestEvenBetweenEveryTwoNeighbours) {
  for (std::uint32_t i = 0; i < 0x7c00; ++i) {
    const auto low = static_cast<std::uint16_t>(i), high = static_cast<std::uint16_t>(i + 1);
    // The neighbour of the largest finite half, for rounding, is 65536.
    const double above = high == 0x7c00 ? 65536.0 : half_value(high);
    const auto middle = static_cast<float>((half_value(low) + above) / 2);  // exact: one bit more than a half has
    const std::uint16_t even = (i & 1) == 0 ? low : high;
    ASSERT_EQ(float_to_half(middle), even) << i;
    ASSERT_EQ(float_to_half(std::nextafter(middle, 0.0f)), low) << i;
    ASSERT_EQ(float_to_half(std::nextafter(middle, infinity)), high) << i;
    ASSERT_EQ(float_to_half(-middle), static_cast<std::uint16_t>(even | 0x8000)) << i;
  }
}

TEST(Half, ExtremesOfFloat) {
  EXPECT_EQ(float_to_half(std::numeric_limits<float>::max()), 0x7c00);
  EXPECT_EQ(float_to_half(-infinity), 0xfc00);
  EXPECT_EQ(float_to_half(std::numeric_limits<float>::denorm_min()), 0x0000);
  EXPECT_EQ(float_to_half(-std::numeric_limits<float>::denorm_min()), 0x8000);
  EXPECT_TRUE(std::isnan(half_to_float(float_to_half(std::bit_cast<float>(0x7f800001u)))));  // a NaN whose payload is in the low bits only
}

TEST(Bfloat, EveryValueConvertsExactlyAndBack) {
  for (std::uint32_t i = 0; i < 65536; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const float value = bfloat_to_float(bits);
    ASSERT_EQ(std::bit_cast<std::uint32_t>(value), i << 16);
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(bfloat_to_float(float_to_bfloat(value)))) << i;
    } else {
      ASSERT_EQ(float_to_bfloat(value), bits) << i;
    }
  }
}

TEST(Bfloat, RoundsToNearestEvenBetweenEveryTwoNeighbours) {
  for (std::uint32_t i = 0; i < 0x7f80; ++i) {
    const std::uint32_t middle = (i << 16) | 0x8000u;
    ASSERT_EQ(float_to_bfloat(std::bit_cast<float>(middle)), (i & 1) == 0 ? i : i + 1);
    ASSERT_EQ(float_to_bfloat(std::bit_cast<float>(middle - 1)), i);
    ASSERT_EQ(float_to_bfloat(std::bit_cast<float>(middle + 1)), i + 1);
    ASSERT_EQ(float_to_bfloat(std::bit_cast<float>(middle | 0x80000000u)), ((i & 1) == 0 ? i : i + 1) | 0x8000u);
  }
}

TEST(Bfloat, NanWithALowPayloadStaysNan) {
  EXPECT_TRUE(std::isnan(bfloat_to_float(float_to_bfloat(std::bit_cast<float>(0x7f800001u)))));
  EXPECT_TRUE(std::isnan(bfloat_to_float(float_to_bfloat(std::bit_cast<float>(0xffffffffu)))));
}

}  // namespace
}  // namespace skipstone
