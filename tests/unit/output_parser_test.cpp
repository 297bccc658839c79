// The parser of answers: every family's forms, and the rules that all of them share.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/status.h"
#include "json/json.h"
#include "output_parser_fixture.h"

namespace skipstone::chat {
namespace {

struct Case {
  const char* format;
  const char* prompt;
  std::string answer;
  const char *content, *reasoning;
  std::vector<ToolCall> calls;  ///< an id of "" is not compared
};

const std::string weather = R"({"city": "Bern", "days": 3})";

std::vector<Case> forms() {
  return {
      {"hermes", "", "Sure.\n\n<tool_call>{\"name\": \"ping\", \"arguments\": {}}</tool_call>\n", "Sure.", "", {{"ping", "", "{}"}}},
      {"hermes",
       "",
       "<tool_call>[{\"name\": \"ping\", \"arguments\": {}}, {\"arguments\": " + weather + ", \"name\": \"get_weather\"}]</tool_call>",
       "",
       "",
       {{"ping", "", "{}"}, {"get_weather", "", weather}}},
      {"hermes",
       "",
       "<tool_call>{\"type\": \"function\", \"function\": {\"name\": \"ping\", \"arguments\": {}}}</tool_call>",
       "",
       "",
       {{"ping", "", "{}"}}},
      {"hermes", "<think>\n", "<think>\nTwice.\n</think>\nYes.", "Yes.", "Twice.", {}},
      {"hermes",
       "",
       "<think>a <tool_call>{\"name\": \"ping\", \"arguments\": {}}</tool_call> b</think>c",
       "c",
       "a <tool_call>{\"name\": \"ping\", \"arguments\": {}}</tool_call> b",
       {}},
      {"hermes",
       "",
       "<tool_call>{\"name\": \"launch\", \"arguments\": {}}</tool_call>",
       "<tool_call>{\"name\": \"launch\", \"arguments\": {}}</tool_call>",
       "",
       {}},
      {"hermes", "", "<tool_call>{\"name\": \"ping\"}</tool_call>", "<tool_call>{\"name\": \"ping\"}</tool_call>", "", {}},
      {"hermes",
       "",
       "<tool_call>{\"name\": \"get_weather\", \"arguments\": {\"city\": \"<tool_call>\\\"}</think>\"}}</tool_call>",
       "",
       "",
       {{"get_weather", "", "{\"city\": \"<tool_call>\\\"}</think>\"}"}}},
      {"hermes", "", "Write <tool_call> like this.", "Write <tool_call> like this.", "", {}},
      {"hermes", "", "<tool_call><tool_call>{\"name\": \"ping\", \"arguments\": {}}</tool_call>", "<tool_call>", "", {{"ping", "", "{}"}}},
      {"qwen3-coder",
       "<think>\n",
       "Hm.\n</think>\n\nOne.\n<tool_call>\n<function=get_weather>\n<parameter=city>\n42\n</parameter>\n</function>\n</tool_call>",
       "One.",
       "Hm.",
       {{"get_weather", "", "{\"city\": \"42\"}"}}},
      {"qwen3-coder",
       "",
       "<tool_call>\n<function=ping>\n</function>\n</tool_call>\nThe tag is </tool_call>.",
       "The tag is </tool_call>.",
       "",
       {{"ping", "", "{}"}}},
      {"qwen3-coder",
       "",
       "<tool_call><function=get_weather><parameter=city>a</parameter><parameter=city>b</parameter></function></tool_call>",
       "<tool_call><function=get_weather><parameter=city>a</parameter><parameter=city>b</parameter></function></tool_call>",
       "",
       {}},
      {"llama3",
       "",
       "{\"name\": \"ping\", \"parameters\": {}}\n{\"name\": \"get_weather\", \"parameters\": " + weather + "}\n",
       "",
       "",
       {{"ping", "", "{}"}, {"get_weather", "", weather}}},
      {"llama3", "", "{\"name\": \"ping\", \"parameters\": {}} and more", "{\"name\": \"ping\", \"parameters\": {}} and more", "", {}},
      {"llama3", "", "[ping(), get_weather(city='Bern')]", "", "", {{"ping", "", "{}"}, {"get_weather", "", "{\"city\": \"Bern\"}"}}},
      {"llama3", "", "<|python_tag|>get_weather.call(city=\"Bern\")", "", "", {{"get_weather", "", "{\"city\": \"Bern\"}"}}},
      {"llama3", "", "<|python_tag|>import os", "<|python_tag|>import os", "", {}},
      {"mistral-list",
       "",
       "[TOOL_CALLS] [{\"name\": \"ping\", \"arguments\": {}, \"id\": \"abcdefgh1\"}]",
       "",
       "",
       {{"ping", "abcdefgh1", "{}"}}},
      {"mistral-list", "", "[{\"name\": \"ping\", \"arguments\": {}}]", "", "", {{"ping", "", "{}"}}},
      {"mistral-list", "", "[1, 2, 3]", "[1, 2, 3]", "", {}},
      {"mistral-named",
       "",
       "[THINK]a\n[/THINK]b [TOOL_CALLS]ping[CALL_ID]x1[ARGS]{}[TOOL_CALLS]get_weather[ARGS]" + weather,
       "b",
       "a",
       {{"ping", "x1", "{}"}, {"get_weather", "", weather}}},
      {"harmony",
       "",
       "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary to=functions.get_weather json<|message|>" + weather,
       "",
       "Hm.",
       {{"get_weather", "", weather}}},
      {"harmony", "", "<|channel|>analysis<|message|>a<|channel|>final<|message|>b<|return|>", "b", "a", {}},
      {"harmony", "", "No channel at all.", "No channel at all.", "", {}},
      {"deepseek-r1",
       "<think>\n",
       "x\n</think>\n\n<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n" + weather +
           "\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
       "",
       "x",
       {{"get_weather", "", weather}}},
      {"deepseek-v3.1",
       "</think>",
       "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>" + weather,
       "",
       "",
       {{"get_weather", "", weather}}},
      {"granite", "", "Here is my thought process:\nadd\nHere is my response:\n4", "4", "add", {}},
      {"granite", "", "<|tool_call|>[{\"name\": \"ping\", \"arguments\": {}}]", "", "", {{"ping", "", "{}"}}},
      {"phi-4-mini", "", "<|tool_call|>[{\"name\": \"ping\", \"arguments\": {}}]<|/tool_call|>", "", "", {{"ping", "", "{}"}}},
      {"functionary",
       "",
       "<function=get_weather>" + weather + "</function>\n<function=ping>{}</function>",
       "",
       "",
       {{"get_weather", "", weather}, {"ping", "", "{}"}}},
      {"command-r7b", "", "<|START_THINKING|>a<|END_THINKING|><|START_RESPONSE|>b <|END_RESPONSE|>", "b", "a", {}},
      {"command-r7b",
       "",
       "<|START_ACTION|>[{\"tool_call_id\": \"7\", \"tool_name\": \"ping\", \"parameters\": {}}]<|END_ACTION|>",
       "",
       "",
       {{"ping", "7", "{}"}}},
      {"glm",
       "",
       "\n<think>a</think>b\n<tool_call>get_weather<arg_key>city</arg_key><arg_value>Bern\n</arg_value><arg_key>days</"
       "arg_key><arg_value>3</arg_value></tool_call>",
       "b",
       "a",
       {{"get_weather", "", "{\"city\": \"Bern\\n\", \"days\": 3}"}}},
      {"kimi-k2",
       "",
       "<|tool_calls_section_begin|><|tool_call_begin|>functions.ping:3<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_"
       "end|>Done.",
       "Done.",
       "",
       {{"ping", "functions.ping:3", "{}"}}},
      {"lfm2",
       "",
       "<|tool_call_start|>[get_weather(city='B\\'n\\u00e9', days=-3), ping()]<|tool_call_end|>",
       "",
       "",
       {{"get_weather", "", "{\"city\": \"B'né\", \"days\": -3}"}, {"ping", "", "{}"}}},
      {"lfm2",
       "",
       "<|tool_call_start|>[search_orders(filters={'a': (1, None), 'b': [True, {}]})]<|tool_call_end|>",
       "",
       "",
       {{"search_orders", "", "{\"filters\": {\"a\": [1, null], \"b\": [true, {}]}}"}}},
      {"lfm2",
       "",
       "<|tool_call_start|>[get_weather(city=x)]<|tool_call_end|>",
       "<|tool_call_start|>[get_weather(city=x)]<|tool_call_end|>",
       "",
       {}},
      {"nemotron",
       "",
       "<TOOLCALL>[{\"name\": \"ping\", \"arguments\": {}}, {\"name\": \"nothing\", \"arguments\": {}}]</TOOLCALL>",
       "{\"name\": \"nothing\", \"arguments\": {}}",
       "",
       {{"ping", "", "{}"}}},
      {"minimax-m2",
       "<think>\n",
       "a</think>b<minimax:tool_call>\n<invoke name=\"get_weather\">\n<parameter "
       "name=\"city\">Bern</parameter>\n</invoke>\n</minimax:tool_call>",
       "b",
       "a",
       {{"get_weather", "", "{\"city\": \"Bern\"}"}}},
      {"firefunction", "", "<functioncall> {\"name\": \"ping\", \"arguments\": {}}", "", "", {{"ping", "", "{}"}}},
      {"plain",
       "",
       "<think>a</think> <tool_call>{\"name\": \"ping\", \"arguments\": {}}",
       "<tool_call>{\"name\": \"ping\", \"arguments\": {}}",
       "a",
       {}},
  };
}

void expect_case(const Case& c, const Message& message) {
  EXPECT_EQ(message.content, c.content);
  EXPECT_EQ(message.reasoning, c.reasoning);
  ASSERT_EQ(message.calls.size(), c.calls.size());
  for (std::size_t i = 0; i < c.calls.size(); ++i) {
    EXPECT_EQ(message.calls[i].name, c.calls[i].name);
    EXPECT_EQ(SortedJson::parse(message.calls[i].arguments), SortedJson::parse(c.calls[i].arguments)) << message.calls[i].arguments;
    EXPECT_EQ(message.calls[i].id, c.calls[i].id.empty() ? message.calls[i].id : c.calls[i].id);
  }
}

TEST(OutputParser, FormsOfEveryFamilyAtEveryCut) {
  std::vector<std::string_view> seen;
  for (const Case& c : forms()) {
    SCOPED_TRACE(c.answer);
    seen.push_back(c.format);
    for (const bool streamed : {false, true}) {
      const OutputOptions options{.prompt = c.prompt, .calls = {.tools = test_tools(), .stream_arguments = streamed}};
      expect_case(c, parse(format_named(c.format), options, c.answer, every_byte(c.answer)).message);
      for (std::size_t cut = 0; cut <= c.answer.size(); ++cut)
        expect_case(c, parse(format_named(c.format), options, c.answer, {cut}).message);
      if (HasFailure()) return;
    }
  }
  for (const OutputFormat& format : output_formats())
    EXPECT_NE(std::ranges::find(seen, format.name), seen.end()) << format.name << " has no case here";
}

TEST(OutputParser, DamageLosesNothingAndCutsDoNotMatter) {
  std::mt19937 random(5);
  const auto below = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
  const std::vector<Case> cases = forms();
  for (int round = 0; round < 6000; ++round) {
    const Case& c = cases[below(cases.size())];
    std::string answer = c.answer + (below(3) == 0 ? cases[below(cases.size())].answer : "");
    for (std::size_t times = below(4); times > 0; --times) {
      const std::size_t at = below(answer.size());
      if (below(2) == 0) {
        answer.erase(at, 1 + below(6));
      } else {
        answer.insert(at, 1, static_cast<char>(below(256)));
      }
      if (answer.empty()) answer = "x";
    }
    OutputOptions options{.prompt = c.prompt};
    options.calls.stream_arguments = below(2) == 0;
    if (below(3) != 0) options.calls.tools = test_tools();
    options.longest_call = below(5) == 0 ? 256 : 1 << 20;
    const OutputFormat& format = below(4) == 0 ? output_formats()[below(output_formats().size())] : format_named(c.format);
    const std::string whole = described(parse(format, options, answer).message);
    ASSERT_EQ(described(parse(format, options, answer, every_byte(answer)).message), whole) << format.name << " round " << round;
    const std::size_t cut = below(answer.size() + 1);
    ASSERT_EQ(described(parse(format, options, answer, {cut, std::max(cut, below(answer.size() + 1))}).message), whole) << format.name;
  }
}

TEST(OutputParser, ArgumentsComeWhileTheyAreWritten) {
  const OutputOptions options{.calls = {.tools = test_tools(), .stream_arguments = true}};
  std::vector<Event> events;
  OutputParser parser(format_named("hermes"), options, [&](const Event& event) { events.push_back(event); });
  parser.push("<tool_call>{\"name\": \"get_weather\", \"arguments\": {\"ci");
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].kind, EventKind::tool_call_begin);
  EXPECT_EQ(events[0].name, "get_weather");
  EXPECT_EQ(events[1].text, "{\"ci");
  parser.push("ty\": \"Z\xc3");
  EXPECT_EQ(events.back().text, "ty\": \"Z") << "characters stay whole";
  parser.push("\xbc\"}}");
  ASSERT_EQ(events.size(), 5u);
  EXPECT_EQ(events[3].text, "\xc3\xbc\"}");
  EXPECT_EQ(events[4].kind, EventKind::tool_call_end);
  EXPECT_TRUE(events[4].complete);
  parser.finish();
}

TEST(OutputParser, ABrokenCallIsSaidToBeVoid) {
  const OutputOptions options{.calls = {.tools = test_tools(), .stream_arguments = true}};
  const std::string answer = "A.\n<tool_call>{\"name\": \"get_weather\", \"arguments\": {\"city\": \"x\" oops";
  const Parsed parsed = parse(format_named("hermes"), options, answer, every_byte(answer));
  EXPECT_EQ(parsed.message.content, answer);
  EXPECT_TRUE(parsed.message.calls.empty());
  EXPECT_FALSE(parsed.message.notes.empty());
  EXPECT_TRUE(
      std::ranges::any_of(parsed.events, [](const Event& event) { return event.kind == EventKind::tool_call_end && !event.complete; }));
}

TEST(OutputParser, NotesSayWhatWasNoCall) {
  const OutputOptions options{.calls = {.tools = test_tools()}};
  const auto notes = [&](const char* answer) { return parse(format_named("hermes"), options, answer).message.notes; };
  EXPECT_EQ(notes("<tool_call>{\"name\": \"x\", \"arguments\": {}}").size(), 1u);
  EXPECT_EQ(notes("<tool_call>{\"name\": \"ping\", \"arg").size(), 1u);
  EXPECT_EQ(notes("<think>and on").size(), 1u);
  EXPECT_TRUE(notes("<think>a</think>b<tool_call>{\"name\": \"ping\", \"arguments\": {}}</tool_call>").empty());
}

TEST(OutputParser, TextIsHeldBackOnlyWhereItCouldBecomeAMark) {
  std::string text;
  OutputParser parser(format_named("hermes"), {}, [&](const Event& event) { text += event.text; });
  parser.push("Hello, <b>");
  EXPECT_EQ(text, "Hello, <b>");
  parser.push(" and <tool");
  EXPECT_EQ(text, "Hello, <b> and");
  parser.push("box>");
  EXPECT_EQ(text, "Hello, <b> and <toolbox>");
  parser.push("\xe2\x82");
  EXPECT_EQ(text, "Hello, <b> and <toolbox>");
  parser.push("\xac");
  EXPECT_EQ(text, "Hello, <b> and <toolbox>\xe2\x82\xac");
}

TEST(OutputParser, WhatIsNotWantedStaysText) {
  const std::string answer = "<think>a</think><tool_call>{\"name\": \"ping\", \"arguments\": {}}</tool_call>";
  OutputOptions options{.reasoning = false, .calls = {.wanted = false}};
  EXPECT_EQ(parse(format_named("hermes"), options, answer).message.content, answer);
  EXPECT_EQ(parse(format_named("llama3"), options, "{\"name\": \"ping\", \"parameters\": {}}").message.content,
            "{\"name\": \"ping\", \"parameters\": {}}");
}

TEST(OutputParser, WithoutAListOfToolsMarkedCallsAreTakenAsTheyAre) {
  EXPECT_EQ(parse(format_named("hermes"), {}, "<tool_call>{\"name\": \"any\", \"arguments\": {}}</tool_call>").message.calls.size(), 1u);
  EXPECT_TRUE(parse(format_named("llama3"), {}, "{\"name\": \"any\", \"parameters\": {}}").message.calls.empty())
      << "it may be JSON that was asked for";
}

TEST(OutputParser, MadeUpIdsFitTheFamilyAndRepeat) {
  const OutputOptions options{.id_seed = 7};
  const std::string answer = "[TOOL_CALLS][{\"name\": \"a\", \"arguments\": {}}, {\"name\": \"b\", \"arguments\": {}}]";
  const auto calls = parse(format_named("mistral-list"), options, answer).message.calls;
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].id.size(), 9u);
  EXPECT_TRUE(std::ranges::all_of(calls[0].id, [](unsigned char c) { return std::isalnum(c); }));
  EXPECT_NE(calls[0].id, calls[1].id);
  EXPECT_EQ(parse(format_named("mistral-list"), options, answer).message.calls[0].id, calls[0].id);
  EXPECT_NE(parse(format_named("mistral-list"), {.id_seed = 8}, answer).message.calls[0].id, calls[0].id);
}

TEST(OutputParser, ArgumentsAreWordForWordAndDeepOnesAreText) {
  const std::string numbers = "{\"a\": 1.0, \"b\": 123456789012345678901234567890, \"c\": 1e5}";
  const auto calls =
      parse(format_named("hermes"), {}, "<tool_call>{\"name\": \"n\", \"arguments\": " + numbers + "}</tool_call>").message.calls;
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].arguments, numbers);
  const std::string deep =
      "<tool_call>{\"name\": \"n\", \"arguments\": {\"a\": " + std::string(100, '[') + std::string(100, ']') + "}}</tool_call>";
  EXPECT_EQ(parse(format_named("hermes"), {}, deep).message.content, deep);
  const std::string deep_python = "<|tool_call_start|>[n(a=" + std::string(100, '[') + std::string(100, ']') + ")]<|tool_call_end|>";
  EXPECT_EQ(parse(format_named("lfm2"), {}, deep_python).message.content, deep_python);
  const std::string not_utf8 = "<tool_call>{\"name\": \"n\", \"arguments\": {\"a\": \"\xff\"}}</tool_call>";
  EXPECT_EQ(parse(format_named("hermes"), {}, not_utf8).message.content, not_utf8);
}

// Quadratic work would take longer than ctest waits for this program.
TEST(OutputParser, LongAnswersCostTheirLengthAndAreNotHeldBack) {
  for (const OutputFormat& format : output_formats()) {
    const std::string marks = std::string(format.section.open) + std::string(format.call_open) + std::string(format.key_open);
    for (const std::string& unit :
         {marks + "{\"a", marks, std::string("}"), marks + "[{\"name\": \"", std::string("<"), std::string(" \n"),
          std::string("<|channel|>a<|message|>"), std::string("<tool_call>{\"name\": \"n\", \"arguments\": {}}")}) {
      std::string answer;
      while (!unit.empty() && answer.size() < 300000) answer += unit;
      std::size_t raw = 0;
      OutputParser parser(format, {.longest_call = 10000}, [&](const Event& event) { raw += event.raw.size(); });
      for (std::size_t at = 0; at < answer.size(); at += 7) {
        parser.push(std::string_view(answer).substr(at, 7));
        ASSERT_GT(raw + 20000, std::min(at, answer.size())) << "more is held back than may be";
      }
      parser.finish();
      ASSERT_EQ(raw, answer.size());
    }
  }
}

TEST(OutputFormat, TemplatesSayWhichRow) {
  EXPECT_EQ(detect_output_format("{{ '<tool_call>' }}").name, "hermes");
  EXPECT_EQ(detect_output_format("<tool_call>\n<function=name>\n<parameter=key>").name, "qwen3-coder");
  EXPECT_EQ(detect_output_format("[TOOL_CALLS] [").name, "mistral-list");
  EXPECT_EQ(detect_output_format("[TOOL_CALLS]x[ARGS]").name, "mistral-named");
  EXPECT_EQ(detect_output_format("<|im_start|>").name, "plain");
  EXPECT_EQ(detect_output_format("").name, "plain");
  EXPECT_EQ(find_output_format("no such row"), nullptr);
}

}  // namespace
}  // namespace skipstone::chat
