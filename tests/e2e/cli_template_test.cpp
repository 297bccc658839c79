// skipstone template: templates alone, and what a model would see. No device is needed.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_model.h"
#include "program.h"

namespace skipstone::e2e {
namespace {

class TemplateCommand : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_.file(name), std::ios::binary) << bytes;
    return folder_.file(name);
  }
  std::string model() const {
    if (!std::filesystem::exists(folder_.file("tiny.gguf"))) fixtures::write_tiny_model({}, folder_.file("tiny.gguf"));
    return folder_.file("tiny.gguf");
  }
  Result alone(const std::string& source, const std::string& variables) const {
    return run(
        {"template", "--jinja", write("t.jinja", source), "--variables", write("v.json", variables), "--now", "2025-07-04T09:08:07"});
  }
  void expect_error(const std::vector<std::string>& arguments, int code, const std::string& part) const {
    const Result result = run(arguments);
    EXPECT_EQ(result.code, code) << result.error;
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(result.error.rfind("error: ", 0), 0u) << result.error;
    EXPECT_NE(result.error.find(part), std::string::npos) << "wanted: " << part << "\n" << result.error;
  }

  fixtures::TemporaryDirectory folder_;
};

TEST_F(TemplateCommand, RendersATemplateAlone) {
  const Result result =
      alone("{% for m in messages %}\n{{ m.role }}: {{ m.content|tojson }} {{ strftime_now('%d %b %Y') }}\n{% endfor %}\n",
            R"({"messages": [{"role": "user", "content": {"b": 1.0, "a": 123456789012345678901, "ü": "é\n"}}]})");
  EXPECT_EQ(result.code, 0) << result.error;
  EXPECT_EQ(result.out, "user: {\"b\": 1.0, \"a\": 123456789012345678901, \"ü\": \"é\\n\"} 04 Jul 2025\n");
}

TEST_F(TemplateCommand, ContinuesTheLastMessage) {
  const Result result =
      run({"template", "--continue-final-message", "--jinja", write("t.jinja", "{% for m in messages %}<{{ m.content|trim }}>{% endfor %}"),
           "--variables", write("v.json", R"({"messages": [{"content": "a"}, {"content": "so "}]})")});
  EXPECT_EQ(result.out, "<a><so") << result.error;
}

TEST_F(TemplateCommand, SaysWhereATemplateFails) {
  const auto fails = [&](const std::string& source, const std::string& part) {
    const Result result = alone(source, "{\"messages\": []}");
    EXPECT_EQ(result.code, 2) << source << result.error;
    EXPECT_EQ(result.out, "") << source;
    EXPECT_NE(result.error.find(part), std::string::npos) << source << "\nwanted: " << part << "\n" << result.error;
  };
  fails("a\n  {{ raise_exception('Only \"a\" and b') }}", "line 2, column 21: Only \"a\" and b");
  fails("{% if messages %}", "line 1, column 18");
  fails("{% for x in range(100000) %}{% for y in range(100000) %}{{ y }}{% endfor %}{% endfor %}", "steps");
  fails("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "levels deep");
  fails("{{ nobody.name }}", "line 1, column 10: 'nobody' is undefined");
  fails("{{ 'a' * 99999999999 }}", "longer than");
  fails("\xff", "not UTF-8");
}

TEST_F(TemplateCommand, RefusesWhatIsNoInput) {
  const std::string jinja = write("t.jinja", "{{ 1 }}");
  expect_error({"template", "--jinja", folder_.file("nothing.jinja")}, 2, "the template in '");
  expect_error({"template", "--jinja", jinja, "--variables", write("v.json", "{")}, 2, "variables: is not valid JSON");
  expect_error({"template", "--jinja", jinja, "--variables", write("v.json", "[]")}, 2, "variables: an object was expected");
  expect_error({"template", "--jinja", jinja, "--now", "noon"}, 2, "'noon' is no time");
  expect_error({"template", "-m", model()}, 2, "--messages FILE.json is missing");
  const std::string messages = write("m.json", R"([{"role": "user", "content": "a"}])");
  expect_error({"template", "-m", folder_.file("no.gguf"), "--messages", messages}, 3, "no.gguf");
  expect_error({"template", "-m", model(), "--messages", write("b.json", R"([{"role": "critic", "content": "a"}])")}, 2,
               "messages[0].role: is 'critic'");
  expect_error({"template", "-m", model(), "--messages", write("b.json", R"([{"role": "tool", "content": "a"}])")}, 2,
               "messages[0].tool_call_id: is missing");
  expect_error({"template", "-m", model(), "--messages", write("b.json", "[{\"role\": \"user\", \"content\": \"\xff\"}]")}, 2,
               "messages: is not valid JSON");
  expect_error({"template", "-m", model(), "--messages", messages, "--chat-template", "nosuch"}, 2, "the chat template in 'nosuch'");
}

TEST_F(TemplateCommand, ShowsWhatAModelWouldSee) {
  const std::string messages = write("m.json", R"([{"role": "user", "content": "Hi <s></s>"}])");
  const Result plain = run({"template", "-m", model(), "--messages", messages});
  EXPECT_EQ(plain.out, "⟦<s>⟧User: Hi <s></s>\nAssistant:\n") << plain.error;
  const Result named = run({"template", "-m", model(), "--messages", messages, "--chat-template", "llama2"});
  EXPECT_EQ(named.out, "⟦<s>⟧[INST] Hi <s></s> [/INST]\n") << named.error;
  const Result report = run({"template", "-m", model(), "--messages", messages, "--chat-template",
                             write("t.jinja", "{{ bos_token }}{{ messages[0].content }}"), "--json"});
  const auto document = nlohmann::json::parse(report.out);
  EXPECT_EQ(document["template"], "given");
  EXPECT_EQ(document["text"], "<s>Hi <s></s>");
  EXPECT_EQ(document["pieces"].size(), 2u) << report.out;
  EXPECT_EQ(document["pieces"][0]["token"], 1);
  EXPECT_EQ(document["pieces"][1]["origin"], "data");
}

TEST_F(TemplateCommand, RendersWithoutAGenerationPrompt) {
  const std::string messages = write("m.json", R"([{"role": "user", "content": "Hi"}])");
  EXPECT_EQ(run({"template", "-m", model(), "--messages", messages, "--no-generation-prompt"}).out, "⟦<s>⟧User: Hi\n\n");
  const std::string source = write("t.jinja", "{{ messages[0].content }}{{ x }}{{ tools is defined }}");
  EXPECT_EQ(
      run({"template", "-m", model(), "--messages", messages, "--chat-template", source, "--options", write("o.json", R"({"x": true})")})
          .out,
      "⟦<s>⟧HiTrueFalse\n");
}

}  // namespace
}  // namespace skipstone::e2e
