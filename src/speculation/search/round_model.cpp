#include "speculation/search/round_model.h"

#include <algorithm>

#include "base/status.h"

namespace skipstone::speculation::search {

Expected play(std::span<const Trace> traces, const DraftConstants& constants, const SetCosts& costs) {
  const auto most = static_cast<std::uint32_t>(std::min<std::size_t>(constants.k, costs.verify.size() - 2));
  StopPolicy policy(constants.stop);
  double microseconds = 0;
  std::uint64_t rounds = 0, tokens = 0, drafts = 0, all_accepted = 0;
  for (const Trace& trace : traces) {
    policy.begin();
    for (std::size_t at = 0; at < trace.size();) {
      const auto limit = static_cast<std::uint32_t>(std::min<std::size_t>(most, trace.size() - at - 1));
      std::uint32_t drafted = 0, accepted = 0;
      while (drafted < limit) {
        const Drafted& draft = trace[at + drafted];
        if (draft.agrees && accepted == drafted) ++accepted;
        ++drafted;
        if (!(static_cast<double>(draft.probability) >= policy.threshold())) break;
      }
      policy.update(drafted, accepted, drafted >= limit);
      microseconds += drafted * costs.draft + costs.verify[drafted + 1];
      ++rounds;
      drafts += drafted;
      all_accepted += accepted;
      tokens += accepted + 1;
      at += accepted + 1;
    }
  }
  if (rounds == 0) fail(Code::internal, "there is no text to play rounds on");
  const auto count = static_cast<double>(rounds);
  return {static_cast<double>(tokens) / count, static_cast<double>(drafts) / count,
          drafts == 0 ? 0.0 : static_cast<double>(all_accepted) / static_cast<double>(drafts),
          static_cast<double>(tokens) * costs.plain / microseconds};
}

namespace {

/// Static thresholds from 0 to this many twentieths.
constexpr int thresholds = 20;

Best best_of_grid(std::span<const Trace> traces, const SetCosts& costs, bool keep_prefix) {
  Best best;
  best.expected.speedup = -1;
  const auto consider = [&](std::uint32_t k, const StopParams& stop) {
    const DraftConstants constants{k, keep_prefix, stop};
    const Expected expected = play(traces, constants, costs);
    if (expected.speedup > best.expected.speedup) best = {constants, expected};
  };
  const auto most = static_cast<std::uint32_t>(costs.verify.size() - 2);
  for (std::uint32_t k = 1; k <= most; ++k) {
    for (int twentieths = 0; twentieths < thresholds; ++twentieths) consider(k, {.gamma = twentieths / 20.0, .adaptive = false});
  }
  // A moving threshold starts where the static one is best.
  const DraftConstants fixed = best.constants;
  for (const double alpha : {0.7, 0.8, 0.85, 0.9}) {
    for (const std::uint32_t k : {fixed.k, most}) consider(k, {.gamma = fixed.stop.gamma, .alpha = alpha});
  }
  return best;
}

}  // namespace

Best best_rounds(std::span<const Trace> traces, const RoundCosts& costs, const exec::LayerPlan& set, std::uint32_t layers) {
  const Best kept = best_of_grid(traces, SetCosts(costs, set, layers, true), true);
  if (set.whole_prefix() == 0) return kept;
  const Best anew = best_of_grid(traces, SetCosts(costs, set, layers, false), false);
  return anew.expected.speedup > kept.expected.speedup ? anew : kept;
}

}  // namespace skipstone::speculation::search
