// One GGUF file, parsed; a split model is several of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gguf/gguf.h"
#include "gguf/mapping.h"

namespace skipstone::gguf {

struct Part {
  Mapping mapping;
  std::uint32_t version = 0;
  std::uint64_t header_bytes = 0;  ///< everything before the padding in front of the tensors' data
  std::vector<Pair> metadata{};
  std::vector<Tensor> tensors{};
};

/// Maps and parses one file, checking all of it. Throws like File::open.
Part parse_part(const std::string& path);

}  // namespace skipstone::gguf
