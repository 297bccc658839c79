// Importance matrices: the mean square of each input of each matrix while a model reads a text. A weight counts for as much as its input
// does, so quantize() rounds the columns of large inputs more carefully. Files have the form of llama.cpp's llama-imatrix.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "convert/input_statistics.h"

namespace skipstone::convert {

struct ImportanceMatrix {
  struct Entry {
    std::vector<float> sums;    ///< of the squares of each input; of stacked matrices one matrix after another
    std::vector<float> counts;  ///< of how many inputs; one number, or one for each of the stacked matrices

    /// The mean squares; 1 for the inputs of a matrix whose count is 0: an expert that the text never reached.
    std::vector<float> means() const;
  };

  std::vector<std::string> datasets;     ///< the texts
  std::uint32_t chunks = 0;              ///< that were read; 0 where the file does not say
  std::uint32_t chunk_tokens = 0;        ///< of each
  std::map<std::string, Entry> entries;  ///< by the tensor's name
};

/// A GGUF file, or the binary form that llama-imatrix wrote before (imatrix.dat). Throws not_found, io, and bad_file for one that is
/// damaged, that is no importance matrix, or that has sums, counts or means which are negative or not finite.
ImportanceMatrix read_importance_matrix(const std::string& path);

/// Writes the GGUF form: general.type "imatrix", imatrix.datasets, .chunk_count, .chunk_size; for each entry the F32 tensors NAME.in_sum2
/// {inputs, matrices} and NAME.counts {1, matrices}, without the second number where it is 1. Throws io; no partial file remains.
void write_importance_matrix(const ImportanceMatrix& matrix, const std::string& path);

struct ImportanceOptions {
  std::string model;                 ///< for a split model, any one of its parts
  std::string text;                  ///< a UTF-8 file
  std::string output;                ///< a GGUF file
  std::uint32_t chunk_tokens = 512;  ///< of a sequence; at most the model's context
  std::uint32_t chunks = 0;          ///< to read; 0: all of the text
  unsigned threads = 0;              ///< 0, or more: as many as the machine has; the file does not depend on it
  bool overwrite = false;
  CalibrationProgress progress;
};

/// Measures the matrix over the whole chunks of the text, each of which begins with BOS in place of its first token where the vocabulary
/// has one (as llama-imatrix does), and writes it. The scalar reference runs the model on the host. Throws the errors of reading a model
/// and its tokenizer; not_found, io, bad_file for the text; invalid_argument where it is not UTF-8 or shorter than a chunk, or the output
/// is there already; io where it cannot be written; unsupported where a model's inputs are not finite; cancelled. The output and the text
/// are checked before the model is expanded.
ImportanceMatrix measure_importance_matrix(const ImportanceOptions& options);

}  // namespace skipstone::convert
