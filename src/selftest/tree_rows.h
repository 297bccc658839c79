// Rows of a pass that follow their parents (shaders/lib/keys.glsl) and not each other.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "selftest/bench.h"

namespace skipstone::selftest {

/// The parents of `rows` rows, several branches that branch again; of row 0: 0.
std::vector<std::uint32_t> branching(std::uint32_t rows);

/// The rows from row 0 to `row` on its branch; without parents, all rows up to it.
std::vector<std::uint32_t> path_to(std::span<const std::uint32_t> parents, std::uint32_t row);

/// Writes the tree to the pass's state; without parents it does nothing.
void put_tree(Bench& bench, std::span<const std::uint32_t> parents);

}  // namespace skipstone::selftest
