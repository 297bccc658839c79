#include "speculation/search/online.h"

#include <cmath>

namespace skipstone::speculation::search {

OnlineSearch::OnlineSearch(const exec::LayerPlan& set, std::uint32_t layers, double share) : set_(set), layers_(layers), share_(share) {}

std::vector<exec::LayerPlan> OnlineSearch::trials(double seconds) {
  budget_seconds_ += share_ * (seconds >= last_seconds_ ? seconds - last_seconds_ : seconds);
  last_seconds_ = seconds;
  if (spent_seconds_ + last_cost_ > budget_seconds_ || layers_ < 3) return {};
  if (!has_candidate_) {
    candidate_ = swapped(set_, 1, layers_ - 1, random_);
    if (candidate_ == set_) return {};  // nothing can change places
    has_candidate_ = true;
  }
  return {set_, candidate_};
}

void OnlineSearch::tried(std::span<const std::vector<Choice>> choices, std::span<const Token> expected, double seconds) {
  spent_seconds_ += seconds;
  last_cost_ = seconds;
  for (std::size_t row = 0; row < expected.size(); ++row) {
    const bool ours = choices[0][row].token == expected[row], theirs = choices[1][row].token == expected[row];
    better_ += theirs && !ours ? 1 : 0;
    worse_ += ours && !theirs ? 1 : 0;
  }
  rows_ += static_cast<std::uint32_t>(expected.size());
  judge();
}

void OnlineSearch::judge() {
  const double lead = static_cast<double>(better_) - static_cast<double>(worse_);
  const double deviation = std::sqrt(static_cast<double>(better_ + worse_));
  const bool wins = lead > 0 && lead >= enough * deviation, hopeless = lead < -0.5 * deviation;
  if (!wins && !hopeless && rows_ < most_rows) return;
  if (wins) {
    set_ = candidate_;
    ++replaced_;
  }
  has_candidate_ = false;
  better_ = worse_ = rows_ = 0;
}

}  // namespace skipstone::speculation::search
