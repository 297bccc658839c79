// Texts that end a text before them, found in a stream of pieces however it is cut.
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

  /// What is certain to stand before any stop string, of all pieces so far and not given out yet: all that cannot be the beginning of one.
  /// Of two stop strings in the text, the one that ends first counts, the longer of those that end together; so what comes out does not
  /// depend on how the text is cut. Nothing comes behind a stop.
  std::string push(std::string_view piece);
  bool stopped() const { return stopped_; }
  /// What is held back at the end of the text; it was no stop string after all.
  std::string finish();

 private:
  /// For one stop string: how much of its beginning the text ends with, and where to go on from a byte that does not fit (Knuth, Morris,
  /// Pratt 1977).
  struct Pattern {
    std::string text;
    std::vector<std::size_t> fallback;
    std::size_t matched = 0;
  };

  std::vector<Pattern> patterns_;
  std::string held_;  ///< not given out yet
  bool stopped_ = false;
};

}  // namespace skipstone::text
