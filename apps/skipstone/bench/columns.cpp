#include "bench/columns.h"

#include <fmt/format.h>

#include <array>
#include <stdexcept>

namespace cli::bench {

Json value_of(std::optional<double> number) { return number ? Json(*number) : Json(nullptr); }

namespace {

std::string rate(std::optional<double> tokens_per_second) { return tokens_per_second ? fmt::format("{:.1f}", *tokens_per_second) : "-"; }

std::string ratio(std::optional<double> number) { return number ? fmt::format("{:.2f}", *number) : "-"; }

std::string share_of_generation(double seconds, const Summary& s) { return percent(quotient(seconds, s.generation_seconds)); }

std::string skipped(const Summary& s) {
  if (s.least_skipped == s.most_skipped) return fmt::format("{} of {}", s.most_skipped, s.sublayers);
  return fmt::format("{}-{} of {}", s.least_skipped, s.most_skipped, s.sublayers);
}

Json positions(const Summary& s) {
  Json list = Json::array();
  for (const DraftPosition& position : s.by_position) list.push_back({{"drafted", position.drafted}, {"accepted", position.accepted}});
  return list;
}

constexpr std::array<Column, 30> table = {{
    {"drafter", "drafter", [](const Summary& s) { return Json(s.drafter); }, [](const Summary& s) { return s.drafter; }},
    {"prompts", "prompts", [](const Summary& s) { return Json(s.prompts); }, [](const Summary& s) { return fmt::to_string(s.prompts); }},
    {"runs", "runs", [](const Summary& s) { return Json(s.runs); }, [](const Summary& s) { return fmt::to_string(s.runs); }},
    {"prompt_tokens", "", [](const Summary& s) { return Json(s.prompt_tokens); }, nullptr},
    {"prompt_seconds", "", [](const Summary& s) { return Json(s.prompt_seconds); }, nullptr},
    {"prompt_tokens_per_second_median", "prompt t/s", [](const Summary& s) { return value_of(s.prompt_rate_median); },
     [](const Summary& s) { return rate(s.prompt_rate_median); }},
    {"prompt_tokens_per_second_total", "total", [](const Summary& s) { return value_of(s.prompt_rate_total); },
     [](const Summary& s) { return rate(s.prompt_rate_total); }},
    {"tokens", "tokens", [](const Summary& s) { return Json(s.tokens); }, [](const Summary& s) { return fmt::to_string(s.tokens); }},
    {"timed_tokens", "", [](const Summary& s) { return Json(s.timed_tokens); }, nullptr},
    {"generation_seconds", "", [](const Summary& s) { return Json(s.generation_seconds); }, nullptr},
    {"tokens_per_second_median", "tokens/s", [](const Summary& s) { return value_of(s.rate_median); },
     [](const Summary& s) { return rate(s.rate_median); }},
    {"tokens_per_second_total", "total", [](const Summary& s) { return value_of(s.rate_total); },
     [](const Summary& s) { return rate(s.rate_total); }},
    {"speedup_median", "speed-up", [](const Summary& s) { return value_of(s.speedup_median); },
     [](const Summary& s) { return ratio(s.speedup_median); }},
    {"speedup_total", "total", [](const Summary& s) { return value_of(s.speedup_total); },
     [](const Summary& s) { return ratio(s.speedup_total); }},
    {"rounds", "", [](const Summary& s) { return Json(s.rounds); }, nullptr},
    {"drafted", "drafted", [](const Summary& s) { return Json(s.drafted); }, [](const Summary& s) { return fmt::to_string(s.drafted); }},
    {"accepted", "accepted", [](const Summary& s) { return Json(s.accepted); },
     [](const Summary& s) { return fmt::to_string(s.accepted); }},
    {"tokens_per_round", "tokens/round", [](const Summary& s) { return value_of(s.tokens_per_round); },
     [](const Summary& s) { return ratio(s.tokens_per_round); }},
    {"acceptance", "acceptance", [](const Summary& s) { return value_of(s.acceptance); },
     [](const Summary& s) { return percent(s.acceptance); }},
    {"by_position", "", positions, nullptr},
    {"draft_seconds", "draft", [](const Summary& s) { return Json(s.draft_seconds); },
     [](const Summary& s) { return share_of_generation(s.draft_seconds, s); }},
    {"verify_seconds", "verify", [](const Summary& s) { return Json(s.verify_seconds); },
     [](const Summary& s) { return share_of_generation(s.verify_seconds, s); }},
    {"round_seconds", "round", [](const Summary& s) { return Json(s.round_seconds); },
     [](const Summary& s) { return share_of_generation(s.round_seconds, s); }},
    {"host_seconds", "host", [](const Summary& s) { return Json(s.host_seconds); },
     [](const Summary& s) { return share_of_generation(s.host_seconds, s); }},
    {"skipped_sublayers_least", "skipped sublayers", [](const Summary& s) { return Json(s.least_skipped); }, skipped},
    {"skipped_sublayers_most", "", [](const Summary& s) { return Json(s.most_skipped); }, nullptr},
    {"sublayers", "", [](const Summary& s) { return Json(s.sublayers); }, nullptr},
    {"identical", "text", [](const Summary& s) { return s.comparable ? Json(s.differing.empty()) : Json(nullptr); }, equality_text},
    {"differing_prompts", "", [](const Summary& s) { return s.comparable ? Json(s.differing.size()) : Json(nullptr); }, nullptr},
    {"lossless", "lossless", [](const Summary& s) { return Json(s.lossless); },
     [](const Summary& s) { return std::string(s.lossless ? "yes" : "no"); }},
}};

}  // namespace

std::span<const Column> columns() { return table; }

const Column& column(std::string_view name) {
  for (const Column& candidate : table) {
    if (candidate.name == name) return candidate;
  }
  throw std::logic_error(fmt::format("bench has no column '{}'", name));
}

std::string percent(std::optional<double> share) { return share ? fmt::format("{:.1f} %", 100.0 * *share) : "-"; }

}  // namespace cli::bench
