// The parts of a model: one GGUF file parsed, or the several of a split one ("name-00002-of-00005.gguf"), and the values of their metadata.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/input_file.h"
#include "gguf/gguf.h"

namespace skipstone::gguf {

struct Part {
  std::shared_ptr<const InputFile> file{};  ///< none where the model is no file
  std::uint32_t version = 0;
  std::uint64_t header_bytes = 0;  ///< everything before the padding in front of the tensors' data
  std::vector<Pair> metadata{};
  std::vector<Tensor> tensors{};
};

/// Parses one file, checking all of it. Throws like File::open.
Part parse_part(std::shared_ptr<const InputFile> file);

struct SplitName {
  std::string prefix;
  std::uint32_t number = 0;  ///< 1..count
  std::uint32_t count = 0;
};

/// nullopt where the name does not end in -NNNNN-of-NNNNN.gguf, or its numbers make no sense.
std::optional<SplitName> parse_split_name(const std::string& path);

/// The name of part `number` (from 1) of `count`.
std::string split_name(const std::string& prefix, std::uint32_t number, std::uint32_t count);

/// The file `path` and, where its metadata says that it is one part of a split model, all other parts; in their order.
/// Throws like File::open, for a part that is missing or does not fit in particular.
std::vector<Part> open_parts(const std::string& path);

/// The one file that is a whole model; throws unsupported for a part, whose other parts only a name could find.
Part open_whole(std::shared_ptr<const InputFile> file);

// Conversions of single metadata values, with errors that name the key and the file.

// All of these throw bad_file where the value is of another kind or does not fit.
std::uint64_t to_unsigned(const Value& value, std::string_view key, const std::string& path);
double to_number(const Value& value, std::string_view key, const std::string& path);
bool to_boolean(const Value& value, std::string_view key, const std::string& path);
const std::string& to_string(const Value& value, std::string_view key, const std::string& path);
const std::vector<std::string>& to_strings(const Value& value, std::string_view key, const std::string& path);
std::vector<float> to_floats(const Value& value, std::string_view key, const std::string& path);
std::vector<std::int32_t> to_integers(const Value& value, std::string_view key, const std::string& path);

}  // namespace skipstone::gguf
