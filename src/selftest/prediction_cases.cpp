// What passes do for a head for multi-token prediction: records of hidden states, and its input from them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ref/operations.h"
#include "selftest/cases.h"
#include "selftest/compare.h"
#include "selftest/data.h"
#include "selftest/rows.h"

namespace skipstone::selftest {
namespace {

using kernels::padded;
using kernels::ResourceKind;

constexpr std::uint32_t slots = 192;  // three pages
constexpr kernels::Resource records_of_layer{ResourceKind::records, 1}, rows_in{ResourceKind::normed};
constexpr float norm_epsilon = 1e-5f;

struct Shape {
  std::uint32_t n = 0, width = 0;  ///< floats of a row, and of a record, which may be longer
  std::uint32_t base = 0, rows = 0;
  std::vector<std::uint32_t> parents = {};  ///< empty: rows follow each other

  std::string name() const { return fmt::format("N={} of {} base={} rows={}{}", n, width, base, rows, parents.empty() ? "" : " tree"); }
};

// Rows are copied, so nothing but the same bits will do; and nothing but their places may be written.
std::string check_store(Bench& bench, const Shape& s) {
  Random random("store_record " + s.name());
  const std::uint32_t bucket = kernels::bucket_for(s.rows);
  const std::vector<float> x = strided(random.floats(std::size_t{bucket} * s.n, -8.0f, 8.0f), s.n);
  bench.put(rows_in, x);
  bench.reserve(records_of_layer, std::size_t{slots} * s.width);
  bench.set_rows(s.base, s.rows);
  bench.run(kernels::store_record(bench.select(), rows_in, s.n, {.layer = 1, .width = s.width}, bucket, "store_record"));
  auto got = bench.get<std::uint32_t>(records_of_layer, std::size_t{slots} * s.width);
  for (std::uint32_t row = 0; row < s.rows; ++row) {
    const auto stored = std::span(got).subspan(std::size_t{s.base + row} * s.width, s.n);
    if (std::memcmp(stored.data(), &x[std::size_t{row} * padded(s.n)], stored.size_bytes()) != 0)
      return fmt::format("the record of row {} has other bits than the row", row);
    std::ranges::fill(stored, Bench::untouched);
  }
  return touched("other records", got);
}

struct Data {
  std::vector<float> embeddings, hidden, embedding_norm, hidden_norm;

  explicit Data(const Shape& s) {
    Random random("prediction_input " + s.name());
    embeddings = random.floats(std::size_t{s.rows} * s.n, -3.0f, 3.0f);
    hidden = random.floats(std::size_t{s.base + s.rows} * s.n, -3.0f, 3.0f);
    embedding_norm = random.floats(s.n, -2.0f, 2.0f);
    hidden_norm = random.floats(s.n, -2.0f, 2.0f);
  }
};

/// Runs the rows of `s`; those of a tree have their records after `base` in the order of the rows.
void run_input(Bench& bench, const Shape& s, const Data& data) {
  const std::uint32_t bucket = kernels::bucket_for(s.rows);
  std::vector<float> cache(std::size_t{slots} * s.width, std::nanf(""));
  for (std::uint32_t at = 0; at < s.base + s.rows; ++at)
    std::copy_n(&data.hidden[std::size_t{at} * s.n], s.n, &cache[std::size_t{at} * s.width]);
  std::vector<std::uint32_t> order(s.rows);
  for (std::uint32_t row = 0; row < s.rows; ++row) order[row] = row;
  bench.put(rows_in, gather(data.embeddings, s.n, order));
  bench.put(records_of_layer, cache);
  bench.put({ResourceKind::weight, 0}, data.embedding_norm);
  bench.put({ResourceKind::weight, 1}, data.hidden_norm);
  bench.reserve({ResourceKind::gate_up}, std::size_t{bucket} * padded(2 * s.n));
  bench.set_rows(s.base, s.rows);
  put_tree(bench, s.parents);
  bench.run(kernels::prediction_input(bench.select(),
                                      {.embeddings = rows_in,
                                       .records = {.layer = 1, .width = s.width},
                                       .embedding_norm = 0,
                                       .hidden_norm = 1,
                                       .n = s.n,
                                       .epsilon = norm_epsilon},
                                      bucket, "prediction_input", !s.parents.empty()));
}

std::string check_input(Bench& bench, const Shape& s) {
  const Data data(s);
  run_input(bench, s, data);
  const std::size_t all = std::size_t{kernels::bucket_for(s.rows)} * padded(2 * s.n);
  const auto got = bench.get<float>({ResourceKind::gate_up}, all);
  const auto words = bench.get<std::uint32_t>({ResourceKind::gate_up}, all);
  const double lanes = bench.tuning().wide_lanes, relative = ((s.n / lanes + lanes) / 2 + 8) * epsilon;  // as of rms_norm
  for (std::uint32_t row = 0; row < s.rows; ++row) {
    std::vector<float> wanted(std::size_t{2} * s.n);
    const std::vector<std::uint32_t> path = path_to(s.parents, row);
    const auto halves = std::span(wanted);
    ref::rms_norm(std::span(data.embeddings).subspan(std::size_t{row} * s.n, s.n), data.embedding_norm, norm_epsilon, halves.first(s.n));
    if (s.base + path.size() > 1) {
      const std::size_t before = path.size() > 1 ? s.base + path[path.size() - 2] : s.base - 1;
      ref::rms_norm(std::span(data.hidden).subspan(before * s.n, s.n), data.hidden_norm, norm_epsilon, halves.last(s.n));
    }
    std::vector<double> tolerance(wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) tolerance[i] = relative * std::abs(static_cast<double>(wanted[i])) + smallest;
    if (std::string difference = row_differs(got, words, 2 * s.n, row, wanted, tolerance); !difference.empty()) return difference;
  }
  return touched("padding rows", std::span(words).subspan(std::size_t{s.rows} * padded(2 * s.n)));
}

}  // namespace

std::vector<Case> prediction_cases(const Scope& scope) {
  std::vector<Case> cases;
  const auto store = [&](const Shape& s) {
    cases.push_back({"store_record", "store_record " + s.name(), [s](Bench& bench) { return check_store(bench, s); }});
  };
  const auto input = [&](const Shape& s) {
    cases.push_back({"prediction_input", "prediction_input " + s.name(), [s](Bench& bench) { return check_input(bench, s); }});
  };
  store({.n = 72, .width = 80, .base = 62, .rows = 5});
  input({.n = 72, .width = 80, .base = 62, .rows = 5});
  input({.n = 40, .width = 40, .base = 60, .rows = 9, .parents = branching(9)});
  if (scope.depth == Depth::quick) return cases;
  store({.n = 1, .width = 1, .base = 0, .rows = 1});
  store({.n = 301, .width = 301, .base = 1, .rows = 150});
  input({.n = 1, .width = 2, .base = 0, .rows = 1});
  input({.n = 301, .width = 301, .base = 0, .rows = 32});
  input({.n = 33, .width = 64, .base = 1, .rows = 32, .parents = branching(32)});
  return cases;
}

}  // namespace skipstone::selftest
