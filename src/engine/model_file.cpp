#include "engine/model_file.h"

#include "base/status.h"

namespace skipstone::engine {

ModelFile load_model_file(const gguf::File& file, const model::Config& config, const std::string& pre_tokenizer) {
  ModelFile model{model::find_tensors(file, config), nullptr};
  if (!file.has_data()) return model;
  model.tokenizer = std::make_unique<text::Tokenizer>(text::Vocabulary::from(file, pre_tokenizer));
  if (model.tokenizer->size() > config.vocabulary) {
    fail(Code::bad_file, "{}: the tokenizer has {} tokens, but the model only {}", file.path(), model.tokenizer->size(), config.vocabulary);
  }
  return model;
}

}  // namespace skipstone::engine
