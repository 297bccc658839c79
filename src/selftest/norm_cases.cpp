// The norm that does more than RMS: layer norm, a scale, and the addition of a residual.
#include <fmt/format.h>

#include <cmath>

#include "ref/operations.h"
#include "selftest/cases.h"
#include "selftest/compare.h"
#include "selftest/data.h"

namespace skipstone::selftest {
namespace {

using kernels::padded;
using kernels::ResourceKind;

constexpr std::uint32_t weight_tensor = 0, bias_tensor = 1, scale_tensor = 2;
constexpr float norm_epsilon = 1e-5f, output_scale = 0.37f;

struct Shape {
  std::uint32_t n = 0, rows = 1;
  bool centred = false, residual = false, last_row = false;
  bool biased = true;               ///< if it is centred
  float scale = 1.0f, size = 1.0f;  ///< size: of the values; small ones make epsilon matter
  float offset = 0.0f;              ///< of the values: removed by a layer norm
  std::uint32_t lanes = 0;          ///< 0: the device's own
  bool scaled = false;              ///< the result is multiplied by a number on the device

  std::string text() const {
    std::string text = fmt::format("N={} rows={}{}{}{}", n, rows, centred ? (biased ? " bias" : " centred") : "",
                                   residual ? " residual" : "", last_row ? " last-row" : "");
    if (scale != 1.0f) text += fmt::format(" scale={}", scale);
    if (size < 1.0f) text += " small";
    if (offset != 0.0f) text += fmt::format(" offset={}", offset);
    if (lanes != 0) text += fmt::format(" lanes={}", lanes);
    if (scaled) text += " scaled";
    return text;
  }
};

struct Operands {
  std::vector<float> x, weight, bias, residual;  // rows of n, n floats, n floats, rows of n
};

// One row of the answer. A lane adds n / lanes numbers, and the joins follow: the mean may be off by that many units of mean |x|, and so
// may each distance from it. That changes the variance by its square alone, since the distances add up to 0; the squares' own sum rounds
// relatively, the root halves that, and then come mean, epsilon, root, quotient and products, as of rms_norm.
void expected_row(const Shape& shape, const Operands& o, std::uint32_t source, double lanes, std::vector<float>& wanted,
                  std::vector<double>& tolerance) {
  const std::span<const float> x = std::span(o.x).subspan(std::size_t{source} * shape.n, shape.n);
  wanted.resize(shape.n);
  tolerance.resize(shape.n);
  double mean = 0.0, size = 0.0, squares = 0.0;
  for (const float value : x) {
    mean += static_cast<double>(value) / shape.n;
    size += std::abs(static_cast<double>(value)) / shape.n;
  }
  if (!shape.centred) mean = 0.0;
  for (const float value : x) squares += std::pow(static_cast<double>(value) - mean, 2) / shape.n;
  const double joins = shape.n / lanes + lanes, shift = shape.centred ? (joins + 4) * epsilon * size : 0.0;
  const double variance = squares + static_cast<double>(norm_epsilon), normal = 1 / std::sqrt(variance);
  const double relative = (joins / 2 + 8) * epsilon + shift * shift / (2 * variance);
  if (shape.centred) {
    ref::layer_norm(x, o.weight, o.bias, norm_epsilon, wanted);
  } else {
    ref::rms_norm(x, o.weight, norm_epsilon, wanted);
  }
  for (std::uint32_t i = 0; i < shape.n; ++i) {
    const double bias = shape.centred ? static_cast<double>(o.bias[i]) : 0.0, added = static_cast<double>(wanted[i]);
    const double scale = static_cast<double>(shape.scale);
    double result = scale * added;
    tolerance[i] = scale * (shift * normal * std::abs(static_cast<double>(o.weight[i])) + relative * std::abs(added - bias) +
                            2 * epsilon * (std::abs(added) + std::abs(bias)));
    if (shape.residual) result += static_cast<double>(o.residual[std::size_t{source} * shape.n + i]);
    tolerance[i] += epsilon * (std::abs(result) + std::abs(scale * added)) + smallest;
    if (shape.scaled) {
      result *= static_cast<double>(output_scale);
      tolerance[i] = static_cast<double>(output_scale) * tolerance[i] + epsilon * std::abs(result) + smallest;
    }
    wanted[i] = static_cast<float>(result);
  }
}

std::string check(Bench& bench, const Shape& shape) {
  Random random("norm " + shape.text());
  const std::uint32_t bucket = kernels::bucket_for(shape.rows), stride = padded(shape.n);
  Operands o;
  o.x = random.floats(std::size_t{bucket} * shape.n, shape.offset - shape.size, shape.offset + shape.size);
  o.weight = random.floats(shape.n, -2.0f, 2.0f);
  o.bias = shape.biased ? random.floats(shape.n, -3.0f, 3.0f) : std::vector<float>(shape.n);
  o.residual = random.floats(o.x.size(), -3.0f, 3.0f);
  const kernels::Resource in{ResourceKind::scratch}, out{ResourceKind::normed}, residual{ResourceKind::residual};
  kernels::Norm norm{.x = in, .out = out, .weight = weight_tensor, .bias = {}, .n = shape.n, .epsilon = norm_epsilon, .scale = shape.scale};
  norm.last_row = shape.last_row;
  bench.put(in, strided(o.x, shape.n));
  bench.put({ResourceKind::weight, weight_tensor}, strided(o.weight, shape.n));
  norm.centred = shape.centred;
  if (shape.centred && shape.biased) {
    bench.put({ResourceKind::weight, bias_tensor}, strided(o.bias, shape.n));
    norm.bias = bias_tensor;
  }
  if (shape.residual) {
    bench.put(residual, strided(o.residual, shape.n));
    norm.residual = residual;
  }
  if (shape.scaled) {
    bench.put({ResourceKind::weight, scale_tensor}, strided({output_scale}, 1));
    norm.output_scale = scale_tensor;
  }
  bench.reserve(out, std::size_t{bucket} * stride);
  bench.set_rows(3, shape.rows);
  vk::Tuning tuning = bench.tuning();
  if (shape.lanes != 0) tuning.wide_lanes = shape.lanes;
  bench.run(kernels::norm(kernels::Selector(bench.caps(), tuning), norm, bucket, "norm"));

  const auto got = bench.get<float>(out, std::size_t{bucket} * stride);
  const auto words = bench.get<std::uint32_t>(out, std::size_t{bucket} * stride);
  std::vector<float> wanted;
  std::vector<double> tolerance;
  for (std::uint32_t row = 0; row < (shape.last_row ? 1 : shape.rows); ++row) {
    expected_row(shape, o, shape.last_row ? shape.rows - 1 : row, tuning.wide_lanes, wanted, tolerance);
    const std::string difference = row_differs(got, words, shape.n, row, wanted, tolerance);
    if (!difference.empty()) return difference;
  }
  return shape.last_row ? touched("rows after the first", std::span(words).subspan(stride)) : "";
}

void add(std::vector<Case>& cases, const Shape& shape) {
  cases.push_back({"norm", "norm " + shape.text(), [=](Bench& bench) { return check(bench, shape); }});
}

}  // namespace

std::vector<Case> norm_cases(const Scope& scope) {
  std::vector<Case> cases;
  add(cases, {.n = 172, .rows = 5, .centred = true});
  add(cases, {.n = 172, .rows = 5, .residual = true, .scale = 0.22f});
  add(cases, {.n = 172, .rows = 5, .centred = true, .biased = false});
  add(cases, {.n = 172, .rows = 5, .centred = true, .last_row = true});
  add(cases, {.n = 172, .rows = 5, .residual = true, .scaled = true});
  if (scope.depth == Depth::quick) return cases;
  add(cases, {.n = 1, .rows = 1, .centred = true});
  add(cases, {.n = 333, .rows = 3, .centred = true, .residual = true, .scale = 1.7f});
  add(cases, {.n = 64, .rows = 16, .centred = true, .size = 1e-3f});
  add(cases, {.n = 64, .rows = 16, .residual = true, .size = 1e-3f});
  add(cases, {.n = 500, .rows = 7, .centred = true, .offset = 30.0f});
  add(cases, {.n = 77, .rows = 2, .scale = 3.0f});
  add(cases, {.n = 2048, .rows = 3, .centred = true});
  add(cases, {.n = 64, .rows = 100, .last_row = true, .scale = 0.5f});
  // As on GPUs: a workgroup of several subgroups; 128 invocations are the least Vulkan promises.
  add(cases, {.n = 500, .rows = 2, .centred = true, .lanes = 128});
  add(cases, {.n = 77, .rows = 2, .residual = true, .scale = 0.22f, .lanes = 128});
  return cases;
}

}  // namespace skipstone::selftest
