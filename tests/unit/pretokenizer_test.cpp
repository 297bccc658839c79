// Every rule of the table of pre-tokenizers: against the cuts that its original makes, on random texts, and in time.
#include "text/pretokenizer.h"

#include <gtest/gtest.h>

#include <array>
#include <cctype>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "base/status.h"
#include "text/utf8.h"
#include "unit/handmade_vocabulary.h"

namespace skipstone::text {
namespace {

std::string joined(const std::vector<std::string_view>& pieces) {
  std::string all;
  for (const std::string_view piece : pieces) all += piece;
  return all;
}

const nlohmann::json& cuts() {
  static const nlohmann::json file = nlohmann::json::parse(std::ifstream(SKIPSTONE_TEST_SOURCES "/unit/data/pretokenizer_cuts.json"));
  return file;
}

bool same_cuts(const PreTokenizerRule& a, const PreTokenizerRule& b) {
  return std::equal(a.cuts.begin(), a.cuts.end(), b.cuts.begin(), b.cuts.end(),
                    [](const Cut& x, const Cut& y) { return x.pattern == y.pattern && x.mode == y.mode; });
}

/// The rule whose cuts the data has for `rule`: itself, or one that cuts alike.
std::string name_in_data(const PreTokenizerRule& rule) {
  for (const PreTokenizerRule& other : pretokenizer_rules()) {
    if (cuts()["bytes of pieces"].contains(other.names.front()) && same_cuts(rule, other)) return other.names.front();
  }
  return "";
}

class Rules : public testing::TestWithParam<std::size_t> {
 protected:
  const PreTokenizerRule& rule() const { return pretokenizer_rules().at(GetParam()); }
};

TEST_P(Rules, CutAsTheirOriginalsDo) {
  const std::string name = name_in_data(rule());
  ASSERT_NE(name, "") << "make_pretokenizer_cuts.py does not know " << rule().names.front();
  const PreTokenizer pre(rule().names.front());
  const auto& expected = cuts()["bytes of pieces"][name];
  const auto& texts = cuts()["texts"];
  ASSERT_EQ(expected.size(), texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto text = texts[i].get<std::string>();
    std::vector<std::size_t> sizes;
    for (const std::string_view piece : pre.split(text)) sizes.push_back(piece.size());
    EXPECT_EQ(sizes, expected[i].get<std::vector<std::size_t>>()) << name << ", text " << i << ": " << texts[i];
  }
}

TEST_P(Rules, NothingOfATextIsLostUnderAnyName) {
  std::mt19937 random(static_cast<unsigned>(GetParam()));
  for (const std::string& name : rule().names) {
    const PreTokenizer pre(name);
    EXPECT_EQ(pre.takes_whole_words(), rule().whole_words);
    EXPECT_TRUE(pre.split("").empty());
    for (int i = 0; i < 50; ++i) {
      std::string text;
      for (std::size_t n = random() % 80; n > 0; --n) {
        const unsigned bound = std::array{0x80u, 0x80u, 0x3000u, 0x110000u}[random() % 4];
        auto c = static_cast<char32_t>(random() % bound);
        if (c >= 0xD800 && c <= 0xDFFF) c = U' ';
        append_utf8(text, c);
      }
      const std::vector<std::string_view> pieces = pre.split(text);
      EXPECT_EQ(joined(pieces), text) << name;
      for (const std::string_view piece : pieces) EXPECT_FALSE(piece.empty()) << name;
    }
  }
}

// A megabyte of each class of characters, and of what could make a pattern try again from every place: quadratic work would take hours.
TEST_P(Rules, TakeLinearTime) {
  const PreTokenizer pre(rule().names.front());
  constexpr std::size_t text_bytes = std::size_t{1} << 20;
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"a", ""},       {"A", ""},     {"é", ""},    {"中", ""},   {"한", ""},   {"ก", ""},           {"\u0301", ""}, {"\u02B0", ""},
      {"1", ""},       {"1", "a"},    {"²", "a"},   {"٣", "a"},   {" ", ""},    {" ", "a"},          {" ", "1"},     {"\t", "!"},
      {"\u3000", "1"}, {"\n", ""},    {"\n", " x"}, {" \n", "x"}, {".", ""},    {"$", "\n"},         {"'", ""},      {"'s", ""},
      {"/", ""},       {"\x01", "a"}, {"🚀", "a"},   {"a ", "1"},  {"IMG", "Z"}, {"<sentinel:1", ""}, {"Aa", ""},     {"a\u0301", ""},
      {"1 ", ""},      {"\r\n", ""},  {"、", ""},   {"ㄅ", "1"},  {"_", "A"},   {"\u200d", "a"}};
  for (const auto& [unit, end] : cases) {
    std::string text;
    while (text.size() < text_bytes) text += unit;
    text += end;
    const std::vector<std::string_view> pieces = pre.split(text);
    EXPECT_TRUE(joined(pieces) == text) << rule().names.front() << ": " << unit << "..." << end;
  }
}

INSTANTIATE_TEST_SUITE_P(Table, Rules, testing::Range(std::size_t{0}, pretokenizer_rules().size()), [](const auto& test) {
  std::string name = pretokenizer_rules()[test.param].names.front();
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
});

TEST(RuleTable, NoNameStandsTwice) {
  std::set<std::string> names;
  for (const PreTokenizerRule& rule : pretokenizer_rules()) {
    for (const std::string& name : rule.names) EXPECT_TRUE(names.insert(name).second) << name;
  }
  EXPECT_GE(names.size(), 85u);
}

TEST(RuleTable, UnknownNamesAreRefusedWithTheListAndTheOption) {
  EXPECT_TRUE(PreTokenizer::knows("llama-v3"));
  EXPECT_FALSE(PreTokenizer::knows("elvish"));
  try {
    const PreTokenizer pre("elvish\n\x1b[2J" + std::string(5000, 'x'));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::unsupported);
    const std::string message = error.what();
    for (const char* part : {"elvish\\n", "tokenizer.ggml.pre", "--pre NAME", "qwen35", "megrez", "falcon-h1"}) {
      EXPECT_NE(message.find(part), std::string::npos) << part << " in " << message;
    }
    EXPECT_EQ(message.find('\n'), std::string::npos);
    EXPECT_LT(message.size(), 2000u);
  }
}

}  // namespace
}  // namespace skipstone::text
