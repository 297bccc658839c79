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
  float size = 1.0f;   ///< of the values; small ones make epsilon matter
  bool whole = false;  ///< all of Q and all of K are a part each, not their heads
  kernels::ValueNorm values = kernels::ValueNorm::none;
};

std::string check(Bench& bench, const Shape& shape) {
  Random random(fmt::format("head_norm {} {} {}", shape.heads, shape.head_dim, shape.rows));
  constexpr float norm_epsilon = 1e-6f;
  const std::uint32_t dim = shape.head_dim, normed = (shape.heads + shape.kv_heads) * dim, width = normed + shape.kv_heads * dim;
  const std::uint32_t bucket = kernels::bucket_for(shape.rows), stride = padded(width);
  const std::vector<float> qkv = random.floats(std::size_t{bucket} * width, -shape.size, shape.size);
  const std::uint32_t q_length = shape.whole ? shape.heads * dim : dim, k_length = shape.whole ? shape.kv_heads * dim : dim;
  const std::uint32_t q_parts = shape.heads * dim / q_length, k_parts = shape.kv_heads * dim / k_length;
  const std::vector<float> q_weight = random.floats(q_length, -2.0f, 2.0f), k_weight = random.floats(k_length, -2.0f, 2.0f);
  bench.put({ResourceKind::qkv}, strided(qkv, width));
  bench.put({ResourceKind::weight, 0}, strided(q_weight, q_length));
  bench.put({ResourceKind::weight, 1}, strided(k_weight, k_length));
  kernels::HeadNorm norm{0, 1, q_parts, k_parts, q_length, k_length, stride, norm_epsilon};
  norm.values = shape.values;
  bench.run(kernels::head_norm(bench.select(), norm, bucket, "head_norm"));

  const auto got = bench.get<float>({ResourceKind::qkv}, std::size_t{bucket} * stride);
  const double lanes = bench.select().tuning().lanes;
  for (std::uint32_t row = 0; row < shape.rows; ++row) {
    std::vector<float> wanted(qkv.begin() + std::ptrdiff_t{row} * width, qkv.begin() + std::ptrdiff_t{row + 1} * width);
    std::vector<double> tolerance(width, 0.0);  // V stays, unless it has a norm
    if (shape.values == kernels::ValueNorm::keys) {
      const auto keys = wanted.begin() + shape.heads * dim;
      std::copy_n(keys, shape.kv_heads * dim, keys + shape.kv_heads * dim);
    }
    const std::uint32_t v_parts = shape.values == kernels::ValueNorm::none ? 0 : k_parts;
    const std::vector<float> ones(k_length, 1.0f);
    for (std::uint32_t part = 0, at = 0; part < q_parts + k_parts + v_parts; ++part) {
      const std::vector<float>& weight = part < q_parts ? q_weight : part < q_parts + k_parts ? k_weight : ones;
      const std::span<float> one = std::span(wanted).subspan(at, weight.size());
      ref::rms_norm(std::vector(one.begin(), one.end()), weight, norm_epsilon, one);
      // As rms_norm's, over a part.
      const double relative = ((static_cast<double>(one.size()) / lanes + lanes) / 2 + 8) * epsilon;
      for (const float value : one) tolerance[at++] = relative * std::abs(static_cast<double>(value)) + smallest;
    }
    const std::string difference = differs(fmt::format("row {}", row), row_of(got, width, row), wanted, tolerance);
    if (!difference.empty()) return difference;
  }
  return "";
}

void add(std::vector<Case>& cases, const Shape& shape) {
  const std::string name = fmt::format("head_norm heads={}/{} D={} rows={}{}{}", shape.heads, shape.kv_heads, shape.head_dim, shape.rows,
                                       shape.size < 1.0f ? " small" : "",
                                       shape.values == kernels::ValueNorm::keys  ? " K as V"
                                       : shape.values == kernels::ValueNorm::own ? " and V"
                                       : shape.whole                             ? " whole"
                                                                                 : "");
  cases.push_back({"head_norm", name, [=](Bench& bench) { return check(bench, shape); }});
}

}  // namespace

std::vector<Case> head_norm_cases(const Scope& scope) {
  std::vector<Case> cases;
  add(cases, {.heads = 4, .kv_heads = 2, .head_dim = 64, .rows = 5});
  add(cases, {.heads = 4, .kv_heads = 2, .head_dim = 20, .rows = 5, .whole = true});
  add(cases, {.heads = 4, .kv_heads = 2, .head_dim = 64, .rows = 5, .values = kernels::ValueNorm::own});
  add(cases, {.heads = 4, .kv_heads = 2, .head_dim = 64, .rows = 5, .values = kernels::ValueNorm::keys});
  if (scope.depth == Depth::quick) return cases;
  add(cases, {.heads = 3, .kv_heads = 3, .head_dim = 20, .rows = 33, .values = kernels::ValueNorm::own});
  add(cases, {.heads = 8, .kv_heads = 1, .head_dim = 512, .rows = 3, .size = 1e-3f, .values = kernels::ValueNorm::keys});
  add(cases, {});
  add(cases, {.heads = 6, .kv_heads = 3, .head_dim = 20, .rows = 3});
  add(cases, {.heads = 4, .kv_heads = 1, .head_dim = 256, .rows = 70});
  add(cases, {.heads = 2, .kv_heads = 1, .head_dim = 128, .rows = 2, .size = 1e-3f});
  add(cases, {.heads = 16, .kv_heads = 16, .head_dim = 128, .rows = 3, .whole = true});
  add(cases, {.heads = 5, .kv_heads = 1, .head_dim = 12, .rows = 70, .size = 1e-3f, .whole = true});
  return cases;
}

}  // namespace skipstone::selftest
