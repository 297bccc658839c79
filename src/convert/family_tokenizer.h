// What a model's family says about its tokenizer that no file of the folder does.
#pragma once

#include <string>

namespace skipstone::convert {

struct FamilyTokenizer {
  const char* family;             ///< model_type of config.json
  const char* pre = nullptr;      ///< its name for its pre-tokenizer, where the table's first name for the same rule is another's
  const char* eot = nullptr;      ///< how the token is written that ends a turn
  const char* unknown = nullptr;  ///< how the token is written that stands for what cannot be spelled
  bool no_space_prefix = false;   ///< SentencePiece that puts no space in front of a text and drops none, whatever tokenizer.model says
};

/// A row without anything where nothing is known of `family`.
const FamilyTokenizer& family_tokenizer(const std::string& family);

}  // namespace skipstone::convert
