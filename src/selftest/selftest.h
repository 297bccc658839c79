// Every kernel on a device against the scalar oracle, and row invariance by memcmp: run by `doctor`, and at length by the device tests.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "vk/device.h"

namespace skipstone::selftest {

struct Result {
  std::string kernel;  ///< the kernel's name, as in the shader table
  std::string name;    ///< "matvec q8_0 N=96 K=256 rows=5"
  bool passed = false;
  std::string detail;  ///< on failure: first differing element, got, wanted, tolerance; or the error's sentence
};

enum class Depth { quick, full };  ///< quick: a few seconds on any device, every kernel and format at least once, rows 1..16

/// Runs all cases; `progress` is called after each. Errors of single cases become results, a lost device is thrown.
std::vector<Result> run(const std::shared_ptr<vk::Device>& device, Depth depth, const std::function<void(const Result&)>& progress);

/// Device-to-device copy bandwidth in bytes per second (read + written), median of several, on buffers larger than caches.
double copy_bandwidth(std::shared_ptr<vk::Device> device);

/// Whether matrix products keep numbers below the smallest normal one, or take them for zero; Vulkan allows both (docs/numerics.md).
struct Denormals {
  bool floats = false;  ///< factors and results of 32 bits
  bool halves = false;  ///< weights of 16 bits
};
Denormals denormals(const std::shared_ptr<vk::Device>& device);

}  // namespace skipstone::selftest
