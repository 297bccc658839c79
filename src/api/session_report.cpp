// Results of a session's last generation.
#include <string>

#include "api/guard.h"
#include "api/handles.h"
#include "json/json.h"
#include "skipstone/skipstone_experimental.h"

namespace skipstone::api {
namespace {

Json by_drafter_json(const speculation::Stats& stats) {
  Json list = Json::array();
  for (const speculation::DrafterShare& share : stats.by_drafter) {
    list.push_back({{"drafter", share.name}, {"rounds", share.rounds}, {"drafted", share.drafted}, {"accepted", share.accepted}});
  }
  return list;
}

Json by_strategy_json(const speculation::Stats& stats) {
  Json list = Json::array();
  for (const speculation::StrategyCounts& counts : stats.by_strategy) {
    list.push_back(
        {{"strategy", counts.name}, {"rows", counts.rows}, {"won_by_rank", counts.by_rank}, {"won_by_length", counts.by_length}});
  }
  return list;
}

Json by_position_json(const speculation::Stats& stats) {
  Json list = Json::array();
  for (const speculation::DraftPosition& position : stats.by_position) {
    list.push_back({{"drafted", position.drafted}, {"accepted", position.accepted}});
  }
  return list;
}

Json early_json(const speculation::EarlyExitCounts& early) {
  return {{"tokens", early.tokens},   {"layers", early.layers}, {"confident", early.confident},
          {"guessed", early.drafted}, {"full", early.full},     {"rejected", early.rejected}};
}

Json seconds_json(const speculation::Stats& stats) {
  return {{"prompt", stats.prompt_seconds}, {"generation", stats.generation_seconds},
          {"draft", stats.draft_seconds},   {"verify", stats.verify_seconds},
          {"round", stats.round_seconds},   {"refresh", stats.refresh_seconds},
          {"host", stats.host_seconds()},   {"device", stats.device_seconds},
          {"remote", stats.remote_seconds}, {"pipelined", stats.pipelined_seconds},
          {"plain", stats.plain_seconds}};
}

Json report_json(const skipstone_session& session) {
  const speculation::Stats& stats = session.last.stats;
  const engine::CorpusFacts& corpus = session.session->corpus();
  return {{"stop_reason", speculation::to_string(session.last.stop)},
          {"prompt_tokens", stats.prompt_tokens},
          {"cached_tokens", stats.cached_tokens},
          {"generated_tokens", stats.generated_tokens},
          {"drafter", stats.drafter},
          {"by_drafter", by_drafter_json(stats)},
          {"by_strategy", by_strategy_json(stats)},
          {"corpus", {{"tokens", corpus.tokens}, {"bytes", corpus.bytes}, {"seconds", corpus.seconds}}},
          {"rounds", stats.rounds},
          {"device_rounds", stats.device_rounds},
          {"pipelined_drafts", stats.pipelined_drafts},
          {"drafted", stats.drafted},
          {"accepted", stats.accepted},
          {"by_position", by_position_json(stats)},
          {"experts", {{"layers", stats.experts.layers}, {"distinct", stats.experts.distinct}, {"choices", stats.experts.choices}}},
          {"skipped_sublayers", stats.skipped_sublayers},
          {"sublayers", stats.sublayers},
          {"skip_set", stats.plan},
          {"refreshes", stats.refreshes},
          {"refreshed_sets", stats.refreshed_sets},
          {"chosen", stats.explanation},
          {"lossy", stats.early_exits.tokens > 0},
          {"early", early_json(stats.early_exits)},
          {"thresholds", stats.thresholds},
          {"attention_cosine", session.session->attention_cosine()},
          {"seconds", seconds_json(stats)}};
}

}  // namespace
}  // namespace skipstone::api

using namespace skipstone;

extern "C" {

skipstone_status skipstone_session_stats(const skipstone_session* session, skipstone_stats* stats) {
  return api::guard([&] {
    api::require(session, "session");
    const api::ReadAccess access(*session);
    access.require();
    const speculation::Stats& from = session->last.stats;
    skipstone_stats filled{};
    filled.stop_reason = static_cast<int32_t>(session->last.stop);
    filled.lossy = from.early_exits.tokens > 0 ? 1 : 0;
    filled.prompt_tokens = from.prompt_tokens;
    filled.generated_tokens = from.generated_tokens;
    filled.rounds = from.rounds;
    filled.drafted = from.drafted;
    filled.accepted = from.accepted;
    filled.prompt_seconds = from.prompt_seconds;
    filled.generation_seconds = from.generation_seconds;
    filled.device_seconds = from.device_seconds;
    api::give(filled, stats);
  });
}

skipstone_status skipstone_session_report(const skipstone_session* session, char** json) {
  return api::guard([&] {
    api::require(json, "json");
    *json = nullptr;
    api::require(session, "session");
    const api::ReadAccess access(*session);
    access.require();
    *json = api::copy_string(api::print(api::report_json(*session)));
  });
}

skipstone_status skipstone_session_agreement(skipstone_session* session, double* share) {
  return api::guard([&] {
    api::require(session, "session");
    api::require(share, "share");
    const api::SessionUse use(*session);
    if (session->last.tokens.empty()) fail(Code::invalid_argument, "nothing was generated that the model could agree with");
    *share = session->session->agreement(session->last.tokens.size());
  });
}

}  // extern "C"
