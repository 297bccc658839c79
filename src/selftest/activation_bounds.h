// How far a device may be from the functions of shaders/lib/activation.glsl, for an exact argument: absolute bounds by Vulkan's rules.
#pragma once

namespace skipstone::selftest {

/// Of GELU in its tanh form.
double gelu_error(double x);
/// Of cap * tanh(x / cap).
double softcap_error(double x, double cap);

/// Slopes that carry an argument's error on: |silu'| and |gelu'| are below them, |softcap'| is at most 1.
inline constexpr double silu_slope = 1.1, gelu_slope = 1.13;

}  // namespace skipstone::selftest
