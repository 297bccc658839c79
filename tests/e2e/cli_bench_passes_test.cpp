// skipstone bench without texts: prompts, decoding and rows of made-up tokens, synthetic models, drafts accepted by given probabilities.
#include <gtest/gtest.h>

#include "cli_bench.h"

namespace skipstone::e2e {
namespace {

TEST_F(CliBench, TestsInTheFieldsNotation) {
  const Result result = run({"bench", "-m", model(), "-p", "16", "-n", "4", "-d", "0,32", "-pg", "8,2", "-r", "2", "-o", "json"});
  ASSERT_EQ(result.code, 0) << result.error;
  const json records = json::parse(result.out);
  std::vector<std::string> names;
  for (const json& record : records) {
    names.push_back(record["test"]);
    EXPECT_EQ(record["samples_ns"].size(), 2u);
    EXPECT_GT(record["median_ns"], 0);
    const double tokens = record["n_prompt"].get<double>() + record["n_gen"].get<double>();
    const double first = record["samples_ns"][0].get<double>(), second = record["samples_ns"][1].get<double>();
    EXPECT_NEAR(record["median_ns"].get<double>(), (first + second) / 2, 1.0);
    EXPECT_NEAR(record["median_ts"].get<double>() / (1e9 * tokens * (1 / first + 1 / second) / 2), 1.0, 1e-3);
    EXPECT_EQ(record["context"], 256);
    EXPECT_EQ(record["model_type"], "F32");
    EXPECT_EQ(record["kv_type"], "f16");
    EXPECT_EQ(record["fingerprint"].get<std::string>().size(), 16u);
    EXPECT_EQ(record["bandwidth_share"].is_null(), record["n_prompt"] != 0);
  }
  EXPECT_EQ(names, (Arguments{"pp16", "tg4", "pp8+tg2", "pp16 @ d32", "tg4 @ d32", "pp8+tg2 @ d32"}));
  EXPECT_GT(records[4]["bytes_per_pass"], records[1]["bytes_per_pass"]);
}

TEST_F(CliBench, RowsAndWhatTheyCost) {
  const Result result = run({"bench", model(), "--rows", "2,4", "-r", "3", "--format", "jsonl", "-o", folder_.file("rows.jsonl")});
  ASSERT_EQ(result.code, 0) << result.error;
  EXPECT_TRUE(contains(result.out, "| rows |")) << result.out;
  const std::vector<std::string> lines = lines_of(fixtures::bytes_of(folder_.file("rows.jsonl")));
  ASSERT_EQ(lines.size(), 3u);
  const std::uint32_t rows[] = {1, 2, 4};
  const double one = json::parse(lines[0])["ms"];
  for (std::size_t i = 0; i < 3; ++i) {
    const json record = json::parse(lines[i]);
    EXPECT_EQ(record["rows"], rows[i]);
    EXPECT_GT(record["ms"], 0);
    EXPECT_DOUBLE_EQ(record["v"].get<double>(), record["ms"].get<double>() / one);
    EXPECT_EQ(record["samples_ns"].size(), 3u);
  }
}

TEST_F(CliBench, SyntheticModelsNeedNoFile) {
  const Result result = run({"bench", "--synthetic", "stories-260k:q4_0,f16", "-n", "4", "-r", "1", "-o", "json"});
  ASSERT_EQ(result.code, 0) << result.error;
  const json records = json::parse(result.out);
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0]["model_type"], "Q4_0");
  EXPECT_EQ(records[1]["model_type"], "F16");
  EXPECT_EQ(records[0]["model_n_params"], records[1]["model_n_params"]);
  EXPECT_LT(records[0]["model_size"], records[1]["model_size"]);
  EXPECT_NE(records[0]["fingerprint"], records[1]["fingerprint"]);
}

TEST_F(CliBench, SyntheticAcceptanceIsDrawnAndTheSameEachTime) {
  const auto drafters = [&](Arguments arguments) {
    arguments.insert(arguments.begin(), "bench");
    arguments.insert(arguments.end(), {"-n", "61", "--format", "json"});
    const Result result = run(arguments);
    EXPECT_EQ(result.code, 0) << result.error;
    const json sweep = json::parse(result.out)[0];
    EXPECT_FALSE(sweep["synthetic_acceptance"].is_null());
    for (const json& drafter : sweep["drafters"]) EXPECT_TRUE(drafter["identical"].is_null()) << drafter;
    return sweep["drafters"];
  };
  // Made-up tokens: a file, and a model without one.
  json all = drafters({model(), "--synthetic-acceptance", "1", "--draft", "exit:1,k=5", "-p", "16"});
  EXPECT_EQ(all[1]["acceptance"], 1.0);
  EXPECT_EQ(all[1]["tokens_per_round"], 6.0);
  EXPECT_EQ(all[0]["tokens_per_round"], 1.0);
  all = drafters({"--synthetic", "stories-260k:q4_0", "--synthetic-acceptance", "1,0.0", "--draft", "asd:gamma=0,k=5"});
  EXPECT_EQ(all[1]["tokens_per_round"], 2.0);
  // Texts, and probabilities that are drawn.
  const Arguments drawn = {model(), "--prompts", folder_.file("two.jsonl"), "--synthetic-acceptance", "0.7,0.4", "--draft", "exit:1,k=3"};
  all = drafters(drawn);
  EXPECT_GT(all[1]["accepted"], 0);
  EXPECT_LT(all[1]["accepted"], all[1]["drafted"]);
  EXPECT_EQ(drafters(drawn)[1]["by_position"], all[1]["by_position"]);

  const Result text = run({"bench", model(), "--synthetic-acceptance", "0.9", "-n", "8"});
  ASSERT_EQ(text.code, 0) << text.error;
  EXPECT_TRUE(contains(text.out, "- **synthetic acceptance** 0.9: ") && contains(text.out, "128 made-up tokens")) << text.out;
  EXPECT_FALSE(contains(text.out, "identical")) << text.out;
}

TEST_F(CliBench, BadSyntheticAcceptance) {
  const auto refused = [&](const Arguments& more, const std::string& part) {
    Arguments arguments = {"bench", model(), "--synthetic-acceptance"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    expect_refusal(arguments, 2, part);
  };
  refused({"1.5"}, "1.5 is no probability");
  refused({"0.5,-1"}, "-1 is no probability");
  refused({"nan"}, "no probability");
  refused({"half"}, "half");
  refused({"0.5", "--verify", "rejection"}, "choose one");
  refused({"0.5", "--draft", "sequential"}, "lossy");
  refused({"0.5", "--save-tokens", folder_.file("tokens.jsonl")}, "--save-tokens");
  refused({"0.5", "--rows", "4"}, "--rows");
  refused({"0.5", "--preset", "spec-bench"}, "--prompts FILE");
  refused({"0.5", "-p", "200", "--ctx", "256"}, "no room for 128 more in a context of 256");
  expect_refusal(bench({"--synthetic-acceptance", "0.5", "-p", "4"}), 2, "-p");
  expect_no_remains();
}

TEST_F(CliBench, TheBundledModelIsTheDefault) {
  const Result result = run({"bench", "-p", "16", "-n", "4", "-r", "2", "--no-warmup"});
  ASSERT_EQ(result.code, 0) << result.error;
  for (const char* part : {"| skipstone-py", "pp16", "tg4", " ± ", "copy bandwidth"}) {
    EXPECT_TRUE(contains(result.out, part)) << part << "\n" << result.out;
  }
}

TEST_F(CliBench, BadTests) {
  const auto refused = [&](const Arguments& more, const std::string& part) {
    Arguments arguments = {"bench", model()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    expect_refusal(arguments, 2, part);
  };
  refused({"-p", "5,x"}, "-p 5,x");
  refused({"-n", "-1"}, "-1");
  refused({"-pg", "16"}, "--pg 16");
  refused({"--rows", "1000"}, "--rows 1000");
  refused({"-p", "512", "--ctx", "256"}, "--ctx is 256");
  refused({"-p", "0", "-n", "0"}, "nothing to measure");
  refused({"-r", "0"}, "--repeat 0");
  refused({"--limit", "3", "--rows", "2"}, "--prompts");
  refused({"--format", "csv", "-o", "json"}, "two formats");
  expect_refusal({"bench", "--synthetic", "llama-9:q4_0"}, 2, "llama-2-7b");
  expect_refusal({"bench", "--synthetic", "llama-2-7b"}, 2, "NAME:TYPE");
  expect_refusal({"bench", "--synthetic", "llama-2-7b:q3"}, 2, "q4_0");
}

}  // namespace
}  // namespace skipstone::e2e
