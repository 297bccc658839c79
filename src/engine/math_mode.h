// Whether an engine's decoding is multiplied on matrix units: asked for, possible, and proven on the device.
#pragma once

#include <memory>

#include "engine/engine.h"
#include "kernels/library.h"
#include "kernels/selector.h"
#include "vk/device.h"

namespace skipstone::engine {

/// What `wanted` means on `device`. Throws unsupported with the reason where matrix units are wanted and cannot be used.
kernels::Math math_for(MathMode wanted, const std::shared_ptr<vk::Device>& device, kernels::Library& library);

}  // namespace skipstone::engine
