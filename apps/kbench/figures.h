// What drivers say of a compiled kernel, by the same names for all of them.
#pragma once

#include <optional>
#include <vector>

#include "vk/pipeline.h"

namespace kbench {

/// Figures that a driver does not tell are absent.
struct Figures {
  std::optional<double> registers;  ///< of a lane on AMD and NVIDIA, of a subgroup on Intel
  std::optional<double> spills;     ///< of registers to memory
  std::optional<double> scratch;    ///< bytes of a lane
  std::optional<double> occupancy;  ///< subgroups per SIMD (AMD), warps per SM (NVIDIA)
  std::optional<double> instructions;
  std::optional<double> cycles;  ///< by the compiler's own weights of loops: comparable for one device and one form of the code
};

Figures figures_of(const std::vector<skipstone::vk::PipelineStatistic>& statistics);

}  // namespace kbench
