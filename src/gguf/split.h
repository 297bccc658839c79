// Names and checks of split models: "name-00002-of-00005.gguf".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gguf/parse.h"

namespace skipstone::gguf {

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

}  // namespace skipstone::gguf
