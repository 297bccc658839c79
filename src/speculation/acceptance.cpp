#include "speculation/acceptance.h"

#include <algorithm>

#include "base/elementary.h"
#include "speculation/options.h"

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

void read_stop_options(Options& options, StopParams& params) {
  params.gamma = options.real("gamma", params.gamma, 0.0, 1.0);
  params.epsilon = options.real("eps", params.epsilon, 0.0, 1.0);
  params.alpha = options.real("alpha", params.alpha, 0.0, 1.0);
  params.beta1 = options.real("b1", params.beta1, 0.0, 1.0);
  params.beta2 = options.real("b2", params.beta2, 0.0, 1.0);
  params.adaptive = options.flag("adaptive", params.adaptive);
}

void StopPolicy::update(std::uint32_t drafted, std::uint32_t accepted, bool ran_out) {
  if (drafted == 0 || !params_.adaptive) return;
  const double now = static_cast<double>(accepted) / static_cast<double>(drafted);
  // The paper starts the average at the first round's rate; the authors' program starts it at 0, which raises the threshold for some rounds
  // whatever was accepted. We do what the paper says.
  rate_ = rated_ ? params_.beta1 * rate_ + (1.0 - params_.beta1) * now : now;
  rated_ = true;
  double target = threshold_;
  if (rate_ <= params_.alpha) {
    target = threshold_ + params_.epsilon;
  } else if (!ran_out) {  // from the authors' program: where the length ended the drafts, a lower threshold would not have made more of
                          // them
    target = threshold_ - params_.epsilon;
  }
  threshold_ = std::clamp(params_.beta2 * threshold_ + (1.0 - params_.beta2) * target, 0.0, 1.0);
}

}  // namespace skipstone::speculation
