// The choice of the two of four neighbouring weights that a 2:4 sparse matrix keeps.
#pragma once

#include <span>
#include <string_view>

namespace skipstone::convert {

/// How weights are compared. Magnitude: |w|. Wanda (Sun et al. 2023, "A simple and effective pruning approach for large language models",
/// arXiv 2306.11695): |w| times the norm of the input that it multiplies, over a calibration text.
enum class Scores { magnitude, wanda };

/// Throws invalid_argument, naming the known ones.
Scores parse_scores(std::string_view name);

/// Sets the two weights of the lowest score in each group of four to 0; of equal scores the later weight goes. `row`: the weights of one
/// output, a multiple of four; `norms`: one a weight.
void prune_row(std::span<float> row, std::span<const float> norms);

}  // namespace skipstone::convert
