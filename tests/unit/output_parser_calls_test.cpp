// Calls of an answer: cut at every byte, damaged, with their ids and the types of bare values; and texts that end an answer.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "base/status.h"
#include "json/json.h"
#include "output_parser_fixture.h"

namespace skipstone::chat {
namespace {

const std::string bern_days = R"({"city": "Zürich [1], {2}", "days": 3})";

/// A form of calls with text in front; its calls are ping({}) and get_weather(bern_days) in this order.
struct CallForm {
  const char* format;
  const char* prompt;
  std::string answer;
};

std::vector<CallForm> call_forms() {
  const std::string ping_json = R"({"name": "ping", "arguments": {}})",
                    weather_json = R"({"name": "get_weather", "arguments": )" + bern_days + "}";
  const auto tags = [](const std::string& key_open, const std::string& key_close, const std::string& value_close) {
    return key_open + "city" + key_close + "Zürich [1], {2}" + value_close + key_open + "days" + key_close + "3" + value_close;
  };
  return {
      {"harmony", "",
       "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Look.<|end|><|start|>assistant<|channel|>"
       "commentary "
       "to=functions.ping <|constrain|>json<|message|>{}<|call|><|start|>assistant<|channel|>commentary "
       "to=functions.get_weather<|message|>" +
           bern_days + "<|call|>"},
      {"minimax-m2", "<think>\n",
       "Hm.\n</think>\n\nLook.\n<minimax:tool_call>\n<invoke name=\"ping\">\n</invoke>\n<invoke name=\"get_weather\">\n" +
           tags("<parameter name=\"", "\">", "</parameter>\n") + "</invoke>\n</minimax:tool_call>"},
      {"glm", "",
       "\n<think>Hm.</think>Look.\n<tool_call>ping\n</tool_call>\n<tool_call>get_weather\n" +
           tags("<arg_key>", "</arg_key>\n<arg_value>", "</arg_value>\n") + "</tool_call>"},
      {"qwen3-coder", "<think>\n",
       "Hm.\n</think>\n\nLook.\n<tool_call>\n<function=ping>\n</function>\n</tool_call>\n<tool_call>\n<function=get_weather>\n" +
           tags("<parameter=", ">\n", "\n</parameter>\n") + "</function>\n</tool_call>"},
      {"functionary", "", "Look.<function=ping>{}</function><function=get_weather>" + bern_days + "</function>"},
      {"hermes", "",
       "<think>\nHm.\n</think>\n\nLook.\n<tool_call>\n" + ping_json + "\n</tool_call>\n<tool_call>\n" + weather_json + "\n</tool_call>"},
      {"mistral-named", "", "[THINK]Hm.[/THINK]Look.[TOOL_CALLS]ping[CALL_ID]abcdefgh1[ARGS]{}[TOOL_CALLS]get_weather[ARGS]" + bern_days},
      {"mistral-list", "", "Look.[TOOL_CALLS] [" + ping_json + ", " + weather_json + "]"},
      {"deepseek-r1", "<think>\n",
       "Hm.\n</think>\n\nLook.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>ping\n```json\n{}\n```<｜tool▁call▁end｜>\n"
       "<｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n" +
           bern_days + "\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>"},
      {"deepseek-v3.1", "</think>",
       "Look.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>ping<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁call▁begin｜>get_weather<"
       "｜tool▁sep｜>" +
           bern_days + "<｜tool▁call▁end｜><｜tool▁calls▁end｜>"},
      {"kimi-k2", "",
       "Look.<|tool_calls_section_begin|><|tool_call_begin|>functions.ping:0<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_call_"
       "begin|>"
       "functions.get_weather:1<|tool_call_argument_begin|>" +
           bern_days + "<|tool_call_end|><|tool_calls_section_end|>"},
      {"command-r7b", "",
       "<|START_THINKING|>Hm.<|END_THINKING|><|START_ACTION|>[\n    {\"tool_call_id\": \"0\", \"tool_name\": \"ping\", \"parameters\": "
       "{}},\n"
       "    {\"tool_call_id\": \"1\", \"tool_name\": \"get_weather\", \"parameters\": " +
           bern_days + "}\n]<|END_ACTION|>"},
      {"phi-4-mini", "", "Look.<|tool_call|>[" + ping_json + ", " + weather_json + "]<|/tool_call|>"},
      {"granite", "", "<think>Hm.</think>Look.<|tool_call|>[" + ping_json + ", " + weather_json + "]"},
      {"lfm2", "", "Look.<|tool_call_start|>[ping(), get_weather(city=\"Zürich [1], {2}\", days=3)]<|tool_call_end|>"},
      {"nemotron", "<think></think>", "Look.<TOOLCALL>[" + ping_json + ", " + weather_json + "]</TOOLCALL>"},
      {"firefunction", "", "Look. <functioncall> " + ping_json + "\n<functioncall> " + weather_json},
      {"llama3", "", ping_json + "; " + weather_json},
      {"plain", "", "<think>Hm.</think>Look."},
  };
}

/// What a client has that joins the events of a stream, and cannot take one back.
Message as_streamed(const std::vector<Event>& events) {
  Message message;
  for (const Event& event : events) {
    if (event.kind == EventKind::text) message.content += event.text;
    if (event.kind == EventKind::reasoning) message.reasoning += event.text;
    if (event.kind == EventKind::tool_call_begin) message.calls.push_back({event.name, event.id, {}});
    if (event.kind == EventKind::tool_call_arguments) message.calls.back().arguments += event.text;
  }
  return message;
}

TEST(OutputCalls, AnAnswerCutAtEveryByteHasWholeCallsAlone) {
  std::set<std::string_view> seen;
  for (const CallForm& form : call_forms()) {
    SCOPED_TRACE(form.format);
    seen.insert(form.format);
    const OutputFormat& format = format_named(form.format);
    const OutputOptions options{.prompt = form.prompt, .calls = {.tools = test_tools()}, .used_ids = std::vector<std::string>()};
    const Message whole = parse(format, options, form.answer).message;
    ASSERT_EQ(whole.calls.size(), format.syntax == CallSyntax::none ? 0u : 2u) << described(whole);
    for (std::size_t cut = 0; cut <= form.answer.size(); ++cut) {
      const std::string answer = form.answer.substr(0, cut);
      const Message at_once = parse(format, options, answer).message;
      const Message streamed = as_streamed(parse(format, options, answer, every_byte(answer)).events);
      ASSERT_EQ(described(streamed), described(at_once)) << answer;
      ASSERT_LE(at_once.calls.size(), whole.calls.size()) << answer;
      for (std::size_t i = 0; i < at_once.calls.size(); ++i) {
        ASSERT_EQ(at_once.calls[i].name, i == 0 ? "ping" : "get_weather") << answer;
        ASSERT_EQ(SortedJson::parse(at_once.calls[i].arguments), SortedJson::parse(i == 0 ? "{}" : bern_days)) << answer;
      }
    }
  }
  for (const OutputFormat& format : output_formats()) EXPECT_TRUE(seen.contains(format.name)) << format.name << " has no case here";
}

// ---- damage ----

Message hermes(const std::string& arguments) {
  const OutputOptions options{.calls = {.tools = test_tools()}};
  const std::string answer = "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": " + arguments + "}\n</tool_call>";
  const Message message = parse(format_named("hermes"), options, answer).message;
  EXPECT_EQ(described(parse(format_named("hermes"), options, answer, every_byte(answer)).message), described(message));
  if (message.calls.empty()) {
    EXPECT_EQ(message.content, answer);
  }
  return message;
}

TEST(OutputCalls, DamageWithACertainMeaningIsRepaired) {
  const std::vector<std::pair<std::string, std::string>> repairs = {
      {"{\"city\": \"a\nb\tc\r\n\x01\"}", R"({"city": "a\nb\tc\r\n\u0001"})"},
      {R"({"city": "\d+\.\w \' \u12 \x41 \\ \" \n"})", R"({"city": "\\d+\\.\\w ' \\u12 \\x41 \\ \" \n"})"},
      {R"({"city": "x", "days": [1, 2, ], })", R"({"city": "x", "days": [1, 2]})"},
      {R"({"city": "True, None,}", "days": [True, False, None]})", R"({"city": "True, None,}", "days": [true, false, null]})"},
      {R"("{\"city\": \"a\tb\",}")", R"({"city": "a\tb"})"},
  };
  for (const auto& [damaged, right] : repairs) {
    const Message message = hermes(damaged);
    ASSERT_EQ(message.calls.size(), 1u) << damaged;
    EXPECT_EQ(SortedJson::parse(message.calls[0].arguments), SortedJson::parse(right)) << damaged;
    EXPECT_EQ(message.content, "");
  }
  EXPECT_EQ(hermes("{\"days\": 123456789012345678901234567890, \"city\": \"\n\"}").calls.at(0).arguments,
            "{\"days\": 123456789012345678901234567890, \"city\": \"\\n\"}")
      << "what is not damaged stays as it was written";
}

TEST(OutputCalls, DamageWithoutACertainMeaningIsContent) {
  for (const std::string damaged : {R"({"city": "say "x" now"})", R"({"city": "x", "city": "y"})", R"({'city': 'x'})", R"({"city": x})",
                                    R"({"city": "\ud800"})", R"({"city": 1 2})", R"({"city": "x",, "days": 1})", R"({city: "x"})"}) {
    EXPECT_TRUE(hermes(damaged).calls.empty()) << damaged;
  }
  const std::string deep = "{\"city\": " + std::string(40, '[') + std::string(40, ']') + "}";
  EXPECT_TRUE(hermes(deep).calls.empty());
}

TEST(OutputCalls, EveryFormatOfJsonIsRepaired) {
  const std::string damaged = "{\"city\": \"a\nb \\d\", \"days\": 3,}", right = R"({"city": "a\nb \\d", "days": 3})";
  for (const CallForm& form : call_forms()) {
    std::string answer = form.answer;
    const std::size_t at = answer.find(bern_days);
    if (at == std::string::npos) continue;
    answer.replace(at, bern_days.size(), damaged);
    const OutputOptions options{.prompt = form.prompt, .calls = {.tools = test_tools()}};
    const Message message = parse(format_named(form.format), options, answer, every_byte(answer)).message;
    ASSERT_EQ(message.calls.size(), 2u) << form.format << "\n" << described(message);
    EXPECT_EQ(SortedJson::parse(message.calls[1].arguments), SortedJson::parse(right)) << form.format;
  }
}

TEST(OutputCalls, TheArgumentsOfANestedCallStayAsTheyAreWritten) {
  const std::string arguments = R"({"z": 123456789012345678901234567890, "a": 1.50})";
  const Message message = parse(format_named("hermes"), {}, R"(<tool_call>
{"function": {"name": "save", "arguments": )" + arguments + R"(}, "id": "c1"}
</tool_call>)")
                              .message;
  ASSERT_EQ(message.calls.size(), 1u);
  EXPECT_EQ(message.calls[0].arguments, arguments);
}

// Arguments are those of the first key, however it is written and however many keys there are; they are what is checked and what is given.
TEST(OutputCalls, TheFirstArgumentsAreTheCalls) {
  std::string many;
  for (int i = 0; i < 20; ++i) many += "\"k" + std::to_string(i) + "\": 1, ";
  const std::pair<std::string, std::string> answers[] = {
      {R"({"name": "save", "argum\u0065nts": {"a": 1}, "parameters": {"b": 2}})", R"({"a": 1})"},
      {R"({"name": "save", )" + many + R"("arguments": {"a": 1}, "parameters": {"b": 2}})", R"({"a": 1})"},
      {R"({"name": "save", "function": {"name": "save", "parameters": {"a": 1}}, "arguments": {"b": 2}})", R"({"a": 1})"}};
  for (const auto& [object, arguments] : answers) {
    const std::string answer = "<tool_call>\n" + object + "\n</tool_call>";
    for (const bool streams : {false, true}) {
      const Message message = parse(format_named("hermes"), {.calls = {.stream_arguments = streams}}, answer, every_byte(answer)).message;
      ASSERT_EQ(message.calls.size(), 1u) << object;
      EXPECT_EQ(message.calls[0].arguments, arguments) << object;
    }
  }
}

// A hundred thousand keys: a list that is searched for each of them takes longer than ctest waits for this program.
TEST(OutputCalls, ManyArgumentsTakeLinearTime) {
  constexpr int keys = 100'000;
  std::string json = "{", python = "save(", tags;
  for (int i = 0; i < keys; ++i) {
    const std::string key = "key_" + std::to_string(i);
    json += (i == 0 ? "\"" : ", \"") + key + "\": 1";
    python += (i == 0 ? "" : ", ") + key + "=1";
    tags += "<parameter=" + key + ">\n1\n</parameter>\n";
  }
  json += "}";
  const std::string damaged = json.substr(0, json.size() - 1) + ",}", call = R"({"name": "save", "arguments": )";
  const std::pair<const char*, std::string> answers[] = {
      {"hermes", "<tool_call>\n" + call + json + "}\n</tool_call>"},
      {"hermes", "<tool_call>\n" + call + damaged + "}\n</tool_call>"},
      {"hermes", "<tool_call>\n" + call + SortedJson(json).dump() + "}\n</tool_call>"},
      {"hermes", "<tool_call>\n{\"function\": " + call + json + "}}\n</tool_call>"},
      {"mistral-named", "[TOOL_CALLS]save[ARGS]" + json},
      {"qwen3-coder", "<tool_call>\n<function=save>\n" + tags + "</function>\n</tool_call>"},
      {"lfm2", "<|tool_call_start|>[" + python + ")]<|tool_call_end|>"},
      {"lfm2", "<|tool_call_start|>[save(a=" + json + ")]<|tool_call_end|>"}};
  for (const auto& [format, answer] : answers) {
    const Message message = parse(format_named(format), {.longest_call = 16 << 20}, answer).message;
    ASSERT_EQ(message.calls.size(), 1u) << format;
    const std::string& arguments = message.calls[0].arguments;
    EXPECT_EQ(std::ranges::count(arguments, ':'), keys + (arguments.starts_with("{\"a\": ") ? 1 : 0)) << format;
    EXPECT_NE(arguments.find(R"("key_99999": 1})"), std::string::npos) << format;
  }
}

TEST(OutputCalls, AStringThatIsNotClosedHidesNoCall) {
  const std::string broken = "<tool_call>\n{\"name\": \"ping\", \"arguments\": {\"a\": \"b}}\n</tool_call>\n",
                    good = "<tool_call>{\"name\": \"ping\", \"arguments\": {}}</tool_call>";
  for (const std::string& answer : {broken + good, broken + good + "\n" + good}) {
    const Message message = parse(format_named("hermes"), {.calls = {.tools = test_tools()}}, answer, every_byte(answer)).message;
    EXPECT_EQ(message.calls.size(), answer.size() > broken.size() + good.size() ? 2u : 1u);
    EXPECT_TRUE(message.content.starts_with("<tool_call>\n{\"name\": \"ping\", \"arguments\": {\"a\": \"b}}")) << message.content;
  }
}

// ---- ids ----

std::vector<std::string> ids_of(const char* format, const std::string& answer, const std::vector<std::string>& used,
                                std::uint64_t seed = 1) {
  std::vector<std::string> ids;
  for (const ToolCall& call : parse(format_named(format), {.id_seed = seed, .used_ids = used}, answer).message.calls)
    ids.push_back(call.id);
  return ids;
}

TEST(OutputCalls, IdsAreNotThoseOfTheConversation) {
  const std::string two =
      "<tool_call>{\"id\": \"a\", \"name\": \"x\", \"arguments\": {}}</tool_call><tool_call>{\"id\": \"a\", \"name\": \"x\", "
      "\"arguments\": {}}</tool_call>";
  const auto free_ids = ids_of("hermes", two, {});
  ASSERT_EQ(free_ids.size(), 2u);
  EXPECT_EQ(free_ids[0], "a") << "the model's own, where it is new";
  EXPECT_NE(free_ids[1], "a");
  const auto ids = ids_of("hermes", two, {"a", free_ids[1]});
  EXPECT_EQ(std::set<std::string>({"a", free_ids[1], ids[0], ids[1]}).size(), 4u);
  const std::string none = "<tool_call>{\"name\": \"x\", \"arguments\": {}}</tool_call>";
  const std::string made_up = ids_of("hermes", none, {})[0];
  EXPECT_NE(ids_of("hermes", none, {made_up})[0], made_up) << "with the same seed";
  EXPECT_NE(ids_of("hermes", none, {}, 2)[0], made_up);
}

TEST(OutputCalls, IdsFitTheFormat) {
  const auto is_short = [](const std::string& id) {
    return id.size() == 9 && std::ranges::all_of(id, [](unsigned char c) { return std::isalnum(c); });
  };
  const auto list = ids_of(
      "mistral-list",
      R"([TOOL_CALLS][{"name": "a", "arguments": {}, "id": "1"}, {"name": "a", "arguments": {}, "id": "abcdefgh1"}, {"name": "a", "arguments": {}}])",
      {});
  ASSERT_EQ(list.size(), 3u);
  EXPECT_TRUE(std::ranges::all_of(list, is_short)) << list[0] << " " << list[2];
  EXPECT_EQ(list[1], "abcdefgh1");
  EXPECT_EQ(ids_of("kimi-k2", "<|tool_call_begin|>functions.ping:0<|tool_call_argument_begin|>{}<|tool_call_end|>",
                   {"functions.ping:0", "functions.x:1"}),
            std::vector<std::string>{"functions.ping:2"});
  const std::string action = R"(<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "ping", "parameters": {}}]<|END_ACTION|>)";
  EXPECT_NE(ids_of("command-r7b", action, {}, 1), ids_of("command-r7b", action, {}, 2)) << "its index is no id";
}

// ---- bare values ----

std::vector<std::string> spelled(const char* format, const SortedJson& parameters, const std::string& value) {
  const SortedJson tools = {{{"type", "function"}, {"function", {{"name", "save"}, {"parameters", parameters}}}}};
  const std::string answer =
      std::string(format) == "glm" ? "<tool_call>save\n<arg_key>a</arg_key>\n<arg_value>" + value + "</arg_value>\n</tool_call>"
      : std::string(format) == "minimax-m2"
          ? "<minimax:tool_call>\n<invoke name=\"save\">\n<parameter name=\"a\">" + value + "</parameter>\n</invoke>\n</minimax:tool_call>"
          : "<tool_call>\n<function=save>\n<parameter=a>\n" + value + "\n</parameter>\n</function>\n</tool_call>";
  const OutputOptions options{.calls = {.tools = tools_from(tools)}};
  const Message message = parse(format_named(format), options, answer, every_byte(answer)).message;
  EXPECT_EQ(described(parse(format_named(format), options, answer).message), described(message));
  std::vector<std::string> all;
  for (const ToolCall& call : message.calls) all.push_back(SortedJson::parse(call.arguments)["a"].dump());
  return all;
}

std::string spelled(const SortedJson& schema, const std::string& value) {
  const std::vector<std::string> one = spelled("qwen3-coder",
                                               {{"type", "object"},
                                                {"properties", {{"a", schema}}},
                                                {"$defs", {{"Text", {{"type", "string"}}}, {"a/b", {{"$ref", "#/$defs/Text"}}}}}},
                                               value);
  return one.size() == 1 ? one[0] : "no call";
}

TEST(OutputTools, AValueIsTextWhereTheSchemaAllowsText) {
  for (const char* schema :
       {R"({"type": "string"})", R"({"type": ["null", "string"]})", R"({"anyOf": [{"type": "string"}, {"type": "null"}]})",
        R"({"oneOf": [{"type": "integer"}, {"type": "string"}]})", R"({"allOf": [{"type": "string"}, {"minLength": 1}]})",
        R"({"$ref": "#/$defs/Text"})", R"({"$ref": "#/$defs/a~1b"})", R"({"const": "12345"})", R"({"enum": ["12345", null]})",
        R"({"description": "anything"})", R"({"minLength": 1})", "{}", "true",
        R"({"anyOf": [{"type": "object"}, {"anyOf": [{"$ref": "#/$defs/Text"}]}]})"}) {
    EXPECT_EQ(spelled(SortedJson::parse(schema), "12345"), "\"12345\"") << schema;
    EXPECT_EQ(spelled(SortedJson::parse(schema), "{\"k\": 1}"), R"("{\"k\": 1}")") << schema;
  }
}

TEST(OutputTools, AValueIsJsonWhereTheSchemaAllowsNoText) {
  for (const char* schema : {R"({"type": "integer"})", R"({"type": ["integer", "null"]})",
                             R"({"anyOf": [{"type": "number"}, {"type": "null"}]})", R"({"const": 12345})", R"({"enum": [1, 12345]})",
                             R"({"minimum": 3})", R"({"allOf": [{"type": ["string", "integer"]}, {"type": "integer"}]})"}) {
    EXPECT_EQ(spelled(SortedJson::parse(schema), "12345"), "12345") << schema;
  }
  EXPECT_EQ(spelled(SortedJson::parse(R"({"properties": {"k": {}}})"), "{'k': [True, 'x'],}"), R"({"k":[true,"x"]})");
  EXPECT_EQ(spelled(SortedJson::parse(R"({"type": "array"})"), "[\"a\nb\",]"), R"(["a\nb"])");
  EXPECT_EQ(spelled(SortedJson::parse(R"({"type": "boolean"})"), "True"), "true");
  EXPECT_EQ(spelled(SortedJson::parse(R"({"type": "integer"})"), "none of them"), "\"none of them\"") << "nothing is lost";
  const SortedJson choice = SortedJson::parse(R"({"anyOf": [{"type": "string", "enum": ["a", "b"]}, {"type": "null"}]})");
  EXPECT_EQ(spelled(choice, "null"), "null") << "the texts of the schema are others";
  EXPECT_EQ(spelled(choice, "12"), "\"12\"") << "and neither is allowed";
}

TEST(OutputTools, AParameterIsFoundWhereverTheSchemaHasIt) {
  for (const char* parameters : {R"({"$ref": "#/$defs/Args", "$defs": {"Args": {"properties": {"a": {"type": "string"}}}}})",
                                 R"({"allOf": [{"properties": {"b": {}}}, {"properties": {"a": {"type": "string"}}}]})",
                                 R"({"oneOf": [{"properties": {"a": {"type": "integer"}}}, {"properties": {"a": {"type": "string"}}}]})",
                                 R"({"type": "object", "additionalProperties": {"type": "string"}})"}) {
    EXPECT_EQ(spelled("qwen3-coder", SortedJson::parse(parameters), "12345"), std::vector<std::string>{"\"12345\""}) << parameters;
  }
  for (const char* parameters : {R"({})", R"({"properties": {"b": {"type": "string"}}})", R"({"$ref": "#/nowhere"})",
                                 R"({"$ref": "#a", "a": {"properties": {"a": {"type": "string"}}}})", R"({"$ref": "#"})",
                                 R"({"properties": {"a": {"$ref": "#/properties/a"}}})"}) {
    EXPECT_EQ(spelled("qwen3-coder", SortedJson::parse(parameters), "12345"), std::vector<std::string>{"12345"}) << parameters;
  }
}

TEST(OutputTools, HostileSchemasTakeLimitedTime) {
  SortedJson schema = {{"properties", {{"a", {{"$ref", "#/$defs/0"}}}}}};
  for (int i = 0; i < 60; ++i) {
    const SortedJson next = {{"$ref", "#/$defs/" + std::to_string(i + 1)}};
    schema["$defs"][std::to_string(i)] = {{"anyOf", {next, next}}, {"allOf", {next, next}}};
  }
  EXPECT_EQ(spelled("qwen3-coder", schema, "12345").size(), 1u);
}

TEST(OutputTools, AClosingTagInsideAValueDoesNotEndIt) {
  const SortedJson parameters = SortedJson::parse(R"({"properties": {"a": {"type": "string"}}})");
  for (const auto& [format, tag] :
       {std::pair("qwen3-coder", "</parameter>"), std::pair("minimax-m2", "</parameter>"), std::pair("glm", "</arg_value>")}) {
    for (const std::string& value : {std::string("Write ") + tag + " here", std::string(tag), tag + std::string("\n") + tag + "\n\n<",
                                     std::string("x") + tag + "\n<par"})
      EXPECT_EQ(spelled(format, parameters, value), std::vector<std::string>{SortedJson(value).dump()}) << format;
  }
}

}  // namespace
}  // namespace skipstone::chat
