#include "chat/tool_text.h"

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/poll.h"
#include "chat/jinja/template.h"
#include "chat/system_messages.h"

namespace skipstone::chat {

using jinja::Origin;
using jinja::Template;
using jinja::Text;
using jinja::Value;

namespace {

// Templates may cut an answer's text at "</think>": within arguments it is written with JSON's other form of a slash.
// A call in the form of the variables: JSON within tags, a list of it, or the name and the arguments between marks.
constexpr const char* call_macros =
    R"({%- macro object(name, arguments) %}{{ '{"name": ' + name + ', "arguments": ' + arguments + '}' }}{% endmacro %}
{%- macro named(name, arguments) %}
  {{- call_open + name + line + arguments_open + line + arguments + line + arguments_close + call_close }}
{%- endmacro %})";

constexpr const char* definitions_source = R"({{- 'You may call one or more of these functions:\n<tools>\n' }}
{%- for tool in tools %}{{ tool|tojson + '\n' }}{% endfor %}
{{- '</tools>\nTo call one, write a JSON object with its name and its arguments:\n' if form != 'named' }}
{{- '</tools>\nTo call one, write its name, and its arguments as a JSON object:\n' if form == 'named' }}
{%- if form == 'named' %}{{ open + named('NAME', '{...}') + close }}
{%- elif form == 'list' %}{{ open + '[' + object('NAME', '{...}') + ']' + close }}
{%- else %}{{ open + '\n' + object('NAME', '{...}') + '\n' + close }}
{%- endif %})";

constexpr const char* calls_source = R"({{- text }}
{%- if form == 'named' %}{{ open }}{% elif form == 'list' %}{{ open + '[' }}{% endif %}
{%- for call in tool_calls %}
  {%- set name, arguments = call.function.name, call.function.arguments|tojson|replace('</think>', '<\\/think>') %}
  {%- if form == 'named' %}{{ named(name, arguments) }}
  {%- elif form == 'list' %}{{ (', ' if not loop.first else '') + object(name|tojson, arguments) }}
  {%- else %}{{ ('\n' if text or not loop.first else '') + open + '\n' + object(name|tojson, arguments) + '\n' + close }}
  {%- endif %}
{%- endfor %}
{%- if form == 'named' %}{{ close }}{% elif form == 'list' %}{{ ']' + close }}{% endif %})";

constexpr const char* result_source = R"({{- '<tool_response>\n' + text + '\n</tool_response>' }})";

const OutputFormat& generic_format() {
  static const OutputFormat& hermes = *find_output_format("hermes");
  return hermes;
}

class Writer {
 public:
  Writer(const ToolText& wanted, const Value& tools, std::size_t bytes) : wanted_(wanted), tools_(tools), bytes_(bytes) {}

  std::vector<Value> write(const std::vector<Value>& messages) {
    for (const Value& message : messages) {
      poll(32);
      add(message);
    }
    end_results();
    if (wanted_.definitions) define();
    return std::move(written_);
  }

 private:
  Text rendered(const Template& source, std::initializer_list<std::pair<const char*, Value>> given) const {
    const OutputFormat& format = wanted_.format;
    const bool list = format.syntax == CallSyntax::json && &format != &generic_format();
    jinja::Dict variables(nullptr);
    for (const auto& [name, value] : given) variables.set(trusted_text(name), value);
    const std::pair<const char*, std::string_view> words[] = {{"form", format.syntax == CallSyntax::named ? "named"
                                                                       : list                             ? "list"
                                                                                                          : "tags"},
                                                              {"open", format.section.open},
                                                              {"close", format.section.close},
                                                              {"call_open", format.call_open},
                                                              {"call_close", format.call_close},
                                                              {"arguments_open", format.arguments_open},
                                                              {"arguments_close", format.arguments_close},
                                                              {"line", format.arguments_close.empty() ? "" : "\n"}};
    for (const auto& [name, text] : words) variables.set(trusted_text(name), trusted_text(text));
    return source.render(variables, bytes_, {});
  }

  static Value text_value(const Value& message) { return jinja::make_string(nullptr, text_of(message)); }

  void add(const Value& message) {
    static const Template call_template(call_macros + std::string(calls_source)), result_template(result_source);
    const Value* tool_calls = member(message, "tool_calls");
    if (role_of(message) == "tool" && wanted_.results) {
      add_result(rendered(result_template, {{"text", text_value(message)}}));
      return;
    }
    if (role_of(message) == "user" && !results_.empty()) {
      add_result(text_of(message));
      written_.push_back(with_text(message, std::exchange(results_, Text())));
      return;
    }
    end_results();
    if (tool_calls == nullptr || !wanted_.calls) {
      written_.push_back(message);
      return;
    }
    Text text = rendered(call_template, {{"text", text_value(message)}, {"tool_calls", *tool_calls}});
    written_.push_back(with_text(with_member(message, "tool_calls", nullptr), std::move(text)));
  }

  void add_result(const Text& text) {
    if (!results_.empty()) results_.append("\n", Origin::template_text);
    results_.append(text);
  }

  /// Results of one answer's calls are one message, with what the user says after them: many templates want the turns of user and assistant
  /// to alternate.
  void end_results() {
    if (!results_.empty()) written_.push_back(make_message("user", std::exchange(results_, Text())));
  }

  void define() {
    static const Template source(call_macros + std::string(definitions_source));
    const Text text = rendered(source, {{"tools", tools_}});
    if (written_.empty() || !is_system(written_.front())) {
      written_.insert(written_.begin(), make_message("system", text));
      return;
    }
    Text whole = text_of(written_.front());
    whole.append("\n\n", Origin::template_text);
    whole.append(text);
    written_.front() = with_text(written_.front(), std::move(whole));
  }

  const ToolText& wanted_;
  const Value& tools_;
  const std::size_t bytes_;
  std::vector<Value> written_;
  Text results_;  ///< that are not yet in written_
};

/// An answer's call alone; the text and the reasoning are in front of the first one.
Value with_call(const Value& answer, const Value& call, bool first) {
  const Value only = list_of({call});
  if (first) return with_member(answer, "tool_calls", &only);
  auto message = std::make_shared<jinja::Dict>(nullptr);
  message->set(trusted_text("role"), trusted_text("assistant"));
  message->set(trusted_text("tool_calls"), only);
  return jinja::DictRef(std::move(message));
}

}  // namespace

const OutputFormat& tool_text_format(std::string_view chat_template) {
  const OutputFormat& own = detect_output_format(chat_template);
  const bool usable = own.syntax == CallSyntax::json ? !own.section.open.empty() : own.syntax == CallSyntax::named;
  return usable ? own : generic_format();
}

namespace {

std::string_view text_member(const Value& object, std::string_view key) { return member(object, key)->string()->bytes(); }

}  // namespace

std::vector<Value> with_single_calls(const std::vector<Value>& messages) {
  std::vector<Value> split;
  for (std::size_t i = 0; i < messages.size();) {
    poll(32);
    const Value& answer = messages[i++];
    const Value* calls = member(answer, "tool_calls");
    if (calls == nullptr || calls->sequence()->items.size() < 2) {
      split.push_back(answer);
      continue;
    }
    std::multimap<std::string_view, Value> results;
    for (; i < messages.size() && role_of(messages[i]) == "tool"; ++i)
      results.emplace(text_member(messages[i], "tool_call_id"), messages[i]);
    bool first = true;
    for (const Value& call : calls->sequence()->items) {
      split.push_back(with_call(answer, call, std::exchange(first, false)));
      const auto [begin, end] = results.equal_range(text_member(call, "id"));
      for (auto result = begin; result != end; ++result) split.push_back(result->second);
      results.erase(begin, end);
    }
    for (const auto& [id, result] : results) split.push_back(result);  // of earlier calls
  }
  return split;
}

std::vector<Value> with_tool_text(const std::vector<Value>& messages, const ToolText& wanted, const Value& tools, std::size_t bytes) {
  return Writer(wanted, tools, bytes).write(messages);
}

std::vector<Value> with_error_text(std::vector<Value> messages) {
  for (Value& message : messages) {
    poll(32);
    const Value* failed = role_of(message) == "tool" ? member(message, "is_error") : nullptr;
    if (failed == nullptr || !failed->is<bool>() || !*failed->get<bool>()) continue;
    const Text result = text_of(message);
    Text text;
    text.append(result.empty() ? "Error" : "Error: ", Origin::data);
    text.append(result);
    message = with_text(message, std::move(text));
  }
  return messages;
}

}  // namespace skipstone::chat
