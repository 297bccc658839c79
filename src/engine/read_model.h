// What a model file says, for the engine and for who only wants to know whether it would run.
#pragma once

#include <memory>
#include <string>

#include "gguf/gguf.h"
#include "model/config.h"
#include "text/tokenizer.h"

namespace skipstone::engine {

struct ReadModel {
  model::ModelTensors tensors;                 ///< in the file, which they need
  std::unique_ptr<text::Tokenizer> tokenizer;  ///< null where the model is no file
};

/// All that is left to refuse once the shape is known: throws bad_file and unsupported for tensors and tokenizers that cannot be run.
/// `pre_tokenizer`: as for text::Vocabulary::from().
ReadModel read_model(const gguf::File& file, const model::Config& config, const std::string& pre_tokenizer = "");

}  // namespace skipstone::engine
