// Whether an engine's decoding uses matrix units: requested, possible, and verified on the device.
#pragma once

#include <memory>

#include "engine/engine.h"
#include "kernels/library.h"
#include "kernels/selector.h"
#include "vk/device.h"

namespace skipstone::engine {

/// Resolves `wanted` on `device`. Throws unsupported with the reason if matrix units are requested and cannot be used.
kernels::Math math_for(MathMode wanted, const std::shared_ptr<vk::Device>& device, kernels::Library& library);

}  // namespace skipstone::engine
