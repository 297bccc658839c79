// Drafts of the next round, made while a verification is at other devices, on the guess that all of its drafts are right (PPSD: Pan et al.,
// "Pipeline Parallelism with Early-Exit Self-Speculative Decoding", 2025, arXiv 2509.19368). Kept if so, dropped if not: a draft is what it
// would be if it were made later, since the layers that make it leave the bits that the verification leaves.
#pragma once

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

  /// Whether `pass` is one whose drafts can be made ahead: whole layers from the first on, all of them near.
  bool can_make(const spec::LayerPass& pass, std::uint32_t near_layers) const;
  /// The round drafts by `pass` and keeps its rows, or not.
  void begin(const spec::LayerPass& pass, bool keeps);
  bool begun() const { return begun_; }
  /// Positions behind the rows of a verification that make() may write to.
  std::uint32_t most(const spec::TokenTree& rows) const { return rows.drafts() + 1; }

  /// Drafts behind `rows`, a chain that stands at `base` and is under way, as long as it is not back.
  void make(exec::PassRunner& runner, const exec::SequencePages& pages, RowChooser& chooser, const spec::TokenTree& rows,
            std::uint32_t base);
  /// What the verification said: what was made stays if the guess was right.
  void check(const spec::TokenTree& rows, std::span<const spec::Choice> choices);
  /// The draft behind `input`, the round's draft number `offset`, which stands at `position`; null where it was not made. What was made
  /// behind other tokens goes.
  const spec::Choice* take(const spec::LayerPass& pass, spec::Token input, std::uint32_t offset, std::uint32_t position);
  /// What was made goes, and the round is none that drafts ahead.
  void clear();

  bool empty() const { return made_.empty(); }
  bool keeps() const { return keeps_; }  ///< the rows of what was made are among the kept rows
  std::uint64_t used() const { return used_; }
  double used_seconds() const { return used_seconds_; }  ///< that making those took

 private:
  struct Made {
    spec::Token input = -1;
    spec::Choice choice;
    double seconds = 0;
  };
  spec::Choice draft(exec::PassRunner& runner, const exec::SequencePages& pages, RowChooser& chooser, spec::Token input,
                     std::uint32_t position, std::uint32_t kept, bool keep);

  bool wanted_, begun_ = false, keeps_ = false;
  std::uint32_t vocabulary_;
  exec::LayerPlan plan_;
  std::uint32_t base_ = 0;  ///< position of the first input
  std::vector<Made> made_;
  exec::PassResults results_;
  double guess_seconds_ = 0;  ///< that the guess of the pending token took
  std::uint64_t used_ = 0;
  double used_seconds_ = 0;
};

}  // namespace skipstone::engine
