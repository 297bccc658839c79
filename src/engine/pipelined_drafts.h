// Drafts of the next round, made while a verification is on remote devices, for its likeliest ends: after how many drafts, and with which
// token. If the verification ends so, the next round has its drafts; else they are dropped. For the end where all drafts are accepted: PPSD
// (Pan et al., "Pipeline Parallelism with Early-Exit Self-Speculative Decoding", 2025, arXiv 2509.19368); for several: Kumar et al.,
// "Speculative Speculative Decoding", 2026 (arXiv 2603.03251). A draft is the same as if it were made later: a row has the same bits in
// every pass.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/verifier.h"
#include "exec/executor.h"
#include "exec/layer_plan.h"
#include "exec/pipeline_runner.h"
#include "speculation/sequence.h"
#include "speculation/token_tree.h"

namespace skipstone::engine {

class PipelinedDrafts {
 public:
  /// The rows with K and V of the drafts' inputs, and the row where the next round needs them, counted from the verification's first row,
  /// in order.
  struct Made {
    std::vector<std::uint32_t> path;
    std::uint32_t to = 0;
  };

  /// A verification of `rows`, a chain after the committed text.
  struct Verification {
    speculation::TokenHistory& text;
    Verifier& verifier;
    const speculation::TokenTree& rows;
    std::uint32_t keep_after = 0;  ///< as for a draft pass that saves hidden states (exec::PassSpec)
  };

  PipelinedDrafts(bool wanted, std::uint32_t vocabulary) : wanted_(wanted), vocabulary_(vocabulary) {}

  /// Whether drafts of `pass` can be pipelined: complete layers from the first on, all of them local.
  bool can_make(const speculation::LayerPass& pass, std::uint32_t local_layers) const;
  /// Begins a round that drafts by `pass`; until check(), its draft passes have logits.
  void begin(const speculation::LayerPass& pass);
  bool begun() const { return begun_; }
  /// Records that a draft pass of `bucket` rows took `seconds`.
  void record_time(std::uint32_t bucket, double seconds);
  /// Takes the logits that draft number `offset` was chosen from.
  void observe(std::uint32_t offset, std::span<const float> logits);
  /// The draft after `input`, which is at `position`: the round's draft number `offset`; null if it was not made. Drafts after other tokens
  /// are dropped.
  const speculation::Choice* take(const speculation::LayerPass& pass, speculation::Token input, std::uint32_t offset,
                                  std::uint32_t position);

  /// Rows from the verification's first one on that make() may write to.
  static std::uint32_t most_rows();
  /// Makes drafts after ends of a verification that has run through the draft layers and is on remote devices, as long as it has probably
  /// not returned.
  void make(exec::PipelineRunner& runner, const exec::SequenceMemory& pages, const Verification& verification);
  /// The round's verification gave `choices` and was on remote devices for `remote` seconds: the drafts after this end are kept, if there
  /// are any.
  Made check(const speculation::TokenTree& rows, std::span<const speculation::Choice> choices, double remote);
  /// Drops all drafts; the round has no pipelined drafts.
  void clear();

  std::uint64_t used() const { return used_; }
  double used_seconds() const { return used_seconds_; }  ///< of making drafts of which at least one was used

 private:
  struct Draft {
    speculation::Choice choice;
    std::vector<float> logits;  ///< that it was chosen from; the likeliest tokens are computed during a verification
  };
  /// A verification that ends after row `row` with `token`, and the drafts after it.
  struct End {
    std::uint32_t row = 0;
    speculation::Token token = -1;
    double probability = 0;
    std::uint32_t last = 0;  ///< the tree's row after which the last draft was chosen
    std::vector<Draft> drafts;
  };
  std::vector<End> likeliest_ends(const speculation::TokenTree& rows, double& reached) const;
  Draft draft_after(const Verification& verification, std::uint32_t row) const;
  void draft_after_ends(const Verification& verification, double reached);
  std::uint32_t rows_in_time(double left, std::uint32_t passes);
  void grow(std::uint32_t most_rows, std::uint32_t most_drafts);
  void run(exec::PipelineRunner& runner, const exec::SequenceMemory& pages, std::uint32_t keep_after);

  bool wanted_, begun_ = false;
  std::uint32_t vocabulary_;
  exec::LayerPlan plan_;
  std::vector<std::vector<float>> seen_;  ///< logits that the round's drafts were chosen from
  std::uint32_t base_ = 0;                ///< position of the verification's first row; after check(), of the next verification's
  std::vector<End> ends_;
  speculation::TokenTree tree_;      ///< the verification's rows and those after its ends
  std::uint32_t computed_ = 0;       ///< already computed rows of the tree, which the next pass does not run
  std::vector<Draft> made_;          ///< after the actual end
  speculation::Token pending_ = -1;  ///< token of the actual end
  exec::PassResults results_;
  std::array<double, 6> pass_seconds_{}, remote_seconds_{};  ///< by the logarithm of the bucket; 0: unknown
  std::uint32_t bucket_ = 0;                                 ///< bucket of the verification
  double seconds_ = 0;                                       ///< duration of the last make()
  std::uint64_t used_ = 0;
  double used_seconds_ = 0;
};

}  // namespace skipstone::engine
