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
  /// The inputs of the drafts that were taken since the last pass: their keys and values stand nowhere yet.
  std::vector<spec::Token> give_taken();

  /// Rows from the verification's first one on that make() may write to.
  static std::uint32_t most_rows();
  /// Drafts behind ends of `rows`, a chain that stands at `base` and is under way, as long as it is likely not to be back.
  void make(exec::PassRunner& runner, const exec::SequencePages& pages, RowChooser& chooser, const spec::TokenTree& rows,
            std::uint32_t base);
  /// The round's verification said `choices`, and was `away` seconds at other devices: the drafts behind this end stay, where there are
  /// any.
  void check(const spec::TokenTree& rows, std::span<const spec::Choice> choices, double away);
  /// What was made goes, and the round is none that drafts ahead.
  void clear();

  std::uint64_t used() const { return used_; }
  double used_seconds() const { return used_seconds_; }  ///< that making drafts took, of which some were used

 private:
  struct Likely {
    spec::Token token = -1;
    double probability = 0;
  };
  struct Draft {
    spec::Choice choice;
    std::vector<Likely> likeliest;
  };
  /// A verification that ends behind row `row` with `token`, and what is drafted behind it.
  struct End {
    std::uint32_t row = 0;
    spec::Token token = -1;
    double probability = 0;
    std::uint32_t last = 0;  ///< the tree's row of the last token; 0: it is not in the tree
    std::vector<Draft> drafts;
  };
  std::vector<Likely> likeliest_of(std::span<const float> logits) const;
  std::span<const float> logits(std::uint32_t row) const;
  std::vector<End> likeliest_ends(const spec::TokenTree& rows, double& reached) const;
  Draft draft_behind(RowChooser& chooser, const spec::TokenTree& tree, std::uint32_t row, std::uint32_t base) const;
  std::uint32_t rows_in_time(std::uint32_t least, double since);
  spec::TokenTree tree_of(const spec::TokenTree& rows, std::uint32_t most_rows);
  void run(exec::PassRunner& runner, const exec::SequencePages& pages, const spec::TokenTree& tree, std::uint32_t base);

  bool wanted_, begun_ = false;
  std::uint32_t vocabulary_;
  exec::LayerPlan plan_;
  std::vector<std::vector<Likely>> seen_;  ///< behind which the round's drafts were chosen
  std::uint32_t base_ = 0;                 ///< position of the verification's first row; behind check(), of the next one's
  std::vector<End> ends_;
  std::vector<Draft> made_;   ///< behind the end that came true
  spec::Token pending_ = -1;  ///< its token
  std::vector<spec::Token> taken_;
  exec::PassResults results_;
  std::array<double, 6> pass_seconds_{}, away_seconds_{};  ///< by the logarithm of the bucket; 0: not known
  std::uint32_t bucket_ = 0;                               ///< of the verification
  double seconds_ = 0;                                     ///< that the last make() took
  std::uint64_t used_ = 0;
  double used_seconds_ = 0;
};

}  // namespace skipstone::engine
