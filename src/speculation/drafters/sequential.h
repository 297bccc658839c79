// Sequential speculation as a drafter: a guess from the context's n-grams lowers the bar for leaving the model early. Lossy.
#pragma once

#include <memory>

#include "speculation/drafter.h"
#include "speculation/options.h"

namespace skipstone::speculation {

struct SequentialParams {
  std::vector<std::uint32_t> checks;  ///< empty: the exit the model was trained for, half way and three quarters of the way to its end
  EarlyExitRequest rule;
};

/// The continuation that most often followed the text's last n-gram, the longest of at most three tokens that occurs in it twice; ties to
/// the latest. `share`: of all its continuations. Token -1 if none.
struct NgramGuess {
  Token token = -1;
  double share = 0;
};
NgramGuess guess_by_ngram(std::span<const Token> history);

}  // namespace skipstone::speculation
