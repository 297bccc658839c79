#include "selftest/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "selftest/compare.h"
#include "selftest/data.h"

namespace skipstone::selftest {

using kernels::padded;

std::vector<std::uint32_t> row_counts(Depth depth, std::uint32_t most) {
  if (depth == Depth::quick) return {2, 5, 16};
  // More than two columns of workgroups are like two.
  std::vector<std::uint32_t> counts;
  for (std::uint32_t rows = 1; rows <= most; ++rows) counts.push_back(rows);
  return counts;
}

std::string compare_rows(Bench& bench, Depth depth, const RunRows& run, bool consecutive, std::uint32_t most) {
  std::vector<Words> alone;
  for (std::uint32_t item = 0; item < invariance_items; ++item) alone.push_back(run(bench, {item}).front());
  Random random("invariance");
  for (const std::uint32_t rows : row_counts(depth, most)) {
    // Rows that depend on their position are in order, from a random first one; others in any order.
    std::vector<std::uint32_t> order = random.permutation(invariance_items);
    if (consecutive) {
      const std::uint32_t first = random.below(invariance_items - rows + 1);
      for (std::uint32_t i = 0; i < rows; ++i) order[i] = first + i;
    }
    order.resize(rows);
    const std::vector<Words> together = run(bench, order);
    for (std::uint32_t row = 0; row < rows; ++row) {
      const std::string difference = bits_differ(fmt::format("row {} of {}", row, rows), together[row], alone[order[row]], "alone");
      if (!difference.empty()) return difference;
    }
  }
  return "";
}

std::vector<float> gather(const std::vector<float>& all, std::uint32_t n, const std::vector<std::uint32_t>& order) {
  const std::uint32_t bucket = kernels::bucket_for(static_cast<std::uint32_t>(order.size()));
  std::vector<float> out(std::size_t{bucket} * padded(n), std::numeric_limits<float>::quiet_NaN());
  for (std::size_t row = 0; row < order.size(); ++row) {
    float* to = &out[row * padded(n)];
    std::fill_n(to, padded(n), 0.0f);
    std::copy_n(&all[std::size_t{order[row]} * n], n, to);
  }
  return out;
}

std::vector<Words> read_rows(const Bench& bench, const kernels::Resource& resource, std::size_t rows, std::size_t words,
                             std::size_t stride) {
  const Words all = bench.get<std::uint32_t>(resource, rows * stride);
  std::vector<Words> out;
  for (std::size_t row = 0; row < rows; ++row) {
    const auto from = all.begin() + static_cast<std::ptrdiff_t>(row * stride);
    out.emplace_back(from, from + static_cast<std::ptrdiff_t>(words));
  }
  return out;
}

std::uint32_t bucket_of(const std::vector<std::uint32_t>& order) { return kernels::bucket_for(static_cast<std::uint32_t>(order.size())); }

std::vector<std::uint32_t> branching(std::uint32_t rows) {
  std::vector<std::uint32_t> parents(rows);
  for (std::uint32_t i = 1; i < rows; ++i) parents[i] = i % 8 == 1 ? 0 : i - (i % 3 == 0 ? 2 : 1);
  return parents;
}

std::vector<std::uint32_t> path_to(std::span<const std::uint32_t> parents, std::uint32_t row) {
  std::vector<std::uint32_t> path;
  if (parents.empty()) {
    path.resize(row + 1);
    std::iota(path.begin(), path.end(), 0u);
    return path;
  }
  for (; row != 0; row = parents[row]) path.push_back(row);
  path.push_back(0);
  std::ranges::reverse(path);
  return path;
}

void put_tree(Bench& bench, std::span<const std::uint32_t> parents) {
  abi::StepState& state = bench.state();
  for (std::uint32_t row = 0; row < parents.size(); ++row) {
    const std::vector<std::uint32_t> path = path_to(parents, row);
    state.depths[row] = static_cast<std::uint32_t>(path.size()) - 1;
    std::uint32_t* words = &state.paths[row * STEP_PATH_WORDS];
    std::fill_n(words, STEP_PATH_WORDS, 0xffffffffu);  // absent rows: nothing may be written there
    for (std::size_t depth = 0; depth < path.size(); ++depth) {
      const std::size_t shift = 8 * (depth % 4);
      words[depth / 4] = (words[depth / 4] & ~(0xffu << shift)) | path[depth] << shift;
    }
  }
}

}  // namespace skipstone::selftest
