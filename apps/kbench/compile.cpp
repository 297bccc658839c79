#include "kbench/compile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
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
    result.figures = figures_of(statistics);
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
  kernels::Selector select(device->caps(), device->tuning());
  std::vector<kernels::Math> maths{kernels::Math::f32};
  if (select.has_matrices()) maths.push_back(kernels::Math::matrix);
  std::set<std::tuple<kernels::KernelId, std::vector<std::uint32_t>, std::uint32_t>> seen;
  std::vector<CompiledKernel> all;
  for (const std::string& name : models) {
    progress(name);
    const gguf::File file = model::synthetic_model(name);
    const model::Config config = model::Config::from(file);
    const model::WeightLayout layout =
        model::layout_weights(model::find_tensors(file, config), device->caps().max_storage_range, select.interleave());
    const exec::SequenceShape shape{.context = context, .kv_format = kv_format, .chunk = exec::SequenceShape::chunk_for(config, context)};
    for (const kernels::Math math : maths) {
      select.use(math);
      const exec::PassBuilder builder(config, layout, shape, select);
      for (const exec::PassSpec& pass : passes_of(config.layers)) {
        for (const kernels::Dispatch& dispatch : builder.build(pass).dispatches) {
          if (!seen.emplace(dispatch.kernel, dispatch.constants, dispatch.subgroup).second) continue;
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

}  // namespace kbench
