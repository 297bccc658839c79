// --draft LIST: the drafters that a sweep measures.
#pragma once

#include <string>
#include <vector>

namespace cli::bench {

/// Drafter specifications ("NAME" or "NAME:value,key=value,...") from lists that separate them by commas or blanks; after a comma,
/// "key=value" and numbers of layers belong to the drafter before it. The first of the result is always "none", plain decoding: moved to
/// the front if it is named, else added. Does not check whether the drafters exist.
std::vector<std::string> drafter_list(const std::vector<std::string>& lists);

}  // namespace cli::bench
