#include "chat/tool_text.h"

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
    in_results_ = false;
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

  /// Results of one answer's calls are one message: many templates want the turns of user and assistant to alternate.
  void add_result(Text text) {
    if (!std::exchange(in_results_, true)) {
      written_.push_back(make_message("user", std::move(text)));
      return;
    }
    Text whole = text_of(written_.back());
    whole.append("\n", Origin::template_text);
    whole.append(text);
    written_.back() = with_text(written_.back(), std::move(whole));
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
  bool in_results_ = false;  ///< the last of written_ is one
};

}  // namespace

std::vector<Value> with_tool_text(const Conversation& conversation, const ToolText& wanted) { return Writer(conversation, wanted).write(); }

}  // namespace skipstone::chat
