// Hugging Face's safetensors: one file or several; nothing in them is trusted.
// Format: https://github.com/huggingface/safetensors (README, "Format")
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/bytes.h"
#include "gguf/traits.h"

namespace skipstone::convert {

/// A tensor's description and its bytes, which stay in the file until they are asked for.
struct SourceTensor {
  std::string name;
  std::string dtype;                 ///< as in the file: "F32", "BF16", "I64", ...
  std::vector<std::uint64_t> shape;  ///< slowest first, as in the file: {rows, row length} for a matrix
  Bytes data;                        ///< exactly the bytes that shape and dtype ask for; not necessarily aligned
};

/// The tensors of a checkpoint's folder. Movable, not copyable.
class Safetensors {
 public:
  /// Opens model.safetensors or, where it does not exist, the files that model.safetensors.index.json names.
  /// Throws not_found (no weights, a file that the index names is missing), bad_file (which file is damaged, where), io,
  /// unsupported (weights in PyTorch's pickle format).
  static Safetensors open(const std::string& folder);

  std::span<const SourceTensor> tensors() const { return tensors_; }
  const SourceTensor* find(std::string_view name) const;  ///< nullptr where absent
  std::span<const std::string> files() const { return files_; }

 private:
  void add_file(const std::string& path);
  void add_indexed(const std::string& folder, const std::string& index);

  std::vector<std::string> files_;
  std::vector<SourceTensor> tensors_;
  std::unordered_map<std::string, std::size_t> by_name_;
};

/// The GGUF type with the same bytes. Throws unsupported, naming the tensor, for numbers other than F32, F16 and BF16.
gguf::Type weight_type(const SourceTensor& tensor);

/// "4096 x 11008"; "of a single number" for no dimensions.
std::string shape_text(std::span<const std::uint64_t> shape);

}  // namespace skipstone::convert
