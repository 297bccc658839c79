// F32, F16 and BF16: no blocks. Rows are copied to the device.
#include "gguf/quants/blocks.h"

namespace skipstone::gguf {
namespace {

constexpr double plain_size = 0.577;

template <float (*to_float)(std::uint16_t)>
void expand_halves(const std::byte* weights, std::size_t count, float* out) {
  for (std::size_t i = 0; i < count; ++i) out[i] = to_float(load16(weights + 2 * i));
}

template <std::uint16_t (*from_float)(float)>
void round_to_halves(const float* weights, std::size_t count, std::byte* out, const float*) {
  for (std::size_t i = 0; i < count; ++i) store16(out + 2 * i, from_float(weights[i]));
}

}  // namespace

constexpr BlockCode f32_code = {
    .expand = [](const std::byte* weights, std::size_t count, float* out) { std::memcpy(out, weights, count * sizeof(float)); },
    .repack = nullptr,
    .random = {{RandomPattern::Number::f32, 1, 1}, random_bits, plain_size},
    .scales_are_finite = nullptr,
    .round = [](const float* weights, std::size_t count, std::byte* out,
                const float*) { std::memcpy(out, weights, count * sizeof(float)); }};
constexpr BlockCode f16_code = {.expand = expand_halves<half_to_float>,
                                .repack = nullptr,
                                .random = {random_halves, random_bits, plain_size},
                                .scales_are_finite = nullptr,
                                .round = round_to_halves<float_to_half>};
constexpr BlockCode bf16_code = {.expand = expand_halves<bfloat_to_float>,
                                 .repack = nullptr,
                                 .random = {{RandomPattern::Number::bf16, 1, 1}, random_bits, plain_size},
                                 .scales_are_finite = nullptr,
                                 .round = round_to_halves<float_to_bfloat>};

}  // namespace skipstone::gguf
