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

namespace skipstone::gguf {
namespace {

template <typename Condition>
std::vector<Type> types_where(const Condition& condition) {
  std::vector<Type> types;
  for (const Traits& t : all_traits()) {
    if (condition(t)) types.push_back(t.type);
  }
  return types;
}

std::vector<Type> plain_types() {
  return types_where([](const Traits& t) { return t.writable() && t.block == 1; });
}
std::vector<Type> block_types() {
  return types_where([](const Traits& t) { return t.runnable && t.block > 1; });
}
std::vector<Type> written_block_types() {
  return types_where([](const Traits& t) { return t.writable() && t.block > 1; });
}
bool is_scaled(Type type) { return std::ranges::count(golden_roundings, type, &GoldenRounding::type) > 0; }
// Codes with a scale (and a minimum): rounding is a formula. The others search for good scales.
std::vector<Type> scaled_types() {
  return types_where([](const Traits& t) { return is_scaled(t.type); });
}
std::vector<Type> searched_types() {
  return types_where([](const Traits& t) { return t.writable() && t.block > 1 && !is_scaled(t.type); });
}

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

double relative_error(const std::vector<float>& is, const std::vector<float>& was) {
  double error = 0.0, all = 0.0;
  for (std::size_t i = 0; i < was.size(); ++i) {
    const double difference = static_cast<double>(is[i]) - static_cast<double>(was[i]);
    error += difference * difference;
    all += static_cast<double>(was[i]) * static_cast<double>(was[i]);
  }
  return std::sqrt(error / all);
}

// In this order (IQ4_NL, Q2_K to Q6_K) llama-quantize's files of a trained model of 14 M weights (--pure, no importance matrix) have
// 0.0762, 0.297, 0.151, 0.0711, 0.0359, 0.0178.
TEST(Quantize, SearchedScalesAreGood) {
  const auto searched = [](const RoundingErrors& row) { return row.of_search > 0.0; };
  for (const Type type : searched_types()) {
    const auto of_type = [&](const RoundingErrors& row) { return row.type == type && searched(row); };
    EXPECT_EQ(std::ranges::count_if(rounding_errors, of_type), 1) << traits(type).name;
  }
  for (const float scale : {1e-3f, 0.02f, 1.0f, 700.0f}) {
    const auto weights = random_weights(256 * 256, scale, 21);
    for (const RoundingErrors& row : rounding_errors) {
      if (!searched(row)) continue;
      if (row.type == Type::nvfp4 && scale < 1.0f) continue;  // its smallest scale is 2^-9
      const double error = relative_error(expanded(row.type, quantized(row.type, weights), weights.size()), weights);
      EXPECT_LT(error, 1.02 * row.of_search) << traits(row.type).name << " at scale " << scale;
      EXPECT_GT(error, 0.8 * row.of_search) << traits(row.type).name << " at scale " << scale;
    }
  }
}

// Groups that are one-sided, constant, or hold a single weight.
TEST(Quantize, SearchedScalesOfOddGroups) {
  for (const Type type : searched_types()) {
    for (const int kind : {0, 1, 2, 3}) {
      std::vector<float> weights = random_weights(256, 1.0f, 5);
      for (std::size_t i = 0; i < weights.size(); ++i) {
        if (kind == 0) weights[i] = std::fabs(weights[i]);
        if (kind == 1) weights[i] = -std::fabs(weights[i]);
        if (kind == 2) weights[i] = -0.75f;
        if (kind == 3) weights[i] = i == 100 ? 3.0f : 0.0f;
      }
      const double error = relative_error(expanded(type, quantized(type, weights), weights.size()), weights);
      const double usual = std::ranges::find(rounding_errors, type, &RoundingErrors::type)->of_search;
      EXPECT_LT(error, std::max(0.1, 1.14 * usual)) << traits(type).name << " kind " << kind;
    }
  }
}

// Half a step, or a whole one where the code range ends one short (Q4_0 has no +8), and the rounding of the scale to binary16
// (2^-11 of up to 127 or 8 steps). SearchedScalesAreGood has the other formats.
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

double weighted_error(const std::vector<float>& is, const std::vector<float>& was, const std::vector<float>& importance) {
  double error = 0.0;
  for (std::size_t i = 0; i < was.size(); ++i) {
    const double difference = static_cast<double>(is[i]) - static_cast<double>(was[i]);
    error += difference * difference * static_cast<double>(importance[i]);
  }
  return error;
}

// A row whose inputs have mean squares over four decades. Importance of another size changes nothing; where no input matters, or none is
// given, all weights count alike.
TEST(Quantize, ImportanceDecidesWhichWeightsAreRoundedWell) {
  const std::vector<float> weights = random_weights(256 * 64, 0.02f, 5);
  std::vector<float> importance(weights.size());
  for (std::size_t i = 0; i < importance.size(); ++i) {
    importance[i] = static_cast<float>(std::pow(10.0, 4.0 * open_unit(philox({static_cast<std::uint32_t>(i), 1, 0, 0}, {3, 0})[0])));
  }
  const std::vector<float> none(weights.size(), 0.0f);
  const auto rounded = [&](Type type, const std::vector<float>& by) {
    std::vector<std::byte> out(row_bytes(type, weights.size()));
    quantize(type, weights, out, by);
    return out;
  };
  for (const Type type : written_block_types()) {
    SCOPED_TRACE(std::string(traits(type).name));
    const std::vector<std::byte> alike = quantized(type, weights), with = rounded(type, importance);
    EXPECT_EQ(rounded(type, none), alike);
    EXPECT_EQ(rounded(type, {}), alike);
    const double error = weighted_error(expanded(type, with, weights.size()), weights, importance),
                 before = weighted_error(expanded(type, alike, weights.size()), weights, importance);
    if (type == Type::q8_0) {
      EXPECT_EQ(with, alike);
    } else {
      // MXFP4 has three powers of two to choose from, and its weights count by their own sizes too.
      EXPECT_NE(with, alike);
      EXPECT_LT(error, (type == Type::mxfp4 ? 1.01 : 0.97) * before);
    }
    std::vector<float> larger = importance;
    for (float& each : larger) each *= 0x1p40f;
    EXPECT_EQ(rounded(type, larger), with);
    for (const float bad : {-1.0f, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
      std::vector<float> wrong = importance;
      wrong[99] = bad;
      EXPECT_EQ(code_of([&] { rounded(type, wrong); }), Code::invalid_argument) << bad;
    }
    EXPECT_EQ(code_of([&] { rounded(type, {1.0f}); }), Code::invalid_argument);
  }
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
    for (const float value : expanded(type, quantized(type, weights), weights.size()))
      EXPECT_TRUE(std::isfinite(value)) << traits(type).name;
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
