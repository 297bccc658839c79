// The four formats, read back.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "bench/report.h"
#include "bench_sweep.h"
#include "json/json.h"

namespace cli::bench {
namespace {

using nlohmann::json;

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// As RFC 4180 has it, for one line.
std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') quoted = !quoted;
    if (c == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

TEST(BenchReport, Json) {
  const json all = json::parse(report({three_prompts({1, 1, 1}, {2, 2, 2})}, Format::json));
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0]["device"], "a \"device\", with a comma");
  EXPECT_EQ(all[0]["prompts_used"], 3);
  ASSERT_EQ(all[0]["drafters"].size(), 2u);
  EXPECT_EQ(all[0]["drafters"][1]["speedup_median"], 0.5);
  EXPECT_TRUE(all[0]["drafters"][0]["acceptance"].is_null());
  EXPECT_EQ(all[0]["drafters"][1]["by_position"][0], (json{{"drafted", 14}, {"accepted", 7}}));
  ASSERT_EQ(all[0]["runs"].size(), 6u);
  EXPECT_EQ(all[0]["runs"][3]["line"], 20);
  EXPECT_EQ(all[0]["runs"][3]["drafter"], "asd:c=0.9,k=2");
  EXPECT_EQ(all[0]["runs"][3]["identical"], true);
}

TEST(BenchReport, Sql) {
  const std::string text = report({three_prompts({1, 1, 1}, {2, 2, 2})}, Format::sql);
  EXPECT_EQ(text.rfind("CREATE TABLE IF NOT EXISTS skipstone_drafters (", 0), 0u) << text;
  EXPECT_NE(text.find("'asd:c=0.9,k=2'"), std::string::npos) << text;
  EXPECT_NE(text.find("'7/14 "), std::string::npos) << text;
}

TEST(BenchReport, JsonLines) {
  const std::vector<std::string> lines = lines_of(report({three_prompts({1, 1, 1}, {2, 2, 2})}, Format::jsonl));
  ASSERT_EQ(lines.size(), 1u + 2u + 6u);
  EXPECT_EQ(json::parse(lines[0])["record"], "setup");
  EXPECT_EQ(json::parse(lines[0])["date"], "2026-01-02T03:04:05Z");
  EXPECT_EQ(json::parse(lines[2])["record"], "drafter");
  EXPECT_EQ(json::parse(lines[2])["speedup_total"], 0.5);
  EXPECT_EQ(json::parse(lines[8])["record"], "run");
}

TEST(BenchReport, CsvHasTheSameFieldsOnEveryLine) {
  const Sweep sweep = three_prompts({1, 1, 1}, {2, 2, 2});
  const std::vector<std::string> lines = lines_of(report({sweep, sweep}, Format::csv));
  ASSERT_EQ(lines.size(), 1u + 4u);
  const std::vector<std::string> names = fields_of(lines[0]), values = fields_of(lines[2]);
  for (const std::string& line : lines) EXPECT_EQ(fields_of(line).size(), names.size()) << line;
  const auto value = [&](const std::string& name) {
    return values[static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin())];
  };
  EXPECT_EQ(value("device"), "\"a \"\"device\"\", with a comma\"");
  EXPECT_EQ(value("drafter"), "\"asd:c=0.9,k=2\"");
  EXPECT_EQ(value("by_position"), "7/14 2/4");
  EXPECT_EQ(value("speedup_median"), "0.5");
  EXPECT_EQ(fields_of(lines[1])[static_cast<std::size_t>(std::find(names.begin(), names.end(), "acceptance") - names.begin())], "");
}

TEST(BenchReport, MarkdownTablesAreAlignedAndNarrow) {
  Sweep sweep = three_prompts({1, 1, 1}, {2, 2, 2});
  sweep.prompts_skipped = 2;
  const std::string text = report({sweep}, Format::markdown);
  for (const char* part : {"2 skipped", "model\\|name", "|     0.50 |", "identical", "50.0 %", "2-4 of 8"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
  std::size_t width = 0;
  for (const std::string& line : lines_of(text)) {
    EXPECT_LE(line.size(), 120u) << line;
    if (line.rfind("| ", 0) != 0) {
      width = 0;
      continue;
    }
    if (width == 0) width = line.size();  // the first line of a table
    EXPECT_EQ(line.size(), width) << line;
  }
}

TEST(BenchReport, MarkdownSaysWhatIsWrong) {
  Sweep sweep = three_prompts({1, 1, 1}, {2, 2, 2});
  sweep.runs[5].tokens.clear();
  sweep.interrupted = true;
  const std::string text = report({sweep}, Format::markdown);
  EXPECT_NE(text.find("1 of 3 differ"), std::string::npos) << text;
  EXPECT_NE(text.find("**interrupted**: 3 of 3"), std::string::npos) << text;
}

TEST(BenchReport, OtherTables) {
  const Table table{"What a preset would show", {"drafter", "speedup_median"}};
  const std::string text = report({three_prompts({1, 1, 1}, {2, 2, 2})}, Format::markdown, {&table, 1});
  EXPECT_NE(text.find("| drafter       | speed-up |"), std::string::npos) << text;
  EXPECT_EQ(text.find("verify"), std::string::npos) << text;
}

TEST(BenchReport, PlainTokens) {
  const std::vector<std::string> lines = lines_of(plain_tokens(three_prompts({1, 1, 1}, {2, 2, 2})));
  ASSERT_EQ(lines.size(), 3u);
  const json last = json::parse(lines[2]);
  EXPECT_EQ(last["prompt"], "text");
  EXPECT_EQ(last["prompt_tokens"], (json{1, 2, 3}));
  EXPECT_EQ(last["tokens"], json(std::vector<int>(11, 2)));
}

}  // namespace
}  // namespace cli::bench
