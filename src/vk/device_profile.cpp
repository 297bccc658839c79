#include "vk/device_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/escape.h"
#include "base/status.h"

namespace skipstone::vk {
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
