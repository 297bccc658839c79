// Functions that have the same bits on every platform: against the C library's, and against bits written down.
#include "base/elementary.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

namespace skipstone {
namespace {

TEST(Elementary, AgreesWithTheCLibrary) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> uniform(-60, 0), wide(-708, 0), exponent(-300, 300);
  for (int i = 0; i < 200000; ++i) {
    const double x = i % 2 == 0 ? uniform(random) : wide(random);
    const double e = std::exp(x);
    ASSERT_NEAR(exp_of_nonpositive(x), e, e * 2.3e-16) << x;
    const double y = i % 2 == 0 ? std::exp(-std::abs(uniform(random))) : std::pow(10.0, exponent(random));
    ASSERT_NEAR(log_of_positive(y), std::log(y), std::abs(std::log(y)) * 4.5e-16) << y;
  }
  EXPECT_EQ(exp_of_nonpositive(0.0), 1.0);
  EXPECT_EQ(exp_of_nonpositive(-709.0), 0.0);
  EXPECT_EQ(exp_of_nonpositive(-std::numeric_limits<double>::infinity()), 0.0);
  EXPECT_EQ(exp_of_nonpositive(std::nan("")), 0.0);
  EXPECT_EQ(log_of_positive(1.0), 0.0);
}

TEST(Elementary, PowersAreCorrectlyRoundedAsFarAsLongDoubleTells) {
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> base(0.001, 5e6), exponent(-2, 2);
  for (int i = 0; i < 20000; ++i) {
    const double b = base(random), e = exponent(random);
    const long double exact = std::pow(static_cast<long double>(b), static_cast<long double>(e));
    const double unit = std::nextafter(static_cast<double>(exact), 1e300) - static_cast<double>(exact);
    ASSERT_NEAR(static_cast<double>(power(b, e) - exact), 0.0, 0.52 * unit) << b << " ^ " << e;
  }
  for (int n = -300; n <= 300; ++n) EXPECT_EQ(power(10.0, n), std::stod("1e" + std::to_string(n))) << n;
  EXPECT_EQ(power(3.0, 0.0), 1.0);
  EXPECT_EQ(power(1.0, 1e300), 1.0);
  EXPECT_EQ(power(2.0, -1074.0), std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(power(10.0, 309.0), std::numeric_limits<double>::infinity());
  EXPECT_EQ(power(10.0, -400.0), 0.0);
  EXPECT_EQ(power(0.5, 1e306), 0.0);
}

TEST(Elementary, CosinesAndSinesOfRotations) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> of_a_turn(0, 7);  // C libraries that leave larger ones to the x87 are wrong there
  for (int i = 0; i < 100000; ++i) {
    const double angle = of_a_turn(random);
    const CosSin both = cos_sin(angle);
    ASSERT_NEAR(both.cos, std::cos(angle), 2.3e-16) << angle;
    ASSERT_NEAR(both.sin, std::sin(angle), 2.3e-16) << angle;
  }
  EXPECT_EQ(cos_sin(0.0).cos, 1.0);
  EXPECT_EQ(cos_sin(0.0).sin, 0.0);
}

/// FNV-1a over bits.
class Bits {
 public:
  void add(double value) {
    for (std::uint64_t bits = std::bit_cast<std::uint64_t>(value), i = 0; i < 8; ++i, bits >>= 8) {
      hash_ = (hash_ ^ (bits & 0xFF)) * 0x100000001b3;
    }
  }
  std::uint64_t hash() const { return hash_; }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325;
};

// A compiler that contracts products and sums, or another C library under it, would change these.
TEST(Elementary, BitsAreTheSameOnEveryPlatform) {
  Bits bits;
  for (int i = 1; i <= 10000; ++i) {
    bits.add(exp_of_nonpositive(-0.07 * i));
    bits.add(log_of_positive(0.37 * i));
    bits.add(power(500000.0, -1.0 / i));
    const CosSin both = cos_sin(0.731 * i * i);
    bits.add(both.cos);
    bits.add(both.sin);
  }
  EXPECT_EQ(bits.hash(), std::uint64_t{0x8c7c42511f9b57dd});
}

}  // namespace
}  // namespace skipstone
