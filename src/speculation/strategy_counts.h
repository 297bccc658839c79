// Results of the candidates of a drafter that has them from several sources.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace skipstone::speculation {

/// One source's. A round is won by the candidate with the most accepted tokens, the first among equals; by none where none were.
struct StrategyCounts {
  std::string name;
  std::uint64_t rows = 0;                ///< candidates proposed
  std::vector<std::uint64_t> by_rank;    ///< rounds won, by the winner's place among the source's candidates
  std::vector<std::uint64_t> by_length;  ///< rounds won, by tokens accepted of the winner: index 0 is one token

  void add_win(std::uint32_t rank, std::uint32_t accepted) {
    const auto count = [](std::vector<std::uint64_t>& counts, std::uint32_t index) {
      if (counts.size() <= index) counts.resize(index + 1);
      ++counts[index];
    };
    count(by_rank, rank);
    count(by_length, accepted - 1);
  }
};

}  // namespace skipstone::speculation
