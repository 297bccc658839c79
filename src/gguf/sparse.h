// 2:4 sparse matrices in GGUF files. The format has no type for them, so a file holds such a matrix as I8 rows of blocks
// (quants/sparse.cpp) and names it in metadata of our own; a File gives it the type and shape that it represents. Other programs find a
// shape that no matrix of the model can have, and refuse it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gguf/gguf.h"

namespace skipstone::gguf {

/// skipstone.sparse.version (1), .pattern ("2:4"), and for each type, .f16 and .q8_0, the names of the tensors that have it.
inline constexpr std::string_view sparse_keys = "skipstone.sparse.";

/// Gives the tensors that the metadata name their sparse type and their shape. Throws bad_file (a key of another kind, a tensor that
/// is missing, is named twice, is not I8 or whose rows are no whole blocks; keys that are missing), unsupported (another version or
/// pattern).
void adopt_sparse(const File& file, std::span<Tensor> tensors);

/// The metadata for sparse tensors of these names and types; empty without any.
std::vector<Pair> sparse_metadata(std::span<const std::pair<std::string, Type>> tensors);

/// The first row of a sparse matrix in which a group's places are not in order, or the same. Reads all of the matrix.
std::optional<std::uint64_t> find_misplaced(const Tensor& tensor);

/// Throws bad_file where find_misplaced() finds one, naming file, tensor and row.
void check_places(const Tensor& tensor, const std::string& path);

}  // namespace skipstone::gguf
