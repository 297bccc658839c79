// The parts of a sequence on a device that all its kinds of rounds share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/stopwatch.h"
#include "engine/early_exits.h"
#include "engine/pipelined_drafts.h"
#include "engine/verifier.h"
#include "exec/executor.h"
#include "speculation/token_history.h"

namespace skipstone::engine {

/// Rows of a round whose hidden state (the residual stream after the first layers) is saved on the device: a verification continues from
/// there (LayerSkip, arXiv 2404.16710, section 4.3).
class SavedStates {
 public:
  /// Begins a round whose drafts may save hidden states after `layers` layers; 0: none.
  void begin(std::uint32_t layers) {
    layers_ = layers;
    rows_.clear();
  }
  /// Whether the draft pass over `input`, which runs `whole_prefix` leading complete layers, is to save its row's hidden state; if so, it
  /// counts as saved.
  bool take(std::uint32_t whole_prefix, std::uint32_t offset, speculation::Token input) {
    if (layers_ == 0 || layers_ != whole_prefix || rows_.size() != offset) return false;
    rows_.push_back(input);
    return true;
  }
  /// Whether the saved hidden states of predicted drafts are valid for the next round.
  void keep_predicted(bool keep) { predicted_ = keep; }
  bool predicted() const { return predicted_; }
  std::uint32_t layers() const { return layers_; }
  /// Number of leading rows of `rows` whose hidden states are saved.
  std::uint32_t known(std::span<const speculation::Token> rows) const {
    return static_cast<std::uint32_t>(std::ranges::mismatch(rows_, rows).in1 - rows_.begin());
  }

 private:
  std::uint32_t layers_ = 0;
  std::vector<speculation::Token> rows_;
  bool predicted_ = false;
};

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
  exec::PassSpec full_pass(std::size_t rows) const { return pass(exec::LayerPlan::full(config.layer_count()), rows); }
  exec::PassSpec prompt_pass(std::size_t rows) const;
  /// Requests from a pass over the rows of `batch` what their choices need.
  void request(exec::PassSpec& spec, exec::Rows& rows);
  /// Runs `spec` over the rows of `batch` with the output that their choices need.
  void run_batch(exec::PassSpec spec, exec::Rows rows);
  /// Ends a round and begins the next one. `keep_predicted`: predicted drafts keep their saved hidden states.
  void end_round(bool keep_predicted = false);
  /// The mean over `tokens` rows of the cosines that passes have summed since they were cleared, one per layer.
  std::vector<float> mean_attention_cosine(std::size_t tokens) const;
};

}  // namespace skipstone::engine
