#include "terminal/nearest_name.h"

#include <algorithm>

namespace cli {

std::size_t edit_distance(std::string_view from, std::string_view to) {
  const auto same = [&](std::size_t i, std::size_t j) { return (from[i] | 32) == (to[j] | 32); };
  std::vector<std::vector<std::size_t>> d(from.size() + 1, std::vector<std::size_t>(to.size() + 1));
  for (std::size_t i = 0; i <= from.size(); ++i) {
    for (std::size_t j = 0; j <= to.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (same(i - 1, j - 1) ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && same(i - 1, j - 2) && same(i - 2, j - 1);
      if (swapped) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d.back().back();
}

std::string nearest_name(std::string_view word, const std::vector<std::string>& names) {
  constexpr std::size_t longest_word = 64;  // nothing that is longer is a slip
  if (word.size() > longest_word) return {};
  std::string best;
  std::size_t least = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string& name : names) {
    const bool beginning = word.size() >= 4 && name.starts_with(word);
    const std::size_t far = beginning ? 1 : edit_distance(word, name);
    if (far < least && far + 1 < std::max(word.size(), name.size())) {
      least = far;
      best = name;
    }
  }
  return best;
}

}  // namespace cli
