// Chat templates, and conversations to tokens.
#include "skipstone/chat.h"

#include <algorithm>
#include <cstring>
#include <ostream>
#include <streambuf>
#include <string>

#include "api/engine_options.h"
#include "api/guard.h"
#include "api/handles.h"
#include "base/poll.h"
#include "chat/chat_template.h"
#include "chat/jinja/template.h"
#include "chat/messages.h"
#include "gguf/gguf.h"
#include "json/json.h"

namespace skipstone::api {

template <>
skipstone_template_params defaults<skipstone_template_params>() {
  return {};
}

template <>
skipstone_chat_params defaults<skipstone_chat_params>() {
  return {};
}

}  // namespace skipstone::api

using namespace skipstone;

namespace {

std::string_view text_of(const char* text, size_t bytes) {
  return text == nullptr ? std::string_view() : std::string_view(text, bytes > 0 ? bytes : std::strlen(text));
}

std::string rendered(const skipstone_template_params& params) {
  api::require_array(params.source, std::max<size_t>(1, params.source_bytes), api::most_text_bytes, "bytes of source");
  api::require_array(params.variables, params.variables_bytes, api::most_text_bytes, "bytes of variables");
  const chat::jinja::Template compiled(text_of(params.source, params.source_bytes));
  const std::string_view given = text_of(params.variables, params.variables_bytes);
  const chat::jinja::Value variables = chat::jinja::read_json(given.empty() ? "{}" : given, "variables", chat::jinja::Origin::data);
  if (variables.dict() == nullptr) fail(Code::invalid_argument, "variables: an object was expected");
  const std::tm now = params.now == nullptr ? chat::jinja::local_time() : chat::jinja::parsed_time(params.now);
  const chat::jinja::Text text = params.continue_final_message != 0 ? render_continued(compiled, *variables.dict(), given.size(), now)
                                                                    : compiled.render(*variables.dict(), given.size(), now);
  return std::string(text.bytes());
}

skipstone_chat* make_chat(std::shared_ptr<const text::Tokenizer> tokenizer, const std::vector<text::ChatTemplate>& own,
                          const skipstone_chat_params* given) {
  const auto params = api::read_params(given);
  auto handle = std::make_unique<skipstone_chat>();
  handle->prompt = std::make_shared<const chat::ChatPrompt>(std::move(tokenizer), own, api::text_or_empty(params.chat_template));
  for (const std::string& stop : handle->prompt->stop_strings()) handle->stop_strings.push_back(stop.c_str());
  return handle.release();
}

chat::Conversation conversation_of(const char* messages, const char* tools, const char* options) {
  api::require(messages, "messages");
  return chat::read_conversation(messages, api::text_or_empty(tools), api::text_or_empty(options));
}

Json shown(const chat::ChatPrompt& prompt, const chat::Conversation& conversation) {
  const chat::RenderedPrompt rendered = prompt.render(conversation);
  Json pieces = Json::array();
  for (const chat::Piece& piece : prompt.pieces(rendered)) {
    poll(32);
    Json one = {{"text", piece.text}, {"origin", piece.origin == chat::jinja::Origin::data ? "data" : "template"}};
    if (piece.token >= 0) one["token"] = piece.token;
    pieces.push_back(std::move(one));
  }
  return {{"template", prompt.name()},
          {"text", std::string(rendered.text.bytes())},
          {"tokens", prompt.tokens(rendered)},
          {"pieces", std::move(pieces)}};
}

/// A string that is written as a stream; each write polls whether this thread's work is to end.
class PolledText final : public std::streambuf {
 public:
  std::string take() { return std::move(text_); }

 protected:
  std::streamsize xsputn(const char* bytes, std::streamsize count) override {
    poll(static_cast<std::size_t>(count) / 4);
    text_.append(bytes, static_cast<std::size_t>(count));
    return count;
  }
  int_type overflow(int_type byte) override {
    text_.push_back(traits_type::to_char_type(byte));
    return byte;
  }

 private:
  std::string text_;
};

/// As Json::dump(), but can be interrupted.
std::string printed(const Json& document) {
  PolledText text;
  std::ostream out(&text);
  out.exceptions(std::ios::badbit);  // what poll() throws passes through
  out << document;
  return text.take();
}

}  // namespace

extern "C" {

void skipstone_template_params_init(skipstone_template_params* params, size_t struct_size) { api::init(params, struct_size); }

skipstone_status skipstone_template_render(const skipstone_template_params* params, char** text, size_t* bytes) {
  return api::guard([&] {
    api::require(params, "params");
    api::require(text, "text");
    *text = nullptr;
    const auto adopted = api::read_params(params);
    const Poll polled(api::poll_from(adopted.progress, adopted.user_data, "rendering"));
    const std::string result = rendered(adopted);
    *text = api::copy_string(result);
    if (bytes != nullptr) *bytes = result.size();
  });
}

void skipstone_chat_params_init(skipstone_chat_params* params, size_t struct_size) { api::init(params, struct_size); }

const char* skipstone_chat_templates(void) {
  static const std::string names = [] {
    std::string list;
    for (const chat::BuiltinTemplate& builtin : chat::builtin_templates()) list.append(list.empty() ? "" : ", ").append(builtin.name);
    return list;
  }();
  return names.c_str();
}

skipstone_status skipstone_chat_create(const skipstone_engine* engine, const skipstone_chat_params* params, skipstone_chat** chat) {
  return api::guard([&] {
    api::require(engine, "engine");
    api::require(chat, "chat");
    *chat = nullptr;
    const std::shared_ptr<const text::Tokenizer> tokenizer(engine->engine, &engine->engine->tokenizer());
    *chat = make_chat(tokenizer, engine->engine->chat_templates(), params);
  });
}

skipstone_status skipstone_chat_open(const char* model_path, const skipstone_chat_params* params, skipstone_chat** chat) {
  return api::guard([&] {
    api::require(model_path, "model_path");
    api::require(chat, "chat");
    *chat = nullptr;
    const gguf::File file = gguf::File::open(model_path);
    const std::string pre = api::text_or_empty(api::read_params(params).pre_tokenizer);
    const auto tokenizer = std::make_shared<const text::Tokenizer>(text::Vocabulary::from(file, pre));
    *chat = make_chat(tokenizer, text::chat_templates(file), params);
  });
}

void skipstone_chat_free(skipstone_chat* chat) { delete chat; }

skipstone_status skipstone_chat_get_info(const skipstone_chat* chat, skipstone_chat_info* info) {
  return api::guard([&] {
    api::require(chat, "chat");
    const chat::ChatPrompt& prompt = *chat->prompt;
    const chat::ChatTemplate& tools = prompt.tool_template();
    const chat::Capabilities& can = prompt.chat_template().can();
    skipstone_chat_info filled{};
    filled.name = prompt.name().c_str();
    filled.source_text = prompt.chat_template().source().c_str();
    filled.source = static_cast<int32_t>(prompt.source());
    filled.system_messages = can.system ? 1 : 0;
    filled.tools = tools.can().tools ? 1 : 0;
    filled.tool_calls = tools.can().tool_calls ? 1 : 0;
    filled.reasoning = can.reasoning ? 1 : 0;
    filled.text_parts = can.content[chat::role_class("user")].parts ? 1 : 0;
    filled.end_tokens = prompt.end_tokens().data();
    filled.end_token_count = prompt.end_tokens().size();
    filled.stop_strings = chat->stop_strings.data();
    filled.stop_string_count = chat->stop_strings.size();
    filled.tool_use_text = &tools == &prompt.chat_template() ? nullptr : tools.source().c_str();
    filled.error = prompt.error().c_str();
    api::give(filled, info);
  });
}

skipstone_status skipstone_chat_render(const skipstone_chat* chat, const char* messages, const char* tools, const char* options,
                                       skipstone_token** tokens, size_t* count) {
  return skipstone_chat_render_polled(chat, messages, tools, options, nullptr, nullptr, tokens, count);
}

skipstone_status skipstone_chat_render_polled(const skipstone_chat* chat, const char* messages, const char* tools, const char* options,
                                              skipstone_progress_fn progress, void* user_data, skipstone_token** tokens, size_t* count) {
  return api::guard([&] {
    api::require(tokens, "tokens");
    *tokens = nullptr;
    api::require(chat, "chat");
    api::require(count, "count");
    const Poll polled(api::poll_from(progress, user_data, "rendering"));
    const auto prompt = chat->prompt;  // a callback may free the handle
    const std::vector<text::Token> rendered = prompt->tokens(conversation_of(messages, tools, options));
    *tokens = api::copy_tokens(rendered);
    *count = rendered.size();
  });
}

skipstone_status skipstone_chat_show(const skipstone_chat* chat, const char* messages, const char* tools, const char* options,
                                     char** json) {
  return skipstone_chat_show_polled(chat, messages, tools, options, nullptr, nullptr, json);
}

skipstone_status skipstone_chat_show_polled(const skipstone_chat* chat, const char* messages, const char* tools, const char* options,
                                            skipstone_progress_fn progress, void* user_data, char** json) {
  return api::guard([&] {
    api::require(json, "json");
    *json = nullptr;
    api::require(chat, "chat");
    const Poll polled(api::poll_from(progress, user_data, "rendering"));
    const auto prompt = chat->prompt;  // a callback may free the handle
    *json = api::copy_string(printed(shown(*prompt, conversation_of(messages, tools, options))));
  });
}

}  // extern "C"
