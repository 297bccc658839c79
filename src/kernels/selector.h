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

/// The tiled matrix kernel of a tier and its layout (shaders/abi/matmul.h, matmul_coopmat.h).
struct MatmulChoice {
  vk::Tier tier = vk::Tier::base;
  std::uint32_t lanes = 0;
  std::uint32_t tile = 0;                ///< outputs of a workgroup: 128, 64 or 32
  std::uint32_t columns = 0;             ///< columns of x of a workgroup: equal to `tile`, or those of Selector::matrix_tile
  std::uint32_t part_n = 0, part_m = 0;  ///< a lane's part of them; with cooperative matrices a subgroup's
  std::uint32_t subgroup = 0;            ///< lanes that a subgroup must have; 0: any
  bool operator==(const MatmulChoice&) const = default;
};

/// Arithmetic of products with weights in passes under the numerics contract (docs/numerics.md). One for the life of an engine.
enum class Math {
  f32,     ///< in floats, on every device
  matrix,  ///< factors in halves, on the device's matrix units, with sums in floats
};

class Selector {
 public:
  /// Selects among the kernels of this build, which may lack those of cooperative matrices (CONTRIBUTING.md).
  Selector(const vk::Caps& caps, const vk::Tuning& tuning);
  /// `highest`: no kernels of higher tiers (tests).
  Selector(const vk::Caps& caps, const vk::Tuning& tuning, vk::Tier highest);

  /// Lanes that share an output row whose K has `blocks` blocks of 32. Depends only on the device and K, because the order of a sum depends
  /// on it.
  std::uint32_t k_lanes(std::uint32_t blocks) const;
  /// How a pass of `rows_of_pass` rows multiplies by weights of `format` with K = `k`: the measured choice (use), else the built-in one.
  MatvecChoice matvec(gguf::Type format, std::uint32_t k, std::uint32_t rows_of_pass) const;
  /// Layout of the LM head's argmax. Its sums of exponentials are chains over a workgroup's output rows, so these are never measured and a
  /// workgroup's output rows depend neither on the format nor on the number of rows.
  MatvecChoice argmax(std::uint32_t k, std::uint32_t rows_of_pass) const;
  /// Whether prompts take the tiled kernel.
  bool tiled() const { return tuning_.tiled_prefill; }
  /// The tiled kernel for a matrix of n output rows, and its tile: the measured choice, else the built-in one. The tile changes no bit of
  /// the result, the tier does; the tier depends on the device, the build and the format.
  MatmulChoice matmul(gguf::Type format, std::uint32_t n, std::uint32_t rows_of_pass) const;
  /// Sets the arithmetic of decoding's products, before any pass is built.
  void use(Math math) { math_ = math; }
  Math math() const { return math_; }
  /// Whether device and build support Math::matrix; whether it pays is decided by the tuning row.
  bool has_matrices() const;
  /// Whether decoding multiplies by weights of `format` on matrix units. Not by 32-bit floats, which are rounded on no tier.
  bool on_matrices(gguf::Type format) const { return math_ == Math::matrix && format != gguf::Type::f32; }
  /// The tile of these products: one for all matrices and numbers of rows.
  MatmulChoice matrix_tile() const;
  /// `group`: query heads of a KV head; `chunk`: keys of a split.
  AttentionChoice attention(std::uint32_t group, std::uint32_t head_dim, std::uint32_t chunk, std::uint32_t rows_of_pass) const;

  /// Lanes that share a query of a prompt's attention. Depends only on the device and the model, because the order of a score's sum depends
  /// on it.
  std::uint32_t attention_split(std::uint32_t head_dim) const;

  /// All choices that the device supports, the built-in one first. They differ only in what no output's operations depend on
  /// (docs/numerics.md): output rows per lane, lanes beside each other on output rows, columns per workgroup, the place of a format's
  /// table, tiles, heads and rows of attention per workgroup; never in K_LANES, which are here those of a long K. Throws unsupported for formats without kernels.
  std::vector<MatvecChoice> matvec_candidates(gguf::Type format, std::uint32_t rows_of_pass) const;
  /// Tiles by their edge. Only one on cooperative matrices, whose sums depend on the device.
  std::vector<std::uint32_t> matmul_candidates(gguf::Type format, std::uint32_t n, std::uint32_t rows_of_pass) const;
  std::vector<AttentionChoice> attention_candidates(const AttentionKey& key, std::uint32_t chunk) const;

  /// Sets the measured choices, before any pass is built. Entries that are not candidates are not used.
  void use(Choices choices) { choices_ = std::move(choices); }
  const Choices& choices() const { return choices_; }

  const vk::Caps& caps() const { return caps_; }
  const vk::Tuning& tuning() const { return tuning_; }
  /// The format of KvType::automatic. Half precision on every tier: kernels pack and round it in integer arithmetic, which needs no
  /// feature, and a model's text is then the same on every device (docs/numerics.md).
  KvFormat kv_format() const { return KvFormat::f16; }
  /// Whether sampled rows of a vocabulary are reduced to candidates.
  bool finds_candidates(std::uint32_t vocabulary) const { return tuning_.candidates_from > 0 && vocabulary >= tuning_.candidates_from; }
  std::uint32_t interleave() const { return tuning_.interleave; }  ///< how matrices are laid out (Matrix::interleave)

 private:
  vk::Tier matmul_tier(gguf::Type format) const;

  vk::Caps caps_;
  vk::Tuning tuning_;
  vk::Tier highest_;
  Math math_ = Math::f32;
  Choices choices_;
};

/// Whether the kernel of this layout has the format's table in shared memory, where that was not measured.
bool shares_table(const Selector& select, gguf::Type format, const MatvecChoice& choice);
bool shares_table(const Selector& select, gguf::Type format, const MatmulChoice& tile);

/// The highest tier whose kernels this build has.
vk::Tier built_tier();

/// Version of the lists of candidates: increment it when they change, so that older measurements are not used.
inline constexpr std::uint32_t candidates_version = 5;

/// Passes are recorded for these row counts only: those of the numerics contract, up to STEP_VERIFY_ROWS, and larger ones.
inline constexpr std::uint32_t row_buckets[] = {1, 2, 4, 8, 12, 16, 24, 32, 64, 128, 256};
/// Row counts of prompt passes: whole columns of the skinny kernels, so that all of them share their pipelines.
inline constexpr std::uint32_t prompt_buckets[] = {8, 16, 32, 64, 128, 256};
/// The smallest bucket that holds `rows`. Throws internal above the largest.
std::uint32_t bucket_for(std::uint32_t rows);
std::uint32_t prompt_bucket_for(std::uint32_t rows);

}  // namespace skipstone::kernels
