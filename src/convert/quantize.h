// A GGUF file rewritten with its matrices in another type.
#pragma once

#include <optional>
#include <string>

#include "convert/sparsity.h"
#include "convert/tensor_type.h"
#include "gguf/writer.h"

namespace skipstone::convert {

struct QuantizeOptions {
  std::string input;   ///< for a split model, any one of its parts
  std::string output;  ///< one file, whatever the input was
  FileType type = FileType::q8_0;
  bool overwrite = false;
  unsigned threads = 0;  ///< 0: as many as the machine has; the output does not depend on it
  gguf::WriteProgress progress;
  std::optional<Scores> sparse;  ///< the layers' matrices become 2:4 sparse: which weights stay; F16 and Q8_0 only
  std::string calibration;       ///< the text for Wanda's scores; needed for them, and for nothing else
  CalibrationProgress calibration_progress;
  std::string imatrix;  ///< a file with an importance matrix; empty: all weights of a matrix count alike
};

/// Writes `input` as `output` with the type that TensorTypes chooses for every tensor; metadata and the order of tensors stay, but for
/// general.file_type, general.quantization_version, quantize.imatrix.* and the keys of a split. Needs memory for a few rows and the
/// importance matrix. Throws the errors of File::open for the input, read_importance_matrix(), and input_norms() for Wanda's text;
/// invalid_argument (the output is an input, or exists already; sparse weights of another type, or with an importance matrix; Wanda's
/// scores without a text or a text without them), io (it cannot be written), unsupported (a tensor of a type that cannot be expanded, a
/// weight too large for the new type), bad_file (an importance matrix of another model; a weight that is not finite: the tensor and the row
/// are named), cancelled. On an error an earlier file of the output's name stays, and no partial file remains.
void quantize(const QuantizeOptions& options);

}  // namespace skipstone::convert
