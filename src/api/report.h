// What reports have in common: their text, and what a file's tensors are of.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "gguf/gguf.h"

namespace skipstone::api {

/// The document as text, indented; bytes that are no UTF-8 become U+FFFD.
std::string print(const nlohmann::ordered_json& document);

/// [{"type", "runnable", "tensors", "weights", "bytes"}], in the order of the types' numbers.
nlohmann::ordered_json tensor_types_json(const gguf::File& file);

}  // namespace skipstone::api
