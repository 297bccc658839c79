// speculation::Sequence on a device: runs passes of exec::Executor; the device's argmax or the sampler chooses tokens.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "engine/draft_runners.h"
#include "engine/prompt_reader.h"
#include "engine/rounds.h"
#include "engine/sequence_parts.h"
#include "speculation/sequence.h"

namespace skipstone::engine {

struct SequenceOptions {
  sample::SamplerParams sampling = {};
  sample::Verification verification = sample::Verification::coupled;
  Rounds rounds = Rounds::host;
  bool candidates = false;                 ///< tokens are sampled from the candidates that the device finds, if those decide
  bool pipelined_drafts = true;            ///< the first device makes drafts of the next round while a verification is on remote devices
  PrefixCache* prefixes = nullptr;         ///< cached prefixes are not read again; null: everything is read
  std::function<bool()> interrupted = {};  ///< called between the passes of a prompt: true ends prefill()
  std::vector<std::unique_ptr<DraftModel>> draft_models = {};  ///< by number (speculation::SecondModel)
};

class DeviceSequence : public speculation::Sequence {
 public:
  DeviceSequence(exec::Executor& passes, const model::Config& config, SequenceOptions options = {});
  DeviceSequence(DeviceSequence&&) = delete;  // its parts refer to each other

  speculation::SequenceLimits limits() const override {
    return {parts_.config.layer_count(), parts_.passes.model().shape.context, STEP_VERIFY_ROWS};
  }
  std::uint32_t committed() const override { return parts_.committed(); }
  speculation::SequenceTimes times() const override;
  std::uint32_t concurrent_rows() const override { return parts_.passes.concurrent_rows(); }
  speculation::Prefilled prefill(std::span<const speculation::Token> tokens, bool attention_cosine) override;
  speculation::Choice draft(const speculation::DraftSource& source, speculation::Token input, std::uint32_t offset) override {
    return runners_.draft(source, input, offset);
  }
  void verify(const speculation::TokenTree& rows, std::uint32_t top, speculation::Verified& out) override;
  void commit(std::span<const std::uint32_t> path) override;
  void rollback(std::uint32_t tokens) override;
  speculation::SequenceExtensions extensions() override { return {&rounds_, &blocks_, &exits_, &skip_sets_}; }

  /// As prefill(); `passes.results().cosine_sums` then has the cosines of these tokens alone. Returns nothing if it was interrupted.
  std::optional<speculation::Choice> prefill(std::span<const speculation::Token> tokens, exec::Cosines cosines);
  /// The first `count` tokens of the next prefill() are the text's own continuation: decoding passes read them.
  void own_tokens(std::uint32_t count) { reader_.own_tokens(count); }
  /// Called when a continuation has ended: keeps its pages if the prefix cache accepts continuations.
  void keep_continuation() { reader_.keep_continuation(); }
  /// `slicer` decides when passes run, and the host steps all rounds; null: passes run at once.
  void set_slicer(exec::PassSlicer* slicer);

  /// The sequence commits tokens; its caller appends those that it is to read, and what is generated.
  speculation::TokenHistory& text() { return parts_.text; }
  /// The logits after the last committed token, and the hidden state that they are computed from. Throws invalid_argument if there is no
  /// token, unsupported if a lossy drafter left layers out.
  std::vector<float> logits();
  std::vector<float> hidden();

  /// Completes the keys and values of all committed tokens.
  void finish() { parts_.exits.fill(parts_.text); }
  /// Whether a lossy drafter left layers out for some of the text.
  bool left_layers_out() const { return parts_.exits.left_layers_out(); }
  void clear();
  /// Takes over the text, keys and values of `from`, a sequence of the same engine.
  void copy_from(DeviceSequence& from);
  /// Takes over `text`; the keys and values of its committed tokens are in the cache already.
  void continue_from(speculation::TokenHistory text, bool left_layers_out = false);

 private:
  /// Runs the last committed token again with the kernels that have read it, which does not change its keys and values: a row has the same
  /// bits in every pass. `output` after it is row 0.
  void rerun_last_row(exec::Output output);

  SequenceParts parts_;
  PromptReader reader_;
  DraftRunners runners_;
  DeviceRounds rounds_;
  BlockRounds blocks_;
  EarlyExitRounds exits_;
  SkipSetPasses skip_sets_;
};

}  // namespace skipstone::engine
