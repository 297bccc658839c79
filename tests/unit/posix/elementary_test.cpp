// Large angles, where the C libraries of POSIX systems can be asked.
#include "base/elementary.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace skipstone {
namespace {

TEST(Elementary, CosinesAndSinesOfManyTurns) {
  std::mt19937_64 random(4);
  std::uniform_real_distribution<double> large(0, 1 << 25);
  for (int i = 0; i < 100000; ++i) {
    const double angle = large(random);
    const CosSin both = cos_sin(angle);
    ASSERT_NEAR(both.cos, std::cos(angle), 2.3e-16) << angle;
    ASSERT_NEAR(both.sin, std::sin(angle), 2.3e-16) << angle;
  }
}

}  // namespace
}  // namespace skipstone
