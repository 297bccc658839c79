// (operation, format, rows, shape, device) -> variant and constants. All device-tier logic of the program is here.
#pragma once

#include <cstdint>

#include "abi/step_state.h"
#include "gguf/traits.h"
#include "kernels/kernel_ids.h"
#include "vk/caps.h"
#include "vk/tuning.h"

namespace skipstone::kernels {

struct MatvecChoice {
  std::uint32_t lanes, k_lanes, rows, columns;
};

struct MatmulChoice {
  std::uint32_t lanes, tile_n, tile_m, lane_n, lane_m;
};

struct AttentionChoice {
  std::uint32_t lanes, heads;  ///< heads: query heads per workgroup, divides the group
};

class Selector {
 public:
  Selector(const vk::Caps& caps, const vk::Tuning& tuning);

  /// The kernel of `operation` ("embed", "matvec", "matmul") for a weight format. Throws unsupported for formats without kernels.
  KernelId embed(gguf::Type format) const;
  KernelId matvec_kernel(gguf::Type format) const;
  KernelId matmul_kernel(gguf::Type format) const;

  /// Nothing but `columns` depends on the number of rows: the numerics contract.
  MatvecChoice matvec(std::uint32_t rows_of_pass) const;
  /// Whether passes of more than STEP_VERIFY_ROWS rows take the tiled kernel.
  bool tiled(std::uint32_t rows_of_pass) const;
  MatmulChoice matmul(std::uint32_t rows_of_pass) const;
  AttentionChoice attention(std::uint32_t group, std::uint32_t chunk) const;

  std::uint32_t lanes() const { return tuning_.lanes; }  ///< one subgroup
  std::uint32_t wide_lanes() const { return tuning_.wide_lanes; }
  /// What KvType::automatic means. Half precision on every tier: kernels pack and round it in integer arithmetic, which needs no feature,
  /// and a model's text is then the same on every device (docs/numerics.md).
  bool half_kv() const { return true; }
  bool texels() const { return tuning_.texels; }
  std::uint32_t interleave() const { return tuning_.interleave; }  ///< how matrices are laid out (Matrix::interleave)
  /// Whether passes of so many rows take the skinny kernels, which normalise and activate themselves.
  bool fused(std::uint32_t rows_of_pass) const { return rows_of_pass <= STEP_VERIFY_ROWS; }
  std::uint64_t max_storage_range() const { return caps_.max_storage_range; }
  const vk::Caps& caps() const { return caps_; }

 private:
  vk::Caps caps_;
  vk::Tuning tuning_;
};

/// Row buckets of the numerics contract and of prefill: passes are recorded for these row counts only.
inline constexpr std::uint32_t row_buckets[] = {1, 2, 4, 8, 12, 16, 24, 32, 64, 128, 256};
/// The smallest bucket that holds `rows`. Throws internal above the largest.
std::uint32_t bucket_for(std::uint32_t rows);

}  // namespace skipstone::kernels
