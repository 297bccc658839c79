#include "base/philox.h"

#include <gtest/gtest.h>

#include <cmath>

namespace skipstone {
namespace {

using Words = std::array<std::uint32_t, 4>;

// The known answers that the authors publish with Random123 for philox4x32 with ten rounds.
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}), (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, OpenUnitIsNeverZeroOrOneAndItsLogarithmsAreFinite) {
  for (const std::uint32_t word : {0u, 1u, 0x7fffffffu, 0x80000000u, 0xfffffffeu, 0xffffffffu}) {
    const double u = open_unit(word);
    EXPECT_GT(u, 0.0);
    EXPECT_LT(u, 1.0);
    EXPECT_TRUE(std::isfinite(-std::log(-std::log(u))));
  }
}

TEST(Philox, EveryWordIsUniform) {
  constexpr int blocks = 40000, bins = 64;
  for (std::size_t word = 0; word < 4; ++word) {
    std::array<int, bins> counts{};
    for (std::uint32_t i = 0; i < blocks; ++i) ++counts[static_cast<std::size_t>(open_unit(philox({i, 0, 0, 0}, {7, 0})[word]) * bins)];
    double chi_square = 0;
    const double expected = static_cast<double>(blocks) / bins;
    for (const int count : counts) chi_square += (count - expected) * (count - expected) / expected;
    EXPECT_LT(chi_square, 63 + 5 * std::sqrt(2.0 * 63)) << "word " << word;
  }
}

}  // namespace
}  // namespace skipstone
