// (operation, format, rows, shape, device) -> variant and constants. All device-tier logic of the program is here.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "abi/step_state.h"
#include "base/kv_format.h"
#include "gguf/traits.h"
#include "kernels/choices.h"
#include "kernels/kernel_ids.h"
#include "vk/caps.h"
#include "vk/tuning.h"

namespace skipstone::kernels {

class Selector {
 public:
  Selector(const vk::Caps& caps, const vk::Tuning& tuning);

  /// The kernel of `operation` ("embed", "matvec", "matmul") for a weight format. Throws unsupported for formats without kernels.
  KernelId embed(gguf::Type format) const;
  KernelId matvec_kernel(gguf::Type format) const;
  KernelId matmul_kernel(gguf::Type format) const;

  /// How a pass of `rows_of_pass` rows multiplies by weights of `format`: what was measured (use), else the built-in choice.
  MatvecChoice matvec(gguf::Type format, std::uint32_t rows_of_pass) const;
  /// How the LM head's argmax is laid out. Its sums of exponentials are chains over a workgroup's output rows, so these are never measured
  /// and depend neither on the format nor on the number of rows.
  MatvecChoice argmax(std::uint32_t rows_of_pass) const;
  /// Whether passes of more than STEP_VERIFY_ROWS rows take the tiled kernel.
  bool tiled(std::uint32_t rows_of_pass) const;
  MatmulChoice matmul(gguf::Type format, std::uint32_t rows_of_pass) const;
  /// `group`: query heads of a KV head; `chunk`: keys of a split.
  AttentionChoice attention(std::uint32_t group, std::uint32_t head_dim, std::uint32_t chunk, std::uint32_t rows_of_pass) const;

  /// All that the device can do, the built-in choice first. They differ in what no output's operations depend on (docs/numerics.md): output
  /// rows per lane, lanes beside each other on output rows, columns per workgroup, tiles, heads per workgroup; never in K_LANES.
  /// Throws unsupported for formats without kernels.
  std::vector<MatvecChoice> matvec_candidates(gguf::Type format, std::uint32_t rows_of_pass) const;
  std::vector<MatmulChoice> matmul_candidates(gguf::Type format, std::uint32_t rows_of_pass) const;
  std::vector<AttentionChoice> attention_candidates(std::uint32_t group, std::uint32_t chunk) const;

  /// Takes these choices from now on, before any pass is built. Entries that are no candidates are left unused.
  void use(Choices choices) { choices_ = std::move(choices); }
  const Choices& choices() const { return choices_; }

  std::uint32_t lanes() const { return tuning_.lanes; }  ///< one subgroup
  std::uint32_t wide_lanes() const { return tuning_.wide_lanes; }
  /// What KvType::automatic means. Half precision on every tier: kernels pack and round it in integer arithmetic, which needs no feature,
  /// and a model's text is then the same on every device (docs/numerics.md).
  KvFormat kv_format() const { return KvFormat::f16; }
  bool texels() const { return tuning_.texels; }
  std::uint32_t interleave() const { return tuning_.interleave; }  ///< how matrices are laid out (Matrix::interleave)
  /// Whether passes of so many rows take the skinny kernels, which normalise and activate themselves.
  bool fused(std::uint32_t rows_of_pass) const { return rows_of_pass <= STEP_VERIFY_ROWS; }
  std::uint64_t max_storage_range() const { return caps_.max_storage_range; }
  const vk::Caps& caps() const { return caps_; }

 private:
  MatvecChoice built_in(std::uint32_t rows_of_pass) const;
  bool fits(const MatvecChoice& choice) const;

  vk::Caps caps_;
  vk::Tuning tuning_;
  Choices choices_;
};

/// Of the candidates' lists: to be raised when they change, so that nothing measured for the old ones is taken.
inline constexpr std::uint32_t candidates_version = 1;

/// Row buckets of the numerics contract and of prefill: passes are recorded for these row counts only.
inline constexpr std::uint32_t row_buckets[] = {1, 2, 4, 8, 12, 16, 24, 32, 64, 128, 256};
/// The smallest bucket that holds `rows`. Throws internal above the largest.
std::uint32_t bucket_for(std::uint32_t rows);

}  // namespace skipstone::kernels
