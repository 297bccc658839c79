#include "speculation/stats.h"

#include <algorithm>
#include <array>
#include <utility>

namespace skipstone::speculation {

const char* to_string(StopReason reason) {
  static constexpr std::array names = {"max_tokens", "end_token", "context_full", "cancelled", "stop_string"};
  const auto number = static_cast<std::size_t>(reason);
  return number < names.size() ? names[number] : "unknown";
}

void Stats::count_round(const std::string& proposer, std::uint64_t all_drafts, std::uint32_t height, std::uint32_t accepted_drafts) {
  ++rounds;
  drafted += all_drafts;
  accepted += accepted_drafts;
  auto share = std::ranges::find(by_drafter, proposer, &DrafterShare::name);
  if (share == by_drafter.end()) share = by_drafter.insert(share, {proposer});
  ++share->rounds;
  share->drafted += all_drafts;
  share->accepted += accepted_drafts;
  if (by_position.size() < height) by_position.resize(height);
  for (std::uint32_t i = 0; i < height; ++i) {
    ++by_position[i].drafted;
    if (i < accepted_drafts) ++by_position[i].accepted;
  }
}

void Stats::take(const SequenceTimes& begin, const SequenceTimes& end) {
  device_seconds = end.device_seconds - begin.device_seconds;
  remote_seconds = end.remote_seconds - begin.remote_seconds;
  pipelined_seconds = end.pipelined_seconds - begin.pipelined_seconds;
  pipelined_drafts = end.pipelined_drafts - begin.pipelined_drafts;
  experts = end.experts - begin.experts;
}

void Stats::take(DrafterReport report) {
  plan = std::move(report.plan);
  skipped_sublayers = report.skipped_sublayers;
  explanation = std::move(report.explanation);
  by_strategy = std::move(report.strategies);
}

}  // namespace skipstone::speculation
