// A Hugging Face checkpoint as a GGUF file.
#pragma once

#include <cstdint>
#include <string>

#include "convert/tensor_type.h"
#include "gguf/writer.h"

namespace skipstone::convert {

struct ConvertOptions {
  std::string folder;  ///< with config.json, safetensors and a tokenizer
  std::string output;
  FileType type = FileType::f16;  ///< of the matrices; see TensorTypes
  std::uint32_t exit_layer = 0;   ///< the early exit the checkpoint was trained for; 0: the checkpoint's own
  std::string pre_tokenizer;      ///< as for write_tokenizer()
  bool overwrite = false;         ///< an existing file is replaced, once the new one is complete
  gguf::WriteProgress progress;
};

/// Writes the checkpoint as `output`. Weights are read and written row by row, so the memory needed does not depend on the model's size.
/// Throws the errors of read_checkpoint(), Safetensors::open(), map_tensors() and write_tokenizer(); invalid_argument (the output is a
/// folder, a file of the checkpoint, or exists already; the exit layer is not one of the model's), io (it cannot be written), bad_file (a
/// weight that is not finite), unsupported (one too large for the type), cancelled. No partial file remains then.
void convert(const ConvertOptions& options);

}  // namespace skipstone::convert
