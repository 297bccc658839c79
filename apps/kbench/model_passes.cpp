#include "kbench/model_passes.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/synthetic.h"

namespace kbench {

using namespace skipstone;

namespace {

constexpr std::uint32_t context = 4096;  // up to this length attention uses its usual chunk size

}  // namespace

ModelPasses::ModelPasses(const std::string& name, const kernels::Selector& select, const KvFormats& kv_format)
    : file_(model::synthetic_model(name)),
      config_(model::Config::from(file_)),
      layout_(model::layout_weights(config_, model::find_tensors(file_, config_), select.caps().max_storage_range, select.interleave())),
      builder_(config_, layout_, {.context = context, .kv_format = kv_format, .chunk = exec::SequenceShape::chunk_for(config_, context)},
               select) {}

std::string name_of(const exec::PassSpec& pass) {
  if (pass.step != exec::RoundStep::none) return pass.step == exec::RoundStep::draft ? "draft" : "verify";
  const char* const kind = pass.prompt                               ? "prompt"
                           : pass.tree                               ? "tree"
                           : pass.output == exec::Output::logits     ? "logits"
                           : pass.output == exec::Output::candidates ? "candidates"
                                                                     : "rows";
  return fmt::format("{} {}", kind, pass.bucket);
}

void sort_by_rows(std::vector<exec::PassSpec>& passes) {
  std::ranges::stable_sort(passes, {}, [](const exec::PassSpec& pass) { return pass.prompt ? 1000 + pass.bucket : pass.bucket; });
}

}  // namespace kbench
