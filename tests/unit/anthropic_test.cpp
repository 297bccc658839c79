// Anthropic's Messages API: requests become conversations of chat completions, pieces become events and messages that say the same.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "json/json.h"
#include "serve/access.h"
#include "serve/anthropic_answer.h"
#include "serve/event_stream.h"
#include "serve/generation_request.h"

namespace cli::serve {
namespace {

using skipstone::Json;

GenerationRequest read(const std::string& body) { return read_request(Form::messages, body, {}); }

GenerationRequest read_messages(const std::string& messages) { return read(R"({"messages":)" + messages + "}"); }

TEST(AnthropicRequest, AConversationWithToolsAndThinking) {
  const GenerationRequest request = read(R"({
    "system": [{"type": "text", "text": "Be \u0062rief."}, {"type": "text", "text": "Use tools.", "cache_control": {"type": "ephemeral"}}],
    "messages": [
      {"role": "user", "content": "Read z"},
      {"role": "assistant", "content": [
        {"type": "thinking", "thinking": "Hm", "signature": "s"}, {"type": "redacted_thinking", "data": "x"}, {"type": "text", "text": "Yes."},
        {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"z": 1, "a": 123456789012345678901234567890, "m": {"y": 1.50, "b": []}}}]},
      {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]},
        {"type": "text", "text": "And?"}]},
      {"role": "user", "content": "Go."}],
    "max_tokens": 7, "stop_sequences": ["a", "b"], "stream": true, "top_k": 3,
    "tools": [{"name": "read", "cache_control": {"type": "ephemeral"}, "input_schema": {"type": "object", "properties": {"z": {}, "a": {}}}, "description": "Reads"},
              {"type": "web_search_20250305", "name": "web_search"}],
    "thinking": {"type": "enabled", "budget_tokens": 1024}})");
  EXPECT_EQ(request.messages,
            R"([{"role":"system","content":[{"type":"text","text":"Be \u0062rief.\n"},{"type":"text","text":"Use tools."}]},)"
            R"({"role":"user","content":"Read z"},)"
            R"({"role":"assistant","content":"Yes.","reasoning_content":"Hm","tool_calls":[{"id":"toolu_1","type":"function","function":)"
            R"({"name":"read","arguments":{"z": 1, "a": 123456789012345678901234567890, "m": {"y": 1.50, "b": []}}}}]},)"
            R"({"role":"tool","content":[{"type":"text","text":"one\n"},{"type":"text","text":"two"}],"tool_call_id":"toolu_1"},)"
            R"({"role":"user","content":[{"type":"text","text":"And?\n"},{"type":"text","text":"Go."}]}])");
  EXPECT_EQ(
      request.tools,
      R"([{"type":"function","function":{"name":"read","description":"Reads","parameters":{"type": "object", "properties": {"z": {}, "a": {}}}}}])");
  EXPECT_EQ(Json::parse(request.template_options), Json({{"enable_thinking", true}, {"thinking", true}}));
  EXPECT_EQ(request.stop, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(request.max_tokens, 7u);
  EXPECT_EQ(request.sampling.top_k, 3);
  EXPECT_TRUE(request.stream && request.parse_tool_calls);
  EXPECT_EQ(request.notes, std::vector<std::string>{"tools of the type 'web_search_20250305' cannot run here and are left out"});
}

TEST(AnthropicRequest, CallsWithoutTextHaveNullContentAndResultsWithoutContentAreEmpty) {
  EXPECT_EQ(read_messages(R"([{"role":"user","content":[]},{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f"}]},
                             {"role":"user","content":[{"type":"tool_result","tool_use_id":"c","is_error":true}]}])")
                .messages,
            R"([{"role":"user","content":""},)"
            R"({"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":{}}}]},)"
            R"({"role":"tool","content":"","tool_call_id":"c","is_error":true}])");
}

TEST(AnthropicRequest, ResultsFollowTheirCallsAndWordsFollowResults) {
  EXPECT_EQ(
      read_messages(R"([{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f"},{"type":"tool_use","id":"d","name":"f"}]},
                             {"role":"user","content":[{"type":"text","text":"a"},{"type":"tool_result","tool_use_id":"c","content":"1"},
                                                       {"type":"text","text":"b"},{"type":"tool_result","tool_use_id":"d","content":"2"}]}])")
          .messages,
      R"([{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":{}}},)"
      R"({"id":"d","type":"function","function":{"name":"f","arguments":{}}}]},)"
      R"({"role":"tool","content":"1","tool_call_id":"c"},{"role":"tool","content":"2","tool_call_id":"d"},)"
      R"({"role":"user","content":[{"type":"text","text":"a\n"},{"type":"text","text":"b"}]}])");
}

// Citations cut an answer into blocks; other blocks are texts of their own.
TEST(AnthropicRequest, ALineEndSeparatesBlocksOfOthersThanTheAssistant) {
  const auto turn = [](const std::string& role, const std::string& last) {
    return R"({"role":")" + role + R"(","content":[{"type":"text","text":"a\\"},{"type":"text","text":""},{"type":"text","text":")" + last +
           R"("}]})";
  };
  EXPECT_EQ(read_messages("[" + turn("user", "b") + "," + turn("assistant", "c") + "]").messages,
            R"([{"role":"user","content":[{"type":"text","text":"a\\\n"},{"type":"text","text":""},{"type":"text","text":"b"}]},)"
            R"({"role":"assistant","content":[{"type":"text","text":"a\\"},{"type":"text","text":""},{"type":"text","text":"c"}]}])");
}

TEST(AnthropicRequest, DocumentsAndSearchResultsAreText) {
  EXPECT_EQ(read_messages(
                R"([{"role":"user","content":[{"type":"document","title":"T","source":{"type":"text","media_type":"text/plain","data":"D"}},
                             {"type":"search_result","source":"http://s","title":"R","content":[{"type":"text","text":"C"}]}]}])")
                .messages,
            R"([{"role":"user","content":[{"type":"text","text":"T\n"},{"type":"text","text":"D\n"},{"type":"text","text":"R\n"},)"
            R"({"type":"text","text":"http://s\n"},{"type":"text","text":"C"}]}])");
}

TEST(AnthropicRequest, AnAnswerThatBeginsIsContinuedAndAnEmptyOneIsNot) {
  const auto options = [](const std::string& content) {
    return Json::parse(read_messages(R"([{"role":"user","content":"x"},{"role":"assistant","content":)" + content + "}]").template_options);
  };
  EXPECT_EQ(options(R"("{")"), Json({{"enable_thinking", false}, {"thinking", false}, {"continue_final_message", true}}));
  EXPECT_EQ(options(R"("")"), Json({{"enable_thinking", false}, {"thinking", false}}));
  EXPECT_EQ(options("[]"), Json({{"enable_thinking", false}, {"thinking", false}}));
}

TEST(AnthropicRequest, ThinkingIsOffUnlessItIsAskedFor) {
  const auto options = [](const std::string& members) {
    return Json::parse(read(R"({"messages":[{"role":"user","content":"x"}],)" + members + "}").template_options);
  };
  EXPECT_EQ(options(R"("thinking":{"type":"adaptive"},"output_config":{"effort":"low"})"),
            Json({{"enable_thinking", true}, {"thinking", true}, {"reasoning_effort", "low"}}));
  EXPECT_EQ(options(R"("chat_template_kwargs":{"enable_thinking":true,"x":1})"), Json({{"enable_thinking", true}, {"x", 1}}));
  EXPECT_EQ(options(R"("thinking":{"type":"disabled"},"chat_template_kwargs":{"x":1})"),
            Json({{"x", 1}, {"enable_thinking", false}, {"thinking", false}}));
  EXPECT_EQ(options(R"("chat_template_kwargs":{"x":1})"), Json({{"x", 1}, {"enable_thinking", false}, {"thinking", false}}));
}

// Prefixes of agents stay cached.
TEST(AnthropicRequest, WhatChangesWithoutMeaningIsNotForTheModel) {
  const auto messages = [](const std::string& header, const std::string& cache) {
    return read(R"({"system":[{"type":"text","text":"x-anthropic-billing-header: cch=)" + header + R"(;"},{"type":"text","text":"S")" +
                cache + R"(}],"messages":[{"role":"user","content":[{"type":"text","text":"x")" + cache + "}]}]}")
        .messages;
  };
  EXPECT_EQ(messages("1", ""), messages("22", R"(,"cache_control":{"type":"ephemeral"})"));
  EXPECT_EQ(messages("1", ""), R"([{"role":"system","content":"S"},{"role":"user","content":"x"}])");
}

TEST(AnthropicRequest, ErrorsNameThePlace) {
  const auto in_content = [](const std::string& block) {
    return R"({"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"text","text":"y"},)" + block + "]}]}";
  };
  const auto of_user = [](const std::string& block) { return R"({"messages":[{"role":"user","content":[)" + block + "]}]}"; };
  const auto with = [](const std::string& members) { return R"({"messages":[{"role":"user","content":"x"}],)" + members + "}"; };
  const std::pair<std::string, std::string> wrong[] = {
      {"{}", "'messages'"},
      {R"({"messages":5})", "'messages'"},
      {R"({"messages":[]})", "'messages'"},
      {R"({"messages":[5]})", "'messages[0]'"},
      {R"({"messages":[{"content":"x"}]})", "'messages[0].role'"},
      {R"({"messages":[{"role":"tool","content":"x"}]})", "'messages[0].role'"},
      {R"({"messages":[{"role":"user"}]})", "'messages[0].content'"},
      {R"({"messages":[{"role":"user","content":5}]})", "'messages[0].content'"},
      {R"({"messages":[{"role":"assistant","content":""}]})", "'messages'"},
      {of_user("5"), "'messages[0].content[0]'"},
      {of_user("{}"), "'messages[0].content[0].type'"},
      {of_user(R"({"type":"text"})"), "'messages[0].content[0].text'"},
      {of_user(R"({"type":"text","text":5})"), "'messages[0].content[0].text'"},
      {of_user(R"({"type":"image","source":{}})"), "'messages[0].content[0].type'"},
      {of_user(R"({"type":"document","source":{"type":"base64"}})"), "'messages[0].content[0].source.type'"},
      {of_user(R"({"type":"tool_use","id":"a","name":"b","input":{}})"), "'messages[0].content[0].type'"},
      {of_user(R"({"type":"tool_result","tool_use_id":"none"})"), "'messages[0].content[0].tool_use_id'"},
      {of_user(R"({"type":"tool_result"})"), "'messages[0].content[0].tool_use_id'"},
      {in_content(R"({"type":"tool_use","name":"b","input":{}})"), "'messages[1].content[1].id'"},
      {in_content(R"({"type":"tool_use","id":"a","name":"","input":{}})"), "'messages[1].content[1].name'"},
      {in_content(R"({"type":"tool_use","id":"a","name":"b","input":"{}"})"), "'messages[1].content[1].input'"},
      {in_content(R"({"type":"tool_use","id":"a","name":"b","input":{}})"), "tool_result has to follow"},
      {in_content(R"({"type":"thinking"})"), "'messages[1].content[1].thinking'"},
      {in_content(R"({"type":"tool_result","tool_use_id":"a"})"), "'messages[1].content[1].type'"},
      {with(R"("system":5)"), "'system'"},
      {with(R"("system":[{"type":"image"}])"), "'system[0].type'"},
      {with(R"("tools":{})"), "'tools'"},
      {with(R"("tools":[{}])"), "'tools[0].name'"},
      {with(R"("tools":[{"name":"f","input_schema":5}])"), "'tools[0].input_schema'"},
      {with(R"("tool_choice":{"type":"any"})"), "'tool_choice.type'"},
      {with(R"("tool_choice":"auto")"), "'tool_choice'"},
      {with(R"("thinking":{"type":"on"})"), "'thinking.type'"},
      {with(R"("thinking":{"type":"enabled","budget_tokens":-1})"), "'thinking.budget_tokens'"},
      {with(R"("stop_sequences":[5])"), "'stop_sequences'"},
      {with(R"("output_config":{"format":{"type":"json_schema"}})"), "'output_config.format'"},
      {with(R"("mcp_servers":[{}])"), "'mcp_servers'"},
      {with(R"("chat_template_kwargs":[])"), "'chat_template_kwargs'"},
      {with(R"("max_tokens":-2)"), "'max_tokens'"},
  };
  for (const auto& [body, place] : wrong) {
    try {
      read(body);
      ADD_FAILURE() << body;
    } catch (const ApiError& error) {
      EXPECT_EQ(error.status(), 400u);
      EXPECT_NE(std::string(error.what()).find(place), std::string::npos) << body << ": " << error.what();
    }
  }
}

// ---- answers ----

class Recorded : public Exchange {
 public:
  unsigned respond(HttpReply reply) override {
    text = std::move(reply.body);
    return reply.status;
  }
  void begin(std::string_view, const Headers&) override { begun = true; }
  void send(std::string piece) override { text += piece; }
  void end() override { ended = true; }
  void on_gone(std::function<void()>) override {}
  bool gone() const override { return false; }
  std::string text;
  bool begun = false, ended = false;
};

std::string answer_to(const GenerationRequest& request, const std::vector<Piece>& pieces, const std::string& reason, const Usage& usage) {
  const auto exchange = std::make_shared<Recorded>();
  const auto answer = make_answer(request, "m", exchange, {});
  answer->set_prompt_tokens(usage.prompt_tokens);
  for (const Piece& piece : pieces) answer->add(0, piece, {});
  answer->end_choice(0, reason, {});
  answer->finish(usage);
  return exchange->text;
}

std::vector<Json> events_of(const std::string& text) {
  std::vector<Json> events;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t data = text.find("\ndata: ", at), end = text.find("\n\n", at);
    events.push_back(Json::parse(text.substr(data + 7, end - data - 7)));
    EXPECT_EQ("event: " + events.back()["type"].get<std::string>(), text.substr(at, data - at));
    at = end + 2;
  }
  return events;
}

/// The message that a client puts together.
Json collected(const std::vector<Json>& events) {
  Json message = events.front()["message"], input;
  for (const Json& event : events) {
    if (event["type"] == "content_block_start") {
      EXPECT_EQ(event["index"], message["content"].size());
      message["content"].push_back(event["content_block"]);
      input = "";
    } else if (event["type"] == "content_block_delta") {
      Json& block = message["content"].at(event["index"].get<std::size_t>());
      for (const char* key : {"text", "thinking", "signature"})
        if (event["delta"].contains(key)) block[key] = block[key].get<std::string>() + event["delta"][key].get<std::string>();
      if (event["delta"].contains("partial_json")) input = input.get<std::string>() + event["delta"]["partial_json"].get<std::string>();
    } else if (event["type"] == "content_block_stop") {
      Json& block = message["content"].at(event["index"].get<std::size_t>());
      if (input != "") block["input"] = Json::parse(input.get<std::string>());
    } else if (event["type"] == "message_delta") {
      message.update(event["delta"]);
      message["usage"] = event["usage"];
    }
  }
  return message;
}

using Kind = Piece::Kind;

TEST(AnthropicAnswer, StreamedAndWholeAnswersAgree) {
  const std::vector<Piece> pieces = {{Kind::reasoning, "Let ", "", ""},
                                     {Kind::reasoning, "me.", "", ""},
                                     {Kind::text, "\n", "", ""},
                                     {Kind::text, "\nI look", "", "suffix"},
                                     {Kind::text, ".", "", ""},
                                     {Kind::call_begin, "read", "id_1", ""},
                                     {Kind::call_arguments, R"({"z": 12345678901234567)", "", ""},
                                     {Kind::call_arguments, R"(89012345, "a": [1.50]})", "", ""},
                                     {Kind::call_end, "", "", ""},
                                     {Kind::text, "\n", "", ""},
                                     {Kind::call_begin, "wait", "id_2", ""},
                                     {Kind::call_end, "", "", ""}};
  Usage usage;
  usage.prompt_tokens = 90;
  usage.cached_tokens = 64;
  usage.completion_tokens = 20;
  GenerationRequest request;
  request.form = Form::messages;
  const std::string whole_text = answer_to(request, pieces, "tool_calls", usage);
  EXPECT_NE(whole_text.find(R"("input":{"z": 1234567890123456789012345, "a": [1.50]})"), std::string::npos) << whole_text;
  Json whole = Json::parse(whole_text);
  EXPECT_EQ(whole["content"].size(), 4u);
  EXPECT_EQ(whole["content"][0], (Json{{"type", "thinking"}, {"thinking", "Let me."}, {"signature", "unsigned"}}));
  EXPECT_EQ(whole["content"][1], (Json{{"type", "text"}, {"text", "\n\nI look."}}));
  EXPECT_EQ(whole["content"][3], (Json{{"type", "tool_use"}, {"id", "id_2"}, {"name", "wait"}, {"input", Json::object()}}));
  EXPECT_EQ(whole["stop_reason"], "tool_use");
  EXPECT_EQ(whole["usage"],
            (Json{{"input_tokens", 26}, {"cache_creation_input_tokens", 0}, {"cache_read_input_tokens", 64}, {"output_tokens", 20}}));

  request.stream = true;
  const std::vector<Json> events = events_of(answer_to(request, pieces, "tool_calls", usage));
  std::vector<std::string> types;
  for (const Json& event : events) types.push_back(event["type"]);
  EXPECT_EQ((std::vector<std::string>{types[0], types[1], types[2], types[types.size() - 2], types.back()}),
            (std::vector<std::string>{"message_start", "ping", "content_block_start", "message_delta", "message_stop"}));
  Json streamed = collected(events);
  for (Json* one : {&whole, &streamed})
    for (const char* key : {"id", "timings"}) one->erase(key);
  EXPECT_EQ(nlohmann::json::parse(whole.dump()), nlohmann::json::parse(streamed.dump()));
}

TEST(AnthropicAnswer, StopReasons) {
  GenerationRequest request;
  request.form = Form::messages;
  Usage usage;
  const auto reasons = [&](const std::string& reason) {
    const Json message = Json::parse(answer_to(request, {{Kind::text, " \n", "", ""}}, reason, usage));
    EXPECT_EQ(message["content"], Json::array());  // white space alone is no block
    return std::pair(message["stop_reason"].get<std::string>(), message["stop_sequence"]);
  };
  EXPECT_EQ(reasons("stop"), std::pair(std::string("end_turn"), Json()));
  EXPECT_EQ(reasons("length"), std::pair(std::string("max_tokens"), Json()));
  usage.stop_text = "END";
  EXPECT_EQ(reasons("stop"), std::pair(std::string("stop_sequence"), Json("END")));
  EXPECT_EQ(reasons("length"), std::pair(std::string("stop_sequence"), Json("END")));
  EXPECT_EQ(reasons("tool_calls"), std::pair(std::string("tool_use"), Json()));
}

TEST(AnthropicAnswer, ErrorsHaveItsForm) {
  const HttpReply reply = anthropic::with_error_form(ApiError(429, "too many", "x", "queue_full").reply());
  EXPECT_EQ(Json::parse(reply.body), Json({{"type", "error"}, {"error", {{"type", "rate_limit_error"}, {"message", "too many"}}}}));
  const auto error_of = [](const ApiError& error) { return Json::parse(anthropic::with_error_form(error.reply()).body)["error"]; };
  EXPECT_EQ(error_of(ApiError(400, "long", "messages", "context_length_exceeded"))["message"], "prompt is too long: long");
  EXPECT_EQ(anthropic::with_error_form({200, "application/json", "{}", {}}).body, "{}");
  const std::pair<unsigned, const char*> types[] = {
      {400, "invalid_request_error"}, {401, "authentication_error"}, {403, "permission_error"},  {404, "not_found_error"},
      {405, "invalid_request_error"}, {408, "timeout_error"},        {413, "request_too_large"}, {417, "invalid_request_error"},
      {429, "rate_limit_error"},      {431, "request_too_large"},    {500, "api_error"},         {501, "invalid_request_error"},
      {503, "overloaded_error"}};
  for (const auto& [status, type] : types) EXPECT_EQ(error_of(ApiError(status, "x"))["type"], type) << status;
}

// What fails before the first token has a status of its own, unless the client had to wait.
TEST(AnthropicAnswer, AStreamBeginsWithItsFirstToken) {
  GenerationRequest request;
  request.form = Form::messages;
  request.stream = true;
  const auto failing = [&](const std::vector<Piece>& pieces, std::chrono::seconds waited) {
    const auto exchange = std::make_shared<Recorded>();
    const auto stream = std::make_shared<EventStream>(exchange, Form::messages);
    const auto answer = make_answer(request, "m", stream, {});
    answer->set_prompt_tokens(1);
    stream->keep_alive(EventStream::Clock::now() + waited);
    for (const Piece& piece : pieces) answer->add(0, piece, {});
    stream->respond(ApiError(503, "gone").reply());
    EXPECT_EQ(exchange->begun, exchange->ended);
    return exchange;
  };
  EXPECT_FALSE(failing({}, std::chrono::seconds(0))->begun);
  const Json gone = {{"type", "error"}, {"error", {{"type", "overloaded_error"}, {"message", "gone"}}}};
  const std::string waited = failing({}, std::chrono::seconds(5))->text;
  EXPECT_TRUE(waited.starts_with(":") && waited.ends_with("event: error\ndata: " + gone.dump() + "\n\n")) << waited;
  const std::vector<Json> events = events_of(failing({{Kind::text, "x", "", ""}}, std::chrono::seconds(0))->text);
  EXPECT_EQ(events.front()["type"], "message_start");
  EXPECT_EQ(events.back(), gone);
}

TEST(AnthropicAccess, AKeyMayComeInItsHeader) {
  Access access;
  access.keys = {"one", "two"};
  HttpRequest request;
  EXPECT_FALSE(access.has_key(request));
  request.api_key = "tw";
  EXPECT_FALSE(access.has_key(request));
  request.api_key = "two";
  EXPECT_TRUE(access.has_key(request));
  request = {};
  request.authorization = "Bearer one";
  EXPECT_TRUE(access.has_key(request));
  request.authorization = "one";
  EXPECT_FALSE(access.has_key(request));
}

}  // namespace
}  // namespace cli::serve
