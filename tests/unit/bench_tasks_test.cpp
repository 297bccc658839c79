// Prompts of several tasks: which are taken, and what is said of each.
#include <gtest/gtest.h>

#include "bench/preset.h"
#include "bench/report.h"
#include "bench/tasks.h"
#include "json/json.h"
#include "results/charts.h"
#include "unit/bench_sweep.h"

namespace cli::bench {
namespace {

std::vector<std::size_t> lines_of(const std::vector<Prompt>& prompts) {
  std::vector<std::size_t> lines;
  for (const Prompt& prompt : prompts) lines.push_back(prompt.line);
  return lines;
}

/// Prompts one and three are a conversation's, the second one is a translation; the drafter is twice, four times and twice as fast.
Sweep two_tasks() {
  Sweep sweep = three_prompts({1, 1, 1}, {0.5, 0.25, 0.5});
  sweep.prompts[0].prompt.category = "writing";
  sweep.prompts[1].prompt.category = "translation";
  sweep.prompts[2].prompt.category = "stem";
  return sweep;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(Tasks, MtBenchIsOneTask) {
  for (const char* category : {"writing", "roleplay", "reasoning", "math", "coding", "extraction", "stem", "humanities"}) {
    EXPECT_EQ(task_of(category), "multi-turn");
  }
  EXPECT_EQ(task_of("math_reasoning"), "math_reasoning");
  EXPECT_EQ(task_of(""), "other");
}

TEST(Tasks, ALimitIsOfEachTaskAndItsCategoriesTakeTurns) {
  std::vector<Prompt> prompts;
  for (const char* category : {"writing", "writing", "writing", "coding", "coding", "rag", "rag", "rag"}) {
    prompts.push_back({"text", prompts.size() + 1, category});
  }
  EXPECT_EQ(lines_of(first_of_each_task(prompts, 2)), (std::vector<std::size_t>{1, 4, 6, 7}));
  EXPECT_EQ(lines_of(first_of_each_task(prompts, 3)), (std::vector<std::size_t>{1, 2, 4, 6, 7, 8}));
  EXPECT_EQ(first_of_each_task(prompts, 0).size(), 8u);
  EXPECT_EQ(first_of_each_task(prompts, 100).size(), 8u);
  for (Prompt& prompt : prompts) prompt.category.clear();
  EXPECT_EQ(lines_of(first_of_each_task(prompts, 2)), (std::vector<std::size_t>{1, 2})) << "a file without tasks is one";
}

TEST(Tasks, EachHasItsSpeedUpsAndTokensPerRound) {
  const Sweep sweep = two_tasks();
  EXPECT_EQ(tasks_of(sweep), (std::vector<std::string_view>{"multi-turn", "translation"}));
  EXPECT_EQ(only_task(sweep, "multi-turn").runs.size(), 4u);
  const std::string text = tasks_text(sweep);
  EXPECT_NE(text.find("| drafter       | multi-turn (2) | translation (1) | overall |      text |"), std::string::npos) << text;
  EXPECT_NE(text.find("| asd:c=0.9,k=2 |           2.00 |            4.00 |    2.00 | identical |"), std::string::npos) << text;
  EXPECT_NE(text.find("Tokens per round by task"), std::string::npos) << text;
  EXPECT_NE(report({sweep}, Format::markdown).find("Speed-up by task"), std::string::npos);
}

TEST(Tasks, AFileOfOneHasNoTables) {
  Sweep sweep = three_prompts({1, 1, 1}, {1, 1, 1});
  EXPECT_TRUE(tasks_of(sweep).empty());
  EXPECT_EQ(tasks_text(sweep), "");
  EXPECT_EQ(report({sweep}, Format::markdown).find("by task"), std::string::npos);
  for (SweepPrompt& prompt : sweep.prompts) prompt.prompt.category = "rag";
  EXPECT_EQ(tasks_text(sweep), "");
  EXPECT_TRUE(Json::parse(report({sweep}, Format::json))[0]["tasks"].empty());
}

TEST(Tasks, AreInEveryFormat) {
  const Sweep sweep = two_tasks();
  const Json all = Json::parse(report({sweep}, Format::json))[0];
  EXPECT_EQ(all["drafters"].size(), 2u);
  EXPECT_TRUE(all["drafters"][0]["task"].is_null());
  ASSERT_EQ(all["tasks"].size(), 4u);
  EXPECT_EQ(all["tasks"][3]["task"], "translation");
  EXPECT_EQ(all["tasks"][3]["drafter"], "asd:c=0.9,k=2");
  EXPECT_EQ(all["tasks"][3]["speedup_median"], 4.0);
  EXPECT_EQ(all["tasks"][1]["prompts"], 2);
  EXPECT_EQ(all["runs"][4]["category"], "stem");
  EXPECT_EQ(all["runs"][4]["task"], "multi-turn");
  const std::string csv = report({sweep}, Format::csv), jsonl = report({sweep}, Format::jsonl), sql = report({sweep}, Format::sql);
  EXPECT_EQ(count(csv, "\n"), 1u + 2 + 4);
  EXPECT_EQ(count(csv, ",translation,"), 2u);
  EXPECT_EQ(count(jsonl, "\"record\":\"task\""), 4u);
  EXPECT_EQ(count(sql, "INSERT INTO"), 6u);
}

TEST(Tasks, OnesThatWereNotReachedAreNotThere) {
  Sweep sweep = two_tasks();
  sweep.runs.resize(2);  // interrupted
  EXPECT_EQ(tasks_text(sweep), "");
  sweep = two_tasks();
  sweep.runs.resize(4);
  EXPECT_EQ(tasks_of(sweep).size(), 2u);
}

TEST(Tasks, ThePresetHasEveryDrafterThatNeedsNothingElse) {
  PresetModel model{8, 0, "", {}};
  const Preset plain = make_preset(task_preset, model);
  model.exit_layer = 4;
  const Preset trained = make_preset(task_preset, model);
  EXPECT_EQ(trained.points.size(), plain.points.size() + 1);
  EXPECT_EQ(plain.points.back().drafter, "auto");
  EXPECT_FALSE(preset_needs_layers(task_preset));
  for (const PresetPoint& point : trained.points) {
    skipstone_session_params params = skipstone::session_params();
    params.draft = point.drafter.c_str();
    EXPECT_EQ(skipstone_session_check_params(&params), SKIPSTONE_OK) << skipstone_last_error();
    EXPECT_EQ(skipstone_draft_is_lossless(point.drafter.c_str()), 1);
  }
}

TEST(Tasks, ThePlotHasAGroupForEachAndOneOverall) {
  Sweep sweep = two_tasks();
  const Plot plot = plot_of(make_preset(task_preset, {8, 0, "", {}}), sweep);
  EXPECT_EQ(plot.groups, (std::vector<std::string>{"multi-turn", "translation", "overall"}));
  ASSERT_EQ(plot.series.size(), 1u);
  EXPECT_DOUBLE_EQ(plot.series[0].points.at(1).y, 4);
  EXPECT_DOUBLE_EQ(plot.series[0].points.at(2).x, 2);
  const std::string drawing = svg(plot);
  EXPECT_EQ(count(drawing, "<rect"), 1u + 3 + 1);  // the page, the bars, the legend
  EXPECT_NE(drawing.find(">translation<"), std::string::npos);
  for (SweepPrompt& prompt : sweep.prompts) prompt.prompt.category.clear();
  EXPECT_EQ(plot_of(make_preset(task_preset, {8, 0, "", {}}), sweep).groups, std::vector<std::string>{"overall"});
}

TEST(Plot, MoreSeriesThanColoursHaveTheFirstColoursAgain) {
  Plot plot;
  plot.bars = true;
  for (int i = 0; i < 9; ++i) plot.series.push_back({std::string(1, static_cast<char>('a' + i)), {{0, 1.0 + i}}});
  EXPECT_EQ(count(svg(plot), "class=\"c0 again\""), 1u);
}

}  // namespace
}  // namespace cli::bench
