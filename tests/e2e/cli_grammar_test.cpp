// skipstone grammar: grammars written as GBNF, texts that fit or do not. No device is needed.
#include <gtest/gtest.h>

#include <fstream>

#include "fixtures/temporary_directory.h"
#include "program.h"

namespace skipstone::e2e {
namespace {

class GrammarCommand : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_.file(name), std::ios::binary) << bytes;
    return folder_.file(name);
  }
  Result match(std::vector<std::string> grammar, const std::string& text) const {
    std::vector<std::string> arguments{"grammar", "--match", "-"};
    arguments.insert(arguments.end(), grammar.begin(), grammar.end());
    return run(Command{.arguments = std::move(arguments), .input = text});
  }
  void expect_refusal(std::vector<std::string> grammar, const std::string& part) const {
    grammar.insert(grammar.begin(), "grammar");
    const Result result = run(grammar);
    EXPECT_EQ(result.code, 2) << result.error;
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(result.error.rfind("error: ", 0), 0u) << result.error;
    EXPECT_TRUE(contains(result.error, part)) << "wanted: " << part << "\n" << result.error;
  }

  fixtures::TemporaryDirectory folder_;
};

TEST_F(GrammarCommand, WritesGbnf) {
  const std::string schema =
      R"({"type": "object", "properties": {"b": {"type": "boolean"}, "a": {"enum": [1, "x"]}}, "required": ["b", "a"]})";
  const Result written = run({"grammar", "--json-schema", schema});
  EXPECT_EQ(written.code, 0) << written.error;
  EXPECT_EQ(written.out,
            "root ::= value\nvalue ::= \"{\" \"\\\"b\\\"\" \": \" b \", \" \"\\\"a\\\"\" \": \" a \"}\"\nb ::= \"true\" | \"false\"\na ::= "
            "\"1\" | \"\\\"x\\\"\"\n");
  EXPECT_EQ(run({"grammar", "--json-schema", write("s.json", schema)}).out, written.out);
  // What is written is a grammar that means the same.
  EXPECT_EQ(run({"grammar", "--grammar", write("g.gbnf", written.out)}).out, written.out);
  EXPECT_EQ(match({"--grammar", folder_.file("g.gbnf")}, R"({"b": true, "a": "x"})").code, 0);
  EXPECT_TRUE(contains(run({"grammar", "--json-object"}).out, "object ::= "));
  EXPECT_EQ(run({"grammar", "--regex", "a{2,}|b"}).out, "root ::= \"a\"{2,} | \"b\"\n");
}

TEST_F(GrammarCommand, SaysWhetherATextFits) {
  const std::vector<std::string> schema{"--json-schema",
                                        R"({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]})"};
  const Result fits = match(schema, "{ \"z\" : [],\n \"a\": 5 }\n");
  EXPECT_EQ(fits.code, 0) << fits.out << fits.error;
  EXPECT_EQ(fits.out, "the text fits\n");
  const Result stops = match(schema, "{\"é\": 1,\n \"a\": x}");
  EXPECT_EQ(stops.code, 1);
  EXPECT_EQ(stops.out, "the text stops fitting at byte 17, line 2, column 7\n");
  EXPECT_EQ(match(schema, "{\"a\": 5").out, "the text ends too early, at byte 8, line 1, column 8\n");
  EXPECT_EQ(match(schema, "{\"b\": 5}").code, 1);
  const Result twice = match(schema, R"({"a": 1, "b": 2, "b": 3})");
  EXPECT_EQ(twice.code, 1);
  EXPECT_TRUE(contains(twice.out, "the key \"b\" appears twice")) << twice.out;
  EXPECT_EQ(match({"--regex", "[a-c]+"}, "abc\n").code, 0);
  EXPECT_EQ(match({"--regex", "[a-c]+\\n"}, "abc\n").code, 0);
  EXPECT_EQ(match({"--regex", "[a-c]+"}, "abcd").out, "the text stops fitting at byte 4, line 1, column 4\n");
  EXPECT_EQ(match({"--json-object"}, "[]").code, 1);
}

TEST_F(GrammarCommand, ListsKeywords) {
  const Result list = run({"grammar", "--keywords"});
  EXPECT_EQ(list.code, 0);
  for (const char* const part : {"required              enforced", "title                 annotation", "Every other keyword is refused."})
    EXPECT_TRUE(contains(list.out, part)) << list.out;
}

TEST_F(GrammarCommand, RefusesWhatIsNoGrammar) {
  expect_refusal({}, "a grammar is missing");
  expect_refusal({"--json-schema", R"({"properties": {"a": {"not": {}}}})"}, "#/properties/a/not: this keyword is not enforced");
  expect_refusal({"--json-schema", "{"}, "is not valid JSON");
  expect_refusal({"--json-schema", "false"}, "nothing fits");
  expect_refusal({"--json-schema", folder_.file("none.json")}, "the schema in '");
  expect_refusal({"--grammar", write("bad.gbnf", "root ::= \"a\"\n  x")}, "line 2, column 4: '::=' was expected");
  expect_refusal({"--regex", "("}, "position 2");
  expect_refusal({"--regex", "a", "--json-object"}, "excludes");
  expect_refusal({"--regex", "a", "--match", folder_.file("none.txt")}, "the text in '");
}

}  // namespace
}  // namespace skipstone::e2e
