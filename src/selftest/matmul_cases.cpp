// The tiled kernels, also on devices whose prefill does not take them: every tier that device and build have, every tile, all formats.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/half.h"
#include "selftest/cases.h"
#include "selftest/compare.h"
#include "selftest/data.h"
#include "selftest/matrix_check.h"

namespace skipstone::selftest {
namespace {

using kernels::ResourceKind;

constexpr std::uint32_t tiles[] = {32, 64, 128};

kernels::Selector selector_for(const Bench& bench, vk::Tier tier, std::uint32_t tile) {
  vk::Tuning tuning = bench.tuning();
  tuning.prefill = tier;
  tuning.largest_tile = tile;
  tuning.fill = 1;
  return kernels::Selector(bench.caps(), tuning);
}

// Weights in 32-bit floats stay what they are on every tier.
std::vector<vk::Tier> tiers_of(const Scope& scope, gguf::Type format) {
  std::vector<vk::Tier> tiers{vk::Tier::base};
  for (const vk::Tier tier : {vk::Tier::fp16, vk::Tier::cooperative_matrix}) {
    if (format != gguf::Type::f32 && tier <= scope.tier) tiers.push_back(tier);
  }
  return tiers;
}

void add(std::vector<Case>& cases, vk::Tier tier, std::uint32_t tile, const MatrixShape& shape) {
  cases.push_back({"matmul", fmt::format("matmul {} tile={} {}", vk::to_string(tier), tile, shape.text()),
                   [=](Bench& bench) { return check_matrix(bench, shape, selector_for(bench, tier, tile), true); }});
}

// Every output is one fma chain over k, so the tile decides about speed alone.
std::string check_tiles(Bench& bench, gguf::Type format, vk::Tier tier) {
  constexpr std::uint32_t n = 150, k = 224, rows = 128;
  Random random("matmul tiles " + suffix(format));
  const HostMatrix matrix(format, n, k, random);
  const kernels::Matrix placed = place(bench, matrix, 1, bench.select().interleave());
  const kernels::Resource x{ResourceKind::normed}, y{ResourceKind::scratch};
  bench.put(x, strided(random.floats(std::size_t{rows} * k, -2.0f, 2.0f), k));
  reserve_half_rows(bench, k, rows);
  std::vector<std::uint32_t> smallest;
  for (const std::uint32_t tile : tiles) {
    bench.reserve(y, std::size_t{rows} * kernels::padded(n));
    const auto dispatches = kernels::matmul(selector_for(bench, tier, tile), placed, x, y, rows, {}, "matmul");
    bench.about(dispatches.back().kernel);
    bench.run(dispatches);
    const auto got = bench.get<std::uint32_t>(y, std::size_t{rows} * kernels::padded(n));
    if (smallest.empty()) smallest = got;
    const std::string difference = bits_differ(fmt::format("tile {}", tile), got, smallest, "tile 32");
    if (!difference.empty()) return difference;
  }
  return "";
}

// A row that halves could not hold without a scale, one that they could only hold as denormals, zeros, and an infinity that must be seen.
std::string check_range(Bench& bench, vk::Tier tier) {
  constexpr std::uint32_t n = 40, k = 64, rows = 32;
  Random random("matmul range");
  const HostMatrix matrix(gguf::Type::f16, n, k, random);
  const kernels::Matrix placed = place(bench, matrix, 1, bench.select().interleave());
  std::vector<float> x = random.floats(std::size_t{rows} * k, 0.5f, 2.0f);
  const float factors[] = {1e9f, 1e-9f, 0.0f, 1.0f};
  for (std::uint32_t i = 0; i < 4 * k; ++i) x[i] *= factors[i / k];
  x[3 * k] = std::numeric_limits<float>::infinity();
  bench.put({ResourceKind::normed}, strided(x, k));
  reserve_half_rows(bench, k, rows);
  const kernels::Resource y{ResourceKind::scratch};
  bench.reserve(y, std::size_t{rows} * kernels::padded(n));
  const auto dispatches = kernels::matmul(selector_for(bench, tier, 32), placed, {ResourceKind::normed}, y, rows, {}, "matmul");
  bench.about(dispatches.back().kernel);
  bench.run(dispatches);
  const auto got = bench.get<float>(y, std::size_t{rows} * kernels::padded(n));
  for (std::uint32_t row = 0; row < 4; ++row) {
    for (std::uint32_t i = 0; i < n; ++i) {
      const float value = got[std::size_t{row} * kernels::padded(n) + i];
      double wanted = 0.0, size = 0.0;
      for (std::uint32_t j = 0; j < k; ++j) {
        const double product =
            static_cast<double>(matrix.weights[std::size_t{i} * k + j]) * static_cast<double>(x[std::size_t{row} * k + j]);
        wanted += product;
        size += std::abs(product);
      }
      const bool agrees = row == 3 ? !std::isfinite(value) : std::abs(static_cast<double>(value) - wanted) <= size * 0x1p-9;
      if (!agrees)
        return fmt::format("row {} (times {:g}), output {}: got {}, wanted {}", row, static_cast<double>(factors[row]), i, value, wanted);
    }
  }
  return "";
}

// Each row by its largest magnitude: the halves are those of the host's rounding, bit by bit.
std::string check_half_rows(Bench& bench) {
  constexpr std::uint32_t k = 96, blocks = k / 32, rows = 32, words = HALF_ROWS_WORDS(blocks) * 4;
  Random random("half rows");
  std::vector<float> x(std::size_t{rows} * k);
  for (float& value : x) value = random.between(-1.0f, 1.0f) * std::ldexp(1.0f, static_cast<int>(random.below(40)) - 30);
  for (std::uint32_t row = 1; row < rows; ++row) {
    for (std::uint32_t j = 0; j < k; ++j) x[row * k + j] *= std::ldexp(1.0f, 7 * static_cast<int>(row % 16) - 56);
  }
  std::fill_n(x.begin(), k, 0.0f);
  const HostMatrix matrix(gguf::Type::f16, 32, k, random);
  const kernels::Matrix placed = place(bench, matrix, 1, bench.select().interleave());
  bench.put({ResourceKind::normed}, strided(x, k));
  reserve_half_rows(bench, k, rows);
  bench.run(
      kernels::matmul(selector_for(bench, vk::Tier::fp16, 32), placed, {ResourceKind::normed}, {ResourceKind::scratch}, rows, {}, "matmul")
          .front());
  const auto got = bench.get<std::uint32_t>({ResourceKind::half_rows}, std::size_t{rows} * words);
  std::vector<std::uint32_t> wanted(got.size());
  for (std::uint32_t row = 0; row < rows; ++row) {
    const std::span<const float> values = std::span(x).subspan(std::size_t{row} * k, k);
    float largest = 0.0f;
    for (const float value : values) largest = std::max(largest, std::abs(value));
    // 2^e <= largest < 2^(e + 1) goes to 2^14; a row of zeros has the smallest scale.
    const int exponent = largest > 0.0f ? std::ilogb(largest) : -112;
    for (std::uint32_t j = 0; j < k; ++j) {
      const std::uint32_t bits = float_to_half(std::ldexp(values[j], 14 - exponent));
      wanted[std::size_t{row} * words + j / 2] |= bits << (j % 2 * 16);
    }
    wanted[std::size_t{row} * words + k / 2] = std::bit_cast<std::uint32_t>(std::ldexp(1.0f, exponent - 14));
  }
  return bits_differ("halves", got, wanted, "wanted");
}

void add_full(std::vector<Case>& cases, gguf::Type format, vk::Tier tier) {
  add(cases, tier, 32, {.format = format, .n = 50, .k = 96, .rows = 25});  // a bucket that is not full
  add(cases, tier, 64, {.format = format, .n = 130, .k = 192, .rows = 64});
  add(cases, tier, 128, {.format = format, .n = 150, .k = 96, .rows = 128, .bias = true});
  add(cases, tier, 128, {.format = format, .n = 70, .k = 96, .rows = 256, .residual = true});
  add(cases, tier, 32, {.format = format, .n = 50, .k = 96, .rows = 32, .bias = true, .residual = true, .scale = 0.37f});
  if (tier == vk::Tier::cooperative_matrix) return;
  cases.push_back({"matmul", fmt::format("matmul tiles {} {}", vk::to_string(tier), suffix(format)),
                   [=](Bench& bench) { return check_tiles(bench, format, tier); }});
}

}  // namespace

std::vector<Case> matmul_cases(const Scope& scope) {
  std::vector<Case> cases;
  for (const gguf::Type format : formats()) {
    const std::uint32_t odd_k = gguf::traits(format).block == 1 ? 76 : whole_blocks(format, 96);
    for (const vk::Tier tier : tiers_of(scope, format)) {
      // 50 outputs leave the second tile ragged. In full with every part of the epilogue instead, for drivers take long to compile each.
      const bool full = depth_of(scope, format) == Depth::full;
      add(cases, tier, 32, {.format = format, .n = 50, .k = odd_k, .rows = 32, .bias = full, .residual = full, .parts = full ? 2u : 1u});
      if (full && (format == gguf::Type::f16 || format == gguf::Type::q8_0)) add_full(cases, format, tier);
    }
  }
  for (const vk::Tier tier : tiers_of(scope, gguf::Type::q8_0)) {
    if (scope.depth == Depth::full) break;
    add(cases, tier, 32, {.format = gguf::Type::q8_0, .n = 50, .k = 96, .rows = 32, .scale = 0.37f});
  }
  if (scope.tier >= vk::Tier::fp16) cases.push_back({"half_rows", "half_rows", check_half_rows});
  for (const vk::Tier tier : tiers_of(scope, gguf::Type::f16)) {
    cases.push_back(
        {"matmul", fmt::format("matmul {} range", vk::to_string(tier)), [tier](Bench& bench) { return check_range(bench, tier); }});
  }
  return cases;
}

}  // namespace skipstone::selftest
