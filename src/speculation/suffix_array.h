// All suffixes of a text in order, in linear time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sample/sampler.h"

namespace skipstone::speculation {

/// The starts of the suffixes of `text`, in lexicographic order of the suffixes (a prefix of another one comes first). Tokens are -1 or
/// more; at most 2^31 - 2 of them.
std::vector<std::uint32_t> suffix_array(std::span<const sample::Token> text);

}  // namespace skipstone::speculation
