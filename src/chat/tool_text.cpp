#include "chat/tool_text.h"

#include <map>
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

constexpr const char* definitions_source = R"({{- 'You may call one or more of these functions:\n<tools>\n' }}
{%- for tool in tools %}{{ tool|tojson + '\n' }}{% endfor %}
{{- '</tools>\nTo call one, write a JSON object with its name and its arguments:\n<tool_call>\n{"name": NAME, "arguments": {...}}\n</tool_call>' }})";

constexpr const char* calls_source = R"({%- macro object(call) %}
  {{- '{"name": ' + call.function.name|tojson + ', "arguments": ' + call.function.arguments|tojson + '}' }}
{%- endmacro %}
{{- text }}
{%- if list_open %}{{ list_open + '[' }}{% endif %}
{%- for call in tool_calls %}
  {%- if list_open %}{{ (', ' if not loop.first else '') + object(call) }}
  {%- else %}{{ ('\n' if text or not loop.first else '') + '<tool_call>\n' + object(call) + '\n</tool_call>' }}
  {%- endif %}
{%- endfor %}
{%- if list_open %}{{ ']' + list_close }}{% endif %})";

constexpr const char* result_source = R"({{- '<tool_response>\n' + text + '\n</tool_response>' }})";

class Writer {
 public:
  Writer(const Conversation& conversation, const ToolText& wanted) : conversation_(conversation), wanted_(wanted) {}

  std::vector<Value> write() {
    for (const Value& message : conversation_.messages) {
      poll(32);
      add(message);
    }
    end_results();
    if (wanted_.definitions) define();
    return std::move(written_);
  }

 private:
  Text rendered(const Template& source, std::initializer_list<std::pair<const char*, Value>> given) const {
    jinja::Dict variables(nullptr);
    for (const auto& [name, value] : given) variables.set(trusted_text(name), value);
    return source.render(variables, conversation_.bytes, {});
  }

  static Value text_value(const Value& message) { return jinja::make_string(nullptr, text_of(message)); }

  void add(const Value& message) {
    static const Template call_template(calls_source), result_template(result_source);
    const Value* tool_calls = member(message, "tool_calls");
    if (role_of(message) == "tool" && wanted_.results) {
      add_result(rendered(result_template, {{"text", text_value(message)}}));
      return;
    }
    end_results();
    if (tool_calls == nullptr || !wanted_.calls) {
      written_.push_back(message);
      return;
    }
    Text text = rendered(call_template, {{"text", text_value(message)},
                                         {"tool_calls", *tool_calls},
                                         {"list_open", trusted_text(wanted_.call_list.open)},
                                         {"list_close", trusted_text(wanted_.call_list.close)}});
    written_.push_back(with_text(with_member(message, "tool_calls", nullptr), std::move(text)));
  }

  void add_result(const Text& text) {
    if (!results_.empty()) results_.append("\n", Origin::template_text);
    results_.append(text);
  }

  /// Results of one answer's calls are one message: many templates want the turns of user and assistant to alternate.
  void end_results() {
    if (!results_.empty()) written_.push_back(make_message("user", std::exchange(results_, Text())));
  }

  void define() {
    static const Template source(definitions_source);
    const Text text = rendered(source, {{"tools", conversation_.tools}});
    if (written_.empty() || !is_system(written_.front())) {
      written_.insert(written_.begin(), make_message("system", text));
      return;
    }
    Text whole = text_of(written_.front());
    whole.append("\n\n", Origin::template_text);
    whole.append(text);
    written_.front() = with_text(written_.front(), std::move(whole));
  }

  const Conversation& conversation_;
  const ToolText& wanted_;
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

std::vector<Value> with_tool_text(const Conversation& conversation, const ToolText& wanted) { return Writer(conversation, wanted).write(); }

}  // namespace skipstone::chat
