#include "kbench/launches.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>

#include "kbench/model_passes.h"
#include "kernels/kernel_table.h"
#include "vk/hazard_tracker.h"

namespace kbench {

using namespace skipstone;

namespace {

constexpr std::array<const char*, 4> moments = {"load", "drafts", "sampling", "trees"};

/// The dispatch's label without its layer number.
std::string label_of(const kernels::Dispatch& dispatch) {
  const bool in_layer = dispatch.label.starts_with("blk.");
  return in_layer ? dispatch.label.substr(dispatch.label.find('.', 4) + 1) : dispatch.label;
}

PassLaunches count(std::span<const kernels::Dispatch> dispatches, std::uint32_t rows) {
  PassLaunches pass{.rows = rows, .dispatches = dispatches.size(), .barriers = barriers_between(dispatches)};
  for (const kernels::Dispatch& dispatch : dispatches) {
    const std::string label = label_of(dispatch);
    const auto found = std::ranges::find(pass.by_label, label, &std::pair<std::string, std::size_t>::first);
    if (found == pass.by_label.end()) {
      pass.by_label.emplace_back(label, 1);
    } else {
      ++found->second;
    }
  }
  return pass;
}

/// Collects the pipelines of a start and of sessions with more and more features, each at its first use.
class Pipelines {
 public:
  explicit Pipelines(const ModelPasses& model) : model_(model) {}

  void add(const char* when, std::vector<exec::PassSpec> passes) {
    sort_by_rows(passes);
    for (const exec::PassSpec& pass : passes) add(when, name_of(pass), model_.builder().build(pass).dispatches);
  }
  void add(const char* when, const std::string& pass, const std::vector<kernels::Dispatch>& dispatches) {
    for (const kernels::Dispatch& d : dispatches) {
      if (!seen_.insert(exec::pipeline_key(d)).second) continue;
      made_.push_back({kernels::info(d.kernel).name, fmt::format("{}", fmt::join(d.constants, ",")), d.subgroup, when, pass});
    }
  }
  std::vector<MadePipeline> take() { return std::move(made_); }

 private:
  const ModelPasses& model_;
  std::set<exec::PipelineKey> seen_;
  std::vector<MadePipeline> made_;
};

std::vector<MadePipeline> pipelines_of(const ModelPasses& model, const kernels::Selector& select) {
  Pipelines pipelines(model);
  pipelines.add("load", exec::plain_passes(model.layers()));
  exec::SessionPasses needs{.verification = true};
  pipelines.add("drafts", exec::session_passes(model.layers(), needs));
  needs.logits = true;
  needs.candidates = select.finds_candidates(model.vocabulary());
  pipelines.add("sampling", exec::session_passes(model.layers(), needs));
  needs.trees = true;
  pipelines.add("trees", exec::session_passes(model.layers(), needs));
  pipelines.add("trees", "move", model.builder().build_move());
  return pipelines.take();
}

}  // namespace

std::size_t ModelLaunches::made(const std::string& when) const {
  return static_cast<std::size_t>(std::ranges::count(pipelines, when, &MadePipeline::when));
}

double launch_share(const ModelLaunches& model, const PassLaunches& pass) {
  const double launches = static_cast<double>(pass.dispatches) * launch_seconds;
  return launches / (launches + static_cast<double>(model.weight_bytes) / bytes_per_second);
}

std::size_t barriers_between(std::span<const kernels::Dispatch> dispatches) {
  // Resources do not overlap in memory (exec::PassBuffers, model::Weights, exec::KvPool): here each is a byte.
  std::map<std::tuple<kernels::ResourceKind, std::uint32_t, std::uint16_t, std::uint16_t>, std::uint64_t> places;
  const auto use = [&](const kernels::Resource& resource, vk::HazardTracker::Stage stage, vk::Access access) {
    const auto place = places.try_emplace({resource.kind, resource.index, resource.part, resource.plane}, places.size()).first->second;
    return vk::HazardTracker::Use{nullptr, place, 1, stage, access != vk::Access::write, access != vk::Access::read};
  };
  vk::HazardTracker hazards;
  std::size_t barriers = 0;
  for (const kernels::Dispatch& dispatch : dispatches) {
    std::vector<vk::HazardTracker::Use> uses;
    for (const kernels::Operand& operand : dispatch.operands) {
      uses.push_back(use(operand.resource, vk::HazardTracker::compute, operand.access));
    }
    if (dispatch.indirect_offset) uses.push_back(use({kernels::ResourceKind::state}, vk::HazardTracker::indirect, vk::Access::read));
    if (hazards.add(uses)) ++barriers;
  }
  return barriers;
}

ModelLaunches launches(const std::string& model, const kernels::Selector& select, const KvFormats& kv_format) {
  const ModelPasses passes(model, select, kv_format);
  ModelLaunches result{.model = model, .layers = passes.layers(), .weight_bytes = passes.weight_bytes()};
  for (const std::uint32_t rows : {1u, 8u}) {
    const exec::Plan plan = passes.builder().build({.layers = exec::LayerPlan::full(passes.layers()), .bucket = rows});
    result.passes.push_back(count(plan.dispatches, rows));
  }
  result.pipelines = pipelines_of(passes, select);
  return result;
}

std::string table_of(const std::vector<ModelLaunches>& models) {
  std::string result = fmt::format("model\tlayers\tMB\t{}\n", fmt::join(moments, "\t"));
  for (const ModelLaunches& m : models) {
    result += fmt::format("{}\t{}\t{:.0f}", m.model, m.layers, static_cast<double>(m.weight_bytes) * 1e-6);
    for (const char* moment : moments) result += fmt::format("\t{}", m.made(moment));
    result += '\n';
  }
  result += "\nmodel\trows\tdispatches\tbarriers\tlaunches %\tof them\n";
  for (const ModelLaunches& m : models) {
    for (const PassLaunches& pass : m.passes) {
      std::vector<std::string> parts;
      for (const auto& [label, times] : pass.by_label) parts.push_back(times == 1 ? label : fmt::format("{} x {}", times, label));
      result += fmt::format("{}\t{}\t{}\t{}\t{:.1f}\t{}\n", m.model, pass.rows, pass.dispatches, pass.barriers, 100 * launch_share(m, pass),
                            fmt::join(parts, ", "));
    }
  }
  result += "\nmodel\tkernel\tconstants\tsubgroup\twhen\tpass\n";
  for (const ModelLaunches& m : models) {
    for (const MadePipeline& p : m.pipelines) {
      result += fmt::format("{}\t{}\t{}\t{}\t{}\t{}\n", m.model, p.kernel, p.constants, p.subgroup, p.when, p.pass);
    }
  }
  return result;
}

}  // namespace kbench
