// JSON text for the bodies of answers.
#pragma once

#include <string>

#include "json/json.h"

namespace cli::serve {

/// Serializes on one line; bytes that are no UTF-8 are replaced.
template <typename Document>
std::string json_text(const Document& document) {
  return document.dump(-1, ' ', false, Document::error_handler_t::replace);
}

}  // namespace cli::serve
