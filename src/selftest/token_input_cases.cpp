// Per-layer embeddings: what each token gives the layers, and the gate that it is the factor of.
#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "ref/operations.h"
#include "selftest/cases.h"
#include "selftest/compare.h"
#include "selftest/data.h"

namespace skipstone::selftest {
namespace {

using kernels::padded;
using kernels::ResourceKind;

struct Shape {
  std::uint32_t n = 32, layers = 3, rows = 1;
  float size = 1.0f;  ///< of the projections; small ones make epsilon matter
};

constexpr float norm_epsilon = 1e-6f;
constexpr kernels::Resource projections{ResourceKind::gate_up}, inputs{ResourceKind::token_inputs}, gate{ResourceKind::activated};

std::string check_inputs(Bench& bench, const Shape& shape) {
  Random random(fmt::format("token_inputs {} {} {}", shape.n, shape.layers, shape.rows));
  const std::uint32_t bucket = kernels::bucket_for(shape.rows), width = shape.n * shape.layers, stride = padded(width);
  const std::vector<float> projected = random.floats(std::size_t{bucket} * width, -shape.size, shape.size);
  const std::vector<float> own = random.floats(projected.size(), -2.0f, 2.0f), weight = random.floats(shape.n, -2.0f, 2.0f);
  bench.put(projections, strided(projected, width));
  bench.put(inputs, strided(own, width));
  bench.put({ResourceKind::weight, 0}, strided(weight, shape.n));
  const kernels::TokenInputs work{.projections = projections, .weight = 0, .n = shape.n, .layers = shape.layers, .epsilon = norm_epsilon};
  bench.run(kernels::token_inputs(bench.select(), work, bucket, "token_inputs"));

  const auto got = bench.get<float>(inputs, std::size_t{bucket} * stride);
  // The norm's as rms_norm's, over a part; then a sum and a product.
  const double lanes = bench.select().tuning().lanes, relative = ((shape.n / lanes + lanes) / 2 + 8) * epsilon;
  for (std::uint32_t row = 0; row < shape.rows; ++row) {
    std::vector<float> wanted(width);
    std::vector<double> tolerance(width);
    for (std::uint32_t i = 0; i < width; i += shape.n) {
      const std::span<float> part = std::span(wanted).subspan(i, shape.n);
      ref::rms_norm(std::span(projected).subspan(std::size_t{row} * width + i, shape.n), weight, norm_epsilon, part);
    }
    for (std::uint32_t i = 0; i < width; ++i) {
      const auto normed = static_cast<double>(wanted[i]), embedded = static_cast<double>(own[std::size_t{row} * width + i]);
      tolerance[i] = relative * std::abs(normed) + 3 * epsilon * (std::abs(normed) + std::abs(embedded)) + smallest;
      wanted[i] = static_cast<float>((normed + embedded) / std::sqrt(2.0));
    }
    const std::string difference = differs(fmt::format("row {}", row), row_of(got, width, row), wanted, tolerance);
    if (!difference.empty()) return difference;
  }
  return "";
}

std::string check_gate(Bench& bench, const Shape& shape) {
  Random random(fmt::format("token_gate {} {} {}", shape.n, shape.layers, shape.rows));
  const std::uint32_t bucket = kernels::bucket_for(shape.rows), width = shape.n * shape.layers, layer = shape.layers - 1;
  const std::vector<float> gates = random.floats(std::size_t{bucket} * shape.n, -4.0f, 4.0f),
                           given = random.floats(std::size_t{bucket} * width, -4.0f, 4.0f);
  bench.put(gate, strided(gates, shape.n));
  bench.put(inputs, strided(given, width));
  bench.run(kernels::token_gate(bench.select(), gate, {.n = shape.n, .first = layer * shape.n, .width = width}, bucket, "token_gate"));

  const auto got = bench.get<float>(gate, std::size_t{bucket} * padded(shape.n));
  for (std::uint32_t row = 0; row < shape.rows; ++row) {
    std::vector<float> wanted(shape.n);
    std::vector<double> tolerance(shape.n);
    for (std::uint32_t i = 0; i < shape.n; ++i) {
      const auto x = static_cast<double>(gates[std::size_t{row} * shape.n + i]);
      const auto factor = static_cast<double>(given[std::size_t{row} * width + layer * shape.n + i]);
      wanted[i] = static_cast<float>(ref::gelu(x) * factor);
      tolerance[i] = gelu_error(x) * std::abs(factor) + epsilon * std::abs(static_cast<double>(wanted[i])) + smallest;
    }
    const std::string difference = differs(fmt::format("row {}", row), row_of(got, shape.n, row), wanted, tolerance);
    if (!difference.empty()) return difference;
  }
  return "";
}

void add(std::vector<Case>& cases, const Shape& shape) {
  const std::string text = fmt::format("N={} layers={} rows={}{}", shape.n, shape.layers, shape.rows, shape.size < 1.0f ? " small" : "");
  cases.push_back({"token_inputs", "token_inputs " + text, [=](Bench& bench) { return check_inputs(bench, shape); }});
  cases.push_back({"token_gate", "token_gate " + text, [=](Bench& bench) { return check_gate(bench, shape); }});
}

}  // namespace

std::vector<Case> token_input_cases(const Scope& scope) {
  std::vector<Case> cases;
  add(cases, {.n = 32, .layers = 5, .rows = 5});
  if (scope.depth == Depth::quick) return cases;
  add(cases, {.n = 256, .layers = 3, .rows = 1});
  add(cases, {.n = 20, .layers = 7, .rows = 33, .size = 1e-3f});
  add(cases, {.n = 64, .layers = 1, .rows = 128});
  return cases;
}

}  // namespace skipstone::selftest
