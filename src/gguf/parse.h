// One GGUF file, parsed; a split model is several of them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
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

}  // namespace skipstone::gguf
