// Heads for multi-token prediction in a file of their own, as people publish them beside a model: mtp-NAME.gguf.
#pragma once

#include <string>

#include "gguf/gguf.h"

namespace skipstone::model {

/// The model with the heads of the file `path`, as if they were in its own. Such a file has the model's architecture, and its last blocks,
/// of which `nextn_predict_layers` are heads, follow those of the model, or are all that it has. What else it holds (its own copies of
/// embedding and output matrix, a tokenizer) is not used.
/// Throws invalid_argument for a file without a head, with the head of another model, or beside a model that has one; the errors of
/// File::open, but bad_file for a file that is missing or unsupported.
gguf::File with_prediction_heads(gguf::File model, const std::string& path);

/// Whether the file is such a one.
bool has_heads_alone(const gguf::File& file);

}  // namespace skipstone::model
