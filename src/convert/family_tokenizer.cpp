#include "convert/family_tokenizer.h"

#include <algorithm>
#include <iterator>

namespace skipstone::convert {
namespace {

// As llama.cpp's converter (0.7.0) has them. Gemma: transformers' GemmaTokenizer, which never puts a space in front.
constexpr FamilyTokenizer kFamilies[] = {
    {.family = "cohere", .pre = "command-r"},
    {.family = "cohere2", .pre = "command-r"},
    {.family = "exaone4", .pre = "exaone4"},
    {.family = "falcon_h1", .pre = "falcon-h1"},
    {.family = "gemma", .no_space_prefix = true},
    {.family = "gemma2", .no_space_prefix = true},
    {.family = "gemma3", .no_space_prefix = true},
    {.family = "gemma3_text", .no_space_prefix = true},
    {.family = "glm4", .pre = "glm4", .eot = "<|user|>", .unknown = "<|endoftext|>"},
    {.family = "granite", .pre = "refact"},
    {.family = "lfm2", .pre = "lfm2"},
    {.family = "llama4", .pre = "llama4"},
    {.family = "mpt", .pre = "mpt"},
    {.family = "olmo", .pre = "olmo"},
    {.family = "olmo2", .pre = "dbrx"},
    {.family = "olmo3", .pre = "dbrx"},
    {.family = "phi", .pre = "phi-2"},
    {.family = "phi3", .pre = "dbrx"},
    {.family = "stablelm", .pre = "stablelm2"},
};

}  // namespace

const FamilyTokenizer& family_tokenizer(const std::string& family) {
  static constexpr FamilyTokenizer kNothing{.family = ""};
  const auto* found =
      std::find_if(std::begin(kFamilies), std::end(kFamilies), [&](const FamilyTokenizer& row) { return family == row.family; });
  return found == std::end(kFamilies) ? kNothing : *found;
}

}  // namespace skipstone::convert
