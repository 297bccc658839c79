// skipstone tune-device, devices --costs and --no-tune.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_model.h"
#include "program.h"

namespace skipstone::e2e {
namespace {

using nlohmann::json;

class CliTuning : public testing::Test {
 protected:
  void SetUp() override { fixtures::write_tiny_model({}, model()); }
  std::string model() const { return folder_.file("tiny.gguf"); }
  /// With a cache folder of the test's own.
  Result run_here(std::vector<std::string> arguments) const {
    Command command;
    command.arguments = std::move(arguments);
    command.environment = {{"SKIPSTONE_CACHE", folder_.file("cache")}};
    return run(command);
  }
  std::size_t files(const std::string& ending) const {
    std::size_t found = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.file("cache"))) {
      if (entry.path().string().ends_with(ending)) ++found;
    }
    return found;
  }

  fixtures::TemporaryDirectory folder_;
};

TEST_F(CliTuning, TuneDevicePrintsWhatItFoundAndKeepsIt) {
  const std::vector<std::string> generate = {"run", "-m", model(), "-p", "Hello", "-n", "16", "--draft", "exit:2,k=4"};
  const Result before = run_here(generate);
  ASSERT_EQ(before.code, 0) << before.error;
  EXPECT_EQ(files(".choices.json"), 0u) << "CPU devices do not tune by themselves";

  const Result tuned = run_here({"tune-device", "-m", model(), "--seconds", "2", "--json"});
  ASSERT_EQ(tuned.code, 0) << tuned.error;
  const json report = json::parse(tuned.out);
  ASSERT_FALSE(report["contests"].empty());
  for (const json& contest : report["contests"]) {
    EXPECT_GE(contest["candidates"].size(), 2u);
    EXPECT_LT(contest["chosen"].get<std::size_t>(), contest["candidates"].size());
    EXPECT_GE(contest["speedup"].get<double>(), 1.0);
  }
  EXPECT_EQ(files(".choices.json"), 1u);

  const Result after = run_here(generate);
  EXPECT_EQ(after.out, before.out) << "a choice never changes the text";
  auto untuned = generate;
  untuned.emplace_back("--no-tune");
  EXPECT_EQ(run_here(untuned).out, before.out);

  const Result table = run_here({"tune-device", "-m", model(), "--seconds", "1"});
  EXPECT_EQ(table.code, 0);
  EXPECT_NE(table.out.find("built in"), std::string::npos) << table.out;
}

TEST_F(CliTuning, DevicesPrintsCosts) {
  const Result result = run_here({"devices", "--costs", "-m", model(), "--json"});
  ASSERT_EQ(result.code, 0) << result.error;
  const json costs = json::parse(result.out);
  ASSERT_GE(costs["passes"].size(), 5u);
  EXPECT_EQ(costs["passes"][0]["rows"], 1);
  EXPECT_DOUBLE_EQ(costs["passes"][0]["relative"].get<double>(), 1.0);
  for (const json& pass : costs["passes"]) EXPECT_GT(pass["verify"].get<double>(), 0.0);
  EXPECT_EQ(costs["exits"].size(), 3u) << "after 1, 2 and 3 of 4 layers";
  EXPECT_EQ(files(".costs.json"), 1u);
  // From the cache: the same numbers.
  EXPECT_EQ(run_here({"devices", "--costs", "-m", model(), "--json"}).out, result.out);
  const Result table = run_here({"devices", "--costs", "-m", model()});
  EXPECT_EQ(table.code, 0);
  EXPECT_NE(table.out.find("rows"), std::string::npos) << table.out;
}

TEST_F(CliTuning, BadInputIsOneSentence) {
  const auto refused = [&](const std::vector<std::string>& arguments, int code) {
    const Result result = run_here(arguments);
    EXPECT_EQ(result.code, code) << result.error;
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(result.error.rfind("error: ", 0), 0u) << result.error;
  };
  refused({"tune-device", "-m", model(), "--seconds", "0"}, 2);
  refused({"tune-device", "-m", model(), "--seconds", "nan"}, 2);
  refused({"tune-device", "-m", folder_.file("none.gguf")}, 3);
  refused({"devices", "--costs", "-m", folder_.file("none.gguf")}, 3);
  refused({"devices", "--costs", "-m", model(), "--device", "no such device"}, 4);
}

}  // namespace
}  // namespace skipstone::e2e
