// The choice of the two of four neighbouring weights that a 2:4 sparse matrix keeps, and the norms that Wanda's scores are made of.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "convert/input_statistics.h"

namespace skipstone::gguf {
class File;
}

namespace skipstone::convert {

/// How weights are compared. Magnitude: |w|. Wanda (Sun et al. 2023, "A simple and effective pruning approach for large language models",
/// arXiv 2306.11695): |w| times the norm of the input that it multiplies, over a calibration text.
enum class Scores { magnitude, wanda };

/// Throws invalid_argument, naming the known ones.
Scores parse_scores(std::string_view name);

/// Sets the two weights of the lowest score in each group of four to 0; of equal scores the later weight goes. `row`: the weights of one
/// output, a multiple of four; `norms`: one a weight.
void prune_row(std::span<float> row, std::span<const float> norms);

inline constexpr std::size_t calibration_tokens = 128;    ///< of one sequence, less for models of shorter contexts
inline constexpr std::size_t calibration_sequences = 32;  ///< at most; the remaining text is not read

/// For every matrix of the layers, by its tensor's name, the Euclidean norm of each of its inputs over the tokens of the text in the file
/// `text` (K floats). The text is run in sequences by the scalar reference, which holds all weights as floats and needs no device.
/// `threads` as for input_squares(). Throws the errors of reading a model and its tokenizer; not_found,
/// io, bad_file for the text, invalid_argument where it is not UTF-8 or has no token; cancelled.
std::map<std::string, std::vector<float>> input_norms(const gguf::File& model, const std::string& text, unsigned threads,
                                                      const CalibrationProgress& progress);

}  // namespace skipstone::convert
