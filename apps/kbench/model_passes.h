// The passes of a synthetic model as dispatches. Nothing runs and no memory is allocated.
#pragma once

#include <string>

#include "base/kv_format.h"
#include "exec/pass_builder.h"
#include "exec/pipelines.h"
#include "gguf/gguf.h"
#include "kernels/selector.h"
#include "model/config.h"
#include "model/weight_layout.h"

namespace kbench {

class ModelPasses {
 public:
  /// `name`: model::synthetic_model's notation; throws invalid_argument if there is no such model. `select` must outlive it.
  ModelPasses(const std::string& name, const skipstone::kernels::Selector& select, const skipstone::KvFormats& kv_format);
  ModelPasses(const ModelPasses&) = delete;
  ModelPasses& operator=(const ModelPasses&) = delete;

  std::uint32_t layers() const { return config_.layer_count(); }
  std::uint32_t vocabulary() const { return config_.vocabulary; }
  std::uint64_t weight_bytes() const { return layout_.bytes_per_token(); }  ///< bytes that a pass reads
  const skipstone::exec::PassBuilder& builder() const { return builder_; }

 private:
  skipstone::gguf::File file_;
  skipstone::model::Config config_;
  skipstone::model::WeightLayout layout_;
  skipstone::exec::PassBuilder builder_;
};

/// "rows 8", "tree 8", "logits 8", "draft", "verify", "prompt 64"
std::string name_of(const skipstone::exec::PassSpec& pass);
/// Sorts by ascending rows, prompts last: a pipeline that several passes use is named after the smallest.
void sort_by_rows(std::vector<skipstone::exec::PassSpec>& passes);

}  // namespace kbench
