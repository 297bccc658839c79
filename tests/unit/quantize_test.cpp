// Traits of the tensor types, and the scalar rounding and expansion of the runnable ones.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/half.h"
#include "base/hash.h"
#include "base/philox.h"
#include "base/status.h"
#include "fixtures/failure.h"
#include "gguf/block_code.h"
#include "gguf/traits.h"
#include "golden_blocks.h"
#include "weight_blocks.h"

namespace skipstone::gguf {
namespace {

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
    EXPECT_TRUE(t.runnable || !t.writable()) << t.name;
    EXPECT_FALSE(t.runnable && t.removed) << t.name;
    if (t.runnable) {
      EXPECT_EQ(block_code(t.type).round != nullptr, t.writable()) << t.name;
      EXPECT_EQ(block_code(t.type).repack == nullptr, t.block == 1) << t.name;
    }
    EXPECT_EQ(&traits(t.type), &t);
  }
  EXPECT_EQ(rows.size() + removed, all_traits().size());
  EXPECT_EQ(find_traits(static_cast<std::uint32_t>(all_traits().size())), nullptr);
  EXPECT_EQ(find_traits(UINT32_MAX), nullptr);
  std::vector<std::string_view> names;
  for (const Traits& t : all_traits()) {
    if (t.runnable) names.push_back(t.name);
  }
  EXPECT_EQ(runnable_names(), fmt::format("{} and {}", fmt::join(names.begin(), names.end() - 1, ", "), names.back()));
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

std::vector<std::byte> from_hex(std::string_view text) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    unsigned value = 0;
    std::from_chars(text.data() + i, text.data() + i + 2, value, 16);
    bytes.push_back(static_cast<std::byte>(value));
  }
  return bytes;
}

TEST(Quantize, BlocksMeanWhatOtherProgramsTakeThemFor) {
  std::set<Type> seen;
  for (const GoldenBlock& golden : golden_blocks()) {
    const Traits& t = traits(golden.type);
    SCOPED_TRACE(std::string(t.name));
    const std::vector<float> weights = expanded(golden.type, from_hex(golden.block), t.block);
    const std::array<std::size_t, 6> at = {0, 1, 17, 31, t.block / 2, t.block - 1};
    for (std::size_t i = 0; i < at.size(); ++i) EXPECT_EQ(weights[at[i]], golden.weights[i]) << at[i];
    EXPECT_EQ(fnv1a({reinterpret_cast<const char*>(weights.data()), weights.size() * sizeof(float)}), golden.hash);
    seen.insert(golden.type);
  }
  for (const Type type : block_types()) EXPECT_TRUE(seen.contains(type)) << traits(type).name;
}

TEST(Quantize, ScaledFormatsAreRoundedAsOtherProgramsDo) {
  std::vector<float> weights(32);
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = (static_cast<float>(37 * i % 64) - 23.0f) / 16.0f;
  for (const GoldenRounding& golden : golden_roundings) {
    EXPECT_EQ(quantized(golden.type, weights), from_hex(golden.block)) << traits(golden.type).name;
  }
}

// A damaged file's scales may be infinite or no numbers: so are the weights then, and nothing else happens.
TEST(Quantize, AnyBitsExpand) {
  for (const Type type : block_types()) {
    const Traits& t = traits(type);
    for (std::uint32_t seed = 0; seed < 64; ++seed) {
      std::vector<std::byte> block(t.bytes, std::byte{static_cast<unsigned char>(seed < 3 ? 0xff - seed * 0x7f : 0)});
      for (std::size_t i = 0; seed >= 3 && i < block.size(); ++i) {
        block[i] = static_cast<std::byte>(philox({static_cast<std::uint32_t>(i), 0, 0, 0}, {seed, 9})[0]);
      }
      expanded(type, block, t.block);
    }
    std::vector<std::byte> infinite(t.bytes), ones(t.bytes, std::byte{0xff});
    for (std::size_t i = 1; i < infinite.size(); i += 2) infinite[i] = std::byte{0x7c};
    if (type == Type::mxfp4 || type == Type::nvfp4 || type == Type::q8_k) continue;  // their scales are no halves
    std::vector<float> weights = expanded(type, infinite, t.block);
    std::ranges::copy(expanded(type, ones, t.block), std::back_inserter(weights));  // a scale in pieces, that of IQ1_M, is a NaN then
    EXPECT_TRUE(std::ranges::any_of(weights, [](float weight) { return !std::isfinite(weight); })) << t.name;
  }
}

// Random blocks: where a scale is no number, some weight is none either, and the other way round. A byte's and a float's scale may be
// finite while its products with codes are not.
TEST(Quantize, ScalesThatAreNoNumbersAreFound) {
  std::set<Type> found;
  for (const Type type : block_types()) {
    const Traits& t = traits(type);
    for (std::uint32_t seed = 0; seed < 2000; ++seed) {
      std::vector<std::byte> blocks(2 * std::size_t{t.bytes});
      for (std::size_t i = 0; i < t.bytes; i += 4) {
        const auto words = philox({static_cast<std::uint32_t>(i), 0, 0, 0}, {seed, 10});
        std::memcpy(&blocks[t.bytes + i], words.data(), std::min<std::size_t>(4, t.bytes - i));
      }
      const bool numbers = scales_are_finite(type, blocks.data(), 2);
      const std::vector<float> weights = expanded(type, blocks, 2 * std::size_t{t.block});
      const bool finite = std::ranges::all_of(weights, [](float weight) { return std::isfinite(weight); });
      if (!numbers) found.insert(type);
      if (type != Type::mxfp4 && type != Type::q8_k) {
        EXPECT_EQ(numbers, finite) << t.name << " seed " << seed;
      }
    }
    EXPECT_EQ(found.contains(type), type != Type::nvfp4) << t.name;
  }
  std::vector<std::byte> block(traits(Type::mxfp4).bytes, std::byte{0xfe});
  EXPECT_TRUE(scales_are_finite(Type::mxfp4, block.data(), 1));
  block[0] = std::byte{0xff};
  EXPECT_FALSE(scales_are_finite(Type::mxfp4, block.data(), 1));
}

TEST(Quantize, ExpandedValuesSurviveExactly) {
  std::vector<Type> types = scaled_types();
  std::ranges::copy(plain_types(), std::back_inserter(types));
  for (const Type type : types) {
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
  for (const Type type : written_block_types()) {
    for (const float value : {0.0f, type == Type::mxfp4 ? 1e-44f : 1e-12f, std::numeric_limits<float>::denorm_min()}) {
      const std::vector<float> weights(traits(type).block, value);
      const auto back = expanded(type, quantized(type, weights), weights.size());
      for (const float v : back) EXPECT_EQ(v, 0.0f);
    }
  }
}

TEST(Quantize, RefusesWhatItCannotStore) {
  for (const Type type : written_block_types()) {
    for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN(), 1e9f}) {
      for (const std::size_t at : {std::size_t{0}, std::size_t{17}, std::size_t{31}}) {
        auto weights = random_weights(traits(type).block, 1.0f, 3);
        weights[at] = bad;
        EXPECT_EQ(code_of([&] { quantized(type, weights); }), Code::invalid_argument) << bad << " at " << at;
      }
    }
  }
  // The largest that there is goes through, with numbers that are finite.
  for (const Type type : written_block_types()) {
    auto weights = random_weights(traits(type).block, 1.0f, 3);
    weights[7] = traits(type).largest;
    weights[9] = -traits(type).largest;
    const auto importance = random_weights(traits(type).block, 1.0f, 4);
    std::vector<float> squares(weights.size());
    std::ranges::transform(importance, squares.begin(), [](float v) { return v * v + 1e-6f; });
    for (const std::span<const float> important : {std::span<const float>(), std::span<const float>(squares)}) {
      for (const float value : expanded(type, quantized(type, weights, important), weights.size()))
        EXPECT_TRUE(std::isfinite(value)) << traits(type).name << (important.empty() ? "" : " by importance");
    }
  }
  std::vector<std::byte> blocks(34);
  std::vector<float> weights(32);
  EXPECT_EQ(code_of([&] { quantize(Type::q8_0, weights, std::span(blocks).first(33)); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { dequantize(Type::q8_0, std::span(blocks).first(33), weights); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { dequantize(Type::q8_0, blocks, std::span(weights).first(31)); }), Code::invalid_argument);
  for (const Traits& t : all_traits()) {
    std::vector<std::byte> data(t.bytes);
    std::vector<float> out(t.block);
    if (!t.runnable) {
      EXPECT_EQ(code_of([&] { dequantize(t.type, data, out); }), Code::unsupported) << t.name;
    }
    if (!t.writable()) {
      EXPECT_EQ(code_of([&] { quantize(t.type, out, data); }), Code::unsupported) << t.name;
    }
  }
}

}  // namespace
}  // namespace skipstone::gguf
