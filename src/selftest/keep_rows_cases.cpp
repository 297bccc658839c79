#include <fmt/format.h>

#include "selftest/cases.h"
#include "selftest/compare.h"
#include "selftest/data.h"

namespace skipstone::selftest {
namespace {

using kernels::padded;
using kernels::ResourceKind;

// Rows are copied, so nothing but the same bits will do; and nothing but these rows may be written.
std::string check(Bench& bench, std::uint32_t n, std::uint32_t rows, std::uint32_t first) {
  Random random(fmt::format("keep_rows {} {}", n, rows));
  const std::uint32_t bucket = kernels::bucket_for(rows), stride = padded(n);
  const std::vector<float> x = strided(random.floats(std::size_t{bucket} * n, -8.0f, 8.0f), n);
  const kernels::Resource in{ResourceKind::residual}, kept{ResourceKind::kept};
  bench.put(in, x);
  bench.reserve(kept, std::size_t{STEP_VERIFY_ROWS} * stride);
  bench.set_rows(0, rows);
  bench.state().kept = first;
  bench.run(kernels::keep_rows(bench.select(), in, n, bucket, "keep_rows"));
  bench.state().kept = 0;

  const auto got = bench.get<std::uint32_t>(kept, std::size_t{STEP_VERIFY_ROWS} * stride);
  const std::size_t begin = std::size_t{first} * stride, count = std::size_t{rows} * stride;
  if (std::memcmp(&got[begin], x.data(), count * sizeof(float)) != 0) return "a kept row has other bits than the row it was copied from";
  std::string difference = touched("rows before", std::span(got).first(begin));
  return difference.empty() ? touched("rows after the last", std::span(got).subspan(begin + count)) : difference;
}

void add(std::vector<Case>& cases, std::uint32_t n, std::uint32_t rows, std::uint32_t first) {
  cases.push_back({"keep_rows", fmt::format("keep_rows N={} rows={} to {}", n, rows, first),
                   [=](Bench& bench) { return check(bench, n, rows, first); }});
}

}  // namespace

std::vector<Case> keep_rows_cases(const Scope& scope) {
  std::vector<Case> cases;
  add(cases, 172, 3, 5);
  if (scope.depth == Depth::quick) return cases;
  add(cases, 1, 1, 15);
  add(cases, 1000, 16, 0);
  return cases;
}

}  // namespace skipstone::selftest
