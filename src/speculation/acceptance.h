// How drafts of one source have fared: position by position, recent rounds weighing more; and as a threshold below which drafting stops.
#pragma once

#include <array>
#include <cstdint>

namespace skipstone::speculation {

/// For each position of a round: how often a draft was made where it could have been, and how often it was right where all before it were.
/// A position that was not seen yet is taken to be as the one before it, and the first as `prior`.
class Acceptance {
 public:
  /// `memory`: rounds after which a round weighs 1/e.
  explicit Acceptance(double prior = 0.6, double memory = 40) : prior_(prior), memory_(memory) {}

  /// A round that drafted `drafted` of the `limit` drafts it was allowed, the first `accepted` of them right. `limit` 0 counts for nothing.
  void add(std::uint32_t drafted, std::uint32_t accepted, std::uint32_t limit);
  /// Time passes in which the source was not used: what is known of it fades, at a `share` of a round's rate.
  void fade(double share);

  struct Expected {
    double tokens = 1;  ///< that a round emits
    double drafts = 0;
  };
  /// Of a round that may draft up to `limit`.
  Expected expected(std::uint32_t limit) const;
  double rounds() const { return positions_[0].asked; }  ///< by weight

 private:
  static constexpr std::uint32_t most = 32;
  struct Position {
    double asked = 0, made = 0;   ///< a draft could have been made; was made
    double tried = 0, right = 0;  ///< was made after right ones; was right itself
  };
  std::array<Position, most> positions_{};
  double prior_, memory_;
};

struct StopParams {
  double gamma = 0.6;     ///< first threshold on a draft's probability
  double epsilon = 0.01;  ///< step of the threshold
  /// Acceptance rate to aim at. The paper sets it by data set and model, .70 to .90 in seven settings (table 6); .85 is their median and
  /// within .05 of five of them.
  double alpha = 0.85;
  double beta1 = 0.5;    ///< weight of the past in the acceptance rate
  double beta2 = 0.9;    ///< weight of the past in the threshold
  bool adaptive = true;  ///< false: the threshold stays gamma
};

class Options;
/// The options gamma, eps, alpha, b1, b2 and adaptive; `params` brings the defaults.
void read_stop_options(Options& options, StopParams& params);

/// Adaptive draft exit: drafting stops where the drafter is unsure, and "unsure" follows the acceptance rate. Zhang et al., "Draft &
/// Verify: Lossless Large Language Model Acceleration via Self-Speculative Decoding", ACL 2024, section 3.4.
class StopPolicy {
 public:
  explicit StopPolicy(const StopParams& params) : params_(params), threshold_(params.gamma) {}

  /// A new prompt: its acceptance rate starts anew. The threshold stays, since one round moves it by .001 and a fresh one would hardly
  /// move.
  void begin() { rated_ = false; }

  /// After a round's verification. `ran_out`: the drafts reached the most that the round could have had. Nothing drafted changes nothing.
  void update(std::uint32_t drafted, std::uint32_t accepted, bool ran_out);

  /// A draft of a lower probability (un-tempered softmax of the chosen token) is to be the round's last.
  double threshold() const { return threshold_; }
  double acceptance_rate() const { return rate_; }  ///< moving average; 0 before the first round

 private:
  StopParams params_;
  double threshold_;
  double rate_ = 0;
  bool rated_ = false;
};

}  // namespace skipstone::speculation
