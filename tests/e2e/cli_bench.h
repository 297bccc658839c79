// What the tests of skipstone bench share: a tiny model, two prompts, and what a refusal looks like.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_model.h"
#include "program.h"

namespace skipstone::e2e {

using nlohmann::json;
using Arguments = std::vector<std::string>;

inline std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

class CliBench : public testing::Test {
 protected:
  void SetUp() override {
    fixtures::write_tiny_model({}, model());
    write("two.jsonl", "{\"prompt\": \"Hello there\"}\n\"Once upon\"\n");
  }
  std::string model() const { return folder_.file("tiny.gguf"); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_.file(name)) << text;
    return folder_.file(name);
  }
  /// bench on the tiny model and both prompts, 24 tokens each, with a drafter that always drafts.
  Arguments bench(const Arguments& more) const {
    Arguments arguments = {"bench", model(), "--prompts", folder_.file("two.jsonl"), "-n", "24", "--draft", "none,asd:gamma=0,k=3,m=1"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  void expect_refusal(const Arguments& arguments, int code, const std::string& part) const {
    const Result result = run(arguments);
    EXPECT_EQ(result.code, code) << result.error;
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(result.error.rfind("error: ", 0), 0u) << result.error;
    EXPECT_TRUE(contains(result.error, part)) << "wanted: " << part << "\n" << result.error;
  }
  /// No temporary file is left in the folder.
  void expect_no_remains() const {
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) EXPECT_NE(entry.path().extension(), ".tmp");
  }

  fixtures::TemporaryDirectory folder_;
};

}  // namespace skipstone::e2e
