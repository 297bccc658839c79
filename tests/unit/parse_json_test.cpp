// The reader of JSON: what it takes, and what it keeps from code that would recurse.
#include "json/parse_json.h"

#include <gtest/gtest.h>

#include <string>

#include "fixtures/failure.h"
#include "json/json.h"

namespace skipstone {
namespace {

using fixtures::failure_of;

std::string nested(std::size_t depth, const std::string& open, const std::string& close) {
  std::string text;
  for (std::size_t i = 0; i < depth; ++i) text += open;
  text += "1";
  for (std::size_t i = 0; i < depth; ++i) text += close;
  return text;
}

template <typename Document>
void expect_refused(const std::string& text, const std::string& part) {
  const auto failure = failure_of([&] { parse_json<Document>(text, "some.json"); });
  EXPECT_EQ(failure.code, Code::bad_file) << text.substr(0, 60);
  EXPECT_TRUE(failure.message.starts_with("some.json: ")) << failure.message;
  EXPECT_NE(failure.message.find(part), std::string::npos) << failure.message;
}

template <typename Document>
class ParseJson : public testing::Test {};
using Kinds = testing::Types<SortedJson, Json>;
TYPED_TEST_SUITE(ParseJson, Kinds);

TYPED_TEST(ParseJson, ReadsWhatIsSound) {
  EXPECT_EQ(parse_json<TypeParam>(R"({"a": [1, {"b": null}], "c": "\n"})", "x").dump(), R"({"a":[1,{"b":null}],"c":"\n"})");
  EXPECT_EQ(parse_json<TypeParam>(R"("alone")", "x"), TypeParam("alone"));
  EXPECT_NO_THROW(parse_json<TypeParam>(nested(500, "[", "]"), "x"));
}

TYPED_TEST(ParseJson, DepthHasAnEnd) {
  for (const std::size_t depth : {520u, 60000u, 1000000u}) {
    expect_refused<TypeParam>(nested(depth, "[", "]"), "nests deeper than 512 levels");
    expect_refused<TypeParam>(nested(depth, R"({"a":)", "}"), "nests deeper than 512 levels");
    expect_refused<TypeParam>(R"({"format": "skipstone-profile", "version": )" + nested(depth, "[", "]") + "}", "nests deeper");
    expect_refused<TypeParam>(std::string(depth, '['), "nests deeper");  // cut off
  }
}

// A list of objects once took quadratic time: minutes for this one.
TYPED_TEST(ParseJson, TimeIsThatOfTheLength) {
  std::string text = "[{}";
  for (int i = 1; i < 1'000'000; ++i) text += ",{}";
  EXPECT_EQ(parse_json<TypeParam>(text + "]", "x").size(), 1'000'000u);
}

TYPED_TEST(ParseJson, RefusesWhatIsNone) {
  for (const std::string text : {"", "{", "{\"a\": 1", "nul", "[1,]", "\"\xff\"", "[1] 2", "{\"a\" 1}", "'a'"}) {
    expect_refused<TypeParam>(text, "is not valid JSON");
  }
  expect_refused<TypeParam>(R"({"a": 1, "b": {"a": 1, "a": 2}})", R"(the key "a" appears twice)");
  expect_refused<TypeParam>("{\"\\u001b[2J\": 1, \"\\u001b[2J\": 2}", "appears twice");
}

TEST(ParseJsonObject, RefusesOtherValues) {
  EXPECT_EQ(failure_of([] { parse_json_object("[1]", "some.json"); }).message, "some.json: holds a JSON array where an object was expected");
  EXPECT_EQ(parse_json_object("{}", "some.json"), SortedJson::object());
}

}  // namespace
}  // namespace skipstone
