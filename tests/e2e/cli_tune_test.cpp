// skipstone tune, the profiles that it writes, and --online.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_model.h"
#include "program.h"

namespace skipstone::e2e {
namespace {

using nlohmann::json;

class CliTune : public testing::Test {
 protected:
  void SetUp() override {
    fixtures::write_tiny_model({.layers = 6}, model());
    std::ofstream(prompts()) << "\"the quick brown fox\"\n{\"prompt\": \"jumps over\"}\n\"a lazy dog\"\n";
  }
  std::string model() const { return folder_.file("tiny.gguf"); }
  std::string prompts() const { return folder_.file("prompts.jsonl"); }
  std::string profile() const { return folder_.file("found.json"); }
  std::vector<std::string> tune(const std::string& iterations) const {
    return {"tune", model(), "--prompts", prompts(), "-o", profile(), "--iterations", iterations, "-n", "16", "--ctx", "128"};
  }
  Result generate(const std::string& draft, std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments = {"run", "-m", model(), "-p", "Hello", "-n", "80", "--draft", draft};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(std::move(arguments));
  }
  void refused(const std::vector<std::string>& arguments, int code, const std::string& words) const {
    const Result result = run(arguments);
    EXPECT_EQ(result.code, code) << result.error;
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(result.error.rfind("error: ", 0), 0u) << result.error;
    EXPECT_NE(result.error.find(words), std::string::npos) << result.error;
  }

  fixtures::TemporaryDirectory folder_;
};

TEST_F(CliTune, FindsAProfileThatRunTakesAndGoesOnFromItsState) {
  auto arguments = tune("24");
  arguments.emplace_back("--json");
  const Result result = run(arguments);
  ASSERT_EQ(result.code, 0) << result.error;
  EXPECT_NE(result.error.find("times expected"), std::string::npos) << result.error;
  const json report = json::parse(result.out);
  EXPECT_EQ(report["profile"], json::parse(std::ifstream(profile())));
  EXPECT_EQ(report["evaluations"], 48) << "the random search looks at as many";
  EXPECT_EQ(report["profile"]["format"], "skipstone-profile");
  EXPECT_GT(report["profile"]["measured"]["speedup"].get<double>(), 0.0);
  EXPECT_EQ(report["profile"]["found"]["prompts"]["file"], prompts());
  ASSERT_EQ(report["strategies"].size(), 3u);
  for (const json& candidate : report["candidates"]) EXPECT_GT(candidate["speedup"].get<double>(), 0.0);
  EXPECT_EQ(report["candidates"][0]["skip_set"], report["profile"]["skip_set"]);
  for (const json& candidate : report["candidates"]) {
    if (candidate["skip_set"] == "") continue;
    EXPECT_LE(candidate["speedup"], report["candidates"][0]["speedup"]);
  }

  const Result plain = generate("none"), drafted = generate("skip:" + profile(), {"--stats"});
  ASSERT_EQ(drafted.code, 0) << drafted.error;
  EXPECT_EQ(drafted.out, plain.out);
  EXPECT_NE(drafted.error.find(report["profile"]["skip_set"].get<std::string>()), std::string::npos) << drafted.error;
  EXPECT_EQ(generate("skip:" + profile() + ",k=2,gamma=0").out, plain.out) << "options override the profile";

  const json again = json::parse(run(arguments).out);
  EXPECT_EQ(again["resumed"], again["evaluations"]);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(again["strategies"][i]["best_after"], report["strategies"][i]["best_after"]);
  arguments[7] = "26";
  const json further = json::parse(run(arguments).out);
  EXPECT_GT(further["evaluations"].get<int>(), 48);
  EXPECT_GE(further["resumed"].get<int>(), 48);

  std::ofstream(prompts()) << "\"something else\"\n";
  refused(tune("24"), 2, "other prompts");
  std::ofstream(folder_.file("found.state.json")) << "{";
  refused(tune("24"), 2, "state");
}

TEST_F(CliTune, TakesTheBundledPromptsByDefault) {
  const Result result =
      run({"tune", "-m", model(), "-o", profile(), "--iterations", "2", "-n", "8", "--ctx", "1024", "--no-baseline", "--json"});
  ASSERT_EQ(result.code, 0) << result.error;
  const std::string file = json::parse(result.out)["profile"]["found"]["prompts"]["file"];
  EXPECT_TRUE(file.ends_with("code_editing.jsonl")) << file;
}

TEST_F(CliTune, KeepsWhatItHasFoundWhenItIsInterrupted) {
  Command command;
  command.arguments = {"tune", model(), "--prompts", prompts(), "-o", profile(), "--minutes", "5", "-n", "16", "--ctx", "128"};
  command.interrupt_at_error = "times expected";
  const Result stopped = run(command);
  EXPECT_EQ(stopped.code, 130) << stopped.error;
  EXPECT_NE(stopped.out.find("without real runs"), std::string::npos) << stopped.out;
  EXPECT_NE(stopped.out.find("\n  skipstone run -m " + model() + " --draft skip:" + profile() + " -p TEXT\n"), std::string::npos)
      << stopped.out;
  EXPECT_TRUE(json::parse(std::ifstream(profile()))["measured"].is_null());
  EXPECT_TRUE(std::filesystem::exists(folder_.file("found.state.json")));
  EXPECT_EQ(generate("skip:" + profile()).out, generate("none").out);
  auto arguments = tune("12");
  arguments.insert(arguments.end(), {"--json", "--no-baseline"});
  const Result rest = run(arguments);
  ASSERT_EQ(rest.code, 0) << rest.error;
  EXPECT_GE(json::parse(rest.out)["resumed"].get<int>(), 1);
}

TEST_F(CliTune, OnlineChangesNoText) {
  const Result plain = generate("none");
  const Result online = generate("skip:attn:1-3;mlp:2,4,gamma=0,k=5", {"--online", "0.4", "--stats"});
  ASSERT_EQ(online.code, 0) << online.error;
  EXPECT_EQ(online.out, plain.out);
  EXPECT_NE(online.error.find("skip set"), std::string::npos) << online.error;
  refused({"run", "-m", model(), "-p", "Hello", "--draft", "asd", "--online", "0.1"}, 2, "--draft skip");
  refused({"run", "-m", model(), "-p", "Hello", "--draft", "skip:attn:1", "--online", "0.9"}, 2, "0.5");
}

TEST_F(CliTune, RefusesProfilesThatDoNotFit) {
  ASSERT_EQ(run(tune("4")).code, 0);
  fixtures::write_tiny_model({.layers = 6, .seed = 2}, folder_.file("other.gguf"));
  refused({"run", "-m", folder_.file("other.gguf"), "-p", "Hello", "--draft", "skip:" + profile()}, 2, "another model");
  refused({"run", "-m", model(), "-p", "Hello", "--draft", "skip:" + folder_.file("none.json")}, 2, "no profile");
  std::ofstream(folder_.file("bad.json")) << "{\"format\": \"skipstone-profile\"";
  refused({"run", "-m", model(), "-p", "Hello", "--draft", "skip:" + folder_.file("bad.json")}, 2, "no profile");
  refused({"tune", model(), "--prompts", folder_.file("none.jsonl")}, 2, "cannot be read");
  refused({"tune", model(), "--prompts", prompts(), "-o", folder_.file("profile.txt")}, 2, ".json");
  refused({"tune", model(), "--prompts", prompts(), "--minutes", "0"}, 2, "--minutes");
  refused({"tune", model(), "--prompts", prompts(), "-o", folder_.file("x.json"), "-n", "4"}, 2, "tokens");
  refused({"tune", model(), "--prompts", prompts(), "-o", folder_.file("x.json"), "-n", "100", "--ctx", "64"}, 2, "tokens");
  refused({"tune", folder_.file("none.gguf"), "--prompts", prompts(), "-o", folder_.file("x.json")}, 3, "none.gguf");
  EXPECT_FALSE(std::filesystem::exists(folder_.file("x.json")));
}

}  // namespace
}  // namespace skipstone::e2e
