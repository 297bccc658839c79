// Token ids in place of a prompt's text.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "skipstone/skipstone.hpp"

namespace cli {

/// Ids separated by commas or blanks: `given` itself if it begins like such a list, else the contents of the file of that name ("-" is
/// standard input). Throws Failure (usage) if there are none, if one is no integer from 0, and if the file cannot be read.
std::vector<skipstone_token> read_prompt_tokens(const std::string& given);

/// Throws Failure (usage) for an id that the model's vocabulary does not have.
void check_prompt_tokens(const std::vector<skipstone_token>& tokens, const skipstone::Engine& engine);

/// The first `count` logits after the last of `tokens`, from which the next token is chosen. Throws Failure (usage) if the vocabulary
/// is smaller.
std::vector<float> first_logits(const skipstone::Engine& engine, const std::vector<skipstone_token>& tokens, std::size_t count);

}  // namespace cli
