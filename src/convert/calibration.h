// Statistics of a model over a calibration text: how large the inputs of its matrices are.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace skipstone::gguf {
class File;
}

namespace skipstone::convert {

/// Gets the number of a text's sequences that have run so far, and of all; false cancels.
using CalibrationProgress = std::function<bool(std::uint64_t done, std::uint64_t total)>;

inline constexpr std::size_t calibration_tokens = 128;    ///< of one sequence, less for models of shorter contexts
inline constexpr std::size_t calibration_sequences = 32;  ///< at most; the remaining text is not read

/// For every matrix of the layers, by its tensor's name, the Euclidean norm of each of its inputs over the tokens of the text in the file
/// `text` (K floats). The text is run in sequences by the scalar reference, which holds all weights as floats and needs no device.
/// `threads` at a time; the result does not depend on how many. Throws the errors of reading a model and its tokenizer; not_found,
/// io, bad_file for the text, invalid_argument where it is not UTF-8 or has no token; cancelled.
std::map<std::string, std::vector<float>> input_norms(const gguf::File& model, const std::string& text, unsigned threads,
                                                      const CalibrationProgress& progress);

}  // namespace skipstone::convert
