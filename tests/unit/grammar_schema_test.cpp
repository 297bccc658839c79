// JSON Schema by keyword: what fits, what does not, and what is refused.
#include <gtest/gtest.h>

#include "fuzz/mutator.h"
#include "grammar/notations.h"
#include "grammar_fixture.h"
#include "json/json.h"
#include "json/parse_json.h"
#include "text/utf8.h"

namespace skipstone::grammar {
namespace {

void expect(const char* schema, std::initializer_list<const char*> good, std::initializer_list<const char*> bad) {
  const auto automaton = Automaton::make(schema::parse_schema(schema, Form::any));
  for (const char* const text : good) EXPECT_TRUE(fits(automaton, text)) << schema << "\n" << text;
  for (const char* const text : bad) EXPECT_FALSE(fits(automaton, text)) << schema << "\n" << text;
}

std::string refused(const char* schema) {
  return refusal([&] { schema::parse_schema(schema, Form::writing); });
}

TEST(Schema, Types) {
  expect("{}", {"1", "null", "{\"a\" : [1, 2, {}]}", "\" \\u00e9\\n\"", " true\n"},
         {"", "tru", "{\"a\"}", "[1,]", "01", "\"\n\"", "\"\\ud800\""});
  expect(R"({"type": "integer"})", {"1", "-0", "1.0", "12345678901234567890"}, {"1.5", "\"1\"", "1.", "1e2"});
  expect(R"({"type": ["null", "boolean"]})", {"null", "true", "false"}, {"0", "\"\""});
  expect(R"({"type": "number"})", {"1e5", "-1.5E-3", "0"}, {"-", "1e", ".5"});
  expect("true", {"1"}, {});
}

TEST(Schema, Numbers) {
  expect(R"({"type": "number", "minimum": 1.1})", {"1.1", "2", "1.10", "1.11", "100"}, {"1.0999", "1", "-2", "0"});
  expect(R"({"type": "integer", "minimum": -12, "exclusiveMaximum": 345})", {"-12", "-1", "0", "344", "99"},
         {"-13", "345", "400", "1000", "-100"});
  expect(R"({"type": "number", "exclusiveMinimum": -0.5, "maximum": 0.25})", {"-0.49", "0", "-0", "0.25", "0.250"},
         {"-0.5", "0.26", "-1", "1"});
  expect(R"({"type": "number", "multipleOf": 0.25})", {"0", "1", "1.5", "-2.75", "3.250"}, {"0.1", "1.251", "2.2"});
  expect(R"({"type": "integer", "multipleOf": 7, "minimum": 10})", {"14", "70", "700"}, {"7", "15", "0"});
  expect(R"({"const": 2.50})", {"2.5", "2.500"}, {"2", "2.51", "-2.5"});
  expect(R"({"minimum": 1e2})", {"100", "\"a\""}, {"99.9"});
  EXPECT_NE(refused(R"({"multipleOf": 0.123456789})"), "");
}

TEST(Schema, LargeNumbers) {
  for (const Form form : {Form::writing, Form::any}) {
    for (const auto& [schema, good, bad] :
         {std::tuple{R"({"type": "integer", "minimum": 1000000000000000})", "1000000000000000", "999999999999999"},
          {R"({"type": "integer", "minimum": 1700000000000000000, "maximum": 1800000000000000000})", "1712345678901234567",
           "1812345678901234567"},
          {R"({"type": "integer", "minimum": 18446744073709551614, "maximum": 18446744073709551615})", "18446744073709551615",
           "18446744073709551613"},
          {R"({"exclusiveMinimum": 0.1234567890123456, "exclusiveMaximum": 0.1234567890123457})", "0.12345678901234565",
           "0.1234567890123456"},
          {R"({"type": "integer", "minimum": 999999999999999, "multipleOf": 7})", "1000000000000001", "999999999999999"},
          {R"({"const": 1e22})", "10000000000000000000000", "1e22"},
          {R"({"type": "integer", "enum": [1e20, -2.5e-7]})", "100000000000000000000", "-0.00000025"},
          {R"({"minimum": -1, "enum": [1e22, -2.5e-7]})", "-0.00000025", "-2.5e-7"},
          {R"({"oneOf": [{"const": 1e22}, {"type": "number", "maximum": 9}]})", "10000000000000000000000", "1e+22"}}) {
      EXPECT_TRUE(fits_schema(schema, good, form)) << schema;
      EXPECT_FALSE(fits_schema(schema, bad, form)) << schema;
    }
  }
  EXPECT_NE(refused(R"({"oneOf": [{"const": 1e22}, {"minimum": 5, "type": "number"}]})").find("alternatives 0 and 1"), std::string::npos);
}

TEST(Schema, BoundsAsWideAsDoubles) {
  const char* const wide = R"({"type": "number", "minimum": -1.7976931348623157e308, "maximum": 1.7976931348623157e308})";
  EXPECT_TRUE(fits_schema(wide, "-123456789.25", Form::writing));
  EXPECT_FALSE(fits_schema(wide, "1234567890123456", Form::writing));
  EXPECT_TRUE(fits_schema(R"({"type": "integer", "minimum": 1e50})", "1" + std::string(50, '0'), Form::writing));
}

TEST(Schema, WrittenNumbersEnd) {
  for (const auto& [schema, fitting] : {std::tuple{R"({"type": "integer", "multipleOf": 7})", "777777777777777"},
                                        {R"({"type": "number", "multipleOf": 0.25})", "1234567890123.25"},
                                        {R"({"type": "number", "multipleOf": 200, "maximum": 500})", "400"}}) {
    EXPECT_TRUE(fits_schema(schema, fitting, Form::writing)) << schema;
    EXPECT_FALSE(fits_schema(schema, fitting + std::string("0"), Form::writing)) << schema;
  }
  EXPECT_FALSE(fits_schema(R"({"type": "number", "multipleOf": 1000})", "1000.0", Form::writing));
}

TEST(Schema, LongLists) {
  std::string strings, numbers;
  for (int i = 0; i < 5000; ++i) {
    strings += (i > 0 ? ", \"item " : "\"item ") + std::to_string(i * i) + "\"";
    numbers += (i > 0 ? ", " : "") + std::to_string(i);
  }
  for (const Form form : {Form::writing, Form::any}) {
    const auto listed = Automaton::make(schema::parse_schema("{\"enum\": [null, " + strings + "]}", form));
    for (const char* const good : {"\"item 0\"", "\"item 24990001\"", "null"}) EXPECT_TRUE(fits(listed, good)) << good;
    for (const char* const bad : {"\"item 24990002\"", "\"item \"", "\"\""}) EXPECT_FALSE(fits(listed, bad)) << bad;
  }
  // Each list is looked through once, however long the other one is.
  const std::string both = "{\"allOf\": [{\"enum\": [" + numbers + ", 7.0]}, {\"enum\": [" + numbers + "]}, {\"enum\": [4999.0, -1]}]}";
  EXPECT_TRUE(fits_schema(both, "4999"));
  EXPECT_FALSE(fits_schema(both, "4998"));
  EXPECT_EQ(refused(("{\"oneOf\": [{\"enum\": [" + numbers + "]}, {\"enum\": [-1, " + strings + "]}]}").c_str()), "");
}

TEST(Schema, BoundsTheMembersOfObjects) {
  const auto object = [](int count, bool is_required) {
    std::string properties, required;
    for (int i = 0; i < count; ++i) {
      const std::string name = (i > 0 ? ",\"m" : "\"m") + std::to_string(i) + "\"";
      properties += name + ":true";
      required += name;
    }
    return "{\"type\":\"object\",\"properties\":{" + properties + "},\"required\":[" + (is_required ? required : "") + "]}";
  };
  for (const bool is_required : {false, true}) {
    EXPECT_EQ(refused(object(20'000, is_required).c_str()), "#: an object has more than 2000 names of members");
  }
  const auto optional = Automaton::make(schema::parse_schema(object(2000, false), Form::writing));
  EXPECT_TRUE(fits(optional, R"({"m0": 1, "m1998": 2, "m1999": 3})"));
  EXPECT_FALSE(fits(optional, R"({"m1998": 1, "m0": 2})"));
  EXPECT_TRUE(fits_schema(object(2000, false), R"({"m1999": 3, "m0": 1})"));
}

TEST(Schema, Strings) {
  expect(R"({"type": "string", "minLength": 2, "maxLength": 3})", {"\"ab\"", "\"é😀\"", "\"\\u00e9\\n\"", "\"\\ud83d\\ude00a\""},
         {"\"a\"", "\"abcd\"", "\"😀\""});
  expect(R"({"type": "string", "pattern": "^a+\"$"})", {"\"a\\\"\"", "\"\\u0061a\\u0022\""}, {"\"aa\"", "\"ba\\\"\""});
  expect(R"({"type": "string", "pattern": "b", "maxLength": 3})", {"\"b\"", "\"abc\""}, {"\"abca\"", "\"a\""});
  expect(R"({"type": "string", "format": "date"})", {"\"2024-02-29\"", "\"1999-12-31\""},
         {"\"2023-02-29\"", "\"2024-13-01\"", "\"24-01-01\""});
  expect(R"({"type": "string", "format": "ipv4"})", {"\"127.0.0.1\""}, {"\"256.0.0.1\"", "\"1.2.3\"", "\"01.2.3.4\""});
  EXPECT_EQ(refused(R"({"properties": {"a/b": {"format": "color"}}})"),
            "#/properties/a~1b/format: this format is not enforced (skipstone grammar --keywords lists those that are)");
}

TEST(Schema, Objects) {
  expect(
      R"({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}, "required": ["b"], "additionalProperties": false})",
      {R"({"b":"x"})", R"({ "b" : "x", "a" : 1 })", R"({"a":1,"b":""})", R"({"\u0061":1,"b":""})"},
      {R"({})", R"({"a":1})", R"({"b":"x","b":"y"})", R"({"b":"x","c":1})", R"({"b":1})", R"({"b":"x",})"});
  expect(
      R"({"type": "object", "properties": {"a": {"type": "integer"}}, "patternProperties": {"^x": {"type": "boolean"}}, "additionalProperties": {"type": "null"}})",
      {R"({"x1":true,"other":null,"a":5})", "{}"}, {R"({"x1":null})", R"({"other":true})", R"({"a":null})"});
  expect(R"({"type": "object", "propertyNames": {"maxLength": 2}, "minProperties": 1, "maxProperties": 2})",
         {R"({"a":1})", R"({"a":1,"bb":2})"}, {"{}", R"({"abc":1})", R"({"a":1,"b":2,"c":3})"});
}

TEST(Schema, Arrays) {
  expect(R"({"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 3})", {"[1]", "[1,2,3]", "[ 1 , 2 ]"},
         {"[]", "[1,2,3,4]", "[\"a\"]"});
  expect(R"({"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "items": false})", {"[]", "[1]", "[1,\"a\"]"},
         {"[\"a\"]", "[1,2]", "[1,\"a\",null]"});
  expect(R"({"type": "array", "prefixItems": [{"type": "integer"}], "items": {"type": "null"}, "minItems": 2})",
         {"[1,null]", "[1,null,null]"}, {"[1]", "[1,2]"});
  expect(R"({"type": "array", "contains": {"const": 5}, "items": {"type": "integer"}})", {"[5]", "[1,5,2]"}, {"[]", "[1,2]", "[5,\"a\"]"});
}

TEST(Schema, Combinations) {
  expect(R"({"allOf": [{"properties": {"a": {"type": "integer"}}, "required": ["a"]}, {"properties": {"a": {"minimum": 3}}}]})",
         {R"({"a":3})", "1"}, {R"({"a":2})", "{}", R"({"a":"x"})"});
  expect(R"({"anyOf": [{"type": "integer"}, {"type": "string", "maxLength": 1}]})", {"1", "\"a\""}, {"\"ab\"", "null"});
  expect(R"({"oneOf": [{"properties": {"kind": {"const": "a"}, "n": {"type": "integer"}}, "required": ["kind"]},
                       {"properties": {"kind": {"const": "b"}, "n": {"type": "string"}}, "required": ["kind"]}], "type": "object"})",
         {R"({"kind":"a","n":1})", R"({"n":"x","kind":"b"})"}, {R"({"kind":"a","n":"x"})", R"({"n":1})"});
  EXPECT_NE(
      refused(R"({"oneOf": [{"type": "integer"}, {"minimum": 2}]})").find("#/oneOf: a value may fit both of the alternatives 0 and 1"),
      std::string::npos);
  expect(R"({"enum": [1, "a", null, [1], {"x": true}], "type": ["integer", "string", "array", "object"]})",
         {"1", "1.0", "\"a\"", "[ 1 ]", "{\"x\":true}"}, {"null", "2", "[]"});
  expect(R"({"type": ["string", "null"], "enum": ["a", null]})", {"\"a\"", "null"}, {"\"b\""});
}

TEST(Schema, Dependencies) {
  expect(R"({"dependentRequired": {"a": ["b"]}, "dependentSchemas": {"c": {"properties": {"d": {"type": "null"}}}}})",
         {"{}", R"({"b":1})", R"({"b":1,"a":2})", R"({"d":1})", R"({"c":1,"d":null})", "5"}, {R"({"a":1})", R"({"d":1,"c":1})"});
}

TEST(Schema, DependenciesHaveTheirForm) {
  EXPECT_EQ(refused(R"({"dependentRequired": {"a": {"required": ["b"]}}})"), "#/dependentRequired/a: an array of names was expected");
  EXPECT_EQ(refused(R"({"dependentSchemas": {"a": ["b"]}})"), "#/dependentSchemas/a: a schema was expected");
}

TEST(Schema, RefusalsNameTheirPlace) {
  for (const char* const limit : {R"("minProperties": 3, "additionalProperties": {"type": "null"})", R"("multipleOf": 0.123456789)",
                                  R"x("pattern": "(?=a)")x", R"("patternProperties": {"(": {}})"}) {
    const std::string sentence = refused((R"({"properties": {"x/y": {)" + std::string(limit) + "}}}").c_str());
    EXPECT_TRUE(sentence.starts_with("#/properties/x~1y: ")) << sentence;
  }
}

TEST(Schema, BoundsTheWorkOfAlternatives) {
  const auto exclusive = [](int members) {
    std::string names, alternatives;
    for (int i = 0; i < members; ++i) names += "\"m" + std::to_string(i) + "\", ";
    for (int i = 0; i < 100; ++i) {
      alternatives += (i > 0 ? ", " : "") + (R"({"type": "object", "properties": {"kind": {"const": )" + std::to_string(i)) +
                      R"(}}, "required": [)" + names + "\"kind\"]}";
    }
    return "{\"oneOf\": [" + alternatives + "]}";
  };
  EXPECT_EQ(refused(exclusive(10).c_str()), "");
  EXPECT_NE(refused(exclusive(200).c_str()).find("comparisons"), std::string::npos);
}

TEST(Schema, BoundsTheWorkOfPatterns) {
  // Each of many states has many edges to large sets of nodes.
  std::string all;
  for (char32_t c = 0x4E00; c < 0x4E00 + 1500; ++c) {
    text::append_utf8(all, c);
    all += '?';
  }
  EXPECT_NE(refused(("{\"pattern\": \"^(" + all + ")*$\", \"type\": \"string\", \"maxLength\": 5}").c_str()).find("states"),
            std::string::npos);
}

TEST(Schema, References) {
  expect(
      R"({"$defs": {"node": {"type": "object", "properties": {"next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}}, "required": ["next"], "additionalProperties": false}}, "$ref": "#/$defs/node"})",
      {R"({"next":{"next":null}})"}, {R"({"next":{}})", R"({"next":1})"});
  expect(
      R"({"$id": "https://example.com/a/root.json", "$defs": {"x": {"$anchor": "here", "type": "integer"}, "y": {"$id": "y.json", "type": "null"}}, "anyOf": [{"$ref": "#here"}, {"$ref": "y.json"}]})",
      {"1", "null"}, {"\"a\""});
  EXPECT_EQ(refused(R"({"$ref": "#/$defs/none"})"), "#: $ref '#/$defs/none' refers to nothing");
  EXPECT_EQ(refused(R"({"$ref": "other.json"})"), "#: $ref 'other.json' refers to another document, and only this one is read");
  EXPECT_EQ(refused(R"({"anyOf": [{"$ref": "#"}]})"), "#: this schema refers to itself for the same value, so that its meaning has no end");
}

TEST(Schema, RefusesWhatIsNotEnforcedAndWhatNothingFits) {
  EXPECT_EQ(refused(R"({"properties": {"a": {"not": {}}}})"),
            "#/properties/a/not: this keyword is not enforced (skipstone grammar --keywords lists those that are)");
  for (const char* const keyword : {"if", "dependencies", "unevaluatedProperties", "minContains", "$dynamicRef", "nullable", "minLenght"})
    EXPECT_NE(refused(("{\"" + std::string(keyword) + "\": {}}").c_str()).find(keyword), std::string::npos) << keyword;
  EXPECT_NE(refused(R"({"uniqueItems": true})"), "");
  for (const char* const none :
       {"false", R"({"type": "integer", "minimum": 5, "maximum": 4})", R"({"type": "string", "minLength": 3, "maxLength": 2})",
        R"({"enum": []})", R"({"type": "object", "properties": {"a": false}, "required": ["a"]})", R"({"type": "integer", "const": "a"})",
        R"({"type": "object", "required": ["a"], "additionalProperties": false})", R"({"type": "array", "items": false, "minItems": 1})",
        R"({"$defs": {"n": {"type": "object", "properties": {"n": {"$ref": "#/$defs/n"}}, "required": ["n"]}}, "$ref": "#/$defs/n"})",
        R"({"allOf": [{"type": "integer"}, {"type": "string"}]})", R"({"type": "string", "pattern": "^a$", "minLength": 2})"}) {
    EXPECT_EQ(refused(none), "nothing fits: no finite text fits the grammar's root") << none;
  }
  for (const char* const wrong : {"{", "1", "\"a\"", R"({"type": "text"})", R"({"minLength": -1})", R"({"minItems": 1.5})",
                                  R"({"required": "a"})", R"({"anyOf": []})", R"({"properties": []})", R"({"pattern": "("})",
                                  R"({"items": [{}]})", R"({"multipleOf": 0})", R"({"properties": {"a": 1}})"}) {
    EXPECT_NE(refused(wrong), "") << wrong;
  }
}

TEST(Schema, IsWrittenInOneWay) {
  const char* const schema =
      R"({"type": "object", "properties": {"zeta": {"type": "integer"}, "alpha": {"enum": ["x", "y"]}, "list": {"type": "array", "items": {"type": "boolean"}}},
    "required": ["zeta", "list"], "additionalProperties": false})";
  const auto automaton = Automaton::make(schema::parse_schema(schema, Form::writing));
  EXPECT_EQ(automaton->start().forced_bytes(100), "{\"zeta\": ");
  EXPECT_TRUE(fits(automaton, R"({"zeta": 5, "alpha": "x", "list": [true, false]})"));
  EXPECT_TRUE(fits(automaton, R"({"zeta": 5, "list": []})"));
  EXPECT_FALSE(fits(automaton, R"({"list": [], "zeta": 5})"));
  EXPECT_FALSE(fits(automaton, R"({"zeta":5, "list": []})"));
  State state = automaton->start();
  ASSERT_TRUE(state.advance("{\"zeta\": 5, \"a"));
  EXPECT_EQ(state.forced_bytes(100), "lpha\": \"");
}

TEST(Schema, GrammarAsGbnfIsReadAgain) {
  for (
      const char* const schema :
      {R"({"type": "object", "properties": {"a": {"type": "integer", "minimum": 3, "maximum": 120}, "b": {"type": "string", "pattern": "^[^\"\\\\]{2,4}$"}}, "additionalProperties": {"type": "null"}})",
       R"({"type": "array", "items": {"type": ["number", "string", "null"]}, "maxItems": 4})", "{}",
       R"({"type": "string", "format": "date-time"})"}) {
    const Syntax syntax = schema::parse_schema(schema, Form::writing);
    const std::string written = to_gbnf(syntax);
    const auto again = Automaton::make(parse_gbnf(written));
    EXPECT_EQ(to_gbnf(again->syntax()), written);
    const auto first = Automaton::make(schema::parse_schema(schema, Form::writing));
    for (const char* const text : {R"({"a": 120, "b": "xyz", "c": null})", R"({"a": 121})", "[1.5, \"a\", null]", "[1, 2, 3, 4, 5]",
                                   "\"2024-05-06T07:08:09Z\"", "{}", "null"})
      EXPECT_EQ(fits(first, text), fits(again, text)) << schema << text;
  }
}

/// A text that bytes at random make of those that fit; strings and lists are kept short. "" where it does not end.
std::string random_text(const std::shared_ptr<const Automaton>& automaton, fuzz::Random& random) {
  State state = automaton->start();
  std::string text;
  for (int step = 0; step < 600; ++step) {
    if (state.accepts() && random.one_in(2)) return text;
    std::string fitting, ending;
    for (int byte = 0; byte < 256; ++byte) {
      State next = state;
      if (!next.advance(static_cast<std::uint8_t>(byte))) continue;
      fitting += static_cast<char>(byte);
      if (std::string_view("\"]}").find(static_cast<char>(byte)) != std::string_view::npos) ending += static_cast<char>(byte);
    }
    if (fitting.empty()) {
      EXPECT_TRUE(state.accepts()) << "a dead end after " << text;
      return text;
    }
    text += random.pick(!ending.empty() && random.one_in(3) ? ending : fitting);
    EXPECT_TRUE(state.advance(static_cast<std::uint8_t>(text.back())));
  }
  return "";
}

TEST(Schema, WhatIsWrittenFits) {
  fuzz::Random random(5);
  for (
      const char* const schema :
      {R"({"type": "object", "properties": {"a": {"type": "integer", "minimum": -7, "maximum": 1234, "multipleOf": 3}, "b": {"type": "string", "pattern": "^[a-z]+-\\d{2}$", "maxLength": 9},
            "c": {"type": ["null", "boolean"]}, "d": {"type": "array", "items": {"$ref": "#"}, "maxItems": 2}}, "required": ["a"], "minProperties": 2, "maxProperties": 3, "additionalProperties": {"type": "null"}})",
       R"({"type": "array", "prefixItems": [{"format": "date-time", "type": "string"}, {"format": "email", "type": "string"}], "items": {"type": "number", "exclusiveMinimum": 0.25, "maximum": 3e2}, "minItems": 1, "maxItems": 4})",
       R"({"type": "object", "patternProperties": {"^x": {"type": "integer"}, "y$": {"maximum": 10}}, "additionalProperties": false, "propertyNames": {"maxLength": 4}})",
       R"({"type": "object", "properties": {"a": {"const": {"k": [1.5, "\"\u00e9\n"]}}, "b": {"type": "boolean"}}, "dependentRequired": {"b": ["a"]}, "additionalProperties": false})",
       R"({"oneOf": [{"type": "string", "minLength": 1, "maxLength": 3}, {"type": "integer"}, {"type": "array", "contains": {"const": true}, "items": {"type": "boolean"}}]})"}) {
    const auto writing = Automaton::make(schema::parse_schema(schema, Form::writing)),
               any = Automaton::make(schema::parse_schema(schema, Form::any));
    int ended = 0;
    for (int i = 0; i < 20; ++i) {
      const std::string text = random_text(writing, random);
      if (text.empty()) continue;
      ++ended;
      EXPECT_TRUE(fits(any, text)) << schema << "\n" << text;
      EXPECT_NO_THROW(parse_json<SortedJson>(text, "the text")) << text;
    }
    EXPECT_GT(ended, 5) << schema;
  }
}

}  // namespace
}  // namespace skipstone::grammar
