// For tests: a device takes the mapping of a GPU that is absent. A kernel then computes the same results as with that GPU's mapping; its
// speed says nothing about the GPU's.
#pragma once

#include <string_view>

#include "vk/caps.h"

namespace skipstone::vk {

/// Makes `caps` report the vendor, kind, subgroups and memory of the GPU `profile`: amd64, nvidia32 or intel16. Properties of the device
/// itself that kernels need stay as they are: its limits, the width of its subgroups, which then cannot be set, and whether it has half
/// precision. Throws invalid_argument for an unknown profile.
void apply_profile(Caps& caps, std::string_view profile);

}  // namespace skipstone::vk
