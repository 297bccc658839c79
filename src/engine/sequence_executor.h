// spec::Executor on a device: passes of exec::Executor, tokens chosen by the device's argmax or by the sampler.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/stopwatch.h"
#include "engine/draft_model.h"
#include "engine/round_switch.h"
#include "exec/executor.h"
#include "sample/rejection.h"
#include "sample/sampler.h"
#include "spec/executor.h"

namespace skipstone::engine {

class SequenceExecutor : public spec::Executor {
 public:
  SequenceExecutor(exec::Executor& passes, const model::Config& config, const sample::SamplerParams& sampling,
                   sample::Verification verification, Rounds rounds);

  std::uint32_t layers() const override { return config_.layers; }
  std::uint32_t context() const override { return passes_.shape().context; }
  std::uint32_t max_rows() const override;
  std::uint32_t committed() const override { return static_cast<std::uint32_t>(text_.size()); }
  spec::Prefilled prefill(std::span<const spec::Token> tokens, bool attention_cosine) override;
  /// As prefill(). What the passes measured is in `passes.cosine_sums()`, over these tokens alone.
  spec::Choice prefill(std::span<const spec::Token> tokens, exec::Cosines cosines);
  spec::Choice draft(const exec::LayerPlan& plan, spec::Token input, std::uint32_t offset, bool keep_prefix) override;
  spec::Choice draft_in_window(const exec::KeyWindow& window, spec::Token input, std::uint32_t offset) override;
  spec::Choice draft_by_model(std::uint32_t model, spec::Token input, std::uint32_t offset) override;
  /// The models of draft_by_model(), by number.
  void use(std::vector<std::unique_ptr<DraftModel>> models) { draft_models_ = std::move(models); }
  void verify(const spec::TokenTree& rows, std::span<spec::Choice> out) override;
  void keep_top(std::uint32_t count) override { top_count_ = count; }
  std::span<const spec::Token> top() const override { return top_; }
  /// As many rows side by side in one pass as it has room for.
  void verify_block(std::span<const std::vector<spec::Token>> rows, std::span<std::vector<spec::Choice>> out) override;
  void commit_row(std::span<const std::vector<spec::Token>> rows, std::uint32_t row, std::uint32_t tokens) override;
  /// On the device where the choice needs no logits and the switch says so.
  bool round(const spec::RoundRequest& request, spec::Round& out) override;
  spec::EarlyExit exit_early(const spec::EarlyExitRequest& request, spec::Token pending) override;
  void commit(std::span<const std::uint32_t> path) override;
  void score(const exec::LayerPlan& plan, std::span<const spec::Token> rows, std::span<spec::Choice> out) override;
  std::vector<float> attention_cosine(std::uint32_t tokens) override;
  void take_back(std::uint32_t tokens) override;
  double device_seconds() const override { return passes_.device_seconds(); }
  std::chrono::steady_clock::time_point now() const override { return pacer_ == nullptr ? Clock::now() : pacer_->now(); }
  /// Passes run when `pacer` says so, and the host steps all rounds; null: at once.
  void pace(exec::Pacer* pacer);

  /// Whether the last committed token is of the continuation: its keys and values are those that a pass over it alone leaves.
  bool ends_in_continuation() const { return !text_.empty() && (prompts_.empty() || prompts_.back().end < text_.size()); }
  /// The logits behind the last committed token, and what they are made of. Of a continuation's tokens at any time; behind a prompt until
  /// another pass runs. Throws invalid_argument where they are not to be had.
  std::vector<float> logits();
  std::vector<float> hidden();

  void clear() { resume({}, {}); }
  /// The committed text, its keys and values become those of `from`, a sequence of the same engine.
  void copy_from(SequenceExecutor& from);
  /// Tokens from `begin` to `end` that were read as a prompt.
  struct Prompt {
    std::size_t begin = 0, end = 0;
  };
  /// The committed text is `text` now, of which `prompts` were read as prompts; its keys and values are in the cache already.
  void resume(std::vector<spec::Token> text, std::vector<Prompt> prompts);

 private:
  std::vector<float> mean_attention_cosine(std::size_t tokens) const;
  using Clock = std::chrono::steady_clock;

  void forget_round();
  std::uint32_t keep(const spec::TokenTree& rows);
  exec::PassSpec pass(const exec::LayerPlan& layers, std::uint32_t bucket) const;
  /// A draft and what it was drawn from.
  struct Drawn {
    std::vector<double> distribution;
    spec::Token token = -1;
  };
  bool rejects() const { return rejection_.has_value() && sampler_.params().temperature > 0.0f; }
  /// The choice after row `row` of the last pass of `passes`, whose token stands at `position`; window_ holds all tokens up to it.
  spec::Choice choose(const exec::Executor& passes, std::uint32_t row, std::size_t position);
  spec::Choice choose(std::uint32_t row, std::size_t position) { return choose(passes_, row, position); }
  /// The draft that the last pass of `passes`, one row at `position`, has made; no token where it gave no number.
  spec::Choice choose_draft(const exec::Executor& passes, std::uint32_t offset, std::size_t position);
  /// As choose(), of a draft pass and of row `row` of a verification, when drafts are accepted by rejection.
  spec::Choice draw_draft(const exec::Executor& passes, std::uint32_t offset, std::size_t position);
  spec::Choice draw_verified(std::uint32_t row, std::size_t position, const Drawn* draft);
  const Drawn* draft_behind(const spec::TokenTree& rows, std::uint32_t row) const;
  /// Of a greedy row whose logits were read back for top_; without a probability, which nobody asks a verification for.
  spec::Choice choose_of_top(std::uint32_t row) const;
  std::uint32_t run_block(std::span<const std::vector<spec::Token>> rows, std::uint32_t first);
  void set_window(std::size_t position, spec::Token token);
  void set_window(const spec::TokenTree& rows, std::uint32_t row);  ///< the row and its ancestors

  /// Runs the layers from `begin` to `end` over the pending token; it stays in the kept rows. The logits are result(0)'s.
  void run_segment(spec::Token pending, std::uint32_t begin, std::uint32_t end);
  /// The whole model over the committed tokens whose later layers have no K and V, and over `pending`, where there is one (-1: none).
  void fill_holes(spec::Token pending);

  /// K and V of the layers from `begin` on, made of the kept row: the pending token's where it left.
  void propagate(spec::Token pending, std::uint32_t begin);

  /// Rows of the round whose residual stream behind the first `layers` layers lies in the kept rows; their K and V of these layers are in
  /// the cache.
  struct Kept {
    std::uint32_t layers = 0;
    std::vector<spec::Token> rows;
  };

  exec::Executor& passes_;
  const model::Config& config_;
  sample::Sampler sampler_;
  void run(const exec::PassSpec& spec, const exec::Rows& rows);
  void run(const exec::Round& round);
  /// The next `tokens` tokens of text_ are a prompt's.
  void note_prompt(std::size_t tokens);
  /// Runs what gives `output` behind the last committed token; it is row 0's.
  void look(exec::Output output);

  std::vector<spec::Token> text_;               ///< what is committed
  std::vector<Prompt> prompts_;                 ///< of text_
  std::optional<exec::PassSpec> last_prefill_;  ///< the pass that read the end of text_, while its residual stream is still there
  std::uint32_t last_prefill_rows_ = 0;
  bool lossy_ = false;  ///< layers were left out behind some of text_
  exec::Pacer* pacer_ = nullptr;
  std::vector<spec::Token> window_;  ///< text_ and the rows of the round so far: what penalties look back on
  spec::TokenTree rows_;             ///< of the last verification
  bool verified_ = false;            ///< rows_ have not been committed
  std::uint32_t top_count_ = 0;
  std::vector<spec::Token> top_;   ///< [rows of the last verification][top_count_]
  std::uint32_t block_first_ = 0;  ///< of the rows of a block: the first one of the last pass
  Kept kept_;
  std::vector<std::unique_ptr<DraftModel>> draft_models_;
  std::optional<sample::RejectionSampler> rejection_;
  std::vector<Drawn> drawn_;   ///< the round's drafts, by offset
  std::uint32_t holes_ = 0;    ///< latest committed tokens without K and V in the layers that they did not run (exit_early)
  bool pending_hole_ = false;  ///< the pending token becomes one when it is committed
  RoundSwitch switch_;
  std::optional<Stopwatch> round_watch_;  ///< of a round that the host steps, where it is timed
};

}  // namespace skipstone::engine
