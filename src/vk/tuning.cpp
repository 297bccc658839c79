#include "vk/tuning.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "base/escape.h"
#include "base/status.h"

namespace skipstone::vk {
namespace {

constexpr std::uint32_t any_vendor = 0;

/// One row: which devices, and the mappings known to be fast there. The first row that matches is taken.
struct TuningRow {
  std::uint32_t vendor;
  bool cpu;                            ///< for CPU devices; the other rows are for GPUs
  std::array<std::uint32_t, 2> lanes;  ///< subgroup sizes to ask for, best first; 0: the device's own
  std::uint32_t min_lanes, max_lanes;
  std::uint32_t wide_lanes;  ///< 0: as many as lanes
  std::uint32_t values;      ///< Tuning::matvec_values
  std::uint32_t sums;        ///< Tuning::matrix_sums
  std::uint32_t dimensions;  ///< Tuning::attention_sums
  bool lanes_on_rows;        ///< lanes work on different output rows rather than share one row's K
  bool tiled_prefill;
  Tier prefill;
};

// CPU drivers run a workgroup's lanes in one vector register: a workgroup above its width is 2 to 5 times slower on lavapipe, loads
// are scalar per lane, and shared memory is ordinary memory, so rows side by side win and tiles do not.
// Prompts on matrix units where llama.cpp's tables found them fast; Mali and Adreno stay on floats, for half-precision defects of their
// drivers are known but not by version.
// GPUs: RDNA and GCN both take wave64, Intel's vector kernels want 16, NVIDIA has 32 only (llama.cpp's and Mesa's tables agree).
// Values: as many as Mesa's compilers keep in registers in every kernel, those with a norm included: 4 output rows by 16 columns on AMD, 4
// by 12 or 2 by 16 on NVIDIA, 4 by 2 or 2 by 8 on Intel (docs/results/gpu-compile.md). A CPU driver spills to its stack, which costs it
// little beside its loads. Sums on matrix units: tiles of 128 for AMD's 64 and NVIDIA's 32 lanes; of 32 for Intel's 16, which spill at 64
// (the same page). Heads of 128 on Intel and of 256 everywhere spill in a prompt's attention where a lane holds all of one. A CPU driver
// holds none in registers.
constexpr TuningRow tuning_rows[] = {
    {any_vendor, true, {0, 0}, 4, 64, 0, 128, 1024, 1024, true, false, Tier::base},
    {0x8086, false, {16, 0}, 4, 64, 256, 24, 32, 64, false, true, Tier::cooperative_matrix},    // Intel
    {0x1002, false, {64, 32}, 4, 64, 256, 80, 64, 128, false, true, Tier::cooperative_matrix},  // AMD
    {0x10de, false, {32, 0}, 4, 64, 256, 64, 128, 128, false, true, Tier::cooperative_matrix},  // NVIDIA
    {0x13b5, false, {0, 0}, 4, 64, 256, 48, 128, 128, false, true, Tier::base},                 // Arm
    {0x5143, false, {0, 0}, 4, 64, 256, 48, 128, 128, false, true, Tier::base},                 // Qualcomm
    {any_vendor, false, {0, 0}, 4, 64, 256, 48, 128, 128, false, true, Tier::fp16},
};

std::uint32_t choose_lanes(const TuningRow& row, const Caps& caps) {
  for (const std::uint32_t lanes : row.lanes) {
    if (lanes != 0 && lanes >= caps.min_subgroup_size && lanes <= caps.max_subgroup_size) return lanes;
  }
  return std::clamp(caps.subgroup_size, row.min_lanes, row.max_lanes);
}

}  // namespace

Tuning tuning_for(const Caps& caps) {
  const auto matches = [&](const TuningRow& row) {
    return row.cpu == caps.is_cpu() && (row.vendor == any_vendor || row.vendor == caps.vendor_id);
  };
  const TuningRow& row = *std::find_if(std::begin(tuning_rows), std::end(tuning_rows), matches);
  const std::uint32_t most = std::min(caps.max_workgroup_invocations, caps.max_workgroup_size[0]);
  Tuning tuning;
  tuning.lanes = choose_lanes(row, caps);
  tuning.wide_lanes = row.wide_lanes == 0 ? tuning.lanes : std::max(tuning.lanes, std::min(row.wide_lanes, most));
  // That mapping shuffles within a workgroup of exactly one subgroup.
  const bool on_rows = row.lanes_on_rows && caps.subgroup_shuffle && tuning.lanes == caps.subgroup_size;
  tuning.matvec_row_lanes = on_rows ? tuning.lanes : 1;
  tuning.matvec_k_lanes = on_rows ? 1 : tuning.lanes;
  if (caps.is_cpu()) tuning.matvec_least_k_lanes = tuning.matvec_k_lanes;  // an idle lane of a vector register costs nothing
  // The code that a CPU driver compiles grows with rows times columns (seconds for 8 x 16), and beyond 8 columns little is left to win.
  tuning.matvec_rows = on_rows ? 8 : 4;
  tuning.matvec_columns = on_rows ? 8 : 16;
  tuning.matvec_values = row.values;
  tuning.matrix_sums = row.sums;
  tuning.attention_sums = row.dimensions;
  // A workgroup then reads one stream of memory instead of one for every row, and lanes side by side.
  tuning.interleave = on_rows ? tuning.matvec_row_lanes * tuning.matvec_rows : 1;
  // Every range that a storage binding may have must fit a texel buffer too (lavapipe: 2^27 texels; SwiftShader: 2^16, too few).
  tuning.texels = on_rows && caps.max_texels >= caps.max_storage_range / 16;
  tuning.shared_tables = !caps.is_cpu();  // shared memory is ordinary memory there
  tuning.tiled_prefill = row.tiled_prefill;
  tuning.prefill = row.prefill;
  // A CPU driver takes the cores that the host's sampler would have, and with usual filters it is slower (docs/results/sampling.md).
  tuning.candidates_from = caps.is_cpu() ? 0 : 4096;
  return tuning;
}

namespace {

struct ProfileRow {
  std::string_view name;
  std::uint32_t vendor;
  std::uint32_t lanes;  ///< of subgroups, as `tuning_for` would ask for them
};

constexpr ProfileRow profile_rows[] = {
    {"amd64", 0x1002, 64},
    {"nvidia32", 0x10de, 32},
    {"intel16", 0x8086, 16},
};

}  // namespace

void apply_profile(Caps& caps, std::string_view profile) {
  const auto row = std::ranges::find(profile_rows, profile, &ProfileRow::name);
  if (row == std::end(profile_rows)) {
    std::string names;
    for (const ProfileRow& known : profile_rows) names += fmt::format("{}{}", names.empty() ? "" : ", ", known.name);
    fail(Code::invalid_argument, "SKIPSTONE_PROFILE={}: there are {}", escaped(profile), names);
  }
  caps.name = fmt::format("{} as {}", caps.name, row->name);
  caps.profile = row->name;
  caps.vendor_id = row->vendor;
  caps.kind = DeviceKind::discrete;
  caps.min_subgroup_size = caps.max_subgroup_size = row->lanes;
  caps.subgroup_size_control = caps.full_subgroups = false;  // the driver could not make such subgroups
  caps.unified_memory = false;                               // weights are staged
}

}  // namespace skipstone::vk
