// Requests to what the model's template is given: order and digits as the client wrote them, the items of /v1/responses as messages.
#include "serve/generation_request.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <utility>

#include "serve/api_error.h"

namespace cli::serve::requests {
namespace {

GenerationRequest read(Form form, const std::string& body) { return read_request(form, body, {}); }

std::string refusal(Form form, const std::string& body) {
  try {
    read(form, body);
  } catch (const ApiError& error) {
    return error.what();
  }
  return "";
}

TEST(GenerationRequest, ReachesTheTemplateAsItIsWritten) {
  const std::string tools =
      R"([{"type": "function", "function": {"name": "book", "parameters": {"when": 1.0, "guests": {"zip": 1, "city": 123456789012345678901234567890}}, "description": "B"}}])";
  const std::string messages =
      R"([{"role": "user", "content": "\u00e9"}, {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": {"when": "19", "guests": 4}}}]}])";
  const std::string variables = R"({"documents": [{"title": "T", "body": -123456789012345678901234567890}]})";
  const GenerationRequest chat =
      read(Form::chat, R"({"tools": )" + tools + R"(, "chat_template_kwargs": )" + variables + R"(, "messages": )" + messages + "}");
  EXPECT_EQ(chat.messages, messages);
  EXPECT_EQ(chat.tools, tools);
  EXPECT_EQ(chat.template_options, variables);
  const GenerationRequest responses =
      read(Form::responses,
           R"({"input": "x", "chat_template_kwargs": )" + variables +
               R"(, "tools": [{"type": "function", "strict": true, "parameters": {"b": 18446744073709551616, "a": 1.0}, "name": "f"}]})");
  EXPECT_EQ(responses.tools, R"([{"type":"function","function":{"parameters":{"b": 18446744073709551616, "a": 1.0},"name":"f"}}])");
  EXPECT_EQ(responses.template_options, variables);
}

TEST(GenerationRequest, FieldsOfTheTemplate) {
  const auto options = [](const std::string& fields) {
    return read(Form::chat, R"({"messages": [{"role": "user", "content": "x"}], )" + fields + "}").template_options;
  };
  EXPECT_EQ(options(R"("enable_thinking": false)"), R"({"enable_thinking":false,"thinking":false})");
  EXPECT_EQ(options(R"("chat_template_kwargs": {"z": 1}, "reasoning_effort": "none")"), R"({"z": 1,"reasoning_effort":"none"})");
  EXPECT_EQ(options(R"("add_generation_prompt": false, "continue_final_message": true)"),
            R"({"add_generation_prompt":false,"continue_final_message":true})");
  EXPECT_EQ(options(R"("enable_thinking": null)"), "");
  EXPECT_EQ(options(R"("documents": [{"title": "T", "body": 1.0}])"), R"({"documents":[{"title": "T", "body": 1.0}]})");
  EXPECT_EQ(read(Form::responses, R"({"input": "x", "reasoning": {"effort": "none"}})").template_options, R"({"reasoning_effort":"none"})");
  const std::string user = R"("messages": [{"role": "user", "content": "x"}])";
  EXPECT_NE(refusal(Form::chat, "{" + user + R"(, "add_generation_prompt": true, "continue_final_message": true})"), "");
  EXPECT_NE(refusal(Form::chat, "{" + user + R"(, "enable_thinking": "no"})"), "");
  EXPECT_NE(refusal(Form::responses, R"({"input": "x", "reasoning": 5})"), "");
}

std::string messages_of(const std::string& items) { return read(Form::responses, R"({"input": [)" + items + "]}").messages; }

const std::string call_1 = R"({"type": "function_call", "call_id": "1", "name": "add", "arguments": "{\"x\": 1}"})";
const std::string call_2 = R"({"type": "function_call", "call_id": "2", "name": "add", "arguments": "{\"x\": 2}"})";
const std::string result_1 = R"({"type": "function_call_output", "call_id": "1", "output": "3"})";
const std::string said = R"({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I add."}]})";
const std::string user = R"({"role": "user", "content": "Add."})";

TEST(GenerationRequest, ItemsOfATurnAreOneMessage) {
  const std::string thought = R"({"type": "reasoning", "id": "r", "summary": [], "content": [{"type": "reasoning_text", "text": "Two."}]})";
  const std::string turn =
      R"({"role":"assistant","reasoning_content":"Two.","content":[{"type": "output_text", "text": "I add."}],"tool_calls":[)"
      R"({"id":"1","type":"function","function":{"name":"add","arguments":"{\"x\": 1}"}},)"
      R"({"id":"2","type":"function","function":{"name":"add","arguments":"{\"x\": 2}"}}]})";
  const std::string result = R"({"role":"tool","tool_call_id":"1","content":"3"})";
  const std::string asked = R"({"role":"user","content":"Add."})";
  EXPECT_EQ(messages_of(user + "," + thought + "," + said + "," + call_1 + "," + call_2 + "," + result_1 + "," + user),
            "[" + asked + "," + turn + "," + result + "," + asked + "]");
  // Text after a call is of the same turn; two messages in a row are two.
  EXPECT_EQ(messages_of(said + "," + call_1 + R"(,{"role": "assistant", "content": "Done."})"),
            R"([{"role":"assistant","content":[{"type": "output_text", "text": "I add."},{"type":"text","text":"Done."}],"tool_calls":[)"
            R"({"id":"1","type":"function","function":{"name":"add","arguments":"{\"x\": 1}"}}]}])");
  EXPECT_EQ(messages_of(R"({"role": "assistant", "content": "a"},{"role": "assistant", "content": "b"})"),
            R"([{"role":"assistant","content":"a"},{"role":"assistant","content":"b"}])");
  // A summary where there is no text of the reasoning; nothing where it is encrypted.
  EXPECT_EQ(
      messages_of(R"({"type": "reasoning", "summary": [{"type": "summary_text", "text": "S"}, {"type": "summary_text", "text": "T"}]})"),
      R"([{"role":"assistant","reasoning_content":"S\n\nT"}])");
  EXPECT_EQ(messages_of(R"({"type": "reasoning", "summary": [], "content": null, "encrypted_content": "x"},)" + user), "[" + asked + "]");
}

TEST(GenerationRequest, ResultsAsParts) {
  const std::string parts = R"([{"type": "input_text", "text": "one, "}, {"type": "input_text", "text": "two"}])";
  EXPECT_NE(messages_of(call_1 + R"(,{"type": "function_call_output", "call_id": "1", "output": )" + parts + "}")
                .find(R"({"role":"tool","tool_call_id":"1","content":)" + parts + "}"),
            std::string::npos);
}

TEST(GenerationRequest, InstructionsBesideDevelopers) {
  EXPECT_EQ(read(Form::responses, R"({"instructions": "Rule one.", "input": [{"role": "developer", "content": "Rule two."}]})").messages,
            R"([{"role":"system","content":"Rule one."},{"role":"developer","content":"Rule two."}])");
}

TEST(GenerationRequest, ToolsThatCannotRunHereAreLeftOutWithANote) {
  const GenerationRequest request =
      read(Form::responses, R"({"input": "x", "tools": [{"type": "web_search"}, {"type": "function", "name": "save"},
    {"type": "custom", "name": "patch"}, {"type": "local_shell"}, {"type": "namespace", "name": "x", "tools": []}, {"type": "web_search"}]})");
  EXPECT_EQ(request.tools, R"([{"type":"function","function":{"name":"save"}}])");
  ASSERT_EQ(request.notes.size(), 4u);
  EXPECT_NE(request.notes[3].find("'web_search'"), std::string::npos);
  const GenerationRequest none = read(Form::responses, R"({"input": "x", "tools": [{"type": "web_search"}]})");
  EXPECT_EQ(none.tools, "");
  EXPECT_FALSE(none.parse_tool_calls);
  EXPECT_EQ(none.notes.size(), 1u);
  for (const char* wrong : {"[5]", "[{}]", "[{\"type\": 5}]"})
    EXPECT_NE(refusal(Form::responses, R"({"input": "x", "tools": )" + std::string(wrong) + "}"), "");
}

TEST(GenerationRequest, NamesTheItemThatItCannotTake) {
  const auto refused = [](const std::string& item) { return refusal(Form::responses, R"({"input": [)" + user + "," + item + "]}"); };
  for (const char* type : {"custom_tool_call", "custom_tool_call_output", "web_search_call", "item_reference"})
    EXPECT_EQ(refused(R"({"type": ")" + std::string(type) + "\"}"),
              "input[1].type: is '" + std::string(type) + "'; items of this type are not built");
  EXPECT_EQ(refused("5").find("input[1]: has to be an object"), 0u);
  EXPECT_EQ(refused(R"({"role": "critic", "content": "x"})").find("input[1].role: is 'critic'"), 0u);
  EXPECT_EQ(refused(R"({"role": "user", "content": [{"type": "input_image"}]})").find("input[1].content[0].type: is 'input_image'"), 0u);
  EXPECT_EQ(refused(R"({"role": "user", "content": [{"type": "input_text"}]})").find("input[1].content[0].text: "), 0u);
  EXPECT_EQ(refused(result_1).find("input[1].call_id: is '1', and no call before it"), 0u);
  EXPECT_EQ(refused(R"({"type": "function_call", "call_id": "1"})"), "input[1].name: is missing");
  EXPECT_EQ(refused(R"({"type": "reasoning", "content": [{"type": "x", "text": "a"}]})").find("input[1].content[0].type: is 'x'"), 0u);
}

// The library names places in what it is given.
TEST(GenerationRequest, PlacesAreThoseOfTheClient) {
  const std::string hm = R"({"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]})";
  const auto place_in = [](const GenerationRequest& request) {
    return [places = request.places](const char* place) { return places.in_request(place, "input"); };
  };
  const auto place = place_in(read(Form::responses, R"({"instructions": "I", "input": [)" + user + "," + hm + "," + call_1 + "," + call_2 +
                                                        "," + result_1 + "," + user + "," + call_2 +
                                                        R"(], "tools": [{"type": "web_search"}, {"type": "function", "name": "a"},
                                                        {"type": "custom", "name": "p"}, {"type": "function", "name": ""}]})"));
  EXPECT_EQ(place("messages[2].tool_calls[0].function.arguments"), "input[2].arguments");
  EXPECT_EQ(place("messages[2].tool_calls[1].function.arguments.a"), "input[3].arguments.a");
  EXPECT_EQ(place("messages[5].tool_calls[0].function.arguments"), "input[6].arguments");
  for (const char* other : {"messages[0].content", "messages[2].tool_calls[1].id", "messages[5].tool_calls[1].function.arguments",
                            "messages[3].tool_call_id", "messages[9].tool_calls[0].function.arguments"})
    EXPECT_EQ(place(other), "input") << "the client's API has no such place";
  EXPECT_EQ(place("messages"), "input");
  EXPECT_EQ(place("tools[0].function.name"), "tools[1].name");
  EXPECT_EQ(place("tools[1].function.parameters"), "tools[3].parameters");
  EXPECT_EQ(place("tools[2].function"), "tools[2].function");
  EXPECT_EQ(place("tools"), "tools");
  EXPECT_EQ(place("options.tools"), "chat_template_kwargs.tools");
  EXPECT_EQ(place_in(read(Form::responses, R"({"instructions": "I", "input": "x"})"))("messages[1].content"), "input");
  const GenerationRequest chat = read(Form::chat, R"({"messages": [)" + user + "]}");
  EXPECT_EQ(chat.places.in_request("messages[0].content", "messages"), "messages[0].content");
  for (const auto& [form, messages] :
       {std::pair(Form::chat, "\"messages\": [" + user + "]"), std::pair(Form::responses, std::string("\"input\": \"x\""))}) {
    EXPECT_EQ(
        refusal(form, "{" + messages + R"(, "tools": [{"type": "function", "function": {"name": "f"}, "name": "f"}, 5]})").find("tools[1]"),
        0u);
    EXPECT_NE(
        refusal(form, "{" + messages + R"(, "continue_final_message": true, "chat_template_kwargs": {"add_generation_prompt": true}})"),
        "");
  }
}

// Objects with many keys, anywhere in a request. A list that is searched key by key takes longer than ctest waits for this program.
TEST(GenerationRequest, ManyKeysTakeLinearTime) {
  std::string members;
  for (int i = 0; i < 120'000; ++i) members += fmt::format(R"({}"k{}":1)", i == 0 ? "" : ",", i);
  const std::string many = "{" + members + "}", schema = R"({"type":"object","properties":)" + many + "}";
  const std::string calls = R"("tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": )" + many + "}}]";
  read(Form::chat, R"({"messages": [{"role": "assistant", )" + calls + R"(}], "chat_template_kwargs": )" + many +
                       R"(, "tools": [{"type": "function", "function": {"name": "f", "parameters": )" + schema + "}}]," + members + "}");
  const GenerationRequest responses =
      read(Form::responses, R"({"input": "x", "tools": [{"type": "function", "name": "f", "parameters": )" + schema + "}]}");
  EXPECT_NE(responses.tools.find(many), std::string::npos);
  read(Form::messages, R"({"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": [{"type": "tool_use", "id": "c",
      "name": "f", "input": )" +
                           many + R"(}]}, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c"}]}],
      "tools": [{"name": "f", "input_schema": )" +
                           schema + "}]}");
}

}  // namespace
}  // namespace cli::serve::requests
