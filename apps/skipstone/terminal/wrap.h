// Text in lines of a given width.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cli {

/// `text` in lines of at most `width` bytes, broken at blanks, or after commas within words that no line holds; the first line begins
/// after `used` bytes that it has already, the others with `indent` blanks. No line end at the end.
std::string wrap(std::string_view text, std::size_t width, std::size_t used, std::size_t indent);

}  // namespace cli
