// tools/lossless: compares, resumes, tells differing texts from equal ones (the texts themselves: lossless_test). tools/compare-llama, with
// this program in the place of both.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "e2e/cli_bench.h"
#include "e2e/program.h"
#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_model.h"

namespace skipstone::e2e {
namespace {

class CliLossless : public testing::Test {
 protected:
  void SetUp() override {
    if (std::system("python3 -c '' 2> /dev/null") != 0) GTEST_SKIP() << "the tool is Python";
    fixtures::write_tiny_model({}, folder_.file("tiny.gguf"));
    std::ofstream(folder_.file("two.jsonl")) << "{\"prompt\": \"Hello there, hello there, hello\"}\n\"Once upon\"\n";
  }
  Result lossless(const std::vector<std::string>& more) const {
    Command command{.arguments = {"-m", folder_.file("tiny.gguf"), "--prompts", folder_.file("two.jsonl"), "-n", "8", "--seeds", "7",
                                  "--skipstone", SKIPSTONE_PROGRAM, "--out", folder_.file("results")}};
    command.program = SKIPSTONE_TOOLS "/lossless";
    command.arguments.insert(command.arguments.end(), more.begin(), more.end());
    return run(command);
  }
  /// Of the greedy texts.
  std::string results() const { return folder_.file("results/default-tiny-two-greedy-20x8.jsonl"); }
  std::string read() const {
    std::stringstream text;
    text << std::ifstream(results()).rdbuf();
    return text.str();
  }
  fixtures::TemporaryDirectory folder_;
};

TEST_F(CliLossless, ComparesEveryDrafterAndGoesOnWhereItStopped) {
  const std::vector<std::string> drafters = {"--draft", "asd:gamma=0", "--draft", "exit:2", "--draft", "exit:99", "--draft", "lookup"};
  const Result result = lossless(drafters);
  ASSERT_EQ(result.code, 0) << result.out << result.error;
  // Two prompts, greedy and one seed; the model has no 99 layers.
  for (const char* drafter : {"asd:gamma=0", "exit:2", "lookup"}) {
    EXPECT_TRUE(contains(result.out, std::string("| default | tiny | ") + drafter + " | 4 | 32 | ")) << result.out;
  }
  EXPECT_TRUE(contains(result.out, "12 texts compared with plain decoding's, 0 differ.")) << result.out;
  EXPECT_TRUE(contains(read(), "\"read_once\":true"));

  // What is there is not run again, and a text that differs is found.
  std::string told = read();
  const std::string equal = "\"identical\":true";
  told.replace(told.find(equal, told.find("\"record\":\"run\",\"drafter\":\"lookup\"")), equal.size(), "\"identical\":false");
  std::ofstream(results()) << told;
  const Result again = lossless(drafters);
  EXPECT_EQ(again.code, 1);
  EXPECT_EQ(again.error, "");
  EXPECT_TRUE(contains(again.out, "differs: default-tiny-two-greedy")) << again.out;
  EXPECT_TRUE(contains(again.out, "12 texts compared with plain decoding's, 1 differ.")) << again.out;
}

TEST_F(CliLossless, TakesTheShortestPromptsWhereAsked) {
  const Result result = lossless({"--draft", "lookup", "--draft", "skip:attn:1", "--limit", "1", "--shortest"});
  ASSERT_EQ(result.code, 0) << result.out << result.error;
  std::ifstream chosen(folder_.file("results/two_shortest1.jsonl"));
  std::string line;
  ASSERT_TRUE(std::getline(chosen, line));
  EXPECT_EQ(line, "\"Once upon\"");
  EXPECT_FALSE(std::getline(chosen, line));
  EXPECT_TRUE(contains(result.out, "4 texts compared with plain decoding's, 0 differ.")) << result.out;
}

TEST_F(CliLossless, RefusesWithOneSentence) {
  const Result missing = lossless({"-m", folder_.file("none.gguf")});
  EXPECT_EQ(missing.code, 2);
  EXPECT_TRUE(contains(missing.error, "none.gguf")) << missing.error;
  const Result driver = lossless({"--driver", "nameless"});
  EXPECT_EQ(driver.code, 2);
  EXPECT_EQ(driver.error, "lossless: --driver wants NAME=ICD.json.\n");
  const Result drafter = lossless({"--draft", "nonsense"});
  EXPECT_EQ(drafter.code, 2);
  EXPECT_TRUE(contains(drafter.error, "nonsense")) << drafter.error;
}

TEST_F(CliBench, TheComparisonToolRunsBothInTurn) {
  const auto compare = [&](const Arguments& more) {
    Command command{{"-m", model(), "-p", "8", "-n", "2", "-r", "2"}};
    command.program = SKIPSTONE_TOOLS "/compare-llama";
    command.arguments.insert(command.arguments.end(), more.begin(), more.end());
    return run(command);
  };
  if (std::system("python3 -c '' 2> /dev/null") != 0) GTEST_SKIP() << "the tool is Python";
  // Both programs speak the same records; here one represents both.
  const std::string program = SKIPSTONE_PROGRAM;
  const Result result = compare({"--llama", program + " bench", "--skipstone", program, "-o", "json", "--env", "A=B"});
  ASSERT_EQ(result.code, 0) << result.error;
  const json tests = json::parse(result.out)["tests"];
  ASSERT_EQ(tests.size(), 2u);
  EXPECT_EQ(tests[0]["test"], "pp8");
  EXPECT_EQ(tests[1]["test"], "tg2");
  EXPECT_EQ(tests[1]["turns"], 2);
  EXPECT_DOUBLE_EQ(tests[1]["ratio"].get<double>(), tests[1]["skipstone_ts"].get<double>() / tests[1]["llama_ts"].get<double>());
  const Result table = compare({"--llama", program + " bench", "--skipstone", program});
  EXPECT_TRUE(contains(table.out, "| tiny.gguf | tg2 | ")) << table.out << table.error;
  for (const Arguments& bad : {Arguments{"--llama", "no-such-program"}, Arguments{"--llama", "false"}, Arguments{"--llama", "echo no"}}) {
    const Result refused = compare(bad);
    EXPECT_EQ(refused.code, 1);
    EXPECT_EQ(refused.error.rfind("error: ", 0), 0u) << refused.error;
  }
}

}  // namespace
}  // namespace skipstone::e2e
