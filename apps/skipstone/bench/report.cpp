#include "bench/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <nlohmann/json.hpp>
#include <string>

#include "bench/columns.h"
#include "bench/markdown.h"

namespace cli::bench {
namespace {

using Json = nlohmann::ordered_json;

/// File names and a model's metadata need not be UTF-8.
std::string dump(const Json& value, int indent = -1) { return value.dump(indent, ' ', false, Json::error_handler_t::replace); }

/// 0.95 and not 0.949999988079071.
double shortest(float number) { return std::stod(fmt::to_string(number)); }

/// One level deep, so that csv can have it as columns.
Json setup_json(const Sweep& sweep, std::size_t prompts_run) {
  const Setup& s = sweep.setup;
  return {{"date", s.date},
          {"version", s.version},
          {"commit", s.commit},
          {"device", s.device},
          {"driver", s.driver},
          {"tier", s.tier},
          {"model", s.model},
          {"model_path", s.model_path},
          {"architecture", s.architecture},
          {"fingerprint", s.fingerprint},
          {"context", s.context},
          {"kv_type", s.kv_type},
          {"max_tokens", s.max_tokens},
          {"prompts_file", s.prompts_file},
          {"prompts_used", prompts_run},
          {"prompts_skipped", sweep.prompts_skipped},
          {"repeats", s.repeats},
          {"interrupted", sweep.interrupted},
          {"temperature", shortest(s.sampling.temperature)},
          {"top_k", s.sampling.top_k},
          {"top_p", shortest(s.sampling.top_p)},
          {"min_p", shortest(s.sampling.min_p)},
          {"repeat_penalty", shortest(s.sampling.repeat_penalty)},
          {"seed", s.sampling.seed}};
}

Json drafter_json(const Summary& summary) {
  Json object = Json::object();
  for (const Column& column : columns()) object[std::string(column.name)] = column.value(summary);
  return object;
}

Json run_json(const Sweep& sweep, const Run& run, bool identical) {
  const skipstone_stats& s = run.stats;
  Json positions = Json::array();
  for (const DraftPosition& position : run.by_position) {
    positions.push_back({{"drafted", position.drafted}, {"accepted", position.accepted}});
  }
  const Prompt& prompt = sweep.prompts[run.prompt].prompt;
  return {{"drafter", sweep.drafters[run.drafter].specification},
          {"prompt", run.prompt + 1},
          {"line", prompt.line == 0 ? Json(nullptr) : Json(prompt.line)},
          {"repeat", run.repeat + 1},
          {"stop_reason", skipstone_stop_reason_name(static_cast<skipstone_stop_reason>(s.stop_reason))},
          {"prompt_tokens", s.prompt_tokens},
          {"tokens", s.generated_tokens},
          {"timed_tokens", timed_tokens(s)},
          {"prompt_seconds", s.prompt_seconds},
          {"generation_seconds", s.generation_seconds},
          {"draft_seconds", s.draft_seconds},
          {"verify_seconds", s.verify_seconds},
          {"round_seconds", s.round_seconds},
          {"host_seconds", s.host_seconds},
          {"rounds", s.rounds},
          {"drafted", s.drafted},
          {"accepted", s.accepted},
          {"by_position", std::move(positions)},
          {"skipped_sublayers", s.skipped_sublayers},
          {"sublayers", s.sublayers},
          {"skip_set", run.skip_set},
          {"identical", identical}};
}

Json runs_json(const Sweep& sweep) {
  const std::vector<bool> identical = identical_runs(sweep);
  Json runs = Json::array();
  for (std::size_t i = 0; i < sweep.runs.size(); ++i) runs.push_back(run_json(sweep, sweep.runs[i], identical[i]));
  return runs;
}

/// A list becomes "20/26 9/12": accepted of drafted, position by position. Quoted as RFC 4180 wants it.
std::string csv_field(const Json& value) {
  if (value.is_null()) return "";
  if (value.is_array()) {
    std::string text;
    for (const Json& position : value) {
      text += fmt::format("{}{}/{}", text.empty() ? "" : " ", position["accepted"].get<std::uint64_t>(),
                          position["drafted"].get<std::uint64_t>());
    }
    return text;
  }
  if (!value.is_string()) return dump(value);
  const auto& text = value.get_ref<const std::string&>();
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string escaped;
  for (const char c : text) escaped.append(c == '"' ? 2 : 1, c);
  return fmt::format("\"{}\"", escaped);
}

std::string csv(const std::vector<Sweep>& sweeps) {
  std::vector<std::string> names;
  std::string lines;
  for (const Sweep& sweep : sweeps) {
    for (const Summary& summary : summarise(sweep)) {
      Json fields = setup_json(sweep, summary.prompts);
      fields.update(drafter_json(summary));
      std::vector<std::string> values;
      names.clear();
      for (const auto& [name, value] : fields.items()) {
        names.push_back(name);
        values.push_back(csv_field(value));
      }
      lines += fmt::format("{}\n", fmt::join(values, ","));
    }
  }
  return fmt::format("{}\n{}", fmt::join(names, ","), lines);
}

std::string json(const std::vector<Sweep>& sweeps) {
  Json all = Json::array();
  for (const Sweep& sweep : sweeps) {
    const std::vector<Summary> summaries = summarise(sweep);
    Json object = setup_json(sweep, summaries.front().prompts);
    object["drafters"] = Json::array();
    for (const Summary& summary : summaries) object["drafters"].push_back(drafter_json(summary));
    object["runs"] = runs_json(sweep);
    all.push_back(std::move(object));
  }
  return dump(all, 1) + '\n';
}

std::string jsonl(const std::vector<Sweep>& sweeps) {
  std::string lines;
  const auto add = [&lines](const char* record, const Json& fields) {
    Json line = {{"record", record}};
    line.update(fields);
    lines += dump(line) + '\n';
  };
  for (const Sweep& sweep : sweeps) {
    const std::vector<Summary> summaries = summarise(sweep);
    add("setup", setup_json(sweep, summaries.front().prompts));
    for (const Summary& summary : summaries) add("drafter", drafter_json(summary));
    for (const Json& run : runs_json(sweep)) add("run", run);
  }
  return lines;
}

}  // namespace

std::span<const Table> default_tables() {
  static const std::array<Table, 2> tables = {{
      {"Speed: tokens per second of generation and of reading the prompt, median over the prompts and in total; speed-up against\n"
       "plain decoding of the same prompts",
       {"drafter", "prompts", "tokens", "prompt_tokens_per_second_median", "prompt_tokens_per_second_total", "tokens_per_second_median",
        "tokens_per_second_total", "speedup_median", "speedup_total", "identical"}},
      {"Drafting: how much was right, and where the time of the generation went",
       {"drafter", "drafted", "accepted", "acceptance", "tokens_per_round", "draft_seconds", "verify_seconds", "round_seconds",
        "host_seconds", "skipped_sublayers_least"}},
  }};
  return tables;
}

std::string report(const std::vector<Sweep>& sweeps, Format format, std::span<const Table> tables) {
  switch (format) {
    case Format::csv:
      return csv(sweeps);
    case Format::json:
      return json(sweeps);
    case Format::jsonl:
      return jsonl(sweeps);
    case Format::markdown:
      break;
  }
  std::string text;
  for (const Sweep& sweep : sweeps) {
    if (!text.empty()) text += '\n';
    text += markdown(sweep, summarise(sweep), tables);
  }
  return text;
}

std::string plain_tokens(const Sweep& sweep) {
  std::string lines;
  for (const Run& run : sweep.runs) {
    if (run.drafter != 0 || run.repeat != 0) continue;
    const SweepPrompt& prompt = sweep.prompts[run.prompt];
    lines += dump({{"prompt", prompt.prompt.text}, {"prompt_tokens", prompt.tokens}, {"tokens", run.tokens}}) + '\n';
  }
  return lines;
}

}  // namespace cli::bench
