// Verdicts: "" or the first difference in words.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace skipstone::selftest {

/// The distance of neighbouring floats at 1: one rounding is at most half of it, relative. Bounds count roundings in it, which leaves
/// room for drivers that split an fma into product and sum (Vulkan's precision rules allow it).
inline constexpr double epsilon = 0x1p-23;
/// Below the smallest normal float devices may flush to zero.
inline constexpr double smallest = 0x1p-126;

/// |got - wanted| <= tolerance, element by element; equal values (infinities too) always agree, NaN never does.
std::string differs(std::string_view what, std::span<const float> got, std::span<const float> wanted, std::span<const double> tolerance);
std::string differs(std::string_view what, float got, double wanted, double tolerance);

/// The same bits. `other` names the second operand: "got X, OTHER Y".
std::string bits_differ(std::string_view what, std::span<const float> got, std::span<const float> wanted, std::string_view other);
std::string bits_differ(std::string_view what, std::span<const std::uint32_t> got, std::span<const std::uint32_t> wanted,
                        std::string_view other);

/// All words still Bench::untouched.
std::string touched(std::string_view what, std::span<const std::uint32_t> words);
/// As differs(), for row `row` of `buffer` (rows of n values at a padded stride), whose padding must be untouched. `words`: its bits.
std::string row_differs(const std::vector<float>& buffer, const std::vector<std::uint32_t>& words, std::uint32_t n, std::uint32_t row,
                        std::span<const float> wanted, std::span<const double> tolerance);

// How far a device may be from the functions of shaders/lib/activation.glsl, for an exact argument: absolute bounds by Vulkan's rules.

/// Of GELU in its tanh form.
double gelu_error(double x);
/// Of cap * tanh(x / cap).
double softcap_error(double x, double cap);

/// Slopes that carry an argument's error on: |silu'| and |gelu'| are below them, |softcap'| is at most 1.
inline constexpr double silu_slope = 1.1, gelu_slope = 1.13;

}  // namespace skipstone::selftest
