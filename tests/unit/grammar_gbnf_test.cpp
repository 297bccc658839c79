// GBNF: what is read, what is refused, and that what is written is read again.
#include <gtest/gtest.h>

#include "grammar_fixture.h"
#include "text/utf8.h"

namespace skipstone::grammar {
namespace {

TEST(Gbnf, ReadsLlamaCppsNotation) {
  const char* const lists = R"(# A list of numbers, as llama.cpp's examples have them.
root  ::= "[" ws (item ("," ws item)*)? "]"   # groups, repetitions
item  ::= "-"? [1-9] [0-9]{0,2} | "0"
ws    ::= [ \t\n]*
)";
  for (const char* const good : {"[]", "[ 1]", "[-999,\n\t0]", "[1,2,3]"}) EXPECT_TRUE(fits_gbnf(lists, good)) << good;
  for (const char* const bad : {"", "[", "[,]", "[01]", "[1000]", "[1]]", "[1 ]"}) EXPECT_FALSE(fits_gbnf(lists, bad)) << bad;
}

TEST(Gbnf, ReadsEscapesAndClassesAsCharacters) {
  EXPECT_TRUE(fits_gbnf(R"(root ::= "\"\\\n\t\r\x41é\U0001F600\[\]")", "\"\\\n\t\rAé😀[]"));
  EXPECT_TRUE(fits_gbnf("root ::= [^a-c\\]]{2}", "é]") == false);
  EXPECT_TRUE(fits_gbnf("root ::= [^a-c]{2}", "é😀"));
  EXPECT_FALSE(fits_gbnf("root ::= [^a-cé]{2}", "é😀"));
  EXPECT_TRUE(fits_gbnf("root ::= .", "\n"));
  EXPECT_TRUE(fits_gbnf("root ::= [а-я]+", "привет"));
  EXPECT_FALSE(fits_gbnf("root ::= [а-я]+", "приveт"));
  EXPECT_TRUE(fits_gbnf("root ::= [a-]+", "a-a"));
}

TEST(Gbnf, ReadsClassesInAnyOrder) {
  std::string every_second;
  for (char32_t c = 0xFFFE; c >= 0xE000; c -= 2) text::append_utf8(every_second, c);
  for (char32_t c = 0xD7FE; c > 0x80; c -= 2) text::append_utf8(every_second, c);
  EXPECT_TRUE(fits_gbnf("root ::= [" + every_second + "]", "\u0082"));
  EXPECT_FALSE(fits_gbnf("root ::= [" + every_second + "]", "\u0083"));
  EXPECT_FALSE(fits_gbnf("root ::= [^" + every_second + "z-~a-yq-t]", "q"));
  EXPECT_TRUE(fits_regex("[" + every_second.substr(0, 60'000) + "]", "\uE000"));
  CodePoints set{{'x', 'z'}, {0xD000, 0xE000}, {'a', 'c'}, {'b', 'w'}};
  EXPECT_EQ(set, (CodePoints{{'a', 'z'}, {0xD000, 0xD7FF}, {0xE000, 0xE000}}));
  set.add('A', 'z');
  EXPECT_EQ(set.ranges().size(), 3u);
  EXPECT_TRUE(set.contains('Z') && !set.contains(0xD800));
}

TEST(Gbnf, Utf8IsExact) {
  const auto any = Automaton::make(parse_gbnf("root ::= ."));
  for (const char* const bad : {"\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\x80", "\xF0\x80\x80\x80", "\xC3"})
    EXPECT_FALSE(fits(any, bad)) << bad;
  for (const char* const good :
       {"\x7F", "\xC2\x80", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"})
    EXPECT_TRUE(fits(any, good));
}

TEST(Gbnf, CountsRepetitions) {
  for (const auto& [grammar, least, most] : {std::tuple{"root ::= \"ab\"{2}", 2, 2},
                                             {"root ::= \"ab\"{2,}", 2, 20},
                                             {"root ::= \"ab\"{1,3}", 1, 3},
                                             {"root ::= \"ab\"{0,0}", 0, 0},
                                             {"root ::= \"ab\"+", 1, 20},
                                             {"root ::= (\"a\" \"b\")?", 0, 1}}) {
    std::string text;
    for (int count = 0; count <= 8; ++count, text += "ab")
      EXPECT_EQ(fits_gbnf(grammar, text), count >= least && count <= most) << grammar << count;
  }
}

TEST(Gbnf, NestsAndRecurses) {
  const char* const nested = "root ::= \"(\" root \")\" root | \"\"";
  EXPECT_TRUE(fits_gbnf(nested, "(()())()"));
  EXPECT_FALSE(fits_gbnf(nested, "(()"));
  EXPECT_FALSE(fits_gbnf(nested, "())"));
  const std::string deep = std::string(1000, '(') + std::string(1000, ')');
  EXPECT_TRUE(fits_gbnf(nested, deep));
  EXPECT_TRUE(fits_gbnf("root ::= \"a\" root | \"b\"", std::string(100'000, 'a') + "b"));  // right recursion needs no stack
}

TEST(Gbnf, SaysLineAndColumn) {
  const auto refused = [](const char* grammar) { return refusal([&] { parse_gbnf(grammar); }); };
  EXPECT_EQ(refused("root ::= a |\n  other"), "line 1, column 10: the rule 'a' is not defined");
  EXPECT_EQ(refused("root ::= \"é\" x | y\nx ::= x \"a\"\ny ::= \"\""),
            "line 1, column 14: the rule 'x' is left-recursive: it can begin with itself");
  EXPECT_EQ(refused("root ::= x\nx ::= \"\"? y\ny ::= (\"a\" | x)"),
            "line 1, column 10: the rule 'x' is left-recursive: it can begin with itself");
  EXPECT_EQ(refused("root ::= \"a"), "line 1, column 12: a text that is not closed by '\"'");
  EXPECT_EQ(refused("root ::= [a"), "line 1, column 12: a class that is not closed by ']'");
  EXPECT_EQ(refused("root ::= (\"a\""), "line 1, column 14: ')' was expected at the end of a group");
  EXPECT_EQ(refused("root ::= \"a\"\nroot ::= \"b\""), "line 2, column 1: the rule 'root' is defined twice");
  EXPECT_EQ(refused("x ::= \"a\"\n"), "line 2, column 1: there is no rule 'root', where texts begin");
  EXPECT_EQ(refused("root = \"a\""), "line 1, column 6: '::=' was expected after a rule's name");
  EXPECT_EQ(refused("root ::= \"\\q\""), "line 1, column 12: an escape that GBNF does not have");
  EXPECT_EQ(refused("root ::= \"a\"{3,2}"), "line 1, column 17: a repetition's upper bound is below its lower one");
  EXPECT_EQ(refused("root ::= \"a\" root"), "nothing fits: no finite text fits the grammar's root");
  EXPECT_NE(refused("root ::= <[1]>"), "");
  EXPECT_NE(refusal([] { Automaton::make(parse_gbnf("root ::= \"a\"{999999}{999999}")); }), "");
  EXPECT_NE(refused(std::string(100'000, '(').insert(0, "root ::= ").c_str()), "");
}

TEST(Gbnf, BoundsStackedQuantifiers) {
  const auto stacked = [](const std::string& quantifiers) { return "root ::= (\"a\"" + quantifiers + " \"b\")*"; };
  EXPECT_TRUE(fits_gbnf(stacked(std::string(100, '?')), "abb"));
  const std::string written = to_gbnf(parse_gbnf(stacked(std::string(200, '?'))));
  EXPECT_EQ(to_gbnf(parse_gbnf(written)), written);
  for (const std::size_t count : {201u, 150'000u}) {
    EXPECT_EQ(refusal([&] { parse_gbnf(stacked(std::string(count, '?'))); }),
              "line 1, column 215: its groups and repetitions nest deeper than 200 levels");
  }
  std::string groups = "\"a\"?";
  for (int i = 0; i < 199; ++i) groups = "(" + groups + ")?";
  EXPECT_NO_THROW(parse_gbnf("root ::= " + groups));
  EXPECT_NE(refusal([&] { parse_gbnf("root ::= (" + groups + ")???"); }), "");
}

TEST(Gbnf, RepeatsTheEmptyTextAtOnce) {
  EXPECT_TRUE(fits_gbnf("root ::= \"\"{200000}{200000}{200000} \"a\"", "a"));
  EXPECT_TRUE(fits_gbnf("root ::= (\"\"? \"\"{0,200000}){0,200000}{200000} \"a\"", "a"));
  EXPECT_TRUE(fits_regex("((((){200000}){200000}){200000}){0,200000}a", "a"));
  EXPECT_TRUE(fits_schema(R"({"type": "string", "pattern": "^((((){200000}){200000}){200000}){0,200000}a$"})", "\"a\""));
  // Many ways to write the empty text.
  std::string empty = "\"\"";
  for (int i = 0; i < 10'000; ++i) empty += "|\"\"";
  EXPECT_NE(refusal([&] { Automaton::make(parse_gbnf("root ::= \"a\" (" + empty + "){100000} \"b\"")); }).find("states"),
            std::string::npos);
  EXPECT_NE(
      refusal([] { schema::parse_schema("{\"pattern\": \"a(" + std::string(10'000, '|') + "){20000}\"}", Form::any); }).find("states"),
      std::string::npos);
}

TEST(Gbnf, DropsAlternativesThatNothingFits) {
  State state =
      Automaton::make(parse_gbnf("root ::= \"a\" dead | \"ab\" | \"ac\" gone?\ndead ::= \"b\" dead\ngone ::= \"x\" gone"))->start();
  EXPECT_EQ(state.forced_bytes(10), "a");
  EXPECT_TRUE(state.advance("ac"));
  EXPECT_TRUE(state.accepts());
  EXPECT_FALSE(state.advance("x"));
}

TEST(Gbnf, IsReadAgainAsItIsWritten) {
  for (const char* const grammar : {"root ::= \"a\"{2,5} ([b-d^\\]\\\\-] | \"e\\n\\\"\" | .)* [^x-z\\n]+ \"é😀\"?",
                                    "root ::= (a | b c)+\na ::= \"1\" | \"\"\nb ::= \"2\"\nc ::= (\"3\" a){0,2} \"4\""}) {
    const Syntax syntax = parse_gbnf(grammar);
    const std::string written = to_gbnf(syntax);
    EXPECT_EQ(to_gbnf(parse_gbnf(written)), written);
  }
}

TEST(Regex, FitsWholeTexts) {
  EXPECT_TRUE(fits_regex("a|bc", "bc"));
  EXPECT_FALSE(fits_regex("a|bc", "abc"));
  EXPECT_TRUE(fits_regex("^(?:\\d{3}-)?\\d{4}$", "555-1234"));
  EXPECT_TRUE(fits_regex("(?<year>\\d+?)[\\w.\\-]*\\s\\x41\\u0042\\u{1F600}", "12a_.-\u00A0AB😀"));
  EXPECT_FALSE(fits_regex("[^\\d]", "5"));
  EXPECT_FALSE(fits_regex(".", "\n"));
  EXPECT_TRUE(fits_regex("a{2,}\\.", "aaaa."));
}

TEST(Regex, RefusesWhatTheSubsetDoesNotHave) {
  const auto refused = [](const char* regex) { return refusal([&] { parse_regex(regex); }); };
  EXPECT_EQ(refused("a(?=b)"), "the regular expression 'a(?=b)', position 4: lookarounds and flags are not supported");
  EXPECT_EQ(refused("(a)\\1"), "the regular expression '(a)\\1', position 5: an escape that is not supported");
  EXPECT_EQ(refused("a^b"),
            "the regular expression 'a^b', position 2: anchors inside the expression are not supported; ^ may be at its beginning and $ at "
            "its end");
  for (const char* const bad :
       {"a$b", "(a$)", "*a", "a**", "a{2", "a{3,2}", "[a", "(a", "a)", "\\", "[z-a]", "\\bword", "\\p{L}", "\\u12", "a{9999999}"})
    EXPECT_NE(refused(bad), "") << bad;
}

}  // namespace
}  // namespace skipstone::grammar
