// The device's peak arithmetic rate.
#pragma once

#include <memory>

#include "vk/device.h"

namespace kbench {

/// Multiplications and additions of single precision per second, measured with fused multiply-adds. Throws internal if the device's
/// sums are wrong.
double peak_flops(const std::shared_ptr<skipstone::vk::Device>& device);

}  // namespace kbench
