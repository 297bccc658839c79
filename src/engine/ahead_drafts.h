// Drafts of the next round, made while a verification is at other devices, for the likeliest ways in which it may end: after how many
// drafts, and with which token. Where it ends so, the next round has its drafts; else they are dropped. For the end where all is right:
// PPSD (Pan et al., "Pipeline Parallelism with Early-Exit Self-Speculative Decoding", 2025, arXiv 2509.19368); for several: Kumar et al.,
// "Speculative Speculative Decoding", 2026 (arXiv 2603.03251). A draft is what it would be if it were made later: a row has the same bits
// in every pass.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/row_chooser.h"
#include "exec/executor.h"
#include "exec/layer_plan.h"
#include "spec/sequence.h"
#include "spec/token_tree.h"

namespace skipstone::engine {

class AheadDrafts {
 public:
  /// Where K and V of the inputs of drafts stand, and where the next round has them: rows from the verification's first one on, in order.
  struct Made {
    std::vector<std::uint32_t> path;
    std::uint32_t to = 0;
  };

  AheadDrafts(bool wanted, std::uint32_t vocabulary) : wanted_(wanted), vocabulary_(vocabulary) {}

  /// Whether drafts of `pass` can be made ahead: whole layers from the first on, all of them near.
  bool can_make(const spec::LayerPass& pass, std::uint32_t near_layers) const;
  /// A round begins that drafts by `pass`; until check(), its draft passes have logits.
  void begin(const spec::LayerPass& pass);
  bool begun() const { return begun_; }
  /// A draft pass of so many rows took so long.
  void took(std::uint32_t bucket, double seconds);
  /// The logits behind which draft number `offset` was chosen.
  void saw(std::uint32_t offset, std::span<const float> logits);
  /// The draft behind `input`, the round's draft number `offset`, which stands at `position`; null where it was not made. What was made
  /// behind other tokens goes.
  const spec::Choice* take(const spec::LayerPass& pass, spec::Token input, std::uint32_t offset, std::uint32_t position);

  /// Rows from the verification's first one on that make() may write to.
  static std::uint32_t most_rows();
  /// Drafts behind ends of `rows`, a chain that stands at `base`, has run through the layers of drafts and is under way, as long as it is
  /// likely not to be back. `keep_after`: as a draft pass keeps rows (exec::PassSpec).
  void make(exec::PassRunner& runner, const exec::SequencePages& pages, RowChooser& chooser, const spec::TokenTree& rows,
            std::uint32_t base, std::uint32_t keep_after);
  /// The round's verification said `choices`, and was `away` seconds at other devices: the drafts behind this end stay, where there are
  /// any.
  Made check(const spec::TokenTree& rows, std::span<const spec::Choice> choices, double away);
  /// What was made goes, and the round is none that drafts ahead.
  void clear();

  std::uint64_t used() const { return used_; }
  double used_seconds() const { return used_seconds_; }  ///< that making drafts took, of which some were used

 private:
  struct Draft {
    spec::Choice choice;
    std::vector<float> logits;  ///< behind which it was chosen; what is likely is counted while a verification is away
  };
  /// A verification that ends behind row `row` with `token`, and what is drafted behind it.
  struct End {
    std::uint32_t row = 0;
    spec::Token token = -1;
    double probability = 0;
    std::uint32_t last = 0;  ///< the tree's row behind which the last draft was chosen
    std::vector<Draft> drafts;
  };
  std::vector<End> likeliest_ends(const spec::TokenTree& rows, double& reached) const;
  Draft draft_behind(RowChooser& chooser, std::uint32_t row) const;
  void draft_behind_ends(RowChooser& chooser, const spec::TokenTree& rows, double reached);
  std::uint32_t rows_in_time(double left, std::uint32_t passes);
  void grow(std::uint32_t most_rows, std::uint32_t most_drafts);
  void run(exec::PassRunner& runner, const exec::SequencePages& pages, std::uint32_t keep_after);

  bool wanted_, begun_ = false;
  std::uint32_t vocabulary_;
  exec::LayerPlan plan_;
  std::vector<std::vector<float>> seen_;   ///< logits behind which the round's drafts were chosen
  std::uint32_t base_ = 0;                 ///< position of the verification's first row; behind check(), of the next one's
  std::vector<End> ends_;
  spec::TokenTree tree_;        ///< the verification's rows and those behind its ends
  std::uint32_t standing_ = 0;  ///< rows of the tree that the next pass does not run, since they stand
  std::vector<Draft> made_;   ///< behind the end that came true
  spec::Token pending_ = -1;  ///< its token
  exec::PassResults results_;
  std::array<double, 6> pass_seconds_{}, away_seconds_{};  ///< by the logarithm of the bucket; 0: not known
  std::uint32_t bucket_ = 0;                               ///< of the verification
  double seconds_ = 0;                                     ///< that the last make() took
  std::uint64_t used_ = 0;
  double used_seconds_ = 0;
};

}  // namespace skipstone::engine
