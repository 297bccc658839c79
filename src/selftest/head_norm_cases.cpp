#include <fmt/format.h>

#include <algorithm>
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
  std::uint32_t heads = 1, kv_heads = 1, head_dim = 64, rows = 1;
  float size = 1.0f;  ///< of the values; small ones make epsilon matter
};

std::string check(Bench& bench, const Shape& shape) {
  Random random(fmt::format("head_norm {} {} {}", shape.heads, shape.head_dim, shape.rows));
  constexpr float norm_epsilon = 1e-6f;
  const std::uint32_t dim = shape.head_dim, normed = (shape.heads + shape.kv_heads) * dim, width = normed + shape.kv_heads * dim;
  const std::uint32_t bucket = kernels::bucket_for(shape.rows), stride = padded(width);
  const std::vector<float> qkv = random.floats(std::size_t{bucket} * width, -shape.size, shape.size);
  const std::vector<float> q_weight = random.floats(dim, -2.0f, 2.0f), k_weight = random.floats(dim, -2.0f, 2.0f);
  bench.put({ResourceKind::qkv}, strided(qkv, width));
  bench.put({ResourceKind::weight, 0}, strided(q_weight, dim));
  bench.put({ResourceKind::weight, 1}, strided(k_weight, dim));
  bench.run(kernels::head_norm(bench.select(), {0, 1, shape.heads, shape.kv_heads, dim, dim, stride, norm_epsilon}, bucket, "head_norm"));

  const auto got = bench.get<float>({ResourceKind::qkv}, std::size_t{bucket} * stride);
  // As rms_norm's, over a head.
  const double lanes = bench.select().lanes(), relative = ((dim / lanes + lanes) / 2 + 8) * epsilon;
  for (std::uint32_t row = 0; row < shape.rows; ++row) {
    std::vector<float> wanted(qkv.begin() + std::ptrdiff_t{row} * width, qkv.begin() + std::ptrdiff_t{row + 1} * width);
    std::vector<double> tolerance(width, 0.0);  // V stays
    for (std::uint32_t head = 0; head < shape.heads + shape.kv_heads; ++head) {
      const std::span<float> one = std::span(wanted).subspan(std::size_t{head} * dim, dim);
      ref::rms_norm(std::vector(one.begin(), one.end()), head < shape.heads ? q_weight : k_weight, norm_epsilon, one);
      for (std::uint32_t i = 0; i < dim; ++i) tolerance[head * dim + i] = relative * std::abs(static_cast<double>(one[i])) + smallest;
    }
    const std::string difference = differs(fmt::format("row {}", row), row_of(got, width, row), wanted, tolerance);
    if (!difference.empty()) return difference;
  }
  return "";
}

void add(std::vector<Case>& cases, const Shape& shape) {
  const std::string name = fmt::format("head_norm heads={}/{} D={} rows={}{}", shape.heads, shape.kv_heads, shape.head_dim, shape.rows,
                                       shape.size < 1.0f ? " small" : "");
  cases.push_back({"head_norm", name, [=](Bench& bench) { return check(bench, shape); }});
}

}  // namespace

std::vector<Case> head_norm_cases(const Scope& scope) {
  std::vector<Case> cases;
  add(cases, {.heads = 4, .kv_heads = 2, .head_dim = 64, .rows = 5});
  if (scope.depth == Depth::quick) return cases;
  add(cases, {});
  add(cases, {.heads = 6, .kv_heads = 3, .head_dim = 20, .rows = 3});
  add(cases, {.heads = 4, .kv_heads = 1, .head_dim = 256, .rows = 70});
  add(cases, {.heads = 2, .kv_heads = 1, .head_dim = 128, .rows = 2, .size = 1e-3f});
  return cases;
}

}  // namespace skipstone::selftest
