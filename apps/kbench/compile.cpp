#include "kbench/compile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <string_view>
#include <tuple>

#include "base/status.h"
#include "base/stopwatch.h"
#include "exec/pass_builder.h"
#include "exec/pipelines.h"
#include "kernels/kernel_table.h"
#include "model/config.h"
#include "model/synthetic.h"
#include "model/weight_layout.h"
#include "vk/pipeline.h"

namespace kbench {

using namespace skipstone;

namespace {

constexpr std::uint32_t context = 4096;  // chunks of attention are usual ones up to there

/// Names of a figure in Mesa's drivers: RADV's, NVK's, ANV's.
using Names = std::array<std::string_view, 3>;
constexpr Names register_names{"VGPRs", "Number of GPRs", "Max live registers"}, spill_names{"Spilled VGPRs", "Spills to memory", "Spills"},
    scratch_names{"Scratch size", "SLM size", "Scratch Memory Size"}, occupancy_names{"Subgroups per SIMD", "Max warps/SM", ""},
    instruction_names{"Instructions", "Instruction count", ""}, cycle_names{"Inverse Throughput", "Static cycle count", "Cycles"};

std::optional<double> figure(const std::vector<vk::PipelineStatistic>& statistics, const Names& names) {
  for (const vk::PipelineStatistic& statistic : statistics) {
    if (std::ranges::find(names, statistic.name) != names.end()) return statistic.value;
  }
  return std::nullopt;
}

std::string name_of(const exec::PassSpec& pass) {
  if (pass.step != exec::RoundStep::none) return pass.step == exec::RoundStep::draft ? "draft" : "verify";
  const char* const kind = pass.prompt ? "prompt" : pass.tree ? "tree" : pass.output == exec::Output::logits ? "logits" : "rows";
  return fmt::format("{} {}", kind, pass.bucket);
}

std::vector<exec::PassSpec> passes_of(std::uint32_t layers) {
  std::vector<exec::PassSpec> passes = exec::usual_passes(layers);
  const std::vector<exec::PassSpec> more = exec::session_passes(layers, true, true);
  passes.insert(passes.end(), more.begin(), more.end());
  // From one row on: a pipeline of several passes is named after the smallest.
  std::ranges::stable_sort(passes, {}, [](const exec::PassSpec& pass) { return pass.prompt ? 1000 + pass.bucket : pass.bucket; });
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
    result.registers = figure(statistics, register_names);
    result.spills = figure(statistics, spill_names);
    result.scratch = figure(statistics, scratch_names);
    result.occupancy = figure(statistics, occupancy_names);
    result.instructions = figure(statistics, instruction_names);
    result.cycles = figure(statistics, cycle_names);
  } catch (const Error& error) {
    result.failure = error.what();
  }
  return result;
}

std::string text(const std::optional<double>& value) { return value ? fmt::format("{:.0f}", *value) : "-"; }

}  // namespace

std::vector<CompiledKernel> compile(const std::shared_ptr<vk::Device>& device, kernels::Library& library,
                                    const std::vector<std::string>& models, KvFormat kv_format,
                                    const std::function<void(const std::string&)>& progress) {
  const kernels::Selector select(device->caps(), device->tuning());
  std::set<std::tuple<kernels::KernelId, std::vector<std::uint32_t>, std::uint32_t>> seen;
  std::vector<CompiledKernel> all;
  for (const std::string& name : models) {
    progress(name);
    const gguf::File file = model::synthetic_model(name);
    const model::Config config = model::Config::from(file);
    const model::WeightLayout layout =
        model::layout_weights(model::find_tensors(file, config), device->caps().max_storage_range, select.interleave());
    const exec::SequenceShape shape{.context = context, .kv_format = kv_format, .chunk = exec::SequenceShape::chunk_for(config, context)};
    const exec::PassBuilder builder(config, layout, shape, select);
    for (const exec::PassSpec& pass : passes_of(config.layers)) {
      for (const kernels::Dispatch& dispatch : exec::distinct_pipelines(builder, std::span(&pass, 1))) {
        if (!seen.emplace(dispatch.kernel, dispatch.constants, dispatch.subgroup).second) continue;
        all.push_back(compile_one(library, dispatch));
        all.back().pass = name_of(pass);
      }
    }
  }
  return all;
}

std::string table_of(const std::vector<CompiledKernel>& kernels) {
  std::string result = "kernel\tconstants\tsubgroup\tpass\tregisters\tspills\tscratch\toccupancy\tinstructions\tcycles\tms\tfailure\n";
  for (const CompiledKernel& k : kernels) {
    result += fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{:.0f}\t{}\n", k.kernel, k.constants, k.subgroup, k.pass,
                          text(k.registers), text(k.spills), text(k.scratch), text(k.occupancy), text(k.instructions), text(k.cycles),
                          k.milliseconds, k.failure.empty() ? "-" : k.failure);
  }
  return result;
}

}  // namespace kbench
