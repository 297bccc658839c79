// speculation::Sequence on a device: runs passes of exec::Executor; the device's argmax or the sampler chooses tokens.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/stopwatch.h"
#include "engine/committed_text.h"
#include "engine/draft_model.h"
#include "engine/early_exits.h"
#include "engine/hidden_states.h"
#include "engine/pipelined_drafts.h"
#include "engine/prefix_cache.h"
#include "engine/round_mode_policy.h"
#include "engine/row_chooser.h"
#include "exec/executor.h"
#include "speculation/sequence.h"

namespace skipstone::engine {

class DeviceSequence : public speculation::Sequence {
 public:
  /// `pipelined_drafts`: the first device makes drafts of the next round while a verification is on remote devices. `candidates`: tokens
  /// are sampled from the candidates that the device finds, if those decide.
  DeviceSequence(exec::Executor& passes, const model::Config& config, const sample::SamplerParams& sampling,
                 sample::Verification verification, Rounds rounds, bool candidates = false, bool pipelined_drafts = true);

  speculation::SequenceLimits limits() const override { return {config_.layer_count(), passes_.shape().context, STEP_VERIFY_ROWS}; }
  std::uint32_t committed() const override { return text_.size(); }
  speculation::SequenceTimes times() const override;
  std::uint32_t concurrent_rows() const override { return passes_.concurrent_rows(); }
  bool interrupted() override { return interrupted_ && interrupted_(); }
  speculation::Prefilled prefill(std::span<const speculation::Token> tokens, bool attention_cosine) override;
  /// The first `count` tokens of the next prefill() are the text's own continuation: decoding passes read them.
  void own_tokens(std::uint32_t count) { own_tokens_ = count; }
  /// Cached prefixes are not read again; null: everything is read.
  void use(PrefixCache* prefixes) { prefixes_ = prefixes; }
  /// `interrupted` is called between the passes of a prompt, where true ends prefill(), and by interrupted().
  void interrupt_by(std::function<bool()> interrupted) { interrupted_ = std::move(interrupted); }
  /// As prefill(); `passes.cosine_sums()` then has the cosines of these tokens alone. Returns nothing if it was interrupted.
  std::optional<speculation::Choice> prefill(std::span<const speculation::Token> tokens, exec::Cosines cosines);
  speculation::Choice draft(const speculation::DraftPass& pass, speculation::Token input, std::uint32_t offset) override;
  /// The second models of draft(), by number.
  void use(std::vector<std::unique_ptr<DraftModel>> models) { draft_models_ = std::move(models); }
  void verify(const speculation::TokenTree& rows, std::uint32_t top, speculation::Verified& out) override;
  /// Puts as many rows into one pass as fit.
  void verify_block(std::span<const std::vector<speculation::Token>> rows, std::span<std::vector<speculation::Choice>> out) override;
  void commit_row(std::span<const std::vector<speculation::Token>> rows, std::uint32_t row, std::uint32_t tokens) override;
  /// Runs on the device if the choice needs no logits and the policy says so.
  bool round(const speculation::RoundRequest& request, speculation::DraftedRound& out) override;
  speculation::EarlyExit exit_early(const speculation::EarlyExitRequest& request, speculation::Token pending) override;
  void commit(std::span<const std::uint32_t> path) override;
  void score(const exec::LayerPlan& plan, std::span<const speculation::Token> rows, std::span<speculation::Choice> out) override;
  std::vector<float> attention_cosine(std::uint32_t tokens) override;
  void rollback(std::uint32_t tokens) override;
  /// `slicer` decides when passes run, and the host steps all rounds; null: passes run at once.
  void set_slicer(exec::PassSlicer* slicer);

  /// Called when a continuation has ended: keeps its pages if the prefix cache accepts continuations.
  void keep_continuation();

  const CommittedText& text() const { return text_; }
  /// The logits after the last committed token, and the hidden state that they are computed from. Throws invalid_argument if there is no
  /// token, unsupported if a lossy drafter left layers out.
  std::vector<float> logits();
  std::vector<float> hidden();

  /// Completes the keys and values of all committed tokens and returns the committed text.
  const CommittedText& finish();
  /// Whether a lossy drafter left layers out for some of the text.
  bool left_layers_out() const { return exits_.left_layers_out(); }
  void clear() {
    continue_from({});
    passes_.truncate(0);
  }
  /// Takes over the committed text, keys and values of `from`, a sequence of the same engine.
  void copy_from(DeviceSequence& from);
  /// Makes `text` the committed text; its keys and values are in the cache already.
  void continue_from(CommittedText text, bool left_layers_out = false);

 private:
  /// `predicted_kept`: the sequence keeps its saved hidden states for the next round.
  void end_round(bool predicted_kept = false);
  void keep_beginning();
  /// Reads all of the committed text again, after sliding-window layers have freed pages of it.
  void read_again();
  /// Reads `tokens` by prompt passes, the last one with `output`; false if it was interrupted.
  bool read_prompt(std::span<const speculation::Token> tokens, exec::Cosines cosines, exec::Output output,
                   const std::function<bool()>& interrupted);
  /// Commits the cached prefix of `tokens` if nothing is committed yet; returns its length.
  std::uint32_t take_known(std::span<const speculation::Token> tokens);
  exec::PassSpec pass(const exec::LayerPlan& layers, std::size_t rows) const;
  exec::PassSpec prompt_pass(std::size_t rows) const;
  /// Reads `tokens` by decoding passes; returns the last token's row in the last pass. `all`: no tokens are read after them.
  std::uint32_t read_own(std::span<const speculation::Token> tokens, exec::Cosines cosines, bool all);
  /// The draft that was made while the last verification was on remote devices; null if there is none.
  const speculation::Choice* predicted_draft(const speculation::DraftPass& pass, speculation::Token input, std::uint32_t offset);
  void begin_kept(const speculation::LayerPass& pass);
  exec::Executor& run_draft(const speculation::LayerPass& pass, speculation::Token input, std::uint32_t offset);
  exec::Executor& run_draft(const exec::KeyWindow& window, speculation::Token input, std::uint32_t offset);
  exec::Executor& run_draft(const speculation::SecondModel& model, speculation::Token input, std::uint32_t offset);
  std::uint32_t complete_kept(const speculation::TokenTree& rows);
  /// Requests the results that a verification of `rows` has to leave.
  void ask_for(const speculation::TokenTree& rows, exec::PassSpec& spec, exec::Rows& pass_rows);
  std::uint32_t run_block(std::span<const std::vector<speculation::Token>> rows, std::uint32_t first);
  std::vector<float> mean_attention_cosine(std::size_t tokens) const;
  /// Runs the pass that gives `output` after the last committed token, as row 0.
  void rerun_last_row(exec::Output output);

  exec::Executor& passes_;
  const model::Config& config_;
  CommittedText text_;
  RowChooser chooser_;
  HiddenStates kept_;
  EarlyExits exits_;
  PipelinedDrafts pipelined_;
  bool predicted_kept_ = false;  ///< the saved hidden states of pipelined drafts are valid for the next round
  std::vector<std::unique_ptr<DraftModel>> draft_models_;
  std::optional<speculation::TokenTree> verified_;  ///< rows of the last verification, until they are committed
  std::uint32_t block_first_ = 0;            ///< first row of the block in the last pass
  RoundModePolicy round_mode_;
  std::optional<Stopwatch> round_watch_;  ///< of a round that the host steps, if it is timed
  exec::PassSlicer* slicer_ = nullptr;
  std::function<bool()> interrupted_;
  PrefixCache* prefixes_ = nullptr;
  std::uint32_t found_ = 0;  ///< cached tokens of the last prefill()
  std::uint32_t own_tokens_ = 0;
};

}  // namespace skipstone::engine
