// What people see of a model's cosines.
#include "inspect/cosine_report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "json/json.h"

namespace cli {
namespace {

using skipstone::Json;

Json layer(double mean, double least, double most) { return {{"mean", mean}, {"min", least}, {"max", most}}; }

Json report() {
  return {{"model", "tiny <&>"},
          {"device", "a device"},
          {"driver", "a driver"},
          {"layers", 2},
          {"prompts", 3},
          {"left_out", 0},
          {"tokens", 41},
          {"attention",
           {{"min", 0.581},
            {"max", 0.998},
            {"mean", 0.953},
            {"median", 0.977},
            {"microseconds", 1339.0},
            {"layers", {layer(0.63, 0.581, 0.7), layer(0.985, 0.9, 0.998)}}}},
          {"mlp",
           {{"min", 0.854},
            {"max", 0.991},
            {"mean", 0.942},
            {"median", 0.960},
            {"microseconds", 768.0},
            {"layers", {layer(0.9, 0.854, 0.95), layer(0.96, 0.95, 0.991)}}}},
          {"reading", {{"plain", 2000.0}, {"attention", 2010.0}, {"all", 2015.0}, {"attention_added", 12.0}, {"all_added", -20.0}}}};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(CosineText, IsThePapersTableAndALineForEachLayer) {
  const std::string text = cosine_text(report());
  EXPECT_TRUE(has(text, "3 prompts of 41 tokens together, on a device (a driver)")) << text;
  EXPECT_TRUE(has(text, "attention    0.581   0.998   0.953   0.977       1.339 ms")) << text;
  EXPECT_TRUE(has(text, "MLP          0.854   0.991   0.942   0.960       0.768 ms")) << text;
  EXPECT_TRUE(has(text, "2.00 ms (median); measuring attention's cosines, as asd does, adds 0.012 ms (+0.6 %)")) << text;
  EXPECT_TRUE(has(text, "-0.020 ms (-1.0 %)")) << text;
  EXPECT_FALSE(has(text, "left out"));
  const std::vector<std::string> lines = lines_of(text);
  // From 0.9 to 1 in 28 steps: 0.985 is 23.8 of them, 0.96 16.8.
  const auto bars = [](const std::string& line) { return std::count(line.begin(), line.end(), '#'); };
  ASSERT_GE(lines.size(), 2u);
  EXPECT_EQ(lines[lines.size() - 2].rfind("    0  0.6300 ......", 0), 0u) << text;
  EXPECT_EQ(bars(lines[lines.size() - 2]), 0) << text;
  EXPECT_EQ(lines.back().rfind("    1  0.9850*###", 0), 0u) << text;
  EXPECT_EQ(bars(lines.back()), 24 + 17) << text;
}

TEST(CosineText, SaysWhatWasLeftOutAndTakesAnyCosine) {
  Json document = report();
  document["left_out"] = 2;
  document["prompts"] = 1;
  document["mlp"]["layers"][1]["mean"] = -0.95;
  const std::string text = cosine_text(document);
  EXPECT_TRUE(has(text, "left out: 2, longer than the context")) << text;
  EXPECT_TRUE(has(text, "1 prompt of 41")) << text;
  EXPECT_TRUE(has(text, "bars from 0.6 to 1")) << text;
  EXPECT_TRUE(has(text, "-0.9500 .....")) << text;
}

TEST(CosinePlot, HasBothKindsWithWhiskersAndTheThreshold) {
  const Plot plot = cosine_plot(report());
  ASSERT_EQ(plot.series.size(), 2u);
  EXPECT_EQ(plot.series[0].name, "attention");
  EXPECT_EQ(plot.series[1].name, "MLP");
  EXPECT_EQ(plot.reference, 0.985);
  ASSERT_EQ(plot.series[0].points.size(), 2u);
  EXPECT_EQ(plot.series[0].points[1].x, 1);
  EXPECT_EQ(plot.series[0].points[1].y, 0.985);
  EXPECT_EQ(plot.series[0].points[1].low, 0.9);
  EXPECT_EQ(plot.series[0].points[1].high, 0.998);
  EXPECT_TRUE(has(svg(plot), "tiny &lt;&amp;&gt;"));
  EXPECT_TRUE(has(svg(plot), ">0.63</text>")) << "what lies below the axis has its number there";
}

}  // namespace
}  // namespace cli
