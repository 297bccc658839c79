// What rounding to each weight format loses, with and without an importance matrix.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "base/philox.h"
#include "gguf/traits.h"
#include "golden_blocks.h"
#include "weight_blocks.h"

namespace skipstone::gguf {
namespace {

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
  // What is minimised: importance times llama.cpp's factor for large weights.
  const double mean_square = weighted_error(std::vector<float>(weights.size()), weights, std::vector<float>(weights.size(), 1.0f)) /
                             static_cast<double>(weights.size());
  std::vector<float> counts(weights.size());
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const auto weight = static_cast<double>(weights[i]);
    counts[i] = static_cast<float>(static_cast<double>(importance[i]) * std::sqrt(1.0 + weight * weight / mean_square));
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
    const double error = weighted_error(expanded(type, with, weights.size()), weights, counts),
                 before = weighted_error(expanded(type, alike, weights.size()), weights, counts);
    if (type == Type::q8_0) {
      EXPECT_EQ(with, alike);
    } else {
      EXPECT_NE(with, alike);
      EXPECT_LT(error, (type == Type::mxfp4 ? 1.0 : 0.97) * before);  // MXFP4 has three powers of two to choose from
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

}  // namespace
}  // namespace skipstone::gguf
