// Which of several names a mistyped word was likely meant to be.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cli {

/// The number of letters to insert, remove, replace or swap with the next one to get from one word to the other (Damerau 1964; of each
/// letter once). Capitals are equal to small letters.
std::size_t edit_distance(std::string_view from, std::string_view to);

/// That of `names` to which `word` has the least distance, at most a third of its letters (two at least); or of which it is the beginning.
/// "" where none is near.
std::string nearest_name(std::string_view word, const std::vector<std::string>& names);

}  // namespace cli
