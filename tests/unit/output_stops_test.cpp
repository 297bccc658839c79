// Texts that end an answer: where they count, and where they are cut.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "output_parser_fixture.h"

namespace skipstone::chat {
namespace {

struct Stopped {
  Message message;
  bool stopped = false;
  std::string text;
};

Stopped parse_to(const char* format, const OutputOptions& options, const std::string& answer, std::size_t chunk) {
  Stopped result;
  MessageBuilder builder;
  OutputParser parser(format_named(format), options, [&](const Event& event) { builder.add(event); });
  for (std::size_t at = 0; at < answer.size() && !parser.stopped(); at += chunk) parser.push(std::string_view(answer).substr(at, chunk));
  result.stopped = parser.stopped();
  result.text = parser.stop_text();
  parser.finish();
  result.message = builder.message();
  return result;
}

TEST(OutputStops, TheyCountInTheAnswerAlone) {
  struct Case {
    const char *format, *prompt;
    std::vector<std::string> stop;
    std::string answer, content, reasoning;
    bool stopped;
  };
  const std::string analysis = "<|channel|>analysis<|message|>one two<|end|><|start|>assistant<|channel|>final<|message|>";
  const std::vector<Case> cases = {
      {"hermes", "", {"two"}, "<think>\none two\n</think>\n\nthree two four", "three ", "one two", true},
      {"hermes", "<think>\n", {"two", "\n\n"}, "one two\n\n</think>\n\nthree", "three", "one two", false},
      {"hermes", "<think>\n", {"\n\n"}, "one</think>\n\nthree\n\nfour", "three", "one", true},
      {"hermes", "<think>\n", {"two"}, "one two", "", "one two", false},
      {"hermes", "", {"one two"}, "one two three", "", "", true},
      {"hermes", "", {"think"}, "<think>a</think>b think", "b ", "a", true},
      {"hermes", "", {"\n"}, "\none", "", "", true},
      {"hermes", "", {"<thi"}, "<this", "", "", true},
      {"plain", "", {"two"}, "<think>two</think>one two", "one ", "two", true},
      {"hermes", "", {"ab", "bcd"}, "xabcd", "x", "", true},
      {"hermes", "", {"abc"}, "xab", "xab", "", false},
      {"granite", "", {"\n"}, "<think>one\n</think>\n<response>\nthree\nfour</response>", "three", "one", true},
      {"harmony", "", {"\n"}, analysis + "\nthree\nfour", "three", "one two", true},
      {"harmony", "", {"two", "final"}, analysis + "three two four", "three ", "one two", true},
      {"harmony",
       "",
       {"two"},
       analysis + "three<|end|><|start|>assistant<|channel|>analysis<|message|>two<|end|>",
       "three",
       "one twotwo",
       false},
      {"hermes",
       "",
       {"Bern"},
       "a <tool_call>{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Bern\"}}</tool_call>",
       "a <tool_call>{\"name\": \"get_weather\", \"arguments\": {\"city\": \"",
       "",
       true},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.answer + " up to " + c.stop[0]);
    for (std::size_t chunk = 1; chunk <= c.answer.size(); ++chunk) {
      const Stopped got = parse_to(c.format, {.prompt = c.prompt, .calls = {.tools = test_tools()}, .stop = c.stop}, c.answer, chunk);
      ASSERT_EQ(got.message.content, c.content) << chunk;
      ASSERT_EQ(got.message.reasoning, c.reasoning) << chunk;
      ASSERT_EQ(got.stopped, c.stopped) << chunk;
      ASSERT_EQ(got.text, c.stopped ? c.stop[0] : "") << chunk;
      ASSERT_TRUE(got.message.calls.empty());
    }
  }
}

TEST(OutputStops, ASpecialTokenIsNoPartOfOne) {
  std::string text;
  OutputParser parser(format_named("hermes"), {.stop = {"ab", "<x>"}}, [&](const Event& event) { text += event.text; });
  parser.push("1a");
  EXPECT_EQ(text, "1");
  parser.push_marker("<x>");
  parser.push("b2");
  EXPECT_EQ(text, "1a<x>b2");
  parser.push("ab3");
  EXPECT_TRUE(parser.stopped());
  parser.push_marker("<x>");
  parser.finish();
  EXPECT_EQ(text, "1a<x>b2");
  EXPECT_THROW(OutputParser(format_named("hermes"), {.stop = {""}}, [](const Event&) {}), Error);
}

}  // namespace
}  // namespace skipstone::chat
