// The contents of a model file, for the engine and for callers that only check whether it would run.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
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

/// The sampling parameters that the makers of a model recommend, if its file has them: the supported keys general.sampling.*;
/// no value for a key that is missing or invalid (with a warning).
struct RecommendedSampling {
  std::optional<float> temperature, top_p, min_p, repeat_penalty;
  std::optional<std::uint32_t> top_k, repeat_last;

  static RecommendedSampling from(const gguf::File& file);
};

}  // namespace skipstone::engine
