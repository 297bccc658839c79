#include "bench/tasks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "bench/summary.h"
#include "results/fitted_grid.h"
#include "results/formats.h"

namespace cli::bench {
namespace {

constexpr std::array<std::string_view, 8> conversation = {"writing", "roleplay",   "reasoning", "math",
                                                          "coding",  "extraction", "stem",      "humanities"};

/// Summaries of each drafter by task, and over all tasks at the end.
std::vector<std::vector<Summary>> summaries_of(const Sweep& sweep, const std::vector<std::string_view>& tasks) {
  std::vector<std::vector<Summary>> all;
  all.reserve(tasks.size() + 1);
  for (const std::string_view task : tasks) all.push_back(summarise(only_task(sweep, task)));
  all.push_back(summarise(sweep));
  return all;
}

using Of = std::optional<double> Summary::*;

std::string task_table(const Sweep& sweep, const std::vector<std::string_view>& tasks, const std::vector<std::vector<Summary>>& summaries,
                       Of value) {
  std::vector<std::vector<std::string>> rows(1, {"drafter"});
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    rows[0].push_back(fmt::format("{} ({})", cell(std::string(tasks[i])), summaries[i].front().prompts));
  }
  rows[0].insert(rows[0].end(), {"overall", "text"});
  for (std::size_t drafter = 0; drafter < sweep.drafters.size(); ++drafter) {
    auto& row = rows.emplace_back(std::vector<std::string>{cell(sweep.drafters[drafter].specification)});
    for (const auto& of_task : summaries) {
      const std::optional<double> number = of_task[drafter].*value;
      row.push_back(number ? fmt::format("{:.2f}", *number) : "-");
    }
    row.push_back(equality_text(summaries.back()[drafter]));
  }
  return fitted_grid(rows, {}, output_width());
}

}  // namespace

std::string_view task_of(std::string_view category) {
  if (category.empty()) return "other";
  return std::ranges::find(conversation, category) == conversation.end() ? category : "multi-turn";
}

std::vector<Prompt> first_of_each_task(const std::vector<Prompt>& prompts, std::size_t count) {
  if (count == 0) return prompts;
  // The first prompts of all of a task's categories, then the second ones, ...
  std::map<std::string_view, std::vector<std::pair<std::size_t, std::size_t>>> turns;  // by task: place in the category, place in the file
  std::map<std::string_view, std::size_t> seen;
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    turns[task_of(prompts[i].category)].emplace_back(seen[prompts[i].category]++, i);
  }
  std::vector<std::size_t> chosen;
  for (auto& [task, of_task] : turns) {
    std::ranges::sort(of_task);
    for (std::size_t i = 0; i < std::min(count, of_task.size()); ++i) chosen.push_back(of_task[i].second);
  }
  std::ranges::sort(chosen);
  std::vector<Prompt> result;
  result.reserve(chosen.size());
  for (const std::size_t i : chosen) result.push_back(prompts[i]);
  return result;
}

std::vector<std::string_view> tasks_of(const Sweep& sweep) {
  std::vector<std::string_view> tasks;
  for (const Run& run : sweep.runs) {
    const std::string_view task = task_of(sweep.prompts[run.prompt].prompt.category);
    if (std::ranges::find(tasks, task) == tasks.end()) tasks.push_back(task);
  }
  if (tasks.size() < 2) tasks.clear();
  return tasks;
}

Sweep only_task(const Sweep& sweep, std::string_view task) {
  Sweep one;
  one.setup = sweep.setup;
  one.drafters = sweep.drafters;
  one.prompts = sweep.prompts;
  for (const Run& run : sweep.runs) {
    if (task_of(sweep.prompts[run.prompt].prompt.category) == task) one.runs.push_back(run);
  }
  return one;
}

std::string tasks_text(const Sweep& sweep) {
  const std::vector<std::string_view> tasks = tasks_of(sweep);
  if (tasks.empty()) return "";
  const auto summaries = summaries_of(sweep, tasks);
  return fmt::format(
      "\nSpeed-up by task: medians of the ratios to plain decoding of the same prompts; after a task the number of its prompts\n\n{}\n"
      "Tokens per round by task\n\n{}",
      task_table(sweep, tasks, summaries, &Summary::speedup_median), task_table(sweep, tasks, summaries, &Summary::tokens_per_round));
}

void plot_tasks(const Sweep& sweep, Plot& plot) {
  const std::vector<std::string_view> tasks = tasks_of(sweep);
  const auto summaries = summaries_of(sweep, tasks);
  plot.bars = true;
  plot.groups.assign(tasks.begin(), tasks.end());
  plot.groups.emplace_back("overall");
  for (std::size_t drafter = 1; drafter < sweep.drafters.size(); ++drafter) {
    Series series{sweep.drafters[drafter].specification, {}};
    for (std::size_t group = 0; group < summaries.size(); ++group) {
      if (const auto speedup = summaries[group][drafter].speedup_median) series.points.push_back({double(group), *speedup});
    }
    plot.series.push_back(std::move(series));
  }
}

}  // namespace cli::bench
