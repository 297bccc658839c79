#include "speculation/acceptance.h"

#include <algorithm>

#include "base/elementary.h"

namespace skipstone::speculation {
namespace {

/// Rounds that the assumption about a position counts for.
constexpr double prior_rounds = 2;

}  // namespace

void Acceptance::fade(double share) {
  const double keep = exp_of_nonpositive(-share / memory_);
  for (Position& p : positions_) {
    p.asked *= keep;
    p.made *= keep;
    p.tried *= keep;
    p.right *= keep;
  }
}

void Acceptance::add(std::uint32_t drafted, std::uint32_t accepted, std::uint32_t limit) {
  if (limit == 0) return;
  fade(1);
  for (std::uint32_t i = 0; i < std::min(limit, most); ++i) {
    Position& p = positions_[i];
    p.asked += 1;
    if (i >= drafted) break;  // no draft could have been made after it
    p.made += 1;
    if (i > accepted) continue;  // after a wrong draft: carries no information
    p.tried += 1;
    if (i < accepted) p.right += 1;
  }
}

Acceptance::Expected Acceptance::expected(std::uint32_t limit) const {
  Expected result;
  double there = 1, right = 1, assumed = prior_, assumed_made = 1;
  for (std::uint32_t i = 0; i < std::min(limit, most); ++i) {
    const Position& p = positions_[i];
    assumed_made = (p.made + prior_rounds * assumed_made) / (p.asked + prior_rounds);
    assumed = (p.right + prior_rounds * assumed) / (p.tried + prior_rounds);
    there *= assumed_made;
    right *= assumed_made * assumed;
    result.drafts += there;
    result.tokens += right;
  }
  return result;
}

}  // namespace skipstone::speculation
