// skipstone inspect --cosine, and asd:refresh=N.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_model.h"
#include "program.h"

namespace skipstone::e2e {
namespace {

using nlohmann::json;

class CliCosine : public testing::Test {
 protected:
  void SetUp() override {
    fixtures::write_tiny_model({.layers = 6}, model());
    std::ofstream(prompts()) << "\"the quick brown fox\"\n{\"prompt\": \"jumps over\"}\n\"a lazy dog\"\n";
  }
  std::string model() const { return folder_.file("tiny.gguf"); }
  std::string prompts() const { return folder_.file("prompts.jsonl"); }
  std::string picture() const { return folder_.file("layers.svg"); }
  static bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }
  static void refused(const std::vector<std::string>& arguments, int code, const std::string& words) {
    const Result result = run(arguments);
    EXPECT_EQ(result.code, code) << result.error;
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(result.error.rfind("error: ", 0), 0u) << result.error;
    EXPECT_TRUE(has(result.error, words)) << result.error;
    EXPECT_EQ(std::count(result.error.begin(), result.error.end(), '\n'), 1) << result.error;
  }

  fixtures::TemporaryDirectory folder_;
};

TEST_F(CliCosine, StatisticsFollowFromTheLayersOfSinglePrompts) {
  std::vector<double> attention, mlp;
  for (const char* prompt : {"the quick brown fox", "jumps over", "a lazy dog"}) {
    std::ofstream(folder_.file("one.txt")) << prompt;
    const Result one = run({"inspect", "--cosine", model(), "--prompts", folder_.file("one.txt"), "--json"});
    ASSERT_EQ(one.code, 0) << one.error;
    const json report = json::parse(one.out);
    ASSERT_EQ(report["attention"]["layers"].size(), 6u);
    for (const json& layer : report["attention"]["layers"]) attention.push_back(layer["mean"]);
    for (const json& layer : report["mlp"]["layers"]) mlp.push_back(layer["mean"]);
    // What asd measures of the same prompt.
    const json asd = json::parse(run({"run", "-m", model(), "-p", prompt, "-n", "2", "--draft", "asd", "--json"}).out);
    for (std::size_t i = 0; i < 6; ++i)
      EXPECT_EQ(asd["attention_cosine"][i].get<float>(), report["attention"]["layers"][i]["mean"].get<float>()) << i;
  }
  const Result all = run({"inspect", "--cosine", model(), "--prompts", prompts(), "--json"});
  ASSERT_EQ(all.code, 0) << all.error;
  const json report = json::parse(all.out);
  EXPECT_EQ(report["prompts"], 3);
  EXPECT_EQ(report["left_out"], 0);
  for (const auto& [kind, values] : {std::pair("attention", &attention), std::pair("mlp", &mlp)}) {
    std::vector<double>& v = *values;
    std::sort(v.begin(), v.end());
    double sum = 0;
    for (const double value : v) sum += value;
    EXPECT_DOUBLE_EQ(report[kind]["min"].get<double>(), v.front());
    EXPECT_DOUBLE_EQ(report[kind]["max"].get<double>(), v.back());
    EXPECT_NEAR(report[kind]["mean"].get<double>(), sum / 18, 1e-12);
    EXPECT_DOUBLE_EQ(report[kind]["median"].get<double>(), (v[8] + v[9]) / 2);
    EXPECT_GE(report[kind]["microseconds"].get<double>(), 0.0);
  }
  EXPECT_GT(report["reading"]["plain"].get<double>(), 0.0);
}

TEST_F(CliCosine, PrintsATableAPictureAndWritesAnother) {
  const Result result = run({"inspect", "--cosine", model(), "--prompts", prompts(), "--limit", "2", "-o", picture()});
  ASSERT_EQ(result.code, 0) << result.error;
  EXPECT_TRUE(has(result.out, "2 prompts of")) << result.out;
  EXPECT_TRUE(has(result.out, "mean time")) << result.out;
  std::istringstream lines(result.out);
  std::size_t rows = 0, filled = 0;
  for (std::string line; std::getline(lines, line);) {
    const auto marks = std::count_if(line.begin(), line.end(), [](char c) { return c == '#' || c == '.'; });
    rows += marks >= 2 * 28 ? 1 : 0;  // two bars
    filled += std::count(line.begin(), line.end(), '#') > 0 ? 1 : 0;
  }
  EXPECT_EQ(rows, 6u) << result.out;
  EXPECT_GE(filled, 4u) << "bars begin below three quarters of the values";
  std::stringstream svg;
  svg << std::ifstream(picture()).rdbuf();
  EXPECT_EQ(svg.str().rfind("<svg", 0), 0u);
  EXPECT_TRUE(has(svg.str(), "average cosine"));
  EXPECT_TRUE(has(svg.str(), "</svg>"));
}

TEST_F(CliCosine, RefusesWhatItCannotDo) {
  refused({"inspect", "--cosine", model()}, 2, "--cosine needs texts to read; name a file of them with --prompts FILE");
  refused({"inspect", "--cosine", model(), "--prompts", folder_.file("none.jsonl")}, 2, "none.jsonl");
  std::ofstream(folder_.file("bad.jsonl")) << "{\"prompt\": 7}\n";
  refused({"inspect", "--cosine", model(), "--prompts", folder_.file("bad.jsonl")}, 2, "bad.jsonl");
  refused({"inspect", "--cosine", folder_.file("none.gguf"), "--prompts", prompts()}, 3, "none.gguf");
  refused({"inspect", "--cosine", model(), "--prompts", prompts(), "--limit", "-1"}, 2, "--limit -1");
  refused({"inspect", "--cosine", model(), "--prompts", prompts(), "--tensors"}, 2, "take one of them");
  refused({"inspect", "--cosine", model(), "--prompts", prompts(), "-o", folder_.file("none/x.svg")}, 1, "x.svg");
  refused({"inspect", "--cosine", model(), "--prompts", prompts(), "--ctx", "2"}, 2, "longer than the context of 2 tokens");
  refused({"inspect", "--cosine", model(), "--prompts", prompts(), "--device", "no such device"}, 4, "no such device");
  refused({"inspect", model(), "--prompts", prompts()}, 2, "--prompts is for --cosine");
  refused({"inspect", model(), "-o", picture()}, 2, "--output is for --cosine");
  EXPECT_FALSE(std::filesystem::exists(picture()));
}

TEST_F(CliCosine, WhatTheEnvironmentHasForOtherCommandsIsNoReasonToRefuse) {
  const std::map<std::string, std::string> others = {{"SKIPSTONE_PROMPTS", prompts()}, {"SKIPSTONE_OUTPUT", picture()}};
  EXPECT_EQ(run({.arguments = {"inspect", model()}, .environment = others}).code, 0);
}

TEST_F(CliCosine, RefreshIsCountedAndChangesNoText) {
  const auto generate = [&](const std::string& draft) {
    const Result result = run({"run", "-m", model(), "-p", "the quick brown fox", "-n", "60", "--draft", draft, "--json"});
    EXPECT_EQ(result.code, 0) << result.error;
    return json::parse(result.out);
  };
  const json plain = generate("none"), fixed = generate("asd"), refreshed = generate("asd:refresh=12");
  EXPECT_EQ(fixed["text"], plain["text"]);
  EXPECT_EQ(refreshed["text"], plain["text"]);
  EXPECT_EQ(fixed["statistics"]["refreshes"], 0);
  EXPECT_GE(refreshed["statistics"]["refreshes"].get<int>(), 3) << refreshed.dump();
  EXPECT_GT(refreshed["statistics"]["refresh_ms"].get<double>(), 0.0);
  const Result text = run({"run", "-m", model(), "-p", "the quick brown fox", "-n", "60", "--draft", "asd:refresh=12", "--stats"});
  EXPECT_TRUE(has(text.error, "refreshed ")) << text.error;
  refused({"run", "-m", model(), "-p", "x", "--draft", "asd:refresh=-3"}, 2, "refresh");
  refused({"run", "-m", model(), "-p", "x", "--draft", "asd:refresh=9,cs=0"}, 2, "nothing to measure with cs=0");
}

}  // namespace
}  // namespace skipstone::e2e
