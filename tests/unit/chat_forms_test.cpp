// What conversations may hold, brought into what a template can write: parts in every role, system messages anywhere, answers without text,
// tools in words, reasoning off.
#include <gtest/gtest.h>

#include "base/status.h"
#include "chat/chat_prompt.h"
#include "chat_vocabulary.h"

namespace skipstone::chat::forms {
namespace {

std::string text(const std::string& source, const std::string& messages, const std::string& tools = "", const std::string& options = "") {
  const ChatTemplate chat(source, "<s>", "</s>");
  return std::string(chat.render(read_conversation(messages, tools, options)).bytes());
}

const std::string call = R"({"role": "assistant", "content": null, "tool_calls": [{"id": "c", "type": "function",
  "function": {"name": "depth", "arguments": {"lake": "Zug", "big": 123456789012345678901234567890}}}]})";
const std::string result = R"({"role": "tool", "content": "9 m", "tool_call_id": "c"})";
const std::string user = R"({"role": "user", "content": "U"})";
const std::string tools = R"([{"type": "function", "function": {"name": "depth", "parameters": {"b": 1, "a": {"z": 2.0, "c": []}}}}])";

TEST(ChatForms, PartsOfEveryRole) {
  // The template takes parts of users alone; it would print other lists as Python does, or only their first part.
  const std::string source = R"({%- for m in messages %}[{{ m.role }}:
{%- if m.role == 'user' and m.content is not string %}{% for p in m.content %}<{{ p.text }}>{% endfor %}
{%- elif m.role == 'tool' and m.content is not string %}{{ m.content[0].text }}
{%- else %}{{ m.content }}{% endif %}{% for c in m.tool_calls %}{{ c.function.name ~ c.function.arguments }}{% endfor %}]{%- endfor %})";
  const auto parts = [](const std::string& role, const std::string& more = "") {
    return R"({"role": ")" + role + R"(", "content": [{"type": "text", "text": "one, "}, {"type": "text", "text": "two"}])" + more + "}";
  };
  const std::string given = "[" + parts("system") + "," + parts("user") + "," + parts("assistant") + "," + user + "," + call + "," +
                            parts("tool", R"(, "tool_call_id": "c")") + "]";
  const std::string written = text(source, given);
  EXPECT_EQ(written.find("[system:one, two][user:<one, ><two>][assistant:one, two][user:U]"), 0u) << written;
  EXPECT_NE(written.find("[tool:one, two]"), std::string::npos) << written;
  // Parts of the other API, and a refusal: texts too.
  EXPECT_EQ(
      text("{% for m in messages %}{{ m.content }}{% endfor %}", R"([{"role": "user", "content": [{"type": "input_text", "text": "a"}]},
    {"role": "assistant", "content": [{"type": "output_text", "text": "b", "annotations": []}, {"type": "refusal", "refusal": "c"}]}])"),
      "abc");
}

TEST(ChatForms, AnswersWithoutText) {
  const std::string source = "{% for m in messages %}{{ m.role + ':' + m.content + ';' }}{% endfor %}";
  for (const char* answer : {R"({"role": "assistant"})", R"({"role": "assistant", "content": null})",
                             R"({"role": "assistant", "content": null, "tool_calls": []})"})
    EXPECT_EQ(text(source, "[" + user + "," + answer + "," + user + "]"), "user:U;assistant:;user:U;") << answer;
}

TEST(ChatForms, AFailedCallsResultSaysSo) {
  const std::string source = "{% for m in messages %}{{ m.role[0] ~ ':' ~ m.content }};{% endfor %}";
  const auto failed = [](const std::string& content, const std::string& more) {
    return "[" + call + R"(,{"role": "tool", "tool_call_id": "c", "content": )" + content + more + "}]";
  };
  const auto end = [&](const std::string& chat_template, const std::string& messages) {
    const std::string written = text(chat_template, messages);
    return written.substr(written.find("t:"));
  };
  EXPECT_EQ(end(source, failed("\"9 m\"", R"(, "is_error": true)")), "t:Error: 9 m;");
  EXPECT_EQ(end(source, failed("\"\"", R"(, "is_error": true)")), "t:Error;");
  EXPECT_EQ(end(source, failed(R"([{"type": "text", "text": "9"}, {"type": "text", "text": " m"}])", R"(, "is_error": true)")),
            "t:Error: 9 m;");
  for (const char* none : {"", R"(, "is_error": false)", R"(, "is_error": null)", R"(, "is_error": "x")"})
    EXPECT_EQ(end(source, failed("\"9 m\"", none)), "t:9 m;") << none;
  // A template that knows says it itself; one without results has them in words.
  const std::string knows = "{% for m in messages %}{{ m.role[0] ~ ':' ~ ('!' if m.is_error else '') ~ m.content }};{% endfor %}";
  EXPECT_EQ(end(knows, failed("\"9 m\"", R"(, "is_error": true)")), "t:!9 m;");
  const std::string drops = "{% for m in messages %}{% if m.role != 'tool' %}{{ m.role ~ ':' ~ m.content }};{% endif %}{% endfor %}";
  EXPECT_NE(text(drops, failed("\"9 m\"", R"(, "is_error": true)")).find("<tool_response>\nError: 9 m\n</tool_response>"),
            std::string::npos);
}

TEST(ChatForms, ToolsInWordsKeepTheFormOfATemplatesCalls) {
  const auto tokenizer = tests::tokenizer_with({});
  const std::string marks = "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>";
  // One writes calls and no definitions, the other neither.
  const std::string writes = "{% for m in messages %}{{ m.role[0] ~ m.content }}{% for c in m.tool_calls %}" + marks +
                             "{{ c.function.name }}<｜tool▁sep｜>{{ c.function.arguments|tojson }}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
                             "{% endfor %};{% endfor %}";
  const std::string drops = "{# " + marks + " #}{% for m in messages %}{{ m.role[0] ~ m.content }};{% endfor %}";
  const std::string written =
      marks + R"(depth<｜tool▁sep｜>{"lake": "Zug", "big": 123456789012345678901234567890}<｜tool▁call▁end｜><｜tool▁calls▁end｜>;t9 m;)";
  for (const std::string& source : {writes, drops}) {
    const ChatPrompt prompt(tokenizer, {{"", source}}, "");
    EXPECT_EQ(prompt.output_format(true).name, "deepseek-v3.1");
    const std::string whole(prompt.render(read_conversation("[" + user + "," + call + "," + result + "]", tools, "")).text.bytes());
    EXPECT_NE(whole.find(marks + "NAME<｜tool▁sep｜>{...}<｜tool▁call▁end｜><｜tool▁calls▁end｜>;uU;a" + written), std::string::npos)
        << whole;
  }
}

TEST(ChatForms, SeveralCallsWhereATemplateTakesOne) {
  const std::string given = "[" + user + R"(, {"role": "assistant", "content": "A", "tool_calls": [
      {"id": "1", "function": {"name": "f", "arguments": {"x": 1}}}, {"id": "2", "function": {"name": "g", "arguments": {"x": 2}}}]},
    {"role": "tool", "tool_call_id": "2", "content": "two"}, {"role": "tool", "tool_call_id": "1", "content": "one"}, )" +
                            user + "]";
  const std::string turn = "{{ m.role[0] ~ ':' ~ m.content }}";
  const std::string all = "{% for c in m.tool_calls %}({{ c.function.name ~ c.function.arguments|tojson }}){% endfor %}";
  EXPECT_EQ(text("{% for m in messages %}" + turn + all + ";{% endfor %}", given), R"(u:U;a:A(f{"x": 1})(g{"x": 2});t:two;t:one;u:U;)");
  const std::string first =
      "{% set c = (m.tool_calls or [none])[0] %}{% if c %}({{ c.function.name ~ c.function.arguments|tojson }}){% endif %}";
  const std::string refused = "{% if m.tool_calls and m.tool_calls|length > 1 %}{{ raise_exception('one') }}{% endif %}" + all;
  for (const std::string& one : {first, refused}) {
    EXPECT_EQ(text("{% for m in messages %}" + turn + one + ";{% endfor %}", given),
              R"(u:U;a:A(f{"x": 1});t:one;a:(g{"x": 2});t:two;u:U;)");
  }
}

TEST(ChatForms, ToolsWithoutDescriptionOrParameters) {
  const std::string bare = R"([{"type": "function", "function": {"name": "f"}}])";
  const auto written = [&](const std::string& each) {
    return text("{% for tool in tools %}" + each + "{% endfor %}{{ messages[0].content }}", "[" + user + "]", bare);
  };
  EXPECT_EQ(written("{{ tool.function.name + tool.function.description }}"), "fU");
  EXPECT_EQ(written("{{ tool.function.name }}{% for p in tool.function.parameters.properties %}{{ p }}{% endfor %}"), "fU");
  EXPECT_EQ(written("{{ tool.function|tojson }}"), R"({"name": "f"}U)") << "nothing is added where the template does without";
}

std::string system_message(const std::string& content, const std::string& role = "system") {
  return R"({"role": ")" + role + R"(", "content": ")" + content + "\"}";
}

TEST(ChatForms, SystemMessagesAnywhere) {
  const std::string answer = R"({"role": "assistant", "content": "A"})";
  const std::string two = "[" + system_message("one") + "," + system_message("two") + "," + user + "]";
  const std::string late = "[" + system_message("one") + "," + user + "," + answer + "," + system_message("two") + "," + user + "]";
  const std::string last = "[" + system_message("one") + "," + user + "," + answer + "," + system_message("two") + "]";
  const std::string turns = "{% for m in messages %}{{ m.role[0] + ':' + m.content + ';' }}{% endfor %}";
  EXPECT_EQ(text(turns, two), "s:one;s:two;u:U;");
  EXPECT_EQ(text(turns, late), "s:one;u:U;a:A;s:two;u:U;");
  // Refused, or lost in silence, after the first message.
  for (const char* other : {"{{ raise_exception('late') }}", ""}) {
    const std::string first = "{% for m in messages %}{% if m.role == 'system' and not loop.first %}" + std::string(other) +
                              "{% else %}{{ m.role[0] + ':' + m.content + ';' }}{% endif %}{% endfor %}";
    EXPECT_EQ(text(first, two), "s:one\n\ntwo;u:U;");
    EXPECT_EQ(text(first, late), "s:one;u:U;a:A;u:two\n\nU;");
    EXPECT_EQ(text(first, last), "s:one\n\ntwo;u:U;a:A;");
    EXPECT_EQ(text(first, "[" + user + "," + system_message("two") + "]"), "s:two;u:U;");
    EXPECT_EQ(text(first, "[" + system_message("one", "developer") + "," + system_message("two", "developer") + "," + user + "]"),
              "d:one\n\ntwo;u:U;");
  }
  // No place for any.
  const std::string none =
      "{% for m in messages %}{% if m.role != 'system' %}{{ m.role[0] + ':' + m.content + ';' }}{% endif %}{% endfor %}";
  EXPECT_EQ(text(none, late), "u:one\n\nU;a:A;u:two\n\nU;");
  EXPECT_EQ(text(none, "[" + user + "," + system_message("two") + "]"), "u:U\n\ntwo;");
  EXPECT_EQ(text(none, "[" + user + "," + system_message("two") + R"(,{"role":"assistant","content":"A"}])"), "u:U\n\ntwo;a:A;");
}

TEST(ChatForms, ToolsInWordsWhereATemplateWritesNone) {
  const std::string source =
      "{% for m in messages %}{% if m.role == 'tool' %}{{ raise_exception('no') }}{% endif %}{{ m.role + ':' + m.content + ';' }}{% endfor "
      "%}";
  const std::string given = "[" + user + "," + call + "," + result + "," + result + "]";
  const std::string written = text(source, given, tools);
  EXPECT_EQ(written.find("system:You may call"), 0u) << written;
  EXPECT_NE(written.find(R"({"type": "function", "function": {"name": "depth", "parameters": {"b": 1, "a": {"z": 2.0, "c": []}}}})"),
            std::string::npos)
      << written;
  const std::string turn =
      "user:U;assistant:<tool_call>\n{\"name\": \"depth\", \"arguments\": {\"lake\": \"Zug\", \"big\": "
      "123456789012345678901234567890}}\n</tool_call>;"
      "user:<tool_response>\n9 m\n</tool_response>\n<tool_response>\n9 m\n</tool_response>;";
  EXPECT_EQ(written.substr(written.size() - turn.size()), turn);
  // What the user says after results is in one message with them: turns alternate.
  const std::string words = text(source, "[" + user + "," + call + "," + result + "," + user + "]", tools);
  const std::string end = "user:<tool_response>\n9 m\n</tool_response>\nU;";
  EXPECT_EQ(words.substr(words.size() - end.size()), end);
  // A template that cuts earlier reasoning off does not cut a call.
  const std::string thought =
      R"({"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": {"x": "a</think>b"}}}]})";
  EXPECT_EQ(text("{% for m in messages %}{{ m.content.split('</think>')[-1] }};{% endfor %}", "[" + user + "," + thought + "]"),
            "U;<tool_call>\n{\"name\": \"f\", \"arguments\": {\"x\": \"a<\\/think>b\"}}\n</tool_call>;");
  // Without tools the calls of earlier answers are kept as well.
  EXPECT_EQ(text(source, given), turn);
  // In the template's own form, where it tells the model of one.
  EXPECT_EQ(text("{{ tools|tojson if tools }}<|tool_call|>{% for m in messages %}{{ m.content }};{% endfor %}",
                 "[" + user + "," + call + "]", tools)
                .substr(tools.size() + 13),
            R"(U;<|tool_call|>[{"name": "depth", "arguments": {"lake": "Zug", "big": 123456789012345678901234567890}}];)");
  // A template of its own form is left alone.
  const std::string own =
      "{{ tools|tojson }}{% for m in messages %}{{ m.role ~ m.content }}{% for c in m.tool_calls %}({{ c.function.name ~ "
      "c.function.arguments.lake }}){% endfor %}{% endfor %}";
  EXPECT_EQ(text(own, given, tools).find("You may call"), std::string::npos);
  EXPECT_NE(text(own, given, tools).find("(depthZug)tool9 m"), std::string::npos);
}

TEST(ChatForms, ReasoningOff) {
  const std::string source =
      "{{ messages[0].content }}{% if enable_thinking is defined %}[{{ enable_thinking }}]{% endif %}{{ reasoning_effort }}";
  EXPECT_EQ(text(source, "[" + user + "]", "", R"({"reasoning_effort": "none"})"), "U[False]none");
  EXPECT_EQ(text(source, "[" + user + "]", "", R"({"reasoning_effort": "none", "enable_thinking": true})"), "U[True]none");
  EXPECT_EQ(text(source, "[" + user + "]", "", R"({"reasoning_effort": "high"})"), "Uhigh");
  // A template that opens the reasoning whatever it is told.
  const auto tokenizer = tests::tokenizer_with({});
  const ChatPrompt always(tokenizer, {{"", "{{ messages[0].content }}{{ '\n<think>\n' if add_generation_prompt }}"}}, "");
  const auto prompt = [&](const std::string& options) {
    return std::string(always.render(read_conversation("[" + user + "]", "", options)).text.bytes());
  };
  EXPECT_EQ(prompt("{}"), "U\n<think>\n");
  for (const char* off : {R"({"reasoning_effort": "none"})", R"({"enable_thinking": false})", R"({"thinking": false})"})
    EXPECT_EQ(prompt(off), "U\n<think>\n\n</think>\n\n") << off;
  EXPECT_EQ(prompt(R"({"enable_thinking": false, "add_generation_prompt": false})"), "U");
}

TEST(ChatForms, ReasoningIsReadFromTheKeyThatTheTemplateHas) {
  const std::string source = R"({%- for message in messages %}{{ message.role[0] }}
{%- if message.tool_calls and message.content and message.thinking %}{{ raise_exception('one of them') }}{% endif %}
{%- if message.thinking %}({{ message.thinking }}){% endif %}{{ message.content }}
{%- for c in message.tool_calls %}{{ c.function.name ~ c.function.arguments }}{% endfor %}{%- endfor %})";
  const auto thought = [](const std::string& more) { return R"({"role": "assistant", "reasoning_content": "R")" + more + "}"; };
  EXPECT_EQ(text(source, "[" + user + "," + thought(R"(, "content": "A")") + "]"), "uUa(R)A");
  const std::string calls = R"(, "tool_calls": [{"id": "c", "function": {"name": "f"}}])";
  EXPECT_EQ(text(source, "[" + user + "," + thought(calls) + "]"), "uUa(R)f{}");
  EXPECT_EQ(text(source, "[" + user + "," + thought(R"(, "content": "A")" + calls) + "]"), "uUaAf{}");
}

TEST(ChatForms, ContinuingAndBeginningExcludeEachOther) {
  const std::string messages = "[" + user + R"(, {"role": "assistant", "content": "It is BL"}])";
  const std::string turns = "{% for m in messages %}{{ m.role[0] + ':' + m.content + ';' }}{% endfor %}";
  EXPECT_EQ(text(turns, messages, "", R"({"continue_final_message": true})"), "u:U;a:It is BL");
  EXPECT_EQ(text(turns, messages, "", R"({"continue_final_message": true, "add_generation_prompt": false})"), "u:U;a:It is BL");
  try {
    read_conversation(messages, "", R"({"continue_final_message": true, "add_generation_prompt": true})");
    ADD_FAILURE() << "is not refused";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find("options.continue_final_message: is true beside"), 0u) << error.what();
  }
}

TEST(ChatForms, TheToolUseTemplateIsForConversationsWithTools) {
  const auto tokenizer = tests::tokenizer_with({});
  const std::vector<text::ChatTemplate> own = {{"", "plain {{ messages[0].content }}"},
                                               {"tool_use", "tools {{ tools|tojson }}{{ messages[0].content }}<arg_key>"}};
  const auto written = [&](const std::string& wanted, const std::string& given) {
    const ChatPrompt prompt(tokenizer, own, wanted);
    return std::string(prompt.render(read_conversation("[" + user + "]", given, "")).text.bytes()).substr(0, 5);
  };
  for (const char* wanted : {"", "model"}) {
    EXPECT_EQ(written(wanted, ""), "plain");
    EXPECT_EQ(written(wanted, tools), "tools");
  }
  EXPECT_EQ(written("{{ 'given' }}", tools), "given");
  const ChatPrompt prompt(tokenizer, own, "");
  EXPECT_EQ(prompt.output_format(true).name, "glm");
  EXPECT_EQ(prompt.output_format(false).name, "plain");
  EXPECT_EQ(ChatPrompt(tokenizer, {own[0]}, "").output_format(true).name, "hermes") << "tools in words are answered in their form";
}

TEST(ChatForms, BosOnceAfterWhiteSpace) {
  const auto tokenizer = tests::tokenizer_with({"<s>", "</s>"}, true);
  for (const char* source : {"\n{{ bos_token }}{{ messages[0].content }}", "  \n\t{{ bos_token + messages[0].content }}",
                             "{{ '\n' }}{% for m in messages %}{{ bos_token if loop.first }}{{ m.content }}{% endfor %}"}) {
    const ChatPrompt writer(tokenizer, {{"", source}}, "");
    const RenderedPrompt prompt = writer.render(read_conversation("[" + user + "]", "", ""));
    EXPECT_EQ(tests::special_tokens(*tokenizer, writer.tokens(prompt)), std::vector<std::string>{"<s>"}) << source;
    std::string pieces;
    for (const Piece& piece : writer.pieces(prompt)) pieces += piece.text;
    EXPECT_EQ(pieces, prompt.text.bytes());
  }
}

}  // namespace
}  // namespace skipstone::chat::forms
