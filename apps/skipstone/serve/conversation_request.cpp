#include "serve/conversation_request.h"

#include <string>
#include <utility>
#include <vector>

#include "json/json.h"
#include "json/json_parts.h"
#include "serve/api_error.h"
#include "serve/json_text.h"
#include "serve/responses_input.h"

namespace cli::serve {

using skipstone::SortedJson;

namespace {

/// The members of the body that reach the template, as the client wrote them.
class WrittenBody {
 public:
  explicit WrittenBody(std::string_view body) : members_(skipstone::json_members(body)) {}
  /// "" where it is absent or null.
  std::string_view operator[](std::string_view name) const { return skipstone::json_member(members_, name); }

 private:
  std::vector<skipstone::JsonMember> members_;
};

/// Reads tools in the form of chat completions, and whether the model may call them.
void read_tools(const SortedJson& body, const WrittenBody& written, GenerationRequest& request) {
  const auto tools = body.find("tools");
  std::string wanted = "[]";
  if (tools != body.end() && !tools->is_null()) {
    if (!tools->is_array()) refuse("tools", "'tools' has to be a list, not {}", name_of(*tools));
    if (request.form == Form::responses) {
      wanted = functions_of_tools(*tools, written["tools"], request.notes);
    } else {
      for (const SortedJson& tool : *tools) {
        if (!tool.is_object() || tool.value("type", SortedJson()) != "function") refuse("tools", "a tool has to be of the type 'function'");
      }
      if (!tools->empty()) wanted = written["tools"];
    }
  }
  const auto choice = body.find("tool_choice");
  const bool given = choice != body.end() && !choice->is_null();
  if (given && !(choice->is_string() && (*choice == "auto" || *choice == "none"))) {
    refuse("tool_choice", "'tool_choice' has to be \"auto\" or \"none\": that a model must call a tool is not built");
  }
  if (wanted == "[]") return;
  request.tools_bytes = wanted.size();
  if (given && *choice == "none") return;
  request.parse_tool_calls = true;
  request.tools = std::move(wanted);
}

/// A field of the request counts, and not a variable of the same name in 'chat_template_kwargs'.
void read_template_options(const SortedJson& body, const WrittenBody& written, GenerationRequest& request) {
  const auto is_true = [&](const char* name) { return body.value(name, SortedJson()) == true; };
  if (is_true("continue_final_message") && is_true("add_generation_prompt"))
    refuse("continue_final_message", "'continue_final_message' and 'add_generation_prompt' are both true: one excludes the other");
  if (const std::string_view documents = written["documents"]; !documents.empty()) request.variables.emplace_back("documents", documents);
  const std::string_view given = written["chat_template_kwargs"];
  if (given.empty() && request.variables.empty()) return;
  request.template_options = skipstone::json_object_with(given.empty() ? "{}" : given, std::exchange(request.variables, {}));
}

}  // namespace

void read_chat(const SortedJson& body, std::string_view text, GenerationRequest& request) {
  const WrittenBody written(text);
  const auto messages = body.find("messages");
  if (messages == body.end()) refuse("messages", "'messages' is missing");
  if (!messages->is_array() || messages->empty()) refuse("messages", "'messages' has to be a list with at least one message");
  request.messages = written["messages"];
  read_tools(body, written, request);
  read_template_options(body, written, request);
}

void read_responses(const SortedJson& body, std::string_view text, GenerationRequest& request) {
  const WrittenBody written(text);
  const auto input = body.find("input");
  if (input == body.end()) refuse("input", "'input' is missing");
  const auto instructions = body.find("instructions");
  if (instructions != body.end() && !instructions->is_null() && !instructions->is_string())
    refuse("instructions", "'instructions' has to be a text, not {}", name_of(*instructions));
  request.messages = messages_of_input(*input, written["input"], written["instructions"]);
  read_tools(body, written, request);
  read_template_options(body, written, request);
  SortedJson repeated = SortedJson::object();
  for (const char* name : {"instructions", "metadata", "tools", "tool_choice", "temperature", "top_p", "max_output_tokens", "reasoning"})
    repeated[name] = body.value(name, SortedJson());
  if (repeated["tools"].is_null()) repeated["tools"] = SortedJson::array();
  if (repeated["tool_choice"].is_null()) repeated["tool_choice"] = "auto";
  if (repeated["metadata"].is_null()) repeated["metadata"] = SortedJson::object();
  request.echo_fields = json_text(repeated);
}

}  // namespace cli::serve
