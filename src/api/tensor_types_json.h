// What a file's tensors are of, as part of a report.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "gguf/gguf.h"

namespace skipstone::api {

/// [{"type", "runnable", "tensors", "weights", "bytes"}], in the order of the types' numbers.
nlohmann::ordered_json tensor_types_json(const gguf::File& file);

}  // namespace skipstone::api
