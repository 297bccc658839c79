// Measured choices of a device, which the selector uses instead of its built-in ones.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "gguf/traits.h"

namespace skipstone::kernels {

/// LANES, K_LANES, ROWS and COLS of the skinny matrix kernels (shaders/abi/matvec.h).
struct MatvecChoice {
  std::uint32_t lanes = 0, k_lanes = 0, rows = 0, columns = 0;
  bool shared_table = false;  ///< SHARED_TABLE; only of formats with a table
  bool operator==(const MatvecChoice&) const = default;
};

struct AttentionChoice {
  std::uint32_t lanes = 0;
  std::uint32_t heads = 0;  ///< query heads per workgroup; divides the group
  std::uint32_t rows = 1;   ///< rows per workgroup, where the kernel takes several (attention_serial)
  bool operator==(const AttentionChoice&) const = default;
};

/// Attention of a pass of up to `bucket` rows: `group` query heads share a KV head of `head_dim`.
struct AttentionKey {
  std::uint32_t group = 0, head_dim = 0, bucket = 0;
  auto operator<=>(const AttentionKey&) const = default;
};

/// Tiled products of `n` output rows.
struct MatmulKey {
  gguf::Type format{};
  std::uint32_t n = 0, bucket = 0;
  auto operator<=>(const MatmulKey&) const = default;
};

/// By operation, weight format and row bucket. An entry that is no candidate of the selector is not used: a choice never changes a result.
struct Choices {
  using MatrixKey = std::pair<gguf::Type, std::uint32_t>;  ///< format, bucket
  std::map<MatrixKey, MatvecChoice> matvec;
  std::map<MatmulKey, std::uint32_t> matmul;  ///< edge of the tile
  std::map<AttentionKey, AttentionChoice> attention;

  std::size_t size() const { return matvec.size() + matmul.size() + attention.size(); }
  bool operator==(const Choices&) const = default;
};

}  // namespace skipstone::kernels
