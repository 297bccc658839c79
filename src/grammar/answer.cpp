#include "grammar/answer.h"

#include <string_view>

#include "grammar/text_automaton.h"

namespace skipstone::grammar {
namespace {

constexpr std::uint32_t most_blanks = 4;  ///< after the reasoning

/// A regular expression for the text itself.
std::string escaped_pattern(std::string_view text) {
  std::string pattern;
  for (const char c : text) {
    if (std::string_view("\\^$.|?*+()[]{}/-").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

}  // namespace

std::vector<std::string> AnswerForm::texts() const {
  std::vector<std::string> all = {header, content.open, content.close};
  for (const Tags& tags : reasoning) {
    all.push_back(tags.open);
    all.push_back(tags.close);
  }
  std::erase(all, "");
  return all;
}

Syntax answer_syntax(Syntax syntax, const AnswerForm& form) {
  const auto written = [&](const std::string& text) {
    const auto spelled = form.spelled.find(text);
    return syntax.text(spelled == form.spelled.end() ? text : spelled->second);
  };
  const auto optional = [&](const std::string& text) { return text.empty() ? syntax.empty() : syntax.optional(written(text)); };
  const ExprId content = syntax.sequence({optional(form.content.open), syntax.reference(syntax.root()), optional(form.content.close)});
  const auto after_reasoning = [&](const AnswerForm::Tags& tags) {
    const TextAutomaton inside = TextAutomaton::of_pattern(escaped_pattern(tags.close)).complement();
    const ExprId reasoning = inside.add_to(syntax, "reasoning", [&](const CodePoints& set) { return syntax.chars(set); });
    const ExprId blanks = syntax.repeat(syntax.chars({{'\t', '\n'}, {' ', ' '}}), 0, most_blanks);
    return syntax.sequence({reasoning, written(tags.close), blanks, content});
  };
  std::vector<ExprId> ways;
  if (form.begun) {
    ways.push_back(after_reasoning(form.reasoning.front()));
  } else {
    ways.push_back(syntax.sequence({written(form.header), content}));
    for (const AnswerForm::Tags& tags : form.reasoning) ways.push_back(syntax.sequence({written(tags.open), after_reasoning(tags)}));
  }
  const RuleId answer = syntax.add_rule("answer");
  syntax.define(answer, syntax.choice(std::move(ways)));
  syntax.finish(answer);
  return syntax;
}

}  // namespace skipstone::grammar
