// What the matrices of a model's layers are multiplied with while the model reads a text, as sums of squares: the statistics that Wanda's
// scores and importance matrices are made of.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
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

/// Gets the number of a text's sequences that have run so far, and of all, also while one runs; false cancels.
using CalibrationProgress = std::function<bool(std::uint64_t done, std::uint64_t total)>;

/// A text to be cut into sequences.
struct TextTokens {
  std::vector<text::Token> tokens;
  std::optional<text::Token> bos;  ///< that each sequence begins with, where the vocabulary has texts begin with one
};

/// Of the file `path`. Throws the errors of reading the model's tokenizer and of read_file(); invalid_argument for a text that is not
/// UTF-8.
TextTokens tokens_of(const gguf::File& model, const std::string& path);

struct InputSquares {
  std::vector<double> sums;  ///< of the squares of each input of the matrix
  std::uint64_t rows = 0;    ///< how many inputs the sums are over
};

/// For every matrix of the layers, by its tensor's name. The scalar reference runs the sequences, each from position 0, on `threads`
/// threads, at most one for each core (0: as many); the result does not depend on how many. Throws the errors of Model::forward; cancelled.
std::map<std::string, InputSquares> input_squares(const ref::Model& reference, const gguf::File& model,
                                                  const std::vector<std::vector<text::Token>>& sequences, unsigned threads,
                                                  const CalibrationProgress& progress);

}  // namespace skipstone::convert
