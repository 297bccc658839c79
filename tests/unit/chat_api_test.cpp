// The public API of chats: what programs get from chat.hpp and chat.h.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>
#include <utility>

#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_model.h"
#include "gguf/writer.h"
#include "skipstone/chat.hpp"
#include "skipstone/skipstone_experimental.h"

namespace skipstone {
namespace {

class ChatApi : public testing::Test {
 protected:
  void SetUp() override { fixtures::write_tiny_model({}, folder_.file("tiny.gguf")); }
  Chat open(const std::string& chat_template = {}) const { return Chat::open(folder_.file("tiny.gguf"), chat_template); }
  fixtures::TemporaryDirectory folder_;
};

const std::string user = R"([{"role": "user", "content": "Hi <s>"}])";

TEST_F(ChatApi, RendersTokensAndShowsThem) {
  const Chat chat = open();
  const skipstone_chat_info info = chat.info();
  EXPECT_STREQ(info.name, "plain");
  EXPECT_EQ(info.source, SKIPSTONE_CHAT_PLAIN);
  EXPECT_EQ(info.system_messages, 1);
  EXPECT_EQ(info.tools, 0);
  EXPECT_EQ(chat.stop_strings(), (std::vector<std::string>{"\nUser:", "\nResult:"}));
  EXPECT_EQ(chat.end_tokens(), std::vector<skipstone_token>{2});
  const std::vector<skipstone_token> tokens = chat.render(user);
  EXPECT_EQ(std::count(tokens.begin(), tokens.end(), 1), 1);  // BOS, and not the one of the message
  const auto document = nlohmann::json::parse(chat.show(user));
  EXPECT_EQ(document["text"], "User: Hi <s>\nAssistant:");
  EXPECT_EQ(document["tokens"].get<std::vector<skipstone_token>>(), tokens);
}

TEST_F(ChatApi, SaysWhatIsWrong) {
  const auto failure = [&](auto call) {
    try {
      call();
    } catch (const error& failed) {
      return std::string(skipstone_status_name(failed.status())) + ": " + failed.what();
    }
    return std::string();
  };
  EXPECT_EQ(failure([&] { open("nosuch"); }).rfind("invalid_argument: there is no chat template 'nosuch'; there are llama3, ", 0), 0u);
  EXPECT_EQ(failure([&] { open("{% if %}"); }).rfind("invalid_argument: line 1, column ", 0), 0u);
  EXPECT_EQ(failure([&] { Chat::open(folder_.file("none.gguf")); }).rfind("not_found: ", 0), 0u);
  EXPECT_EQ(failure([&] { open().render("[]"); }), "invalid_argument: messages: there are none");
  EXPECT_NE(failure([&] { open("{{ raise_exception('Not like that.') }}").render(user); }).find("Not like that."), std::string::npos);
  skipstone_chat* chat = nullptr;
  EXPECT_EQ(skipstone_chat_open(nullptr, nullptr, &chat), SKIPSTONE_INVALID_ARGUMENT);
  EXPECT_EQ(skipstone_chat_render(nullptr, "[]", nullptr, nullptr, nullptr, nullptr), SKIPSTONE_INVALID_ARGUMENT);
  skipstone_chat_free(nullptr);
  skipstone_chat_parser_free(nullptr);
  skipstone_tokens_free(nullptr);
}

TEST_F(ChatApi, RendersATemplateAlone) {
  skipstone_template_params params = template_params();
  params.source = "{{ x }}{{ strftime_now('%Y') }}";
  params.variables = R"({"x": 1.0})";
  params.now = "2025-07-04T09:08:07";
  EXPECT_EQ(render_template(params), "1.02025");
}

TEST_F(ChatApi, TakesAnswersApart) {
  const Chat chat = open("chatml");
  ChatParser parser(chat, R"({"tools": [{"type": "function", "function": {"name": "ping"}}]})");
  std::string text, raw, call;
  const OnChatEvent on_event = [&](const skipstone_chat_event& event) {
    EXPECT_EQ(event.struct_size, sizeof(event));
    raw.append(event.raw, event.raw_bytes);
    if (event.kind == SKIPSTONE_CHAT_TEXT) text.append(event.text, event.bytes);
    if (event.kind == SKIPSTONE_CHAT_TOOL_CALL_BEGIN) call = event.name;
    if (event.kind == SKIPSTONE_CHAT_TOOL_CALL_ARGUMENTS) call.append(event.text, event.bytes);
    return true;
  };
  const std::string answer = "Well.\n<tool_call>\n{\"name\": \"ping\", \"arguments\": {}}\n</tool_call>";
  for (const char c : answer) parser.push(std::string_view(&c, 1), on_event);
  parser.finish(on_event);
  EXPECT_EQ(raw, answer);
  EXPECT_EQ(text, "Well.");
  EXPECT_EQ(call, "ping{}");
  // Tokens: their text; the one that ends the turn is no part of the answer.
  ChatParser tokens(chat);
  raw.clear();
  for (const skipstone_token token : chat.render(user)) tokens.push(token, on_event);
  tokens.push(skipstone_token{2}, on_event);
  tokens.finish(on_event);
  EXPECT_EQ(raw.find("</s>"), std::string::npos);
  EXPECT_THROW(tokens.push(skipstone_token{1 << 30}, on_event), error);
  EXPECT_THROW(ChatParser(chat, "[]"), error);
  EXPECT_THROW(ChatParser(chat, R"({"format": "nosuch"})"), error);
}

TEST_F(ChatApi, AnAnswerEndsAtATextOfStop) {
  const Chat chat = open("chatml");
  for (const char* options : {R"({"stop": "x"})", R"({"stop": [1]})", R"({"stop": [""]})", R"({"used_ids": {}})"})
    EXPECT_THROW(ChatParser(chat, options), error) << options;
  ChatParser parser(chat, R"({"stop": ["one", "the end"]})");
  std::string text;
  const OnChatEvent on_event = [&](const skipstone_chat_event& event) {
    text.append(event.text, event.bytes);
    return true;
  };
  parser.push("It is the e", on_event);
  EXPECT_EQ(text, "It is");
  EXPECT_EQ(parser.stop_text(), "");
  parser.push("nd of it, one", on_event);
  EXPECT_EQ(parser.stop_text(), "the end");
  parser.push("more", on_event);
  parser.finish(on_event);
  EXPECT_EQ(text, "It is ");
  EXPECT_STREQ(skipstone_chat_parser_stop_text(nullptr), "");
}

TEST_F(ChatApi, ErrorsCarryWhereTheyAre) {
  const Chat chat = open("chatml");
  const auto where = [&](const std::string& messages, const std::string& tools = {}, const std::string& options = {}) {
    EXPECT_THROW(chat.render(messages, tools, options), error);
    return std::string(skipstone_last_error_where());
  };
  EXPECT_EQ(where("[]"), "messages");
  EXPECT_EQ(where("[{]"), "messages");
  EXPECT_EQ(where(R"([{"role": "user", "content": "a"}, {"role": "nobody", "content": "b"}])"), "messages[1].role");
  EXPECT_EQ(where(user, R"([{"type": "function", "function": {"name": ""}}])"), "tools[0].function.name");
  EXPECT_EQ(where(user, "", R"({"add_generation_prompt": 1})"), "options.add_generation_prompt");
  // An error that is about no part of the request.
  EXPECT_THROW(Chat::open(folder_.file("none.gguf")), error);
  EXPECT_STREQ(skipstone_last_error_where(), "");
  skipstone_set_last_error_where("draft");
  EXPECT_STREQ(skipstone_last_error_where(), "draft");
  skipstone_set_last_error(SKIPSTONE_IO, "a sentence");
  EXPECT_STREQ(skipstone_last_error_where(), "");
}

/// The metadata of a vocabulary of bytes and control tokens.
void set_vocabulary(gguf::Writer& writer, const std::vector<std::string>& control) {
  std::vector<std::string> tokens = {"<unk>"};
  std::vector<std::int32_t> types = {2};
  for (const std::string& token : control) {
    tokens.push_back(token);
    types.push_back(3);
  }
  for (int byte = 0; byte < 256; ++byte) {
    tokens.push_back(fmt::format("<0x{:02X}>", byte));
    types.push_back(6);
  }
  writer.set("general.architecture", std::string("llama"));
  writer.set("tokenizer.ggml.model", std::string("llama"));
  writer.set_strings("tokenizer.ggml.tokens", tokens);
  writer.set_floats("tokenizer.ggml.scores", std::vector<float>(tokens.size(), 0.0f));
  writer.set_integers("tokenizer.ggml.token_type", types);
}

/// A file of a vocabulary with two templates, whose names are listed or not.
void write_templates(const std::string& path, bool listed) {
  gguf::Writer writer;
  set_vocabulary(writer, {"<s>", "</s>"});
  writer.set("tokenizer.chat_template", std::string("usual {{ messages[0].content }}"));
  writer.set("tokenizer.chat_template.tool_use", std::string("{{ tools|tojson if tools }} {{ messages[0].content }}"));
  if (listed) writer.set_strings("tokenizer.chat_templates", {"tool_use"});
  writer.write(path);
}

TEST_F(ChatApi, ConversationsWithToolsGetTheModelsTemplateForThem) {
  for (const bool listed : {false, true}) {
    write_templates(folder_.file("named.gguf"), listed);
    const Chat chat = Chat::open(folder_.file("named.gguf"));
    const skipstone_chat_info info = chat.info();
    EXPECT_STREQ(info.source_text, "usual {{ messages[0].content }}");
    EXPECT_STREQ(info.tool_use_text, "{{ tools|tojson if tools }} {{ messages[0].content }}");
    EXPECT_EQ(info.tools, 1);
    const auto text = [&](const std::string& tools) { return nlohmann::json::parse(chat.show(user, tools))["text"].get<std::string>(); };
    EXPECT_EQ(text(""), "usual Hi <s>");
    EXPECT_EQ(text(R"([{"type": "function", "function": {"name": "f"}}])"), R"([{"type": "function", "function": {"name": "f"}}] Hi <s>)");
  }
  EXPECT_EQ(open().info().tool_use_text, nullptr);
}

/// What a parser of the chat's format makes of an answer's tokens: "reasoning|text|calls".
std::string parts_of(const Chat& chat, std::span<const skipstone_token> answer) {
  std::string reasoning, text, calls;
  const OnChatEvent on_event = [&](const skipstone_chat_event& event) {
    if (event.kind == SKIPSTONE_CHAT_REASONING) reasoning.append(event.text, event.bytes);
    if (event.kind == SKIPSTONE_CHAT_TEXT) text.append(event.text, event.bytes);
    if (event.kind == SKIPSTONE_CHAT_TOOL_CALL_BEGIN) calls += event.name;
    if (event.kind == SKIPSTONE_CHAT_TOOL_CALL_ARGUMENTS) calls.append(event.text, event.bytes);
    return true;
  };
  ChatParser parser(chat, R"({"tools": [{"type": "function", "function": {"name": "weather"}}]})");
  for (const skipstone_token token : answer) parser.push(token, on_event);
  parser.finish(on_event);
  return fmt::format("{}|{}|{}", reasoning, text, calls);
}

// What the template of gpt-oss writes for answers is what their parser reads, token by token: analysis, a call, the final channel.
TEST_F(ChatApi, AnswersOfGptOssAreReadAsItsTemplateWritesThem) {
  std::ifstream file(std::string(SKIPSTONE_SHARED_DATA) + "/templates/templates/gpt-oss-120b.jinja");
  if (!file) GTEST_SKIP() << "no template";
  gguf::Writer writer;
  set_vocabulary(writer, {"<|start|>", "<|end|>", "<|message|>", "<|channel|>", "<|constrain|>", "<|return|>", "<|call|>"});
  writer.set("tokenizer.ggml.eos_token_id", std::uint32_t{6});
  writer.set("tokenizer.ggml.add_bos_token", false);
  writer.set("tokenizer.ggml.add_space_prefix", false);
  writer.set("tokenizer.chat_template", std::string(std::istreambuf_iterator<char>(file), {}));
  writer.write(folder_.file("harmony.gguf"));
  const Chat chat = Chat::open(folder_.file("harmony.gguf"));
  constexpr skipstone_token returned = 6, called = 7;
  EXPECT_EQ(chat.end_tokens(), (std::vector<skipstone_token>{returned, called})) << "<|end|> ends a message, not the answer";
  const std::string question = R"({"role": "user", "content": "Rain in Bern?"})";
  const std::string tools =
      R"([{"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}}])";
  const std::string no_prompt = R"({"add_generation_prompt": false})";
  const std::vector<skipstone_token> prompt = chat.render("[" + question + "]", tools);
  const auto answer = [&](const std::string& message, skipstone_token end) {
    std::vector<skipstone_token> tokens = chat.render("[" + question + ", " + message + "]", tools, no_prompt);
    EXPECT_TRUE(std::equal(prompt.begin(), prompt.end(), tokens.begin()));
    tokens.erase(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(prompt.size()));
    EXPECT_EQ(tokens.back(), end);
    return parts_of(chat, tokens);
  };
  EXPECT_EQ(answer(R"({"role": "assistant", "reasoning_content": "Rare.", "content": "No, sun."})", returned), "Rare.|No, sun.|");
  EXPECT_EQ(answer(R"({"role": "assistant", "reasoning_content": "Look.", "content": null, "tool_calls": [
                     {"id": "a", "type": "function", "function": {"name": "weather", "arguments": "{\"city\": \"Bern\"}"}}]})",
                   called),
            R"(Look.||weather{"city": "Bern"})");
}

TEST_F(ChatApi, RenderingEndsWhereItIsAskedTo) {
  const Chat chat = open("chatml");
  const std::string messages = R"([{"role": "user", "content": ")" + std::string(2000000, 'a') + "\"}]";
  const auto asked_until = [&](auto call, int last) {
    int asked = 0;
    try {
      call([&] { return ++asked < last; });
    } catch (const error& ended) {
      EXPECT_EQ(ended.status(), SKIPSTONE_CANCELLED) << ended.what();
      return asked;
    }
    return -1;
  };
  const auto show = [&](KeepGoing keep_going) { chat.show(messages, "", "", std::move(keep_going)); };
  const auto render = [&](KeepGoing keep_going) { chat.render(messages, "", "", std::move(keep_going)); };
  for (const int last : {1, 2, 20, 60}) {
    EXPECT_EQ(asked_until(show, last), last);
    EXPECT_EQ(asked_until(render, last), last);
  }
  EXPECT_EQ(chat.show(user, "", "", [] { return true; }), chat.show(user));
  skipstone_template_params params = template_params();
  params.source = "{% for i in range(100000) %}{% for j in range(100000) %}{{ i }}{% endfor %}{% endfor %}";
  params.progress = [](const char*, double, void*) { return 1; };
  char* text = nullptr;
  EXPECT_EQ(skipstone_template_render(&params, &text, nullptr), SKIPSTONE_CANCELLED);
  EXPECT_EQ(text, nullptr);
  // Who throws in between gets it back.
  EXPECT_THROW(chat.show(messages, "", "", []() -> bool { throw std::out_of_range("enough"); }), std::out_of_range);
}

TEST_F(ChatApi, CallbacksMayFreeWhatTheyAreOf) {
  struct Freed {
    skipstone_chat* chat = nullptr;
    skipstone_chat_parser* parser = nullptr;
    skipstone_status pushed = SKIPSTONE_OK;
  } freed;
  skipstone_chat_params params = chat_params();
  params.chat_template = "chatml";
  ASSERT_EQ(skipstone_chat_open(folder_.file("tiny.gguf").c_str(), &params, &freed.chat), SKIPSTONE_OK);
  ASSERT_EQ(skipstone_chat_parser_create(freed.chat, nullptr, &freed.parser), SKIPSTONE_OK);
  const auto on_event = [](const skipstone_chat_event*, void* data) {
    auto& self = *static_cast<Freed*>(data);
    self.pushed = skipstone_chat_parser_push_text(self.parser, "b", 1, nullptr, nullptr);
    skipstone_chat_parser_free(self.parser);
    return 0;
  };
  const std::string text = "Some words, and others.";
  EXPECT_EQ(skipstone_chat_parser_push_text(freed.parser, text.data(), text.size(), on_event, &freed), SKIPSTONE_OK);
  EXPECT_EQ(freed.pushed, SKIPSTONE_INVALID_ARGUMENT);
  const std::string messages = R"([{"role": "user", "content": ")" + std::string(500000, 'a') + "\"}]";
  const auto on_progress = [](const char*, double, void* data) {
    skipstone_chat_free(std::exchange(static_cast<Freed*>(data)->chat, nullptr));
    return 0;
  };
  char* json = nullptr;
  EXPECT_EQ(skipstone_chat_show_polled(freed.chat, messages.c_str(), nullptr, nullptr, on_progress, &freed, &json), SKIPSTONE_OK);
  EXPECT_EQ(freed.chat, nullptr);
  skipstone_string_free(json);
}

TEST_F(ChatApi, CountsThatNoTextHasAreRefused) {
  const Chat chat = open("chatml");
  skipstone_chat_parser* parser = nullptr;
  ASSERT_EQ(skipstone_chat_parser_create(chat.get(), nullptr, &parser), SKIPSTONE_OK);
  EXPECT_EQ(skipstone_chat_parser_push_text(parser, "x", std::size_t{1} << 62, nullptr, nullptr), SKIPSTONE_INVALID_ARGUMENT);
  skipstone_chat_parser_free(parser);
  skipstone_template_params params = template_params();
  params.source = "x";
  params.source_bytes = std::size_t{1} << 62;
  char* text = nullptr;
  EXPECT_EQ(skipstone_template_render(&params, &text, nullptr), SKIPSTONE_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace skipstone
