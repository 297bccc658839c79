// Products with a matrix of each head: parts of rows that lie between others, stacks in parts, against the scalar reference; and
// that no output depends on the rows beside its own.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "selftest/cases.h"
#include "selftest/compare.h"
#include "selftest/data.h"
#include "selftest/matrix_check.h"

namespace skipstone::selftest {
namespace {

using kernels::padded;
using kernels::Resource;
using kernels::ResourceKind;

/// Between the heads' parts of x, and of y, there are `gap` numbers, and before the first one `first`.
struct Shape {
  gguf::Type format = gguf::Type::f32;
  std::uint32_t heads = 1, n = 0, k = 0, rows = 1;
  std::uint32_t first = 8, gap = 32;
  std::uint32_t parts = 1;

  kernels::HeadParts x() const { return {first, k + gap, first + heads * (k + gap)}; }
  kernels::HeadParts y() const { return {first, n + gap, first + heads * (n + gap)}; }
  std::string text() const {
    return fmt::format("head_product {} heads={} N={} K={} rows={}{}", suffix(format), heads, n, k, rows,
                       parts > 1 ? fmt::format(" parts={}", parts) : "");
  }
};

/// The words of y of a pass over some rows of x.
std::vector<std::uint32_t> multiply(Bench& bench, const kernels::Selector& select, const Shape& shape, const kernels::Matrix& stack,
                                    const std::vector<float>& rows) {
  const std::uint32_t bucket = kernels::bucket_for(static_cast<std::uint32_t>(rows.size()) / shape.x().width);
  std::vector<float> x = strided(rows, shape.x().width);
  x.resize(std::size_t{bucket} * padded(shape.x().width), std::nanf(""));
  const Resource in{ResourceKind::normed}, out{ResourceKind::scratch};
  bench.put(in, x);
  const std::size_t words = std::size_t{bucket} * padded(shape.y().width);
  bench.reserve(out, words);
  bench.run(kernels::head_product(select, stack, shape.heads, {in, shape.x()}, {out, shape.y()}, bucket, "head_product"));
  return bench.get<std::uint32_t>(out, words);
}

std::string check_head(const Shape& shape, const HostMatrix& matrix, std::uint32_t head, std::span<const float> x,
                       std::span<const float> got) {
  std::vector<float> wanted(shape.n);
  std::vector<double> tolerance(shape.n);
  for (std::uint32_t i = 0; i < shape.n; ++i) {
    double sum = 0.0, bound = 0.0;
    for (std::uint32_t j = 0; j < shape.k; ++j) {
      const std::size_t row = std::size_t{head} * shape.n + i;
      const double product = static_cast<double>(matrix.weights[row * shape.k + j]) * static_cast<double>(x[j]);
      sum += product, bound += std::abs(product);
    }
    wanted[i] = static_cast<float>(sum);
    tolerance[i] = (shape.k + 72.0) * epsilon * bound + smallest;
  }
  return differs(fmt::format("head {}", head), got, wanted, tolerance);
}

std::string check(Bench& bench, const Shape& shape, const kernels::Selector& select) {
  Random random(shape.text());
  const HostMatrix matrix(shape.format, shape.heads * shape.n, shape.k, random);
  const kernels::Matrix stack = place(bench, matrix, shape.parts, select.interleave(), 0, shape.n);
  const std::size_t x_width = shape.x().width, stride = padded(shape.y().width);
  const std::vector<float> x = random.floats(shape.rows * x_width, -2.0f, 2.0f);
  const std::vector<std::uint32_t> together = multiply(bench, select, shape, stack, x);
  const std::vector<float> values = bench.get<float>({ResourceKind::scratch}, together.size());
  std::string difference;
  for (std::uint32_t row = 0; difference.empty() && row < shape.rows; ++row) {
    const std::span<const std::uint32_t> words = std::span(together).subspan(row * stride, stride);
    difference = touched("y before the heads", words.first(shape.first));
    for (std::uint32_t head = 0; difference.empty() && head < shape.heads; ++head) {
      const std::size_t from = shape.first + std::size_t{head} * shape.y().step;
      difference = check_head(shape, matrix, head, std::span(x).subspan(row * x_width + shape.first + head * shape.x().step, shape.k),
                              std::span(values).subspan(row * stride + from, shape.n));
      if (difference.empty()) difference = touched("y between heads", words.subspan(from + shape.n, shape.gap));
    }
  }
  for (std::uint32_t row = 0; difference.empty() && row<shape.rows; row += shape.rows> 40 ? 17 : 1) {
    const auto begin = x.begin() + static_cast<std::ptrdiff_t>(row * x_width);
    const std::vector<float> alone(begin, begin + static_cast<std::ptrdiff_t>(x_width));
    const std::vector<std::uint32_t> words = multiply(bench, select, shape, stack, alone);
    difference =
        bits_differ(fmt::format("row {}", row), std::span(together).subspan(row * stride, stride), std::span(words).first(stride), "alone");
  }
  return difference;
}

void add(std::vector<Case>& cases, const Shape& shape, Layout layout = Layout::own) {
  cases.push_back({"head_product", shape.text() + to_string(layout),
                   [shape, layout](Bench& bench) { return check(bench, shape, selector_for(bench, layout)); }});
}

}  // namespace

std::vector<Case> head_product_cases(const Scope& scope) {
  std::vector<Case> cases;
  add(cases, {.format = gguf::Type::q8_0, .heads = 3, .n = 44, .k = 160, .rows = 3});
  if (scope.depth == Depth::quick) return cases;
  for (const gguf::Type format : {gguf::Type::q8_0, gguf::Type::f16, gguf::Type::f32, gguf::Type::q4_k}) {
    add(cases, {.format = format, .heads = 4, .n = 44, .k = odd_row(format), .rows = 12, .parts = 2});
  }
  add(cases, {.format = gguf::Type::f16, .heads = 2, .n = 512, .k = 128, .rows = 1});
  add(cases, {.format = gguf::Type::f32, .heads = 2, .n = 48, .k = 16, .rows = 200});
  for (const Layout layout : other_layouts(scope.tuning)) {
    for (const gguf::Type each : {gguf::Type::q8_0, gguf::Type::f16, gguf::Type::q4_k}) {
      add(cases, {.format = each, .heads = 3, .n = 44, .k = whole_blocks(each, 96), .rows = 9}, layout);
    }
  }
  return cases;
}

}  // namespace skipstone::selftest
