// Stop strings: a text ends before them; they are found in a stream of chunks however it is split.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace skipstone::text {

class StopStrings {
 public:
  /// Throws invalid_argument where one is empty, not UTF-8, longer than `longest` bytes, or where there are more than `most`.
  explicit StopStrings(std::vector<std::string> strings);
  static constexpr std::size_t most = 128, longest = 4096;

  /// The text of all chunks so far, not returned yet, that certainly precedes any stop string: all that cannot be the prefix of one.
  /// Of two stop strings in the text, the one that ends first counts, the longer of those that end together; so the output does not
  /// depend on how the text is split. Nothing is returned after a stop.
  std::string push(std::string_view piece);
  bool stopped() const { return stopped_; }
  /// The text held back at the end; it was no stop string after all.
  std::string finish();

 private:
  /// For one stop string: how much of its prefix the text ends with, and where to continue after a mismatch (Knuth, Morris, Pratt
  /// 1977).
  struct Pattern {
    std::string text;
    std::vector<std::size_t> fallback;
    std::size_t matched = 0;
  };

  std::vector<Pattern> patterns_;
  std::string held_;  ///< not returned yet
  bool stopped_ = false;
};

}  // namespace skipstone::text
