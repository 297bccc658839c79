// JSON text for the bodies of answers.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "json/json.h"

namespace cli::serve {

/// Serializes on one line; bytes that are no UTF-8 are replaced.
template <typename Document>
std::string json_text(const Document& document) {
  return document.dump(-1, ' ', false, Document::error_handler_t::replace);
}

/// The number of UTF-8 characters: bytes that begin one.
inline std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char byte) { return (static_cast<unsigned char>(byte) & 0xc0) != 0x80; }));
}

}  // namespace cli::serve
