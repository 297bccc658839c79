// The operations of recurrent mixers in scalar code, as those of operations.h: values and states are binary32, sums binary64.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

namespace skipstone::ref {

/// log(1 + e^x), without overflow.
double softplus(double x);
double sigmoid(double x);
/// x * sigmoid(x)
double silu(double x);

/// A causal convolution of each channel by itself: out[c] = sum over j of taps[c][j] * row(position - (kernel - 1) + j)[c] + bias[c].
/// `row`: the inputs at a position, at least as many as there are outputs; rows before position 0 are 0. `taps`: out.size() * kernel
/// floats, the row's own tap last; `bias`: empty for none.
void causal_convolution(std::span<const float> taps, std::span<const float> bias, std::uint32_t position,
                        const std::function<std::span<const float>(std::uint32_t)>& row, std::span<float> out);

/// x / sqrt(sum of x^2 + 1e-6) * scale, in place.
void l2_normalise(std::span<float> x, double scale = 1.0);

/// One row of the gated delta rule (Yang et al., arXiv 2412.06464, section 3) in one head. `state`: key.size() rows of value.size()
/// columns, S. S *= decay; S += key (x) (beta * (value - S^T key)); out = S^T query.
struct DeltaRow {
  std::span<const float> query, key, value;
  double decay = 1.0, beta = 0.0;
};
void delta_step(std::span<float> state, const DeltaRow& row, std::span<float> out);

/// One row of Mamba-2's recurrence (Dao and Gu, arXiv 2405.21060, section 6) in one head. `state`: x.size() rows of b.size() columns, S.
/// S = decay * S + dt * x (x) b; out = S c + skip * x.
struct MambaRow {
  std::span<const float> x, b, c;
  double decay = 1.0, dt = 0.0, skip = 0.0;
};
void mamba_step(std::span<float> state, const MambaRow& row, std::span<float> out);

}  // namespace skipstone::ref
