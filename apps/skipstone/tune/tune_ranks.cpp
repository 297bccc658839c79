#include "tune/tune_ranks.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "json/json.h"
#include "terminal/exit_code.h"

namespace cli {
namespace {

using skipstone::Json;

Json rank_json(std::size_t rank, const Json& report) {
  const Json& profile = report["profile"];
  const bool measured = !profile["measured"].is_null();
  return {{"rank", rank},
          {"device", profile["found"]["device"]},
          {"driver", profile["found"]["driver"]},
          {"evaluations", report["evaluations"]},
          {"measured", measured},
          {"speedup", profile[measured ? "measured" : "expected"]["speedup"]},
          {"skip_set", profile["skip_set"]}};
}

std::pair<bool, double> value_of(const Json& rank) { return {rank["measured"].get<bool>(), rank["speedup"].get<double>()}; }

}  // namespace

std::string profile_of_rank(const std::string& path, std::size_t rank) {
  constexpr std::string_view ending = ".json";
  return rank == 0 ? path : fmt::format("{}.rank{}{}", path.substr(0, path.size() - ending.size()), rank, ending);
}

std::uint32_t share_of_iterations(std::uint32_t iterations, std::size_t rank, std::size_t ranks) {
  if (iterations < ranks) fail(ExitCode::usage, "--iterations {} gives {} ranks less than one set each", iterations, ranks);
  return static_cast<std::uint32_t>(iterations / ranks + (rank < iterations % ranks ? 1 : 0));
}

Json merge_searches(const std::vector<Json>& reports) {
  Json ranks = Json::array();
  std::size_t best = 0;
  bool interrupted = false;
  for (const Json& report : reports) {
    ranks.push_back(rank_json(ranks.size(), report));
    if (value_of(ranks.back()) > value_of(ranks[best])) best = ranks.size() - 1;
    interrupted = interrupted || report["interrupted"].get<bool>();
  }
  Json document = reports[best];
  document["interrupted"] = interrupted;
  document["ranks"] = std::move(ranks);
  return document;
}

std::string ranks_text(const Json& document) {
  std::string text;
  for (const Json& rank : document["ranks"]) {
    text += fmt::format("rank {:<3}{:>6} sets, best {:.3f} {}: {} ({}, {})\n", rank["rank"].get<std::size_t>(),
                        rank["evaluations"].get<std::uint32_t>(), rank["speedup"].get<double>(),
                        rank["measured"].get<bool>() ? "in real runs" : "expected", rank["skip_set"].get<std::string>(),
                        rank["device"].get<std::string>(), rank["driver"].get<std::string>());
  }
  return text;
}

}  // namespace cli
