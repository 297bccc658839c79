// The contents of a model file, for the engine and for callers that only check whether it would run.
#pragma once

#include <memory>
#include <string>

#include "gguf/gguf.h"
#include "model/config.h"
#include "text/tokenizer.h"

namespace skipstone::engine {

struct ModelFile {
  model::ModelTensors tensors;                 ///< refer to the file, which must outlive them
  std::unique_ptr<text::Tokenizer> tokenizer;  ///< null if the model is not a file
};

/// The checks that remain once the shape is known: throws bad_file and unsupported for tensors and tokenizers that cannot be run.
/// `pre_tokenizer`: as for text::Vocabulary::from().
ModelFile load_model_file(const gguf::File& file, const model::Config& config, const std::string& pre_tokenizer = "");

}  // namespace skipstone::engine
