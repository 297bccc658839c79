#include "kbench/compile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "base/status.h"
#include "base/stopwatch.h"
#include "kbench/model_passes.h"
#include "kernels/kernel_table.h"
#include "vk/pipeline.h"

namespace kbench {

using namespace skipstone;

namespace {

std::vector<exec::PassSpec> passes_of(std::uint32_t layers) {
  std::vector<exec::PassSpec> passes = exec::plain_passes(layers);
  const std::vector<exec::PassSpec> more =
      exec::session_passes(layers, {.verification = true, .logits = true, .trees = true, .candidates = true});
  passes.insert(passes.end(), more.begin(), more.end());
  sort_by_rows(passes);
  return passes;
}

CompiledKernel compile_one(kernels::Library& library, const kernels::Dispatch& dispatch) {
  CompiledKernel result;
  result.kernel = kernels::info(dispatch.kernel).name;
  result.constants = fmt::format("{}", fmt::join(dispatch.constants, ","));
  result.subgroup = dispatch.subgroup;
  const Stopwatch watch;
  try {
    const auto statistics = library.pipeline(dispatch.kernel, dispatch.constants, dispatch.subgroup).statistics();
    result.milliseconds = watch.seconds() * 1e3;
    result.figures = figures_of(statistics);
  } catch (const Error& error) {
    result.failure = error.what();
  }
  return result;
}

std::string text(const std::optional<double>& value) { return value ? fmt::format("{:.0f}", *value) : "-"; }

}  // namespace

std::vector<CompiledKernel> compile(const std::shared_ptr<vk::Device>& device, kernels::Library& library,
                                    const std::vector<std::string>& models, const KvFormats& kv_format,
                                    const std::function<void(const std::string&)>& progress) {
  kernels::Selector select(device->caps(), device->tuning());
  std::vector<kernels::Math> maths{kernels::Math::f32};
  if (select.has_matrices()) maths.push_back(kernels::Math::matrix);
  std::set<exec::PipelineKey> seen;
  std::vector<CompiledKernel> all;
  for (const std::string& name : models) {
    progress(name);
    select.use(kernels::Math::f32);
    const ModelPasses model(name, select, kv_format);
    for (const kernels::Math math : maths) {
      select.use(math);
      for (const exec::PassSpec& pass : passes_of(model.layers())) {
        for (const kernels::Dispatch& dispatch : model.builder().build(pass).dispatches) {
          if (!seen.insert(exec::pipeline_key(dispatch)).second) continue;
          all.push_back(compile_one(library, dispatch));
          all.back().pass = name_of(pass);
        }
      }
    }
  }
  return all;
}

std::string table_of(const std::vector<CompiledKernel>& kernels) {
  std::string result = "kernel\tconstants\tsubgroup\tpass\tregisters\tspills\tscratch\toccupancy\tinstructions\tcycles\tms\tfailure\n";
  for (const CompiledKernel& k : kernels) {
    result += fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{:.0f}\t{}\n", k.kernel, k.constants, k.subgroup, k.pass,
                          text(k.figures.registers), text(k.figures.spills), text(k.figures.scratch), text(k.figures.occupancy),
                          text(k.figures.instructions), text(k.figures.cycles), k.milliseconds, k.failure.empty() ? "-" : k.failure);
  }
  return result;
}

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
