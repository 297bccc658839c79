#include "convert/sparsity.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/status.h"
#include "gguf/gguf.h"

namespace skipstone::convert {

Scores parse_scores(std::string_view name) {
  if (name == "magnitude") return Scores::magnitude;
  if (name == "wanda") return Scores::wanda;
  constexpr std::size_t shown = 40;
  fail(Code::invalid_argument, "there are no scores '{}'; there are magnitude and wanda", gguf::escaped(name.substr(0, shown)));
}

void prune_row(std::span<float> row, std::span<const float> norms) {
  if (row.size() % 4 != 0 || norms.size() != row.size()) {
    fail(Code::internal, "{} weights with {} norms cannot be pruned in groups of four", row.size(), norms.size());
  }
  for (std::size_t group = 0; group < row.size(); group += 4) {
    const auto score = [&](std::size_t place) { return std::fabs(row[group + place]) * norms[group + place]; };
    std::array<std::size_t, 4> order{0, 1, 2, 3};
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return score(a) > score(b); });
    row[group + order[2]] = row[group + order[3]] = 0.0f;
  }
}

}  // namespace skipstone::convert
