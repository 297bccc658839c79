// What a converted tokenizer says, key by key, and whether it cuts texts as the vocabulary that it was made from.
#pragma once

#include <gtest/gtest.h>

#include "unit/handmade_vocabulary.h"
#include "unit/hugging_face_folder.h"

namespace skipstone::convert::testing {

namespace handmade = text::handmade;
using text::Tokenizer;
using text::Vocabulary;

inline const std::string converted_text = "hello  the hello, 12345\n\tabc é 🚀 <|im_end|></s>";

inline std::uint32_t size_of(const Vocabulary& v) { return static_cast<std::uint32_t>(v.tokens.size()); }

template <typename T>
T value_of(const gguf::File& file, const std::string& key) {
  const gguf::Value* value = file.find("tokenizer." + key);
  if (value == nullptr || !std::holds_alternative<T>(*value)) {
    ADD_FAILURE() << key << " is " << (value == nullptr ? "missing" : gguf::type_name(*value));
    return {};
  }
  return std::get<T>(*value);
}

template <typename T>
std::vector<T> array_of(const gguf::File& file, const std::string& key) {
  const auto array = value_of<std::shared_ptr<const gguf::Array>>(file, key);
  if (array == nullptr || !std::holds_alternative<std::vector<T>>(array->items)) {
    ADD_FAILURE() << key << " has items of another type";
    return {};
  }
  return std::get<std::vector<T>>(array->items);
}

inline void expect_same_ids(const gguf::File& file, const Vocabulary& original) {
  const Tokenizer got(Vocabulary::from(file));
  const Tokenizer wanted(original);
  for (const bool parse_special : {false, true}) {
    EXPECT_EQ(got.encode(converted_text, true, parse_special), wanted.encode(converted_text, true, parse_special));
  }
}

}  // namespace skipstone::convert::testing
