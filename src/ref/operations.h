// The operations of a Llama-like model in scalar code: the reference for every device kernel, in tests and by `doctor`; `convert` runs
// them for calibration.
// Values between operations are binary32; sums inside an operation are binary64 (products of two floats are exact there), so that each
// result is its exact value rounded once or very nearly so, and the distance of a device's result is the device's error.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/kv_format.h"
#include "gguf/gguf.h"
#include "model/config.h"

namespace skipstone::ref {

/// y[n] = sum over k of W[n][k] x[k], for each of the rows of x. `weights`: N rows of K floats; x: rows of K; y: as many rows of N.
/// K = x.size() / rows, N = y.size() / rows. A row's result does not depend on the other rows.
void multiply(std::span<const float> weights, std::span<const float> x, std::span<float> y, std::size_t rows = 1);

/// The same for one row, from a tensor's bytes: K = x.size(), N = y.size(). Throws invalid_argument where the bytes are not N rows of K
/// weights, unsupported for types that are not runnable.
void matvec(gguf::Type type, std::span<const std::byte> weights, std::span<const float> x, std::span<float> y);

/// Row `index` of a tensor of any runnable type, as floats: the embedding of a token. Throws invalid_argument if there is no such row.
std::vector<float> row(const gguf::Tensor& tensor, std::uint64_t index);

/// All of a tensor's weights, as floats.
std::vector<float> weights(const gguf::Tensor& tensor);

/// out = x / sqrt(mean(x^2) + epsilon) * weight (Zhang and Sennrich 2019). Three spans of one length.
void rms_norm(std::span<const float> x, std::span<const float> weight, float epsilon, std::span<float> out);

/// out = (x - mean) / sqrt(variance + epsilon) * weight + bias (Ba et al. 2016). Four spans of one length.
void layer_norm(std::span<const float> x, std::span<const float> weight, std::span<const float> bias, float epsilon, std::span<float> out);

/// Rotates every head in place (Su et al. 2021). `heads`: any number of heads of head_dim floats. The angle of pair i of rope_dim/2
/// is position / rope_scale * rope_base^(-2i / rope_dim) / rope_factors[i], computed in binary64, and so are its cosine and sine, both
/// times rope_magnitude; with `local` it is position * local_rope_base^(-2i / rope_dim). Dimensions from rope_dim on are left alone.
void rope(std::span<float> heads, std::uint32_t head_dim, std::uint32_t position, const model::Config& config, bool local = false);

/// A layer's cached keys and values: row p of each holds kv_heads * head_dim floats for position p.
struct KvView {
  std::span<const float> keys, values;
  std::uint32_t kv_heads = 0, head_dim = 0;
  double scale = 0.0;              ///< of scores; 0: 1 / sqrt(head_dim)
  double softcap = 0.0;            ///< scores become softcap * tanh(score / softcap); 0: they stay
  std::span<const float> sinks{};  ///< of each query head a score without a value, which joins its softmax; empty: none
};

/// One query row over the listed cache positions: out[h] = sum of softmax(softcapped(scale * q[h] . k)) v, where query head h reads KV head
/// h / (heads / kv_heads). q and out: heads * head_dim floats. Throws invalid_argument for a position outside the cache or an empty list.
void attention(std::span<const float> q, const KvView& cache, std::span<const std::uint32_t> visible, std::span<float> out);

/// The same over positions 0 .. position, or the last `window` of them.
void attention(std::span<const float> q, const KvView& cache, std::uint32_t position, std::span<float> out, std::uint32_t window = 0);

/// out = silu(gate) * up with silu(g) = g / (1 + exp(-g)) (Shazeer 2020, "GLU variants improve transformer").
void swiglu(std::span<const float> gate, std::span<const float> up, std::span<float> out);

/// GELU in its tanh form (Hendrycks and Gimpel 2016): x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))).
double gelu(double x);
/// out = gelu(gate) * up (Shazeer 2020).
void geglu(std::span<const float> gate, std::span<const float> up, std::span<float> out);

/// out = g * sigmoid(1.702 g) * (u + 1), where g is the gate, at most 7, and u is up within -7 and 7 (gpt-oss, arXiv 2508.10925).
void clamped_swiglu(std::span<const float> gate, std::span<const float> up, std::span<float> out);

/// before . after / (|before| |after|); 0 where a norm is 0.
float cosine(std::span<const float> before, std::span<const float> after);

/// The largest logit; ties go to the lowest index, NaN never wins.
struct Argmax {
  std::int32_t token = -1;   ///< -1 where every logit is NaN
  float probability = 0.0f;  ///< softmax probability of `token` over the logits that are numbers
  float margin = 0.0f;       ///< distance to the second largest logit; infinite if there is none
};
Argmax argmax(std::span<const float> logits);

// The rounding of keys and values in a KV cache.

/// A block of a quantised format: values are quant * scale + minimum.
struct KvBlock {
  std::uint16_t scale = 0, minimum = 0;           ///< binary16, to nearest even
  std::array<std::int8_t, kv_block> quants = {};  ///< -127 .. 127 of q8_0, -8 .. 7 of q4_0, 0 .. 31 of q5_1
  float value(std::size_t i) const;
  bool operator==(const KvBlock&) const = default;
};

/// Scales: q8_0, largest magnitude / 127; q4_0, the first value of the largest magnitude / -8; q5_1, (largest - least) / 31, and the least
/// is the minimum. Quants are (value - minimum) / scale rounded to the nearest; ties go away from zero in q8_0, up in the others. They are
/// all 0 where the scale is 0, or scale or minimum is infinite or NaN.
KvBlock quantise_kv(KvFormat format, std::span<const float, kv_block> values);

/// Replaces keys or values by their values as cached. Formats with blocks: whole blocks; throws invalid_argument for other lengths.
void round_kv(KvFormat format, std::span<float> values);

struct ChosenExpert {
  std::uint32_t expert = 0;
  float weight = 0.0f;
  bool operator==(const ChosenExpert&) const = default;
};

/// The experts of a row, the best first. `logits`: of the router, one for each expert; `correction`: the bias for the choice, empty for
/// none. Of equal scores the lower index is better, and NaN is worst.
std::vector<ChosenExpert> choose_experts(const model::Experts& experts, std::span<const float> logits, std::span<const float> correction);

}  // namespace skipstone::ref
