// Traits of the tensor types, and the scalar rounding and expansion of the runnable ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/half.h"
#include "base/philox.h"
#include "base/status.h"
#include "fixtures/failure.h"
#include "gguf/traits.h"

namespace skipstone::gguf {
namespace {

constexpr std::array kRunnable = {Type::f32, Type::f16, Type::bf16, Type::q8_0, Type::q4_0};

template <typename Action>
Code code_of(const Action& action) {
  return fixtures::failure_of(action).code;
}

std::vector<float> random_weights(std::size_t count, float scale, std::uint32_t seed) {
  std::vector<float> out(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto words = philox({static_cast<std::uint32_t>(i), 0, 0, 0}, {seed, 0});
    // A sum of four uniforms: bell-shaped, as weights are.
    double sum = -2.0;
    for (const auto word : words) sum += open_unit(word);
    out[i] = scale * static_cast<float>(sum);
  }
  return out;
}

std::vector<std::byte> quantized(Type type, const std::vector<float>& weights) {
  std::vector<std::byte> out(row_bytes(type, weights.size()));
  quantize(type, weights, out);
  return out;
}

std::vector<float> expanded(Type type, const std::vector<std::byte>& blocks, std::size_t count) {
  std::vector<float> out(count);
  dequantize(type, blocks, out);
  return out;
}

TEST(Traits, TableIsWhatTheFormatSays) {
  struct Row {
    std::uint32_t number;
    const char* name;
    std::uint32_t block, bytes;
  };
  // Sizes worked out from the block structs' fields, not taken from the table under test.
  constexpr std::uint32_t k = 256;
  const std::vector<Row> rows = {
      {0, "F32", 1, 4},
      {1, "F16", 1, 2},
      {2, "Q4_0", 32, 2 + 16},
      {3, "Q4_1", 32, 4 + 16},
      {6, "Q5_0", 32, 2 + 4 + 16},
      {7, "Q5_1", 32, 4 + 4 + 16},
      {8, "Q8_0", 32, 2 + 32},
      {9, "Q8_1", 32, 4 + 32},
      {10, "Q2_K", k, k / 16 + k / 4 + 4},
      {11, "Q3_K", k, k / 8 + k / 4 + 12 + 2},
      {12, "Q4_K", k, 4 + 12 + k / 2},
      {13, "Q5_K", k, 4 + 12 + k / 8 + k / 2},
      {14, "Q6_K", k, k / 2 + k / 4 + k / 16 + 2},
      {15, "Q8_K", k, 4 + k + k / 16 * 2},
      {16, "IQ2_XXS", k, 2 + k / 8 * 2},
      {17, "IQ2_XS", k, 2 + k / 8 * 2 + k / 32},
      {18, "IQ3_XXS", k, 2 + 3 * k / 8},
      {19, "IQ1_S", k, 2 + k / 8 + k / 32 * 2},
      {20, "IQ4_NL", 32, 2 + 16},
      {21, "IQ3_S", k, 2 + 13 * (k / 32) + k / 64},
      {22, "IQ2_S", k, 2 + k / 4 + k / 16},
      {23, "IQ4_XS", k, 2 + 2 + k / 64 + k / 2},
      {24, "I8", 1, 1},
      {25, "I16", 1, 2},
      {26, "I32", 1, 4},
      {27, "I64", 1, 8},
      {28, "F64", 1, 8},
      {29, "IQ1_M", k, k / 8 + k / 16 + k / 32},
      {30, "BF16", 1, 2},
      {34, "TQ1_0", k, 2 + k / 64 + (k - 4 * k / 64) / 5},
      {35, "TQ2_0", k, 2 + k / 4},
      {39, "MXFP4", 32, 1 + 16},
      {40, "NVFP4", 64, 4 + 32},
      {41, "Q1_0", 128, 2 + 16},
      {42, "Q2_0", 64, 2 + 16},
  };
  for (const Row& row : rows) {
    const Traits* t = find_traits(row.number);
    ASSERT_NE(t, nullptr) << row.name;
    EXPECT_EQ(t->name, row.name);
    EXPECT_EQ(t->block, row.block) << row.name;
    EXPECT_EQ(t->bytes, row.bytes) << row.name;
    EXPECT_FALSE(t->removed) << row.name;
  }
  std::size_t removed = 0;
  for (const Traits& t : all_traits()) {
    removed += t.removed ? 1 : 0;
    EXPECT_EQ(t.runnable, std::ranges::find(kRunnable, t.type) != kRunnable.end()) << t.name;
    EXPECT_EQ(&traits(t.type), &t);
  }
  EXPECT_EQ(rows.size() + removed, all_traits().size());
  EXPECT_EQ(find_traits(static_cast<std::uint32_t>(all_traits().size())), nullptr);
  EXPECT_EQ(find_traits(UINT32_MAX), nullptr);
}

TEST(Traits, RowBytes) {
  EXPECT_EQ(row_bytes(Type::q4_0, 64), 36u);
  EXPECT_EQ(row_bytes(Type::q8_0, 32), 34u);
  EXPECT_EQ(row_bytes(Type::f16, 7), 14u);
  EXPECT_EQ(row_bytes(static_cast<Type>(12), 512), 288u);
  EXPECT_EQ(code_of([] { row_bytes(Type::q4_0, 33); }), Code::invalid_argument);
  EXPECT_EQ(code_of([] { row_bytes(Type::f32, UINT64_MAX / 2); }), Code::invalid_argument);
}

TEST(Quantize, AllHalfAndBfloatValuesSurvive) {
  for (const Type type : {Type::f16, Type::bf16}) {
    std::vector<std::uint16_t> bits(65536);
    for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<std::uint16_t>(i);
    std::vector<float> values(bits.size());
    dequantize(type, std::as_bytes(std::span(bits)), values);
    std::vector<std::uint16_t> back(bits.size());
    quantize(type, values, std::as_writable_bytes(std::span(back)));
    for (std::size_t i = 0; i < bits.size(); ++i) {
      if (std::isnan(values[i])) {
        const float again = type == Type::f16 ? half_to_float(back[i]) : bfloat_to_float(back[i]);
        EXPECT_TRUE(std::isnan(again)) << i;
      } else {
        EXPECT_EQ(bits[i], back[i]) << traits(type).name;
      }
    }
    EXPECT_EQ(values[0x3c00], type == Type::f16 ? 1.0f : 0.0078125f);
    EXPECT_TRUE(std::isinf(values[type == Type::f16 ? 0x7c00 : 0x7f80]));
  }
}

TEST(Quantize, KnownQ8Block) {
  std::vector<float> weights(32);
  for (std::size_t i = 0; i < 32; ++i) weights[i] = static_cast<float>(i) - 16.0f;
  weights[0] = -127.0f;  // so the scale is 1
  const auto block = quantized(Type::q8_0, weights);
  EXPECT_EQ(std::to_integer<int>(block[0]) | std::to_integer<int>(block[1]) << 8, 0x3c00);
  for (std::size_t i = 0; i < 32; ++i) EXPECT_EQ(static_cast<float>(static_cast<std::int8_t>(block[2 + i])), weights[i]);
  EXPECT_EQ(expanded(Type::q8_0, block, 32), weights);
}

TEST(Quantize, KnownQ4Block) {
  std::vector<float> weights(32);
  for (std::size_t i = 0; i < 32; ++i) weights[i] = 0.5f * static_cast<float>(static_cast<int>(i % 16) - 8);
  const auto block = quantized(Type::q4_0, weights);  // the largest is -4 and becomes code 0: the scale is 0.5
  EXPECT_EQ(std::to_integer<int>(block[0]) | std::to_integer<int>(block[1]) << 8, 0x3800);
  for (int i = 0; i < 16; ++i) EXPECT_EQ(std::to_integer<int>(block[2 + static_cast<std::size_t>(i)]), i | i << 4);
  EXPECT_EQ(expanded(Type::q4_0, block, 32), weights);
}

TEST(Quantize, Q4NibblesGoToTheirHalves) {
  std::vector<std::byte> block(18, std::byte{0x88});
  block[0] = std::byte{0x00};
  block[1] = std::byte{0x3c};  // scale 1
  block[2 + 5] = std::byte{0xf1};
  const auto weights = expanded(Type::q4_0, block, 32);
  for (std::size_t i = 0; i < 32; ++i) EXPECT_EQ(weights[i], i == 5 ? -7.0f : i == 21 ? 7.0f : 0.0f) << i;
}

// Half a step, or a whole one where the code range ends one short (Q4_0 has no +8), and the rounding of the scale to binary16
// (2^-11 of up to 127 or 8 steps).
TEST(Quantize, ErrorIsBounded) {
  for (const float scale : {1e-3f, 0.02f, 1.0f, 700.0f}) {
    const auto weights = random_weights(32 * 256, scale, 7);
    for (const Type type : {Type::q8_0, Type::q4_0}) {
      const auto back = expanded(type, quantized(type, weights), weights.size());
      double sum = 0;
      for (std::size_t b = 0; b < weights.size(); b += 32) {
        float largest = 0;
        for (std::size_t i = b; i < b + 32; ++i) largest = std::max(largest, std::fabs(weights[i]));
        const double step = type == Type::q8_0 ? largest / 127.0 : largest / 8.0;
        const double bound = type == Type::q8_0 ? 0.5 + 127.0 / 2048 + 1e-3 : 1.0 + 8.0 / 2048 + 1e-3;
        for (std::size_t i = b; i < b + 32; ++i) {
          const double error = std::fabs(static_cast<double>(weights[i]) - static_cast<double>(back[i]));
          // Subnormal binary16 scales are coarser: 2^-25 in absolute terms, times the code.
          EXPECT_LE(error, bound * step + 127 * 0x1p-25) << traits(type).name << " weight " << i;
          sum += error / step;
        }
      }
      EXPECT_LT(sum / static_cast<double>(weights.size()), 0.30) << "uniform rounding errs by a quarter of a step on average";
    }
  }
}

TEST(Quantize, ExpandedValuesSurviveExactly) {
  for (const Type type : kRunnable) {
    for (const float scale : {1e-7f, 2e-5f, 1e-3f, 0.05f, 3.0f, 9000.0f}) {
      const auto once = quantized(type, random_weights(32 * 64, scale, 11));
      const auto values = expanded(type, once, 32 * 64);
      const auto twice = quantized(type, values);
      // Where a scale underflows to zero its sign may change, the values cannot.
      if (scale > 1e-6f) {
        EXPECT_EQ(once, twice) << traits(type).name << " at scale " << scale;
      }
      EXPECT_EQ(values, expanded(type, twice, values.size()));
    }
  }
}

TEST(Quantize, ZeroAndVanishingBlocks) {
  for (const Type type : {Type::q8_0, Type::q4_0}) {
    for (const float value : {0.0f, 1e-12f, std::numeric_limits<float>::denorm_min()}) {
      const std::vector<float> weights(32, value);
      const auto back = expanded(type, quantized(type, weights), 32);
      for (const float v : back) EXPECT_EQ(v, 0.0f);
    }
  }
}

TEST(Quantize, RefusesWhatItCannotStore) {
  for (const Type type : {Type::q8_0, Type::q4_0}) {
    for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN(), 1e9f}) {
      for (const std::size_t at : {std::size_t{0}, std::size_t{17}, std::size_t{31}}) {
        auto weights = random_weights(32, 1.0f, 3);
        weights[at] = bad;
        EXPECT_EQ(code_of([&] { quantized(type, weights); }), Code::invalid_argument) << bad << " at " << at;
      }
    }
  }
  std::vector<std::byte> blocks(34);
  std::vector<float> weights(32);
  EXPECT_EQ(code_of([&] { quantize(Type::q8_0, weights, std::span(blocks).first(33)); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { dequantize(Type::q8_0, std::span(blocks).first(33), weights); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { dequantize(Type::q8_0, blocks, std::span(weights).first(31)); }), Code::invalid_argument);
  for (const Traits& t : all_traits()) {
    if (t.runnable) continue;
    std::vector<std::byte> data(t.bytes);
    std::vector<float> out(t.block);
    EXPECT_EQ(code_of([&] { dequantize(t.type, data, out); }), Code::unsupported) << t.name;
    EXPECT_EQ(code_of([&] { quantize(t.type, out, data); }), Code::unsupported) << t.name;
  }
}

}  // namespace
}  // namespace skipstone::gguf
