// Driver statistics of a compiled kernel, under the same names for all drivers.
#pragma once

#include <optional>
#include <vector>

#include "vk/pipeline.h"

namespace kbench {

/// Figures that a driver does not report are absent.
struct Figures {
  std::optional<double> registers;  ///< per lane on AMD and NVIDIA, per subgroup on Intel
  std::optional<double> spills;     ///< of registers to memory
  std::optional<double> scratch;    ///< bytes per lane
  std::optional<double> occupancy;  ///< subgroups per SIMD (AMD), warps per SM (NVIDIA)
  std::optional<double> instructions;
  std::optional<double> cycles;  ///< by the compiler's own weights of loops: comparable for one device and one form of the code
};

Figures figures_of(const std::vector<skipstone::vk::PipelineStatistic>& statistics);

}  // namespace kbench
