// tools/compare-llama, with this program in the place of both.
#include <gtest/gtest.h>

#include <cstdlib>

#include "e2e/cli_bench.h"

namespace skipstone::e2e {
namespace {

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
