#include "bench/report.h"

#include <array>
#include <string>

#include "bench/preset.h"
#include "bench/summary.h"
#include "bench/tasks.h"
#include "json/json.h"
#include "options/sampling.h"

namespace cli::bench {
namespace {

Json number_json(float number) { return shortest(number); }
Json number_json(std::uint32_t number) { return number; }

/// The setup as a flat object, so that csv can write it as columns.
Json setup_json(const Sweep& sweep, std::size_t prompts_run) {
  const Setup& s = sweep.setup;
  Json object = to_json(static_cast<const Where&>(s));
  if (!s.stages.empty()) object["stages"] = s.stages;
  object.update({{"max_tokens", s.max_tokens},
                 {"synthetic_acceptance", s.synthetic_acceptance.empty() ? Json(nullptr) : Json(s.synthetic_acceptance)},
                 {"prompts_file", s.prompts_file.empty() ? Json(nullptr) : Json(s.prompts_file)},
                 {"prompts_used", prompts_run},
                 {"prompts_skipped", sweep.prompts_skipped},
                 {"repeats", s.repeats},
                 {"interrupted", sweep.interrupted}});
  for (const SamplingField& field : sampling_fields) {
    if (field.option != nullptr)
      object[std::string(field.name)] = with_value(field, s.sampling, [](auto value) { return number_json(value); });
  }
  object.update({{"seed", s.sampling.seed}, {"read_once", s.read_once}});
  return object;
}

/// `task`: null for all prompts together.
Json drafter_json(const Summary& summary, const Json& task) {
  Json object = {{"task", task}};
  for (const Column& column : columns()) object[std::string(column.name)] = column.value(summary);
  return object;
}

Json run_json(const Sweep& sweep, const Run& run, bool identical) {
  const Prompt& prompt = sweep.prompts[run.prompt].prompt;
  const Json statistics = statistics_record(run.stats);
  Json record = {{"drafter", sweep.drafters[run.drafter].specification},
                 {"place", run.drafter + 1},
                 {"prompt", run.prompt + 1},
                 {"line", prompt.line == 0 ? Json(nullptr) : Json(prompt.line)},
                 {"category", prompt.category.empty() ? Json(nullptr) : Json(prompt.category)},
                 {"task", prompt.category.empty() ? Json(nullptr) : Json(task_of(prompt.category))},
                 {"repeat", run.repeat + 1},
                 {"stop_reason", run.stats.stop_reason},
                 {"prompt_tokens", run.stats.prompt_tokens},
                 {"tokens", run.stats.generated_tokens},
                 {"timed_tokens", timed_tokens(run.stats)}};
  for (const char* name : {"prompt_seconds", "generation_seconds", "draft_seconds", "verify_seconds", "round_seconds", "host_seconds",
                           "remote_seconds", "pipelined_drafts", "rounds", "drafted", "accepted", "by_position", "by_strategy", "experts",
                           "skipped_sublayers", "sublayers", "skip_set"}) {
    record[name] = statistics.at(name);
  }
  record["chosen"] = run.stats.chosen.empty() ? Json(nullptr) : Json(run.stats.chosen);
  record["identical"] = sweep.setup.synthetic_acceptance.empty() ? Json(identical) : Json(nullptr);
  return record;
}

Json runs_json(const Sweep& sweep) {
  const std::vector<bool> identical = identical_runs(sweep);
  Json runs = Json::array();
  for (std::size_t i = 0; i < sweep.runs.size(); ++i) runs.push_back(run_json(sweep, sweep.runs[i], identical[i]));
  return runs;
}

/// The results of each drafter over all prompts.
Json drafters_json(const Sweep& sweep) {
  Json drafters = Json::array();
  for (const Summary& summary : summarise(sweep)) drafters.push_back(drafter_json(summary, nullptr));
  return drafters;
}

/// The results of each task and drafter; empty unless there are several tasks.
Json tasks_json(const Sweep& sweep) {
  Json drafters = Json::array();
  for (const std::string_view task : tasks_of(sweep)) {
    for (const Summary& summary : summarise(only_task(sweep, task))) drafters.push_back(drafter_json(summary, task));
  }
  return drafters;
}

/// A flat record for each drafter of each sweep, the setup repeated on each.
std::vector<Json> drafter_records(const std::vector<Sweep>& sweeps) {
  std::vector<Json> records;
  for (const Sweep& sweep : sweeps) {
    const Json setup = setup_json(sweep, summarise(sweep).front().prompts);
    for (const Json& drafters : {drafters_json(sweep), tasks_json(sweep)}) {
      for (const Json& drafter : drafters) records.emplace_back(setup).update(drafter);
    }
  }
  return records;
}

std::string json(const std::vector<Sweep>& sweeps) {
  Json all = Json::array();
  for (const Sweep& sweep : sweeps) {
    Json object = setup_json(sweep, summarise(sweep).front().prompts);
    object["drafters"] = drafters_json(sweep);
    object["tasks"] = tasks_json(sweep);
    object["runs"] = runs_json(sweep);
    if (!sweep.ranks.empty()) object["ranks"] = ranks_json(sweep);
    all.push_back(std::move(object));
  }
  return dump(all, 1) + '\n';
}

std::string jsonl(const std::vector<Sweep>& sweeps) {
  std::string lines;
  for (const Sweep& sweep : sweeps) {
    lines += json_line("setup", setup_json(sweep, summarise(sweep).front().prompts));
    for (const Json& drafter : drafters_json(sweep)) lines += json_line("drafter", drafter);
    for (const Json& drafter : tasks_json(sweep)) lines += json_line("task", drafter);
    for (const Json& run : runs_json(sweep)) lines += json_line("run", run);
    for (const Json& rank : ranks_json(sweep)) lines += json_line("rank", rank);
  }
  return lines;
}

}  // namespace

std::span<const Table> default_tables() {
  static const std::array<Table, 2> tables = {{
      {"Speed: tokens per second of the prompt and of generation, medians over the prompts; the generation's speed-up\n"
       "against plain decoding of the same prompts: its median, its quartiles, and in total",
       {"drafter", "prompts", "tokens", "prompt_tokens_per_second_median", "tokens_per_second_median", "speedup_median",
        "speedup_lower_quartile", "speedup_total", "identical"}},
      {"Drafting: how much was right, and where the time of the generation went",
       {"drafter", "acceptance", "tokens_per_round", "draft_seconds", "verify_seconds", "round_seconds", "host_seconds",
        "skipped_sublayers_least"}},
  }};
  return tables;
}

std::string report(const std::vector<Sweep>& sweeps, Format format, std::span<const Table> tables) {
  switch (format) {
    case Format::csv:
      return csv(drafter_records(sweeps));
    case Format::json:
      return json(sweeps);
    case Format::jsonl:
      return jsonl(sweeps);
    case Format::sql:
      return sql("skipstone_drafters", drafter_records(sweeps));
    case Format::markdown:
      break;
  }
  std::string text;
  for (const Sweep& sweep : sweeps) {
    if (!text.empty()) text += '\n';
    text += markdown(sweep, summarise(sweep), tables) + tasks_text(sweep) + strategies_text(sweep) + ranks_text(sweep);
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
