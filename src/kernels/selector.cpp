#include "kernels/selector.h"

#include <algorithm>
#include <bit>
#include <span>

#include "abi/attention.h"
#include "abi/matmul.h"
#include "abi/matmul_coopmat.h"
#include "abi/step_state.h"
#include "base/status.h"
#include "kernels/kernel_table.h"
#include "kernels/weight_format.h"

namespace skipstone::kernels {
namespace {

// Sums of a lane: beyond 64 drivers spill; fewer than 8 for a part of the columns are never faster than all columns.
constexpr std::uint32_t most_accumulators = 64, least_accumulators = 8;
constexpr std::uint32_t long_row = 64;   // blocks of K
constexpr std::uint32_t least_rows = 2;  // of a lane: one of gate and one of up

/// The measured choice if it is one of `candidates`, else the first of them.
template <typename Key, typename Choice>
Choice choose(const std::map<Key, Choice>& measured, const Key& key, const std::vector<Choice>& candidates) {
  const auto found = measured.find(key);
  const bool usable = found != measured.end() && std::find(candidates.begin(), candidates.end(), found->second) != candidates.end();
  return usable ? found->second : candidates.front();
}

constexpr std::uint32_t smallest_tile = 32;
constexpr std::uint32_t most_serial_rows = 4;  // of a workgroup of attention_serial: 8 are no faster (docs/results/kernels.md)

/// How a workgroup uses the device's matrix units.
struct MatrixUnits {
  vk::MatrixShape shape;
  std::uint32_t lanes = 0;     ///< of a subgroup
  std::uint32_t required = 0;  ///< lanes to ask for; 0 if there is no choice
};

constexpr std::uint32_t subgroups = 4;  // of a workgroup: two by two, or of decoding's tile side by side on its outputs
// Of decoding's tile: 16 columns, the most that a matrix of any device has (vk/cooperative_matrix.cpp), by as many outputs for each
// subgroup.
constexpr std::uint32_t matrix_columns = 16;

MatrixUnits matrix_units(const vk::Caps& caps, const vk::Tuning& tuning) {
  const bool can_ask = caps.subgroup_size_control && std::has_single_bit(tuning.lanes) && tuning.lanes >= caps.min_subgroup_size &&
                       tuning.lanes <= caps.max_subgroup_size;
  if (can_ask) return {caps.cooperative_matrix, tuning.lanes, tuning.lanes};
  return {caps.cooperative_matrix, caps.subgroup_size, 0};
}

MatmulChoice tile_for(vk::Tier tier, std::uint32_t edge, const MatrixUnits& units) {
  if (tier == vk::Tier::cooperative_matrix) return {tier, subgroups * units.lanes, edge, edge, edge / 2, edge / 2, units.required};
  if (edge == 128) return {tier, 256, edge, edge, 8, 8, 0};
  if (edge == 64) return {tier, 128, edge, edge, 8, 4, 0};
  return {tier, 64, edge, edge, 4, 4, 0};
}

/// Shared memory of matmul.comp or matmul_coopmat.comp.
std::uint32_t shared_bytes(const MatmulChoice& tile, const MatrixUnits& units) {
  const std::uint32_t staged = tile.tile + tile.columns;
  if (tile.tier == vk::Tier::base) return staged * MATMUL_TILE_QUADS * 16;
  if (tile.tier == vk::Tier::fp16) return staged * MATMUL_TILE_QUADS * 8;
  return staged * MATMUL_COOPMAT_TILE_QUADS * 8 + subgroups * units.shape.m * units.shape.n * 4;
}

// Matrices of sums that a subgroup's code, which is unrolled, may handle: 64 of 8 x 8 keep a CPU driver compiling for minutes.
constexpr std::uint32_t most_matrices = 32;

bool fits(const vk::Caps& caps, const vk::Tuning& tuning, const MatmulChoice& tile, const MatrixUnits& units) {
  if (tile.tier == vk::Tier::cooperative_matrix) {
    if ((tile.part_n / units.shape.n) * (tile.part_m / units.shape.m) > most_matrices) return false;
    if (tile.part_n * tile.part_m > tuning.matrix_sums * units.lanes) return false;
  }
  return tile.lanes <= std::min(caps.max_workgroup_invocations, caps.max_workgroup_size[0]) &&
         shared_bytes(tile, units) <= caps.max_shared_bytes;
}

MatvecChoice built_in(const vk::Tuning& tuning, std::uint32_t rows_of_pass) {
  // Buckets of 12 and 24 rows keep one row more than 8 or 16 from costing twice as much: columns of 12.
  const std::uint32_t bucket = bucket_for(rows_of_pass), k_lanes = tuning.matvec_k_lanes;
  std::uint32_t columns = bucket % 12 == 0 ? 12 : std::min(bucket, tuning.matvec_columns), rows = tuning.matvec_rows;
  // Fewer rows read x more often, fewer columns the weights, of which there are more.
  const auto too_many = [&] { return rows * (columns + 4) > tuning.matvec_values; };
  while (rows > least_rows && too_many()) rows /= 2;
  while (columns > 1 && too_many()) columns /= 2;
  return {tuning.matvec_row_lanes * k_lanes, k_lanes, rows, columns};
}

/// Shared memory of matvec.comp without a table: every lane's sums and squares, and the totals of `row_lanes` lanes.
std::uint64_t shared_bytes(const MatvecChoice& choice, std::uint32_t row_lanes) {
  const std::uint64_t outputs = std::uint64_t{choice.rows} * choice.columns;
  return choice.k_lanes == 1 ? 0 : 4 * (outputs * choice.lanes + std::uint64_t{choice.columns} * choice.k_lanes + outputs * row_lanes);
}

bool fits(const vk::Caps& caps, const MatvecChoice& choice) {
  return choice.rows * choice.columns <= most_accumulators &&
         choice.lanes <= std::min(caps.max_workgroup_invocations, caps.max_workgroup_size[0]) &&
         shared_bytes(choice, choice.lanes / choice.k_lanes) <= caps.max_shared_bytes;
}

/// Whether the table fits beside the layout's own shared memory, for every K.
bool table_fits(const Selector& select, gguf::Type format, const MatvecChoice& choice) {
  const std::uint32_t most_row_lanes = choice.lanes / std::min(choice.k_lanes, select.tuning().matvec_least_k_lanes);
  return shared_bytes(choice, most_row_lanes) + table_bytes(format) <= select.caps().max_shared_bytes;
}

}  // namespace

vk::Tier built_tier() { return info(KernelId::matmul_coopmat_f16).spirv.empty() ? vk::Tier::fp16 : vk::Tier::cooperative_matrix; }

Selector::Selector(const vk::Caps& caps, const vk::Tuning& tuning) : Selector(caps, tuning, built_tier()) {}
Selector::Selector(const vk::Caps& caps, const vk::Tuning& tuning, vk::Tier highest) : caps_(caps), tuning_(tuning), highest_(highest) {}

std::vector<MatvecChoice> Selector::matvec_candidates(gguf::Type format, std::uint32_t rows_of_pass) const {
  weight_format(format);  // throws if there is none
  const MatvecChoice first = built_in(tuning_, rows_of_pass);
  const std::uint32_t k_lanes = first.k_lanes, widest = std::min(bucket_for(rows_of_pass), std::uint32_t{STEP_VERIFY_ROWS});
  std::vector<MatvecChoice> all{first};
  // On CPU devices a workgroup must be exactly one subgroup; where lanes share K, several output rows may be side by side.
  const std::uint32_t most_row_lanes = k_lanes == 1 ? tuning_.matvec_row_lanes : 4;
  // A lane of a CPU device with few output rows does little but pass x around: 1.5 to 6 times as slow (docs/tuning.md).
  const std::uint32_t fewest = k_lanes == 1 ? 4 : least_rows;
  for (std::uint32_t row_lanes = k_lanes == 1 ? most_row_lanes : 1; row_lanes <= most_row_lanes; row_lanes *= 2) {
    for (std::uint32_t columns = widest; columns >= (widest < 8 ? widest : widest / 2); columns /= 2) {
      for (std::uint32_t rows = 8; rows >= fewest; rows /= 2) {
        const MatvecChoice choice{row_lanes * k_lanes, k_lanes, rows, columns};
        const bool idle = columns < widest && rows * columns < least_accumulators;
        if (choice != first && !idle && fits(caps_, choice)) all.push_back(choice);
      }
    }
  }
  if (table_bytes(format) == 0) return all;
  for (MatvecChoice& choice : all) choice.shared_table = shares_table(*this, format, choice);
  // The table at its other place is tried with the built-in layout alone.
  MatvecChoice other = all.front();
  other.shared_table = !other.shared_table;
  if (!other.shared_table || table_fits(*this, format, other)) all.push_back(other);
  return all;
}

bool shares_table(const Selector& select, gguf::Type format, const MatvecChoice& choice) {
  return select.tuning().shared_tables && table_bytes(format) > 0 && table_fits(select, format, choice);
}

bool shares_table(const Selector& select, gguf::Type format, const MatmulChoice& tile) {
  const std::uint32_t own = shared_bytes(tile, matrix_units(select.caps(), select.tuning()));
  return select.tuning().shared_tables && table_bytes(format) > 0 && own + table_bytes(format) <= select.caps().max_shared_bytes;
}

std::uint32_t Selector::k_lanes(std::uint32_t blocks) const {
  // In a turn each K lane takes a block, and in the last one some lanes have none. Half as many K lanes, and the others on further output
  // rows, are better if a row needs no more turns. If it needs half as many again, in all a quarter less work, only long rows are better:
  // short ones are few, do not fill a device, and then wait for every turn (docs/results/gpu-compile.md).
  const auto turns = [&](std::uint32_t lanes) { return (blocks + lanes - 1) / lanes; };
  std::uint32_t lanes = tuning_.matvec_k_lanes;
  while (lanes % 2 == 0 && lanes / 2 >= tuning_.matvec_least_k_lanes) {
    const std::uint32_t now = turns(lanes), halved = turns(lanes / 2);
    if (halved > now && !(blocks >= long_row && 2 * halved <= 3 * now)) break;
    lanes /= 2;
  }
  return lanes;
}

MatvecChoice Selector::argmax(std::uint32_t k, std::uint32_t rows_of_pass) const {
  MatvecChoice choice = built_in(tuning_, rows_of_pass);
  choice.lanes *= built_in(tuning_, 1).rows / choice.rows;  // a workgroup has the same number of output rows in every pass
  choice.k_lanes = k_lanes((k + 31) / 32);
  return choice;
}

MatvecChoice Selector::matvec(gguf::Type format, std::uint32_t k, std::uint32_t rows_of_pass) const {
  MatvecChoice choice = choose(choices_.matvec, {format, bucket_for(rows_of_pass)}, matvec_candidates(format, rows_of_pass));
  choice.k_lanes = k_lanes((k + 31) / 32);  // as many lanes in all: those that do not share K have output rows of their own
  return choice;
}

vk::Tier Selector::matmul_tier(gguf::Type format) const {
  // A model in 32-bit floats keeps their precision.
  if (format == gguf::Type::f32) return vk::Tier::base;
  const vk::Tier tier = std::min({tuning_.prefill, caps_.tier(), highest_});
  const MatrixUnits units = matrix_units(caps_, tuning_);
  const bool none = tier == vk::Tier::cooperative_matrix && !fits(caps_, tuning_, tile_for(tier, smallest_tile, units), units);
  return none ? vk::Tier::fp16 : tier;
}

MatmulChoice Selector::matrix_tile() const {
  const MatrixUnits units = matrix_units(caps_, tuning_);
  return {vk::Tier::cooperative_matrix,
          subgroups * units.lanes,
          subgroups * matrix_columns,
          matrix_columns,
          matrix_columns,
          matrix_columns,
          units.required};
}

bool Selector::has_matrices() const {
  return std::min(caps_.tier(), highest_) == vk::Tier::cooperative_matrix &&
         fits(caps_, tuning_, matrix_tile(), matrix_units(caps_, tuning_));
}

std::vector<std::uint32_t> Selector::matmul_candidates(gguf::Type format, std::uint32_t n, std::uint32_t rows_of_pass) const {
  weight_format(format);  // throws if there is none
  const vk::Tier tier = matmul_tier(format);
  const MatrixUnits units = matrix_units(caps_, tuning_);
  std::vector<std::uint32_t> edges{smallest_tile};
  // Tiles reuse what they load as often as they are wide, but there must be enough of them for the device's cores.
  std::uint32_t built_in = smallest_tile;
  for (std::uint32_t edge = 2 * smallest_tile; edge <= std::min(tuning_.largest_tile, rows_of_pass); edge *= 2) {
    if (!fits(caps_, tuning_, tile_for(tier, edge, units), units)) break;
    edges.push_back(edge);
    if ((n + edge - 1) / edge * (rows_of_pass / edge) >= tuning_.fill) built_in = edge;
  }
  if (tier == vk::Tier::cooperative_matrix) return {built_in};
  std::iter_swap(edges.begin(), std::find(edges.begin(), edges.end(), built_in));
  return edges;
}

MatmulChoice Selector::matmul(gguf::Type format, std::uint32_t n, std::uint32_t rows_of_pass) const {
  // Sums on matrix units may depend on the tile: a matrix has one, however many rows a prompt's pass has.
  const vk::Tier tier = matmul_tier(format);
  const std::uint32_t rows = tier == vk::Tier::cooperative_matrix ? STEP_MAX_ROWS : prompt_bucket_for(rows_of_pass);
  const MatmulKey key{format, n, rows};
  return tile_for(tier, choose(choices_.matmul, key, matmul_candidates(format, n, rows)), matrix_units(caps_, tuning_));
}

std::vector<AttentionChoice> Selector::attention_candidates(const AttentionKey& key, std::uint32_t chunk) const {
  const bool serial = tuning_.texels && key.head_dim % 8 == 0;
  const std::uint32_t most_rows = serial ? std::min(key.bucket, most_serial_rows) : 1;
  // The split kernel has the scores of all heads of a workgroup in shared memory, the serial one its intermediate results of each query.
  const auto fits = [&](std::uint32_t heads, std::uint32_t rows) {
    const std::uint32_t held = (key.head_dim / 8 + tuning_.lanes - 1) / tuning_.lanes;
    const std::uint32_t floats = serial ? rows * (held * 8 + 2) * tuning_.lanes : chunk + ATTENTION_SHARES;
    return heads * floats * 4 <= caps_.max_shared_bytes || (heads == 1 && rows == 1);
  };
  // Each head and row costs registers: at most 8 of either. More heads and rows read K and V less often.
  std::vector<AttentionChoice> all;
  for (std::uint32_t heads = std::min<std::uint32_t>(key.group, 8); heads > 0; --heads) {
    for (std::uint32_t rows = most_rows; rows > 0 && key.group % heads == 0; rows /= 2) {
      if (fits(heads, rows)) all.push_back({tuning_.lanes, heads, rows});
      if (!all.empty() && heads != all.front().heads) break;  // fewer rows are tried with the most heads alone: each try costs time
    }
  }
  return all;
}

std::uint32_t Selector::attention_split(std::uint32_t head_dim) const {
  std::uint32_t split = 1;
  const auto divisible = [&] { return head_dim / 4 % (2 * split) == 0 && tuning_.lanes % (2 * split) == 0; };
  while (head_dim / split > tuning_.attention_sums && divisible()) split *= 2;
  return split;
}

AttentionChoice Selector::attention(std::uint32_t group, std::uint32_t head_dim, std::uint32_t chunk, std::uint32_t rows_of_pass) const {
  const AttentionKey key{group, head_dim, bucket_for(rows_of_pass)};
  return choose(choices_.attention, key, attention_candidates(key, chunk));
}

namespace {

std::uint32_t smallest_of(std::span<const std::uint32_t> buckets, std::uint32_t rows) {
  const auto found = std::ranges::lower_bound(buckets, rows);
  if (found == buckets.end()) fail(Code::internal, "a pass of {} rows is more than any bucket holds", rows);
  return *found;
}

}  // namespace

std::uint32_t bucket_for(std::uint32_t rows) { return smallest_of(row_buckets, rows); }
std::uint32_t prompt_bucket_for(std::uint32_t rows) { return smallest_of(prompt_buckets, rows); }

}  // namespace skipstone::kernels
