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

struct Shape {
  std::uint32_t n = 0, rows = 1;
  bool last_row = false;
  float size = 1.0f;  ///< of the values; small ones make epsilon matter
};

std::string check(Bench& bench, const Shape& shape, std::uint32_t lanes) {
  Random random(fmt::format("rms_norm {} {} {}", shape.n, shape.rows, shape.last_row));
  const std::uint32_t bucket = kernels::bucket_for(shape.rows), stride = padded(shape.n);
  constexpr float norm_epsilon = 1e-5f;
  const std::vector<float> x = random.floats(std::size_t{bucket} * shape.n, -shape.size, shape.size),
                           weight = random.floats(shape.n, -2.0f, 2.0f);
  const kernels::Resource in{ResourceKind::residual}, out{ResourceKind::normed};
  bench.put(in, strided(x, shape.n));
  bench.put({ResourceKind::weight, 0}, strided(weight, shape.n));
  bench.reserve(out, std::size_t{bucket} * stride);
  bench.set_rows(3, shape.rows);
  vk::Tuning tuning = bench.tuning();
  if (lanes != 0) tuning.wide_lanes = lanes;
  const kernels::Selector select(bench.caps(), tuning);
  bench.run(kernels::rms_norm(select, in, 0, out, shape.n, bucket, norm_epsilon, shape.last_row, "rms_norm"));

  const auto got = bench.get<float>(out, std::size_t{bucket} * stride);
  const auto words = bench.get<std::uint32_t>(out, std::size_t{bucket} * stride);
  const std::uint32_t results = shape.last_row ? 1 : shape.rows;
  // A sum of squares has no cancellation: each of a lane's n / lanes steps and each join rounds relatively, the root halves it; then come
  // mean, epsilon, root (2 units), quotient (2.5 units) and two products.
  const double relative = ((shape.n / static_cast<double>(tuning.wide_lanes) + tuning.wide_lanes) / 2 + 8) * epsilon;
  for (std::uint32_t row = 0; row < results; ++row) {
    const std::uint32_t source = shape.last_row ? shape.rows - 1 : row;
    std::vector<float> wanted(shape.n);
    ref::rms_norm(std::span(x).subspan(std::size_t{source} * shape.n, shape.n), weight, norm_epsilon, wanted);
    std::vector<double> tolerance(shape.n);
    for (std::uint32_t i = 0; i < shape.n; ++i) tolerance[i] = relative * std::abs(static_cast<double>(wanted[i])) + smallest;
    const std::string difference = row_differs(got, words, shape.n, row, wanted, tolerance);
    if (!difference.empty()) return difference;
  }
  return shape.last_row ? touched("rows after the first", std::span(words).subspan(stride)) : "";
}

void add(std::vector<Case>& cases, const Shape& shape, std::uint32_t lanes = 0) {
  const std::string name = fmt::format("rms_norm N={} rows={}{}{}{}", shape.n, shape.rows, shape.last_row ? " last-row" : "",
                                       shape.size < 1.0f ? " small" : "", lanes != 0 ? fmt::format(" lanes={}", lanes) : "");
  cases.push_back({"rms_norm", name, [=](Bench& bench) { return check(bench, shape, lanes); }});
}

}  // namespace

std::vector<Case> rms_norm_cases(const Scope& scope) {
  std::vector<Case> cases;
  add(cases, {.n = 172, .rows = 5});
  add(cases, {.n = 172, .rows = 5, .last_row = true});
  if (scope.depth == Depth::quick) return cases;
  add(cases, {.n = 1, .rows = 1});
  add(cases, {.n = 64, .rows = 16, .size = 1e-3f});
  add(cases, {.n = 2048, .rows = 3});
  add(cases, {.n = 64, .rows = 100, .last_row = true});
  add(cases, {.n = 500, .rows = 2}, 128);  // as on GPUs: a workgroup of several subgroups; 128 invocations are the least Vulkan promises
  return cases;
}

}  // namespace skipstone::selftest
