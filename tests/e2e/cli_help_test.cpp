// What the program says of itself, and to those who mistype.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_model.h"
#include "program.h"

namespace skipstone::e2e {
namespace {

/// A text without its line breaks and indentation.
std::string in_one_line(const std::string& text) {
  std::istringstream words(text);
  std::string word, line;
  while (words >> word) line.append(line.empty() ? "" : " ").append(word);
  return line;
}

/// Names of all commands.
std::vector<std::string> commands() {
  std::vector<std::string> names;
  const auto description = nlohmann::json::parse(run({"--describe"}).out);
  for (const auto& command : description["commands"]) {
    if (!command["name"].get<std::string>().empty()) names.push_back(command["name"]);
  }
  return names;
}

TEST(CliHelp, EveryCommandHasAnExampleAndTheExitCodes) {
  std::vector<std::string> names = commands();
  names.emplace_back();
  for (const std::string& name : names) {
    const Result result = run(name.empty() ? std::vector<std::string>{"--help"} : std::vector<std::string>{name, "--help"});
    EXPECT_EQ(result.code, 0) << name;
    EXPECT_TRUE(contains(result.out, "Example")) << result.out;
    EXPECT_TRUE(contains(result.out, "130 interrupted")) << result.out;
    EXPECT_EQ(result.error, "");
  }
  const std::string help = run({"run", "--help"}).out;
  for (const char* part : {"--temp", "--top-k", "--min-p", "--repeat-penalty", "--seed", "--ctx", "--kv", "--draft", "--color",
                           "SKIPSTONE_TEMP", "0 is greedy"}) {
    EXPECT_TRUE(contains(help, part)) << part;
  }
}

TEST(CliHelp, Version) {
  const Result result = run({"--version"});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.out.rfind("skipstone 0.", 0), 0u) << result.out;
}

TEST(CliHelp, NoCommandShowsItOnStandardError) {
  const Result result = run(std::vector<std::string>{});
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_TRUE(contains(result.error, "inspect")) << result.error;
}

TEST(CliHelp, OfACommandIsWhatHelpSaysOfIt) {
  const auto names = commands();
  EXPECT_GE(names.size(), 16u);
  for (const std::string& name : names) {
    const Result asked = run({name, "--help"}), topic = run({"help", name});
    EXPECT_EQ(asked.code, 0) << name;
    EXPECT_EQ(asked.out, topic.out) << name;
    EXPECT_TRUE(contains(asked.out, "Usage: skipstone " + name)) << asked.out;
  }
  const Result program = run({"help"});
  EXPECT_EQ(program.code, 0);
  EXPECT_EQ(program.out, run({"--help"}).out);
}

TEST(CliHelp, DraftersAreATopicThatCommandsPointTo) {
  const std::string topic = in_one_line(run({"help", "drafters"}).out);
  const auto description = nlohmann::json::parse(run({"--describe"}).out);
  EXPECT_GE(description["drafters"].size(), 16u);
  for (const std::string command : {"run", "chat", "serve", "bench"}) {
    const std::string help = in_one_line(run({command, "--help"}).out);
    EXPECT_TRUE(contains(help, "`skipstone help drafters`")) << help;
    for (const std::string name : description["drafters"]) {
      EXPECT_TRUE(contains(help, name)) << command << ": " << name;
      EXPECT_TRUE(contains(topic, " " + name + " ")) << name;
    }
    EXPECT_FALSE(contains(help, "gamma=0.6")) << command;
  }
  for (const char* part : {"cs=0, rule1=0, rule2=0: without one of its rules", "gamma=0.6", "LOSSY"})
    EXPECT_TRUE(contains(topic, part)) << part;
}

TEST(CliHelp, WhatFewNeedComesLast) {
  const std::string help = run({"run", "--help"}).out;
  const std::size_t advanced = help.find("\nAdvanced:\n");
  ASSERT_NE(advanced, std::string::npos);
  for (const char* option : {"--model", "--prompt TEXT", "--predict", "--ctx", "--device ", "--draft ", "--temp", "--stats", "--chat"})
    EXPECT_LT(help.find(option), advanced) << option;
  for (const char* option : {"--transfer-ms", "--kv-k,", "--math", "--rounds", "--verify", "--pre NAME", "--n-gpu-layers"})
    EXPECT_GT(help.find(std::string("  ") + option), advanced) << option;
}

TEST(CliHelp, LinesFitIntoPipesOf80Columns) {
  for (std::vector<std::string> arguments :
       {std::vector<std::string>{"run", "--help"}, {"bench", "--help"}, {"serve", "--help"}, {"help", "drafters"}}) {
    std::istringstream lines(run(arguments).out);
    std::string line;
    std::size_t seen = 0;
    while (std::getline(lines, line)) {
      ++seen;
      if (line.starts_with("  skipstone ") || line.starts_with("  curl ")) continue;  // to be copied as they are
      EXPECT_LE(line.size(), 80u) << arguments[0] << ": " << line;
    }
    EXPECT_GT(seen, 40u);
  }
}

struct Slip {
  std::vector<std::string> arguments;
  std::string nearest, usage;  ///< nearest "": none is near
};

TEST(CliHelp, SlipsGetTheNearestNameAndTheUsage) {
  const Slip slips[] = {{{"rnu", "-p", "x"}, "run", "Usage: skipstone [OPTIONS]"},
                        {{"run", "--cts", "5", "-p", "x"}, "--ctx", "Usage: skipstone run [OPTIONS] [PROMPT]"},
                        {{"run", "-p", "--ctx", "--predcit=4"}, "--predict", "Usage: skipstone run"},  // --ctx is the prompt
                        {{"run", "-p", "x", "--n-gpu-lay", "9"}, "--n-gpu-layers", "Usage: skipstone run"},
                        {{"serve", "--prot", "1"}, "--port", "Usage: skipstone serve"},
                        {{"inspect", "--tensor"}, "--tensors", "Usage: skipstone inspect"},
                        {{"--vresion"}, "--version", "Usage: skipstone [OPTIONS]"},
                        {{"run", "--zyxwvutsrq"}, "", "Usage: skipstone run"},
                        {{"run", "-y"}, "", "Usage: skipstone run"},
                        {{"xylophone"}, "", "Usage: skipstone [OPTIONS]"}};
  for (const Slip& slip : slips) {
    const Result result = run(slip.arguments);
    EXPECT_EQ(result.code, 2);
    EXPECT_EQ(result.out, "");
    EXPECT_TRUE(contains(result.error, slip.usage)) << result.error;
    EXPECT_TRUE(contains(result.error, " --help' lists")) << result.error;
    EXPECT_EQ(contains(result.error, "; the nearest is "), !slip.nearest.empty()) << result.error;
    EXPECT_TRUE(slip.nearest.empty() || contains(result.error, "; the nearest is " + slip.nearest + ".\n")) << result.error;
  }
  const Result topic = run({"help", "drfters"});
  EXPECT_EQ(topic.code, 2);
  EXPECT_TRUE(contains(topic.error, "but about drafters")) << topic.error;
}

TEST(CliHelp, HostileWordsAreEscapedAndCut) {
  const std::string word = "--\x1b[2J" + std::string(5000, 'a');
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"run", word}, {word.substr(2)}, {"help", word}}) {
    const Result result = run(arguments);
    EXPECT_EQ(result.code, 2);
    EXPECT_FALSE(contains(result.error, "\x1b")) << result.error;
    EXPECT_LT(result.error.size(), 1000u);
  }
}

class CliModels : public testing::Test {
 protected:
  void SetUp() override { fixtures::write_tiny_model({}, model()); }
  std::string model() const { return folder_.file("tiny.gguf"); }
  /// What the program says of a model, without amounts of memory, since free memory changes from run to run.
  static std::string without_memory(const std::string& text) {
    return std::regex_replace(text, std::regex(" *[0-9.]+ [KMGT]?i?B\\b"), " SIZE");
  }
  const fixtures::TemporaryDirectory folder_;
};

TEST_F(CliModels, AreAWordOfCommandsWithoutAPromptAndAnOptionOfAll) {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"inspect"},
                                                    {"devices", "--plan", "--devices", "0"},
                                                    {"bench", "-p", "4", "-n", "2", "-r", "1", "-o", "json"}}) {
    std::vector<std::string> word = arguments, option = arguments;
    word.push_back(model());
    option.insert(option.end(), {"-m", model()});
    const Result with_word = run(word), with_option = run(option);
    EXPECT_EQ(with_word.code, 0) << with_word.error;
    EXPECT_EQ(with_option.code, 0) << with_option.error;
    EXPECT_TRUE(arguments[0] == "bench" || without_memory(with_word.out) == without_memory(with_option.out))
        << with_word.out << with_option.out;
  }
  const auto description = nlohmann::json::parse(run({"--describe"}).out);
  for (const auto& command : description["commands"]) {
    for (const auto& option : command["options"]) {
      if (std::ranges::find(option["names"], "--model") == option["names"].end()) continue;
      EXPECT_EQ(option["positional"], command["name"] == "run" ? "" : "MODEL") << command["name"];
    }
  }
  const std::string bundled = run({"inspect"}).out;
  EXPECT_EQ(without_memory(bundled), without_memory(run({"inspect", "-m", SKIPSTONE_MODELS "/skipstone-py.gguf"}).out));
  EXPECT_NE(without_memory(bundled), without_memory(run({"inspect", "-m", model()}).out));
  // `run` has a prompt there.
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"run", model()}, {"run", model(), "Hello"}, {"run", model(), "-p", "Hello"}}) {
    const Result result = run(arguments);
    EXPECT_EQ(result.code, 2);
    EXPECT_TRUE(contains(result.error, "run it with -m ")) << result.error;
  }
  const Result words = run({"run", "-m", model(), "Hello", "world"});
  EXPECT_EQ(words.code, 2);
  EXPECT_TRUE(contains(words.error, "put the words of one into quotes")) << words.error;
}

TEST_F(CliModels, CommandLinesOfLlamaCppRunAndAreExplained) {
  const Result own = run({"run", "-m", model(), "-p", "Hello", "--ctx", "64", "--predict", "8", "--draft", "none"});
  const Result theirs =
      run({"run", "-m", model(), "-p", "Hello", "-c", "64", "--n-predict", "8", "-ngl", "99", "-t", "4", "--draft", "none"});
  EXPECT_EQ(own.code, 0) << own.error;
  EXPECT_EQ(theirs.code, 0) << theirs.error;
  EXPECT_EQ(own.out, theirs.out);
  EXPECT_FALSE(contains(own.error, "not needed")) << own.error;
  for (const char* part : {"-ngl, not needed: every layer runs on the device", "not needed: the device does the work"}) {
    const std::size_t first = theirs.error.find(part);
    EXPECT_NE(first, std::string::npos) << theirs.error;
    EXPECT_EQ(theirs.error.find(part, first + 1), std::string::npos) << "once is enough: " << theirs.error;
  }
  EXPECT_EQ(run({"run", "-m", model(), "-p", "Hello", "--ctx-size", "64", "-n", "8", "--gpu-layers", "0", "--draft", "none"}).out, own.out);
}

}  // namespace
}  // namespace skipstone::e2e
