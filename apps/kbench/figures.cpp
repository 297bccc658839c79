#include "kbench/figures.h"

#include <algorithm>
#include <string_view>

namespace kbench {
namespace {

struct FigureRow {
  std::optional<double> Figures::*figure;
  std::string_view name;
};

// RADV's, NVK's and ANV's names, then the NVIDIA driver's.
constexpr FigureRow figure_rows[] = {
    {&Figures::registers, "VGPRs"},
    {&Figures::registers, "Number of GPRs"},
    {&Figures::registers, "Max live registers"},
    {&Figures::registers, "Register Count"},
    {&Figures::spills, "Spilled VGPRs"},
    {&Figures::spills, "Spills to memory"},
    {&Figures::spills, "Spills"},
    {&Figures::scratch, "Scratch size"},
    {&Figures::scratch, "SLM size"},
    {&Figures::scratch, "Scratch Memory Size"},
    {&Figures::occupancy, "Subgroups per SIMD"},
    {&Figures::occupancy, "Max warps/SM"},
    {&Figures::instructions, "Instructions"},
    {&Figures::instructions, "Instruction count"},
    {&Figures::cycles, "Inverse Throughput"},
    {&Figures::cycles, "Static cycle count"},
    {&Figures::cycles, "Cycles"},
};

}  // namespace

Figures figures_of(const std::vector<skipstone::vk::PipelineStatistic>& statistics) {
  Figures figures;
  for (const FigureRow& row : figure_rows) {
    const auto found = std::ranges::find(statistics, row.name, &skipstone::vk::PipelineStatistic::name);
    if (found != statistics.end()) figures.*row.figure = found->value;
  }
  return figures;
}

}  // namespace kbench
