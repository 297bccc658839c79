// Improves a skip set while text is generated, within a share of the time. The idea is SWIFT's (Xia et al., "SWIFT: On-the-Fly
// Self-Speculative Decoding for LLM Inference Acceleration", 2024, arXiv 2410.06916): candidates are judged by how often their drafts are
// what the model has said. Ours compares each candidate with the set in use, on the same tokens, and keeps the number of skipped sublayers
// of each kind, so that drafts keep their cost and agreement alone decides.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "exec/layer_plan.h"
#include "speculation/search/moves.h"
#include "speculation/sequence.h"

namespace skipstone::speculation::search {

class OnlineSearch {
 public:
  /// `share` of the generation's time, above 0. `set` is what is in use; its first and last layer stay as they are.
  OnlineSearch(const exec::LayerPlan& set, std::uint32_t layers, double share);

  /// The set in use and a candidate, to be run over the same tokens; empty while that would take more than the share.
  /// `seconds`: of this generation so far, trials included. A generation starts where the seconds are fewer than before.
  std::vector<exec::LayerPlan> trials(double seconds);
  /// The results of trials(): for both plans the choice after each row, the tokens that the model has there, and the seconds it took.
  void tried(std::span<const std::vector<Choice>> choices, std::span<const Token> expected, double seconds);

  const exec::LayerPlan& set() const { return set_; }
  std::uint32_t replaced() const { return replaced_; }  ///< how often a candidate took over

 private:
  /// Where the two differ, a sign test: a candidate stays while it may still be better, and takes over when it is so beyond chance.
  static constexpr double enough = 2.5;  // standard deviations
  static constexpr std::uint32_t most_rows = 256;

  void judge();

  exec::LayerPlan set_, candidate_;
  std::uint32_t layers_;
  double share_;
  Random random_{0x5317f7};
  bool has_candidate_ = false;
  std::uint32_t better_ = 0, worse_ = 0, rows_ = 0;  ///< rows where the candidate alone was right, where the set in use alone was, all
  double budget_seconds_ = 0, spent_seconds_ = 0, last_seconds_ = 0, last_cost_ = 0;
  std::uint32_t replaced_ = 0;
};

}  // namespace skipstone::speculation::search
