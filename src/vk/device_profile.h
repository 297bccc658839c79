// For tests: a device takes the mapping of a GPU that is not there. What a kernel computes on it is what such a GPU's mapping computes; its
// speed says nothing of the GPU's.
#pragma once

#include <string_view>

#include "vk/caps.h"

namespace skipstone::vk {

/// Makes `caps` say what the GPU `profile` would of its vendor, kind, subgroups and memory: amd64, nvidia32 or intel16. What kernels need
/// of the device itself stays as it is: its limits, the width of its subgroups, which nobody may set then, and whether it has half
/// precision. Throws invalid_argument where there is no such profile.
void apply_profile(Caps& caps, std::string_view profile);

}  // namespace skipstone::vk
