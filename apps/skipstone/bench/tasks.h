// Prompts of several tasks, as Spec-Bench has them (Xia et al., Findings of ACL 2024, arXiv 2401.07851): results by task.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "bench/sweep_data.h"
#include "results/charts.h"

namespace cli::bench {

/// The task of a prompt of this category: "multi-turn" for the eight categories of MT-bench, which Spec-Bench takes as one task;
/// "other" for none; else the category itself.
std::string_view task_of(std::string_view category);

/// At most `count` prompts of each task, 0: all, in their order. A task's categories contribute equally, as far as they have prompts.
std::vector<Prompt> first_of_each_task(const std::vector<Prompt>& prompts, std::size_t count);

/// The tasks of the prompts that were run, in the order of their first prompts; empty if there are fewer than two.
std::vector<std::string_view> tasks_of(const Sweep& sweep);
/// The sweep restricted to the runs of one task; it keeps all drafters, prompts and the setup.
Sweep only_task(const Sweep& sweep, std::string_view task);

/// Two tables, speed-ups and tokens per round of each drafter by task and overall; "" if there are fewer than two tasks.
std::string tasks_text(const Sweep& sweep);
/// Bars of the drafters' speed-ups in groups, one for each task and one overall.
void plot_tasks(const Sweep& sweep, Plot& plot);

}  // namespace cli::bench
