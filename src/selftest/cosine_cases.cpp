#include <fmt/format.h>

#include <cmath>

#include "kernels/abi.h"
#include "ref/operations.h"
#include "selftest/cases.h"
#include "selftest/compare.h"
#include "selftest/data.h"

namespace skipstone::selftest {
namespace {

using kernels::padded;
using kernels::ResourceKind;

constexpr std::uint32_t layers = 3, layer = 1;  // of the table of cosines

// Row 0 is zero before, row 1 zero after, row 2 unchanged; the others drift away from what they were.
void make_rows(Random& random, std::uint32_t n, std::uint32_t rows, std::vector<float>& before, std::vector<float>& after) {
  before = random.floats(std::size_t{rows} * n, -3.0f, 3.0f);
  after = random.floats(before.size(), -1.0f, 1.0f);
  for (std::uint32_t row = 0; row < rows; ++row) {
    for (std::uint32_t i = 0; i < n; ++i) {
      const std::size_t at = std::size_t{row} * n + i;
      after[at] += before[at];
      if (row == 0 && rows > 1) before[at] = 0.0f;
      if (row == 1) after[at] = 0.0f;
      if (row == 2) after[at] = before[at];
    }
  }
}

std::string check_rows(Bench& bench, std::uint32_t n, std::uint32_t rows) {
  Random random(fmt::format("cosine {} {}", n, rows));
  const std::uint32_t bucket = kernels::bucket_for(rows);
  std::vector<float> before, after;
  make_rows(random, n, bucket, before, after);
  const kernels::Resource in{ResourceKind::residual, 0}, out{ResourceKind::residual, 1}, cosines{ResourceKind::cosines, layer};
  bench.put(in, strided(before, n));
  bench.put(out, strided(after, n));
  bench.reserve(cosines, layers * STEP_MAX_ROWS);
  bench.run(kernels::cosine(bench.select(), in, out, n, bucket, layer, "cosine"));

  const auto got = bench.get<float>(cosines, layers * STEP_MAX_ROWS);
  // Three sums in the same order: each of a lane's n / lanes steps and each join rounds; roots and quotient add a few units.
  const double lanes = bench.select().tuning().wide_lanes;
  const double relative = (n / lanes + lanes + 10) * epsilon;
  for (std::uint32_t row = 0; row < rows; ++row) {
    const auto a = std::span(before).subspan(std::size_t{row} * n, n), b = std::span(after).subspan(std::size_t{row} * n, n);
    double products = 0.0, a_squares = 0.0, b_squares = 0.0;
    for (std::uint32_t i = 0; i < n; ++i) {
      products += std::abs(static_cast<double>(a[i]) * static_cast<double>(b[i]));
      a_squares += static_cast<double>(a[i]) * static_cast<double>(a[i]);
      b_squares += static_cast<double>(b[i]) * static_cast<double>(b[i]);
    }
    const double wanted = static_cast<double>(ref::cosine(a, b));
    const double norms = std::sqrt(a_squares * b_squares);
    const double tolerance = norms > 0.0 ? relative * (products / norms + std::abs(wanted)) : 0.0;
    const std::string difference = differs(fmt::format("row {}", row), got[layer * STEP_MAX_ROWS + row], wanted, tolerance);
    if (!difference.empty()) return difference;
  }
  const auto words = bench.get<std::uint32_t>(cosines, layers * STEP_MAX_ROWS);
  std::string difference = touched("the layer before", std::span(words).first(layer * STEP_MAX_ROWS));
  if (difference.empty()) difference = touched("the layer after", std::span(words).last((layers - layer - 1) * STEP_MAX_ROWS));
  return difference;
}

// Two passes add up: the sums are over a whole prompt.
std::string check_sum(Bench& bench, std::uint32_t model_layers, std::uint32_t first_rows, std::uint32_t second_rows) {
  Random random(fmt::format("cosine_sum {} {} {}", model_layers, first_rows, second_rows));
  std::vector<double> wanted(model_layers, 0.0), magnitude(model_layers, 0.0);
  bench.put({ResourceKind::cosine_total}, std::vector<float>(model_layers, 0.0f));
  for (const std::uint32_t rows : {first_rows, second_rows}) {
    const std::vector<float> cosines = random.floats(std::size_t{model_layers} * STEP_MAX_ROWS, -1.0f, 1.0f);
    bench.put({ResourceKind::cosines}, cosines);
    bench.set_rows(0, rows);
    bench.run(kernels::cosine_sum(bench.select(), model_layers, "cosine_sum"));
    for (std::uint32_t l = 0; l < model_layers; ++l) {
      for (std::uint32_t row = 0; row < rows; ++row) {
        const auto value = static_cast<double>(cosines[std::size_t{l} * STEP_MAX_ROWS + row]);
        wanted[l] += value;
        magnitude[l] += std::abs(value);
      }
    }
  }
  const auto got = bench.get<float>({ResourceKind::cosine_total}, model_layers);
  for (std::uint32_t l = 0; l < model_layers; ++l) {
    const std::string difference =
        differs(fmt::format("layer {}", l), got[l], wanted[l], (first_rows + second_rows) * epsilon * magnitude[l]);
    if (!difference.empty()) return difference;
  }
  return "";
}

void add(std::vector<Case>& cases, std::uint32_t n, std::uint32_t rows) {
  cases.push_back({"cosine", fmt::format("cosine N={} rows={}", n, rows), [=](Bench& bench) { return check_rows(bench, n, rows); }});
}

void add_sum(std::vector<Case>& cases, std::uint32_t model_layers, std::uint32_t first, std::uint32_t second) {
  cases.push_back({"cosine_sum", fmt::format("cosine_sum layers={} rows={}+{}", model_layers, first, second),
                   [=](Bench& bench) { return check_sum(bench, model_layers, first, second); }});
}

}  // namespace

std::vector<Case> cosine_cases(const Scope& scope) {
  std::vector<Case> cases;
  add(cases, 172, 20);
  add_sum(cases, 22, 20, 3);
  if (scope.depth == Depth::quick) return cases;
  add(cases, 1, 1);
  add(cases, 1000, 5);
  add(cases, 64, STEP_MAX_ROWS);
  add_sum(cases, 1, 1, 1);
  add_sum(cases, 65, STEP_MAX_ROWS, 100);
  return cases;
}

}  // namespace skipstone::selftest
