// Sequential speculation (**lossy**): the model runs layer by layer and stops where it is sure already, or sure enough that a guess is
// right. Spuler, "Sequential speculative decoding", Aussie AI blog, 2024.
#pragma once

#include <cstdint>
#include <vector>

#include "sample/sampler.h"

namespace skipstone::speculation {

/// How the layers that a token did not run get its keys and values.
enum class HoleFill : std::uint8_t {
  propagate,  ///< at once, from the residual stream where the token left (approximate, cheap)
  recompute,  ///< by a pass of the full model over all such tokens, before the next token that needs them
};

struct EarlyExitRequest {
  std::vector<std::uint32_t> checks;  ///< numbers of layers after which the token may leave, ascending, each from 1 to layers - 1
  sample::Token drafted = -1;         ///< the guess; -1: there is none
  double drafted_share = 0;           ///< how sure the guess is by itself, 0..1
  double any = 0.8;                   ///< leave where some token has this probability
  double own = 0.5;                   ///< leave where the guess has this probability
  double reject = 0.01;               ///< below it the guess is given up
  double mix = 0;                     ///< weight of drafted_share in the guess's probability
  HoleFill fill = HoleFill::propagate;
};

enum class ExitReason : std::uint8_t { confident, drafted, full };

struct EarlyExit {
  sample::Choice choice;
  std::uint32_t layers = 0;  ///< that ran
  ExitReason reason = ExitReason::full;
  bool rejected = false;  ///< the guess was given up at a check
};

/// Of a generation.
struct EarlyExitCounts {
  std::uint64_t tokens = 0, layers = 0;  ///< layers: summed over tokens
  std::uint64_t confident = 0, drafted = 0, full = 0, rejected = 0;

  void add(const EarlyExit& exit) {
    ++tokens;
    layers += exit.layers;
    ++(exit.reason == ExitReason::confident ? confident : exit.reason == ExitReason::drafted ? drafted : full);
    rejected += exit.rejected ? 1 : 0;
  }
};

/// The rule at a check. `top`, `guess`: the un-tempered probabilities of the likeliest token and of the guess. True, with
/// `reason`, where the token leaves; `rejected` becomes true where the guess is given up, which then counts no more.
inline bool leaves(const EarlyExitRequest& request, double top, double guess, bool& rejected, ExitReason& reason) {
  if (top >= request.any) {
    reason = ExitReason::confident;
    return true;
  }
  if (request.drafted < 0 || rejected) return false;
  if (guess < request.reject) {
    rejected = true;
    return false;
  }
  reason = ExitReason::drafted;
  return (1 - request.mix) * guess + request.mix * request.drafted_share >= request.own;
}

}  // namespace skipstone::speculation
