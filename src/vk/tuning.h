// Fast kernel mappings for a device, and its driver's defects. Data in tables; the only vendor tests of the program.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "vk/caps.h"

namespace skipstone::vk {

/// How kernels map to a device. Every value keeps the numerics contract (docs/numerics.md): none depends on the number of rows.
struct Tuning {
  std::uint32_t lanes = 32;                ///< workgroup of kernels that want one subgroup
  std::uint32_t wide_lanes = 256;          ///< workgroup of kernels that reduce a long vector
  std::uint32_t matvec_row_lanes = 1;      ///< lanes side by side on output rows; row_lanes * k_lanes = lanes
  std::uint32_t matvec_k_lanes = 32;       ///< lanes that share one output row's K, at most
  std::uint32_t matvec_least_k_lanes = 8;  ///< and at least, where a row has few blocks (kernels::Selector::k_lanes)
  std::uint32_t matvec_rows = 4;           ///< output rows per lane
  std::uint32_t interleave = 1;            ///< rows whose weights alternate in memory: all that a workgroup reads at a time
  std::uint32_t matvec_columns = 16;       ///< most columns per workgroup; passes of more rows take several
  /// Values that a lane may hold by the built-in choice: for each of its output rows a sum for every column, and about 4 for weights.
  std::uint32_t matvec_values = 48;
  bool shared_tables = true;         ///< copy a weight format's table to shared memory; else read it where it is
  bool texels = false;               ///< read weights, Q, K and V through texel buffers, and broadcast within the subgroup
  bool tiled_prefill = true;         ///< matrix-matrix through shared memory; else the skinny kernel in column tiles
  Tier prefill = Tier::fp16;         ///< the highest tier that the tiled kernel may take
  std::uint32_t largest_tile = 128;  ///< outputs by columns of the tiled kernel: 128, 64 or 32 squared
  std::uint32_t fill = 64;           ///< workgroups that keep the device busy: larger tiles must leave this many
  std::uint32_t matrix_sums = 128;   ///< floats of sums that a lane of a tile on cooperative matrices may hold
  /// Dimensions of a head whose sums a lane of a prompt's attention may hold; more are split over lanes.
  std::uint32_t attention_sums = 128;
  std::uint32_t candidates_from = 0;  ///< vocabulary from which sampled rows are reduced to candidates on the device; 0: none
};

/// The built-in table's row for a device.
Tuning tuning_for(const Caps& caps);

/// One known driver defect that applies to `caps`.
struct Quirk {
  std::string name;    ///< short, stable
  std::string effect;  ///< the change in the runtime's behaviour
  std::string reason;  ///< the failure without it, with a link or issue number
};

/// All that apply; logged once at start and printed by `devices`.
std::vector<Quirk> quirks_for(const Caps& caps);

/// Removes from `caps` features that the device reports but that must not be used, by the same table. Called once, while caps are read:
/// after features, before queries to the driver that a quirk may forbid.
void apply_quirks(Caps& caps);

/// For tests: a device takes the mapping of a GPU that is absent. A kernel then computes the same results as with that GPU's mapping; its
/// speed says nothing about the GPU's. Makes `caps` report the vendor, kind, subgroups and memory of the GPU `profile`: amd64, nvidia32 or
/// intel16. Properties of the device itself that kernels need stay as they are: its limits, the width of its subgroups, which then cannot
/// be set, and whether it has half precision. Throws invalid_argument for an unknown profile.
void apply_profile(Caps& caps, std::string_view profile);

}  // namespace skipstone::vk
