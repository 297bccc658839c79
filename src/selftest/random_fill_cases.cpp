// Random weights: the device's words are those of the host's generator, bit for bit.
#include <fmt/format.h>

#include <bit>

#include "base/philox.h"
#include "kernels/operations.h"
#include "selftest/bench.h"
#include "selftest/cases.h"
#include "selftest/compare.h"

namespace skipstone::selftest {
namespace {

using kernels::RandomPattern;
using Number = RandomPattern::Number;

struct Fill {
  RandomPattern pattern;
  std::uint32_t words = 0;
  float low = 0.0f, high = 0.0f;
};

constexpr std::uint64_t key = 0x123456789abcdef0u;

bool is_set(std::uint32_t mask, std::uint32_t half_index, const Fill& fill) {
  return (mask >> (half_index % fill.pattern.period) & 1u) != 0;
}

float number(std::uint32_t bits, std::uint32_t half_index, const Fill& fill) {
  const float part = static_cast<float>(bits) * 0x1p-24f * (fill.high - fill.low);
  const float value = fill.low + part;
  return is_set(fill.pattern.minima, half_index, fill) ? value * fill.pattern.minimum : value;
}

std::uint32_t half_word(std::uint32_t half_index, std::uint32_t bits, const Fill& fill) {
  if (!is_set(fill.pattern.numbers, half_index, fill)) return bits;
  const auto value = std::bit_cast<std::uint32_t>(number(bits << 8, half_index, fill));
  if (fill.pattern.number == Number::bf16) return value >> 16;
  if (fill.pattern.number == Number::e8m0) return ((value >> 23) + 1) * 0x0101u;
  if (fill.pattern.number == Number::e4m3) {
    const float twice = 2.0f * std::bit_cast<float>(value);
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(twice);
    return (twice < 0x1p-6f ? static_cast<std::uint32_t>(twice * 512.0f) : (bits >> 20) - (120u << 3)) * 0x0101u;
  }
  // binary16 by truncation
  const std::uint32_t sign = value >> 16 & 0x8000u, rest = value & 0x7fffffffu;
  if (rest < 0x38800000u) return sign | static_cast<std::uint32_t>(std::bit_cast<float>(rest) * 0x1p24f);
  return sign | ((rest >> 13) - (112u << 10));
}

std::uint32_t word(std::uint32_t index, std::uint32_t bits, const Fill& fill) {
  if (fill.pattern.number != Number::f32)
    return half_word(2 * index, bits & 0xffffu, fill) | half_word(2 * index + 1, bits >> 16, fill) << 16;
  return is_set(fill.pattern.numbers, 2 * index, fill) ? std::bit_cast<std::uint32_t>(number(bits >> 8, 2 * index, fill)) : bits;
}

std::vector<std::uint32_t> expected(const Fill& fill) {
  std::vector<std::uint32_t> words(fill.words);
  for (std::uint32_t i = 0; i < fill.words; ++i) {
    const std::uint32_t random = philox({i / 4, 0, 0, 0}, {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)})[i % 4];
    words[i] = word(i, random, fill);
  }
  return words;
}

std::string check(Bench& bench, const Fill& fill) {
  const kernels::Resource target{kernels::ResourceKind::scratch};
  constexpr std::uint32_t after = 8;
  bench.reserve(target, fill.words + after);
  bench.run(kernels::random_fill(bench.select(), target, fill.words, fill.pattern, fill.low, fill.high, key, "random_fill"));
  const auto got = bench.get<std::uint32_t>(target, fill.words + after);
  std::string difference = bits_differ("word", std::span(got).first(fill.words), expected(fill), "on the host");
  return difference.empty() ? touched("words after the end", std::span(got).last(after)) : difference;
}

void add(std::vector<Case>& cases, const char* name, const Fill& fill) {
  cases.push_back(
      {"random_fill", fmt::format("random_fill {} words={}", name, fill.words), [fill](Bench& bench) { return check(bench, fill); }});
}

}  // namespace

std::vector<Case> random_fill_cases(const Scope& scope) {
  std::vector<Case> cases;
  add(cases, "scales", {{Number::f16, 1, 1}, 1001, 1e-4f, 3e-4f});
  add(cases, "f32", {{Number::f32, 1, 1}, 1002, -0.02f, 0.02f});
  if (scope.depth == Depth::quick) return cases;
  add(cases, "bits", {{}, 3});
  add(cases, "f16", {{Number::f16, 1, 1}, 400, -0.5f, 0.5f});
  add(cases, "bf16", {{Number::bf16, 1, 1}, 1, -0.5f, 0.5f});
  add(cases, "e8m0", {{Number::e8m0, 1, 1}, 33, 1e-3f, 3e-3f});
  add(cases, "e4m3", {{Number::e4m3, 1, 1}, 33, 1e-3f, 2.0f});
  add(cases, "scale, minimum and 12 bytes", {{Number::f16, 8, 3, 2, 7.5f}, 77, 1e-5f, 2e-4f});
  add(cases, "float among 20 bytes", {{Number::f32, 10, 4}, 99, 0.5f, 1.5f});
  // More words than all workgroups of a dispatch take in one turn, where that is not too many for a test.
  if (scope.tuning.wide_lanes <= 8) add(cases, "bits", {{}, 65535 * 4 * scope.tuning.wide_lanes + 1000});
  return cases;
}

}  // namespace skipstone::selftest
