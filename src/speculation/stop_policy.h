// Adaptive draft exit: drafting stops where the drafter is unsure, and "unsure" follows the acceptance rate.
// Zhang et al., "Draft & Verify: Lossless Large Language Model Acceleration via Self-Speculative Decoding", ACL 2024, section 3.4.
#pragma once

#include <cstdint>

namespace skipstone::speculation {

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
