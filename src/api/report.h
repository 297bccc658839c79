// Common parts of reports: their text, and the types of a file's tensors.
#pragma once

#include <string>

#include "gguf/gguf.h"
#include "json/json_fwd.h"

namespace skipstone::api {

/// The document as text, indented; bytes that are no UTF-8 become U+FFFD.
std::string print(const Json& document);

/// [{"type", "runnable", "tensors", "weights", "bytes"}], in the order of the types' numbers.
Json tensor_types_json(const gguf::File& file);

}  // namespace skipstone::api
