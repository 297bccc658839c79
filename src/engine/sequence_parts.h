// The parts of a sequence on a device that all its kinds of rounds share.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/stopwatch.h"
#include "engine/early_exits.h"
#include "engine/pipelined_drafts.h"
#include "engine/saved_states.h"
#include "engine/verifier.h"
#include "exec/executor.h"
#include "speculation/token_history.h"

namespace skipstone::engine {

/// The results of an executor's last pass.
class LastPass final : public RowResults {
 public:
  explicit LastPass(exec::Executor& passes) : passes_(passes) {}
  const abi::RowResult& result(std::uint32_t row) override { return passes_.result(row); }
  const abi::CandidateResult* candidates(std::uint32_t row) override { return passes_.candidates(row); }
  std::span<const float> logits(std::uint32_t row) override { return passes_.logits(row); }

 private:
  exec::Executor& passes_;
};

struct SequenceParts {
  exec::Executor& passes;
  const model::Config& config;
  speculation::TokenHistory text;
  Verifier verifier;
  EarlyExits exits;
  SavedStates saved;
  PipelinedDrafts pipelined;
  LastPass results{passes};
  Batch batch = {};                                     ///< memory for the rows of a pass
  std::optional<speculation::TokenTree> verified = {};  ///< rows of the last verification, until they are committed
  std::optional<Stopwatch> round_watch = {};            ///< of a round that the host steps, if it is timed
  exec::PassSlicer* slicer = nullptr;                   ///< decides when passes run, and the host steps all rounds; null: at once

  std::uint32_t committed() const { return text.committed_size(); }
  /// A decoding pass over `layers`.
  exec::PassSpec pass(const exec::LayerPlan& layers, std::size_t rows) const;
  exec::PassSpec full_pass(std::size_t rows) const { return pass(exec::LayerPlan::full(config.layers), rows); }
  exec::PassSpec prompt_pass(std::size_t rows) const;
  /// Runs `spec` over the rows of `batch` with the output that their choices need.
  void run_batch(exec::PassSpec spec, exec::Rows rows);
  /// Ends a round and begins the next one. `keep_predicted`: predicted drafts keep their saved hidden states.
  void end_round(bool keep_predicted = false);
  /// The mean over `tokens` rows of the cosines that passes have summed since they were cleared, one per layer.
  std::vector<float> mean_attention_cosine(std::size_t tokens) const;
};

}  // namespace skipstone::engine
