// The template language by itself: small templates with what jinja2 3.1 makes of them in transformers' settings (data/jinja_cases.jsonl,
// whose first line has the variables), where characters come from, and what is refused.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/escape.h"
#include "base/status.h"
#include "chat/jinja/template.h"

namespace skipstone::chat::jinja {
namespace {

const std::tm now = parsed_time("2025-07-04T09:08:07");

Text render(const std::string& source, const Value& variables) { return Template(source).render(*variables.dict(), 1000, now); }

TEST(Jinja, AgreesWithJinja2) {
  std::ifstream file(SKIPSTONE_TEST_SOURCES "/unit/data/jinja_cases.jsonl");
  std::string line;
  ASSERT_TRUE(std::getline(file, line));
  const Value first = read_json(line, "variables", Origin::data);
  const Value& variables = *first.dict()->find("variables");
  int count = 0;
  for (; std::getline(file, line); ++count) {
    const auto document = nlohmann::json::parse(line);
    const auto source = document["template"].get<std::string>();
    try {
      const std::string text(render(source, variables).bytes());
      EXPECT_FALSE(document.contains("fails")) << source << "\ngave " << escaped(text);
      EXPECT_EQ(text, document.value("expected", "")) << source;
    } catch (const Error& error) {
      EXPECT_TRUE(document.contains("fails")) << source << "\n" << error.what();
      EXPECT_EQ(std::string(error.what()).rfind("line ", 0), 0u) << error.what();
    }
  }
  EXPECT_GT(count, 500);
}

/// Data in brackets.
std::string marked(const std::string& source) {
  const Value variables = read_json(R"({"x": "data", "y": " Da ta ", "d": {"k": ["v", 1]}, "n": 5})", "variables", Origin::data);
  const Text text = render(source, variables);
  std::string out;
  std::size_t begin = 0;
  for (const Text::Run& run : text.runs()) {
    const std::string part(text.bytes().substr(begin, run.end - begin));
    out += run.origin == Origin::data ? "[" + part + "]" : part;
    begin = run.end;
  }
  EXPECT_EQ(begin, text.size());
  return out;
}

TEST(Jinja, KnowsWhereEveryCharacterComesFrom) {
  EXPECT_EQ(marked("a{{ x }}b"), "a[data]b");
  EXPECT_EQ(marked("{{ 'a' + x + 'b' }}{{ x ~ 'c' ~ x }}"), "a[data]b[data]c[data]");
  EXPECT_EQ(marked("{{ ('<' + x + '>')[1:3] }}{{ ('<' + x + '>')[::-1] }}{{ ('<' + x)[0] }}{{ ('<' + x)[-1] }}"), "[da]>[atad]<<[a]");
  EXPECT_EQ(marked("{{ y|trim }}|{{ ('  ' + y).strip() }}|{{ y|upper }}|{{ ('a' + x)|title }}"), "[Da ta]|[Da ta]|[ DA TA ]|A[data]");
  EXPECT_EQ(marked("{{ x|replace('a', 'o') }}{{ 'abc'.replace('b', x) }}"), "[d]o[t]oa[data]c");
  EXPECT_EQ(marked("{{ ('a,' + x).split(',')|join('-') }}{{ [x, 'b']|join(x) }}"), "a-[datadatadata]b");
  EXPECT_EQ(marked("{% set z = 'q' + x %}{% for c in z %}{{ c }}.{% endfor %}"), "q.[d].[a].[t].[a].");
  EXPECT_EQ(marked("{{ n }}{{ n + 1 }}{{ 1 + 1 }}{{ d.k[1]|string }}"), "[56]2[1]");
  EXPECT_EQ(marked("{{ d|tojson }}{{ d }}"), R"([{"k": ["v", 1]}{'k': ['v', 1]}])");
  EXPECT_EQ(marked("{% macro m(a) %}<{{ a }}>{% endmacro %}{{ m(x) }}{% set b %}({{ x }}){% endset %}{{ b|upper }}{% filter upper %}a{{ x "
                   "}}{% endfilter %}"),
            "<[data]>([DATA])A[DATA]");
  EXPECT_EQ(marked("{% set ns = namespace(t='a') %}{% set ns.t = ns.t + x %}{{ ns.t|indent }}{{ (x + '\\n' + 'b')|indent(1) }}"),
            "a[datadata]\n b");
  EXPECT_EQ(marked("{{ '%s-%s' % ('a', x) }}{{ x|default('c') }}{{ nothing|default('c') }}"), "a-[datadata]c");
}

std::string refusal(const std::string& source) {
  try {
    render(source, read_json(R"({"messages": [{"role": "user"}]})", "variables", Origin::data));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::invalid_argument) << source;
    return error.what();
  }
  return "";
}

TEST(Jinja, SaysWhereATemplateIsWrong) {
  EXPECT_EQ(refusal("{{ a b }}").rfind("line 1, column 6: ", 0), 0u) << refusal("{{ a b }}");
  EXPECT_EQ(refusal("\n\n  {% nosuch %}"), "line 3, column 6: there is no tag 'nosuch' in chat templates");
  EXPECT_EQ(refusal("é{{ raise_exception('Not \"this\"') }}"), "line 1, column 20: Not \"this\"");
  EXPECT_EQ(refusal("{{ messages[0].content.text }}"), "line 1, column 23: 'dict object' has no attribute 'content'");
  EXPECT_EQ(refusal("{{ 'a'|nosuch }}"), "line 1, column 8: there is no filter 'nosuch'");
  EXPECT_EQ(refusal("{% if false %}{{ 'a'|nosuch }}{% endif %}"), "");
  EXPECT_EQ(refusal("{{ messages.append(1) }}"), "line 1, column 19: access to attribute 'append' of 'list' object is unsafe.");
}

TEST(Jinja, EndsHostileTemplates) {
  EXPECT_NE(refusal("{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}").find("steps"), std::string::npos);
  EXPECT_NE(refusal("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}").find("levels deep"), std::string::npos);
  EXPECT_NE(refusal("{{ 'x' * 1000000000 }}").find("longer than"), std::string::npos);
  EXPECT_NE(refusal("{{ [0] * 1000000000 }}").find("memory"), std::string::npos);
  EXPECT_NE(refusal("{% set ns = namespace(x=[]) %}{% for a in range(100000) %}{% set ns.x = [ns.x] %}{% endfor %}").find("levels deep"),
            std::string::npos);
  EXPECT_NE(refusal("{{ " + std::string(1000, '(') + "1" + std::string(1000, ')') + " }}").find("nesting"), std::string::npos);
  EXPECT_NE(refusal(std::string(300 * 1024, 'a')).find("bytes"), std::string::npos);
  std::string chain = "{{ 1";
  for (int i = 0; i < 1000; ++i) chain += " + 1";
  EXPECT_NE(refusal(chain + " }}").find("levels deep"), std::string::npos);
  EXPECT_EQ(refusal("{% set ns = namespace() %}{% set ns.self = ns %}{% macro f() %}{% endmacro %}{% set ns.f = f %}"), "");
}

}  // namespace
}  // namespace skipstone::chat::jinja
