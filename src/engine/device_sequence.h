// spec::Sequence on a device: passes of exec::Executor, tokens chosen by the device's argmax or by the sampler.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/stopwatch.h"
#include "engine/ahead_drafts.h"
#include "engine/committed_text.h"
#include "engine/draft_model.h"
#include "engine/early_exits.h"
#include "engine/kept_rows.h"
#include "engine/prefix_cache.h"
#include "engine/round_switch.h"
#include "engine/row_chooser.h"
#include "exec/executor.h"
#include "spec/sequence.h"

namespace skipstone::engine {

class DeviceSequence : public spec::Sequence {
 public:
  /// `drafts_ahead`: near drafts of the next round are made while a verification is at other devices. `candidates`: sampled rows are chosen
  /// from what the device finds in them, where that decides.
  DeviceSequence(exec::Executor& passes, const model::Config& config, const sample::SamplerParams& sampling,
                 sample::Verification verification, Rounds rounds, bool candidates = false, bool drafts_ahead = true);

  spec::SequenceLimits limits() const override { return {config_.layers, passes_.shape().context, STEP_VERIFY_ROWS}; }
  std::uint32_t committed() const override { return text_.size(); }
  spec::SequenceTimes times() const override;
  std::uint32_t rows_of_others() const override { return passes_.rows_of_others(); }
  bool interrupted() override { return interrupted_ && interrupted_(); }
  spec::Prefilled prefill(std::span<const spec::Token> tokens, bool attention_cosine) override;
  /// Of what the next prefill() gets, the first `count` tokens are the text's own continuation: passes of decoding read them.
  void own_tokens(std::uint32_t count) { own_tokens_ = count; }
  /// Beginnings that are known are not read again; null: all is read.
  void use(PrefixCache* prefixes) { prefixes_ = prefixes; }
  /// Asked between the passes of a prompt, where true ends prefill(), and by interrupted().
  void interrupt_by(std::function<bool()> interrupted) { interrupted_ = std::move(interrupted); }
  /// As prefill(). What the passes measured is in `passes.cosine_sums()`, over these tokens alone.
  /// Nothing where it was interrupted.
  std::optional<spec::Choice> prefill(std::span<const spec::Token> tokens, exec::Cosines cosines);
  spec::Choice draft(const spec::DraftPass& pass, spec::Token input, std::uint32_t offset) override;
  /// The second models of draft(), by number.
  void use(std::vector<std::unique_ptr<DraftModel>> models) { draft_models_ = std::move(models); }
  void verify(const spec::TokenTree& rows, std::uint32_t top, spec::Verified& out) override;
  /// As many rows side by side in one pass as it has room for.
  void verify_block(std::span<const std::vector<spec::Token>> rows, std::span<std::vector<spec::Choice>> out) override;
  void commit_row(std::span<const std::vector<spec::Token>> rows, std::uint32_t row, std::uint32_t tokens) override;
  /// On the device where the choice needs no logits and the switch says so.
  bool round(const spec::RoundRequest& request, spec::DraftedRound& out) override;
  spec::EarlyExit exit_early(const spec::EarlyExitRequest& request, spec::Token pending) override;
  void commit(std::span<const std::uint32_t> path) override;
  void score(const exec::LayerPlan& plan, std::span<const spec::Token> rows, std::span<spec::Choice> out) override;
  std::vector<float> attention_cosine(std::uint32_t tokens) override;
  void take_back(std::uint32_t tokens) override;
  /// Passes run when `pacer` says so, and the host steps all rounds; null: at once.
  void pace(exec::Pacer* pacer);

  /// A continuation has ended: its pages are kept where the cache of beginnings takes such.
  void keep_continuation();

  /// What is committed.
  const CommittedText& text() const { return text_; }
  /// The logits behind the last committed token, and what they are made of. Throws invalid_argument where there is none, unsupported where
  /// a lossy drafter left layers out.
  std::vector<float> logits();
  std::vector<float> hidden();

  /// The committed text, all of whose tokens have all their keys and values from now on.
  const CommittedText& settle();
  /// Whether a lossy drafter left layers out behind some of the text.
  bool left_layers_out() const { return exits_.left_layers_out(); }
  void clear() {
    resume({});
    passes_.cut(0);
  }
  /// The committed text, its keys and values become those of `from`, a sequence of the same engine.
  void copy_from(DeviceSequence& from);
  /// The committed text is `text` now; its keys and values are in the cache already.
  void resume(CommittedText text, bool left_layers_out = false);

 private:
  /// `ahead_kept`: the kept rows stay this sequence's, for the next round.
  void end_round(bool ahead_kept = false);
  void keep_beginning();
  /// All of the committed text, whose pages layers with a window have not kept.
  void read_again();
  /// Reads `tokens` by passes of prompts, the last one with `output`; false where it was interrupted.
  bool read_prompt(std::span<const spec::Token> tokens, exec::Cosines cosines, exec::Output output, const std::function<bool()>& interrupted);
  /// The beginning of `tokens` that the engine knows, where nothing is committed; it is committed then.
  std::uint32_t take_known(std::span<const spec::Token> tokens);
  exec::PassSpec pass(const exec::LayerPlan& layers, std::size_t rows) const;
  exec::PassSpec prompt_pass(std::size_t rows) const;
  /// Reads `tokens` by passes of decoding; the row of the last one in the last pass. `all`: nothing is read behind them.
  std::uint32_t read_own(std::span<const spec::Token> tokens, exec::Cosines cosines, bool all);
  /// The draft that was made while the last verification was away.
  const spec::Choice* made_ahead(const spec::DraftPass& pass, spec::Token input, std::uint32_t offset);
  void begin_kept(const spec::LayerPass& pass);
  exec::Executor& run_draft(const spec::LayerPass& pass, spec::Token input, std::uint32_t offset);
  exec::Executor& run_draft(const exec::KeyWindow& window, spec::Token input, std::uint32_t offset);
  exec::Executor& run_draft(const spec::SecondModel& model, spec::Token input, std::uint32_t offset);
  std::uint32_t complete_kept(const spec::TokenTree& rows);
  /// What a verification of `rows` is to leave of them.
  void ask_for(const spec::TokenTree& rows, exec::PassSpec& spec, exec::Rows& pass_rows);
  std::uint32_t run_block(std::span<const std::vector<spec::Token>> rows, std::uint32_t first);
  std::vector<float> mean_attention_cosine(std::size_t tokens) const;
  /// Runs what gives `output` behind the last committed token; it is row 0's.
  void look(exec::Output output);

  exec::Executor& passes_;
  const model::Config& config_;
  CommittedText text_;
  RowChooser chooser_;
  KeptRows kept_;
  EarlyExits exits_;
  AheadDrafts ahead_;
  bool ahead_kept_ = false;  ///< what the last verification has kept of drafts made ahead stands for the next round
  std::vector<std::unique_ptr<DraftModel>> draft_models_;
  std::optional<spec::TokenTree> verified_;  ///< rows of the last verification, until they are committed
  std::uint32_t block_first_ = 0;            ///< of the rows of a block: the first one of the last pass
  RoundSwitch switch_;
  std::optional<Stopwatch> round_watch_;  ///< of a round that the host steps, where it is timed
  exec::Pacer* pacer_ = nullptr;
  std::function<bool()> interrupted_;
  PrefixCache* prefixes_ = nullptr;
  std::uint32_t found_ = 0;  ///< by the last prefill()
  std::uint32_t own_tokens_ = 0;
};

}  // namespace skipstone::engine
