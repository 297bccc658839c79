#include "kernels/selector.h"

#include <algorithm>

#include "abi/attention.h"
#include "abi/step_state.h"
#include "base/status.h"
#include "kernels/weight_format.h"

namespace skipstone::kernels {
Selector::Selector(const vk::Caps& caps, const vk::Tuning& tuning) : caps_(caps), tuning_(tuning) {}

KernelId Selector::embed(gguf::Type format) const { return weight_format(format).embed; }
KernelId Selector::matvec_kernel(gguf::Type format) const {
  const WeightFormat& kernels = weight_format(format);
  if (tuning_.matvec_k_lanes != 1) return kernels.matvec;
  return tuning_.texels ? kernels.matvec_rows_texels : kernels.matvec_rows;
}
KernelId Selector::matmul_kernel(gguf::Type format) const { return weight_format(format).matmul; }

MatvecChoice Selector::matvec(std::uint32_t rows_of_pass) const {
  // 12 and 24 rows are there so that one row more than 8 or 16 does not cost twice as much: columns of 12.
  const std::uint32_t bucket = bucket_for(rows_of_pass);
  const std::uint32_t columns = bucket % 12 == 0 ? 12 : std::min(bucket, tuning_.matvec_columns);
  return {tuning_.matvec_row_lanes * tuning_.matvec_k_lanes, tuning_.matvec_k_lanes, tuning_.matvec_rows, columns};
}

bool Selector::tiled(std::uint32_t rows_of_pass) const { return tuning_.tiled_prefill && rows_of_pass > STEP_VERIFY_ROWS; }

MatmulChoice Selector::matmul(std::uint32_t rows_of_pass) const {
  // The largest tile whose two staged blocks fit the device's shared memory and whose lanes fit a workgroup.
  constexpr MatmulChoice tiles[] = {{256, 64, 64, 4, 4}, {64, 32, 32, 4, 4}, {16, 16, 16, 4, 4}};
  for (const MatmulChoice& tile : tiles) {
    const std::uint32_t shared_bytes = (tile.tile_n + tile.tile_m) * 33 * 4;
    if (rows_of_pass >= tile.tile_m && tile.lanes <= caps_.max_workgroup_invocations && shared_bytes <= caps_.max_shared_bytes) return tile;
  }
  return tiles[2];
}

AttentionChoice Selector::attention(std::uint32_t group, std::uint32_t chunk) const {
  // Scores of all heads of a workgroup stand in shared memory, and each head costs registers: at most 8.
  std::uint32_t heads = std::min<std::uint32_t>(group, 8);
  while (group % heads != 0 || heads * chunk * 4 > caps_.max_shared_bytes) --heads;
  return {tuning_.lanes, heads};
}

std::uint32_t bucket_for(std::uint32_t rows) {
  for (const std::uint32_t bucket : row_buckets) {
    if (rows <= bucket) return bucket;
  }
  fail(Code::internal, "a pass of {} rows is more than any bucket holds", rows);
}

}  // namespace skipstone::kernels
