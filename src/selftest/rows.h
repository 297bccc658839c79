// Rows of passes: several against one, and rows that follow their parents: shared by the cases of the numerics contract.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "selftest/bench.h"
#include "selftest/selftest.h"

namespace skipstone::selftest {

using Words = std::vector<std::uint32_t>;

inline constexpr std::uint32_t invariance_items = STEP_VERIFY_ROWS;  ///< rows that exist; a pass takes some of them

/// Runs a pass over the listed items, one per row, in this order; gives each row's result.
using RunRows = std::function<std::vector<Words>(Bench&, const std::vector<std::uint32_t>&)>;

/// How many rows the passes have, up to `most`.
std::vector<std::uint32_t> row_counts(Depth depth, std::uint32_t most);

/// "", or the first row whose bits differ from those it has alone. `consecutive`: items depend on their position and are in order.
std::string compare_rows(Bench& bench, Depth depth, const RunRows& run, bool consecutive, std::uint32_t most = STEP_VERIFY_ROWS);

/// The listed rows of `all` (rows of n) as a bucket's buffer; padding rows are NaN, which must not spread.
std::vector<float> gather(const std::vector<float>& all, std::uint32_t n, const std::vector<std::uint32_t>& order);

/// The first `words` words of each of `rows` rows that are `stride` words apart.
std::vector<Words> read_rows(const Bench& bench, const kernels::Resource& resource, std::size_t rows, std::size_t words,
                             std::size_t stride);

/// The bucket of a pass over the listed items.
std::uint32_t bucket_of(const std::vector<std::uint32_t>& order);

// Rows of a pass that follow their parents (shaders/lib/keys.glsl) and not each other.

/// The parents of `rows` rows, several branches that branch again; of row 0: 0.
std::vector<std::uint32_t> branching(std::uint32_t rows);

/// The rows from row 0 to `row` on its branch; without parents, all rows up to it.
std::vector<std::uint32_t> path_to(std::span<const std::uint32_t> parents, std::uint32_t row);

/// Writes the tree to the pass's state; without parents it does nothing.
void put_tree(Bench& bench, std::span<const std::uint32_t> parents);

}  // namespace skipstone::selftest
