#include "ref/kv_rounding.h"

#include <algorithm>
#include <cmath>

#include "base/half.h"
#include "base/status.h"

namespace skipstone::ref {

float KvBlock::value(std::size_t i) const { return static_cast<float>(quants[i]) * half_to_float(scale); }

KvBlock quantise_kv(std::span<const float, kv_block> values) {
  float largest = 0.0f;
  for (const float value : values) {
    if (std::isnan(value)) largest = std::abs(value);  // and stays: no comparison with it is true
    if (std::abs(value) > largest) largest = std::abs(value);
  }
  KvBlock block;
  block.scale = float_to_half(largest * (1.0f / 127.0f));
  const auto scale = static_cast<double>(half_to_float(block.scale));
  if (scale == 0.0 || !std::isfinite(scale)) return block;
  // A quotient of 24 by 11 bits that is no tie is further than 2^-40 of it from one: binary64 and its rounding decide right.
  std::ranges::transform(values, block.quants.begin(), [scale](float value) {
    return static_cast<std::int8_t>(std::clamp(std::round(static_cast<double>(value) / scale), -127.0, 127.0));
  });
  return block;
}

void round_kv(KvFormat format, std::span<float> values) {
  if (format == KvFormat::f16)
    std::ranges::transform(values, values.begin(), [](float value) { return half_to_float(float_to_half(value)); });
  if (format != KvFormat::q8_0) return;
  if (values.size() % kv_block != 0) fail(Code::invalid_argument, "{} values are no whole blocks of {}.", values.size(), kv_block);
  for (; !values.empty(); values = values.subspan(kv_block)) {
    const KvBlock block = quantise_kv(values.first<kv_block>());
    for (std::size_t i = 0; i < kv_block; ++i) values[i] = block.value(i);
  }
}

}  // namespace skipstone::ref
