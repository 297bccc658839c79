// The type of each tensor of a written file, and the file type that the file declares.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gguf/traits.h"

namespace skipstone::gguf {
class File;
}

namespace skipstone::convert {

/// general.quantization_version (GGML_QNT_VERSION of ggml.h): the current block layouts.
inline constexpr std::uint32_t quantization_version = 2;

/// A file's type: one type for most matrices, and a rule for those that get more bits. S, M and L are llama.cpp's small, medium and large
/// mixes of a K-quant.
enum class FileType : std::uint32_t {
#define FILE_TYPE(id, ...) id,
#include "convert/file_types.def"
};

struct FileTypeTraits {
  FileType type;
  std::uint32_t number;   ///< general.file_type (llama_ftype of llama.h)
  std::string_view name;  ///< "F16", "Q4_K_M", ...
  gguf::Type matrices;    ///< the type of most of them
};

std::span<const FileTypeTraits> file_types();
const FileTypeTraits& traits(FileType type);

/// The file type of which most matrices have `type`; of a K-quant's mixes the medium one.
FileType file_type_of(gguf::Type type);

/// "f16", "Q4_K_M", ... in upper or lower case; "Q4_K" is "Q4_K_M". Throws invalid_argument with the list of known ones; for a type that is
/// read only, with one to take instead.
FileType parse_file_type(std::string_view name);

/// The facts about a model that the mixes depend on.
struct MixFacts {
  std::uint32_t layers = 0;
  std::uint32_t heads_per_kv = 1;  ///< query heads that share a KV head
  bool tied = true;                ///< the embedding is the output matrix
  std::uint32_t experts = 0;       ///< of a mixture of experts
  bool importance = false;         ///< weights are rounded with an importance matrix
  bool falcon = false;             ///< of Falcon's architecture, which has rules of its own
  /// The layers with a matrix of values, which mixes count: others are recurrent, share values, or have a fused matrix. Empty: all layers.
  std::vector<std::uint32_t> value_layers{};

  static MixFacts of(const gguf::File& file);
};

/// Chooses types tensor by tensor. One-dimensional tensors (norms, biases, rope factors) stay F32, as do norms of each head and the router
/// of a mixture of experts. Which matrices get more bits than the rest is llama.cpp's rule (docs/quantizing.md). Where rows do not divide
/// into the type's blocks, the next larger type with smaller blocks takes its place, at last F16.
class TensorTypes {
 public:
  /// `sparse`: the layers' matrices become 2:4 sparse, where rows divide by 32; throws invalid_argument for types other than F16 and Q8_0.
  TensorTypes(FileType file, const MixFacts& facts, bool sparse = false);

  /// `shape` as in the file, fastest first.
  gguf::Type choose(std::string_view name, std::span<const std::uint64_t> shape);

  /// Matrices of layers that stayed dense although sparse ones were asked for, so far.
  std::size_t dense() const { return dense_; }
  /// Matrices that got another type because of their row length, so far.
  std::size_t replaced() const { return replaced_; }
  /// Logs a warning for each of the two counts, if not zero.
  void warn(const std::string& output) const;

 private:
  FileType file_;
  MixFacts facts_;
  bool sparse_;
  std::size_t matrices_ = 0, replaced_ = 0, in_layers_ = 0, dense_ = 0;
};

/// Throws bad_file for a weight that is not a finite number, unsupported for one beyond what `type` holds; both name file, tensor and row.
void check_weights(std::span<const float> weights, gguf::Type type, std::string_view path, std::string_view tensor, std::uint64_t row);

}  // namespace skipstone::convert
