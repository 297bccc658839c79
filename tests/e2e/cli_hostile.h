// Refusals that are safe to print.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <vector>

#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_model.h"
#include "program.h"

namespace skipstone::e2e {

/// Megabytes of what a terminal would obey.
inline std::string hostile_text() {
  std::string text;
  for (int i = 0; i < 100000; ++i) text += "\033[2J\r\nerror: \x07\xe2\x80\xae\xff";
  return text;
}

class CliHostile : public testing::Test {
 protected:
  std::string file(const std::string& name) const { return folder_.file(name); }
  std::string model() const { return file("tiny.gguf"); }
  void SetUp() override { fixtures::write_tiny_model({}, model()); }

  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(file(name), std::ios::binary) << bytes;
    return file(name);
  }
  Result run_here(std::vector<std::string> arguments) const {
    Command command{std::move(arguments)};
    command.environment = {{"SKIPSTONE_CACHE", file("cache")}};
    return run(command);
  }
  /// Lines that a terminal shows as they are, and no more than a screen of them.
  static void expect_plain(const std::string& text) {
    EXPECT_LT(text.size(), 20000u);
    EXPECT_TRUE(std::ranges::none_of(text, [](char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\n') || c == 0x7f; }));
    EXPECT_FALSE(contains(text, "\xe2\x80\xae"));
    EXPECT_FALSE(contains(text, "\xff"));
  }
  void expect_refused(const std::vector<std::string>& arguments, int code, const std::string& part = "") const {
    const Result result = run_here(arguments);
    EXPECT_EQ(result.code, code) << arguments.front() << " signal " << result.signal << "\n" << result.error.substr(0, 500);
    EXPECT_TRUE(result.error.starts_with("error: ")) << result.error.substr(0, 500);
    EXPECT_LE(std::ranges::count(result.error, '\n'), 2) << "one sentence, and where help is";
    EXPECT_TRUE(contains(result.error, part)) << part << "\n" << result.error.substr(0, 500);
    expect_plain(result.error);
  }

  /// What a run has left in the cache folder: pipelines and costs.
  std::vector<std::filesystem::path> cached() const {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(file("cache"))) files.push_back(entry.path());
    EXPECT_GE(files.size(), 2u) << "pipelines and costs";
    return files;
  }
  /// Whether a cache file with this ending holds anything else. Costs have two names: how fast the machine is just now says which is used.
  bool has_other_than(const std::string& bad, const std::string& ending) const {
    const std::filesystem::directory_iterator entries(file("cache"));
    return std::any_of(begin(entries), end(entries), [&](const std::filesystem::directory_entry& entry) {
      return entry.path().string().ends_with(ending) && fixtures::bytes_of(entry.path().string()) != bad;
    });
  }

  fixtures::TemporaryDirectory folder_;
};

}  // namespace skipstone::e2e
