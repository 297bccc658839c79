// Token ids in place of a prompt's text.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "skipstone/skipstone.hpp"

namespace cli {

/// Ids between commas or blanks: `given` itself where it begins as such a list does, else what stands in the file of that name ("-" is
/// standard input). Throws Failure (usage) where there is none, where one is no whole number from 0, and where the file cannot be read.
std::vector<skipstone_token> read_prompt_tokens(const std::string& given);

/// Throws Failure (usage) for an id that the model's vocabulary does not have.
void check_prompt_tokens(const std::vector<skipstone_token>& tokens, const skipstone::Engine& engine);

/// The first `count` logits behind the last of `tokens`, from which the token that follows is chosen. Throws Failure (usage) where the
/// vocabulary is smaller.
std::vector<float> first_logits(const skipstone::Engine& engine, const std::vector<skipstone_token>& tokens, std::size_t count);

}  // namespace cli
