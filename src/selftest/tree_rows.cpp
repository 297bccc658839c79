#include "selftest/tree_rows.h"

#include <algorithm>
#include <numeric>

namespace skipstone::selftest {

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
