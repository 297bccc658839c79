// What the matrices of a model's layers are multiplied with while the model reads a text, as sums of squares: the statistics that Wanda's
// scores and importance matrices are made of.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "text/tokenizer.h"

namespace skipstone::gguf {
class File;
}
namespace skipstone::ref {
class Model;
}

namespace skipstone::convert {

/// Gets the number of a text's sequences that have run so far, and of all; false cancels.
using CalibrationProgress = std::function<bool(std::uint64_t done, std::uint64_t total)>;

struct InputSquares {
  std::vector<double> sums;  ///< of the squares of each input of the matrix
  std::uint64_t rows = 0;    ///< how many inputs the sums are over
};

/// For every matrix of the layers, by its tensor's name. The scalar reference runs the sequences, `threads` at a time, each from position
/// 0; the result does not depend on how many. Throws the errors of Model::forward; cancelled.
std::map<std::string, InputSquares> input_squares(const ref::Model& reference, const gguf::File& model,
                                                  const std::vector<std::vector<text::Token>>& sequences, unsigned threads,
                                                  const CalibrationProgress& progress);

}  // namespace skipstone::convert
