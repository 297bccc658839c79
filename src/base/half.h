// IEEE 754 binary16 and bfloat16 in software, rounding to nearest even as every device tier must (docs/numerics.md).
#pragma once

#include <cstdint>

namespace skipstone {

inline constexpr float largest_half = 65504.0f;

float half_to_float(std::uint16_t bits);
std::uint16_t float_to_half(float value);

float bfloat_to_float(std::uint16_t bits);
std::uint16_t float_to_bfloat(float value);

}  // namespace skipstone
