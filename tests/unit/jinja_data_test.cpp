// Real templates with what transformers renders from them. The data is beside a checkout; without it, the tests skip.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/escape.h"
#include "base/status.h"
#include "chat/jinja/template.h"

namespace skipstone::chat::jinja {
namespace {

const std::string folder = std::string(SKIPSTONE_SHARED_DATA) + "/templates/";

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream all;
  all << file.rdbuf();
  return all.str();
}

class JinjaData : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(folder + "cases.jsonl")) GTEST_SKIP() << "no template cases at " << folder;
  }
};

/// Where two texts part.
std::string difference(const std::string& got, const std::string& expected) {
  std::size_t i = 0;
  while (i < got.size() && i < expected.size() && got[i] == expected[i]) ++i;
  const std::size_t from = i < 30 ? 0 : i - 30;
  return "at " + std::to_string(i) + "\n  got      " + escaped(got.substr(from, 120)) + "\n  expected " +
         escaped(expected.substr(from, 120));
}

TEST_F(JinjaData, EveryCaseIsRenderedAsTransformersDoes) {
  const std::tm now = parsed_time("2025-07-04T09:08:07");
  std::map<std::string, Template> templates;
  std::ifstream cases(folder + "cases.jsonl");
  int texts = 0, errors = 0;
  for (std::string line; std::getline(cases, line);) {
    const auto document = nlohmann::ordered_json::parse(line);
    const auto name = document["template"].get<std::string>();
    const std::string where = name + "/" + document["case"].get<std::string>();
    auto known = templates.find(name);
    if (known == templates.end()) known = templates.emplace(name, Template(contents(folder + "templates/" + name + ".jinja"))).first;
    // Of the line itself, because a copy through the document would lose the digits of large numbers.
    const Value all = read_json(line, where, Origin::data);
    const Value* variables = all.dict()->find("variables");
    const bool continued = document.value("continue_final_message", false);
    try {
      const Text text = continued ? render_continued(known->second, *variables->dict(), line.size(), now)
                                  : known->second.render(*variables->dict(), line.size(), now);
      ASSERT_TRUE(document.contains("expected"))
          << where << ": expected the error " << document["error"] << ", got " << escaped(text.bytes());
      const auto expected = document["expected"].get<std::string>();
      EXPECT_EQ(std::string(text.bytes()), expected) << where << " " << difference(std::string(text.bytes()), expected);
      ++texts;
    } catch (const Error& error) {
      if (!document.contains("error")) {
        ADD_FAILURE() << where << ": " << error.what();
        continue;
      }
      ++errors;
      EXPECT_NE(std::string(error.what()).find("line "), std::string::npos) << where << ": " << error.what();
      if (document["error_kind"] == "raise_exception") {
        EXPECT_NE(std::string(error.what()).find(": " + document["error"].get<std::string>()), std::string::npos)
            << where << ": " << error.what();
      }
    }
  }
  RecordProperty("texts", texts);
  RecordProperty("errors", errors);
  EXPECT_GT(texts, 0);
}

}  // namespace
}  // namespace skipstone::chat::jinja
