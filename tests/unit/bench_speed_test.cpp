// bench without prompts: lists of tests, statistics, and every format read back.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "bench/speed.h"
#include "fixtures/temporary_directory.h"
#include "json/json.h"
#include "made_up_speed.h"
#include "results/statistics.h"
#include "terminal/exit_code.h"

namespace cli::bench {
namespace {

std::vector<std::string> names(const std::vector<Test>& tests) {
  std::vector<std::string> all;
  for (const Test& test : tests) all.push_back(test.name());
  return all;
}

std::string refusal(const std::function<void()>& what) {
  try {
    what();
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::usage);
    return failure.what();
  }
  return "(nothing was thrown)";
}

TEST(BenchTests, CrossProduct) {
  EXPECT_EQ(names(make_tests({})), (std::vector<std::string>{"pp512", "tg128"}));
  EXPECT_EQ(names(make_tests({.prompt = {"16,32"}, .generate = {"4"}, .pairs = {"8,2"}, .depth = {"0,1024"}})),
            (std::vector<std::string>{"pp16", "pp32", "tg4", "pp8+tg2", "pp16 @ d1024", "pp32 @ d1024", "tg4 @ d1024", "pp8+tg2 @ d1024"}));
  EXPECT_EQ(names(make_tests({.prompt = {"0"}, .generate = {"4"}})), std::vector<std::string>{"tg4"});
  // One row is what the others are compared with.
  EXPECT_EQ(names(make_tests({.rows = {"8,2", "2"}})), (std::vector<std::string>{"rows1", "rows2", "rows8"}));
  EXPECT_EQ(needed_context(make_tests({.prompt = {"16"}, .pairs = {"8,12"}, .depth = {"100"}})), 120u);
}

TEST(BenchTests, BadLists) {
  for (const char* list : {"", "x", "5,", "5,,6", "-1", "1048577", "12x", "4294967297"}) {
    const std::string sentence = refusal([&] { make_tests({.prompt = {list}}); });
    EXPECT_EQ(sentence.rfind("-p ", 0), 0u) << sentence;
    EXPECT_NE(sentence.find("no number from 0 to 1048576"), std::string::npos) << sentence;
  }
  EXPECT_NE(refusal([] { make_tests({.rows = {"1,0"}}); }).find("--rows 1,0"), std::string::npos);
  EXPECT_NE(refusal([] { make_tests({.pairs = {"8"}}); }).find("--pg 8"), std::string::npos);
  EXPECT_NE(refusal([] { make_tests({.pairs = {"8,2,3"}}); }).find("two numbers"), std::string::npos);
  EXPECT_NE(refusal([] { make_tests({.prompt = {"0"}, .generate = {"0"}}); }).find("nothing to measure"), std::string::npos);
  EXPECT_NE(refusal([] { synthetic_list({"q4_0"}); }).find("NAME:TYPE"), std::string::npos);
}

TEST(BenchTests, Models) {
  EXPECT_EQ(synthetic_list({"llama-2-7b:q4_0,q8_0,mistral-7b:f16", "smollm2-135m:f32,f16"}),
            (std::vector<std::string>{"llama-2-7b:q4_0", "llama-2-7b:q8_0", "mistral-7b:f16", "smollm2-135m:f32", "smollm2-135m:f16"}));
  const skipstone::fixtures::TemporaryDirectory folder;
  const std::string comma = folder.file("a,b.gguf");
  std::ofstream(comma) << "x";
  EXPECT_EQ(model_list({comma, "c.gguf,d.gguf"}), (std::vector<std::string>{comma, "c.gguf", "d.gguf"}));
}

TEST(BenchSamples, MeanMedianDeviation) {
  EXPECT_EQ(mean({}), std::nullopt);
  EXPECT_EQ(median({}), std::nullopt);
  EXPECT_EQ(standard_deviation({3.0}), std::nullopt);
  EXPECT_EQ(*mean({1, 2, 6}), 3.0);
  EXPECT_EQ(*median({9, 1, 2}), 2.0);
  EXPECT_EQ(*median({9, 1, 2, 3}), 2.5);
  EXPECT_DOUBLE_EQ(*standard_deviation({2, 4, 4, 4, 5, 5, 7, 9}), std::sqrt(32.0 / 7.0));
}

TEST(BenchSpeed, Statistics) {
  const Speed speed = made_up();
  const Statistics prompt = statistics(speed, speed.results[0]);
  EXPECT_DOUBLE_EQ(prompt.median_rate, 50.0);
  EXPECT_DOUBLE_EQ(prompt.average_rate, (50.0 + 100.0 + 25.0) / 3);
  EXPECT_DOUBLE_EQ(prompt.median_ns, 2e9);
  EXPECT_EQ(prompt.bandwidth_share, std::nullopt);
  // Nine tokens after five: each reads 1000 bytes of weights, and the keys of 6 to 14 tokens, 10 in the mean.
  const Statistics decode = statistics(speed, speed.results[1]);
  EXPECT_DOUBLE_EQ(*decode.bytes_per_pass, 1100.0);
  EXPECT_DOUBLE_EQ(*decode.bandwidth_share, 9 * 1100.0 / 0.025 / 1e6);
  EXPECT_EQ(decode.cost, std::nullopt);
  EXPECT_DOUBLE_EQ(*statistics(speed, speed.results[3]).cost, 2.0);
  EXPECT_DOUBLE_EQ(*statistics(speed, speed.results[3]).bytes_per_pass, 1090.0);
  EXPECT_EQ(statistics(speed, speed.results[4]).cost, std::nullopt);  // no row alone at that depth
}

void expect_records(const nlohmann::json& records) {
  ASSERT_EQ(records.size(), 5u);  // not the test that was never run
  EXPECT_EQ(records[0]["test"], "pp100");
  EXPECT_EQ(records[0]["n_prompt"], 100);
  EXPECT_EQ(records[0]["median_ns"], 2000000000);
  EXPECT_EQ(records[0]["avg_ns"], 2333333333);
  EXPECT_EQ(records[0]["samples_ns"], (nlohmann::json{2000000000, 1000000000, 4000000000}));
  EXPECT_EQ(records[0]["rows"], 0);
  EXPECT_TRUE(records[0]["v"].is_null());
  EXPECT_EQ(records[1]["test"], "tg9 @ d5");
  EXPECT_EQ(records[1]["n_depth"], 5);
  EXPECT_EQ(records[3]["rows"], 4);
  EXPECT_DOUBLE_EQ(records[3]["ms"].get<double>(), 6.0);
  EXPECT_DOUBLE_EQ(records[3]["v"].get<double>(), 2.0);
  EXPECT_TRUE(records[4]["stddev_ns"].is_null());
  EXPECT_EQ(records[4]["device"], "it's a \"device\", with a comma");
}

TEST(BenchSpeed, Json) { expect_records(nlohmann::json::parse(speed_report({made_up()}, Format::json))); }

TEST(BenchSpeed, JsonLines) {
  nlohmann::json records = nlohmann::json::array();
  std::istringstream in(speed_report({made_up()}, Format::jsonl));
  for (std::string line; std::getline(in, line);) {
    records.push_back(nlohmann::json::parse(line));
    EXPECT_EQ(records.back()["record"], "test");
  }
  expect_records(records);
}

TEST(BenchSpeed, Markdown) {
  const std::string text = speed_report({made_up()}, Format::markdown);
  for (const char* part : {"pp100", "tg9 @ d5", "50.00", "39.6 %", "v(n)", "2.00", "model\\|name", "7.00 B", "copy bandwidth"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
  EXPECT_EQ(text.find("pp7 "), std::string::npos);
}

}  // namespace
}  // namespace cli::bench
