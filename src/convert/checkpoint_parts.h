// The parts of read_checkpoint().
#pragma once

#include <string>
#include <string_view>

#include "convert/checkpoint.h"
#include "convert/config_values.h"

namespace skipstone::convert {

/// Sets a key under the family's prefix.
void set_key(Checkpoint& checkpoint, std::string_view name, gguf::Value value);

/// Lengths, counts and constants: the keys that a single value of config.json determines.
void read_shape(const ConfigValues& values, Checkpoint& checkpoint);

/// Windows and which layers have them. After read_shape().
void read_windows(const ConfigValues& values, const model::CheckpointClass& kind, Checkpoint& checkpoint);

/// Rotary dimensions, bases and scaling. After read_windows().
void read_rope(const ConfigValues& values, Checkpoint& checkpoint);

}  // namespace skipstone::convert
