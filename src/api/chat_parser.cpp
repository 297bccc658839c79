// Parsers of answers.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/guard.h"
#include "api/handles.h"
#include "api/in_use.h"
#include "base/escape.h"
#include "chat/output/output_parser.h"
#include "json/json.h"
#include "skipstone/chat.h"

using namespace skipstone;

struct skipstone_chat_parser {
  std::shared_ptr<const chat::ChatPrompt> prompt;
  const chat::OutputFormat* format = nullptr;
  std::unique_ptr<chat::OutputParser> parser;
  skipstone_chat_event_fn event = nullptr;
  void* user_data = nullptr;
  api::InUse in_use;
  static constexpr const char* name = "parser";
};

namespace {

/// The value of a key, which must be of the type of `otherwise`.
template <typename T>
T option(const SortedJson& options, const char* key, T otherwise) {
  const auto found = options.find(key);
  if (found == options.end() || found->is_null()) return otherwise;
  if constexpr (std::is_same_v<T, bool>) {
    if (!found->is_boolean()) fail_about(fmt::format("options.{}", key), Code::invalid_argument, "options.{}: a boolean was expected", key);
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (!found->is_string()) fail_about(fmt::format("options.{}", key), Code::invalid_argument, "options.{}: a string was expected", key);
  } else {
    if (!found->is_number_unsigned())
      fail_about(fmt::format("options.{}", key), Code::invalid_argument, "options.{}: a number from 0 was expected", key);
  }
  return found->get<T>();
}

/// The texts of a key's array; nothing where it is missing.
std::optional<std::vector<std::string>> texts_option(const SortedJson& options, const char* key) {
  const auto found = options.find(key);
  if (found == options.end() || found->is_null()) return std::nullopt;
  const auto is_text = [](const SortedJson& one) { return one.is_string(); };
  if (!found->is_array() || !std::ranges::all_of(*found, is_text))
    fail_about(fmt::format("options.{}", key), Code::invalid_argument, "options.{}: an array of strings was expected", key);
  return found->get<std::vector<std::string>>();
}

SortedJson parsed(const char* options) {
  if (options == nullptr || *options == '\0') return SortedJson::object();
  SortedJson document = SortedJson::parse(options, nullptr, false);
  if (!document.is_object()) fail_about("options", Code::invalid_argument, "options: a JSON object was expected");
  return document;
}

chat::OutputOptions output_options(const SortedJson& options) {
  chat::OutputOptions read;
  read.prompt = option<std::string>(options, "prompt", "");
  read.reasoning = option(options, "reasoning", true);
  read.calls.wanted = option(options, "tool_calls", true);
  read.calls.stream_arguments = option(options, "stream_arguments", false);
  read.id_seed = option<std::uint64_t>(options, "id_seed", 0);
  read.used_ids = texts_option(options, "used_ids");
  read.stop = texts_option(options, "stop").value_or(std::vector<std::string>());
  const auto tools = options.find("tools");
  if (tools != options.end() && !tools->is_null()) {
    if (!tools->is_array()) fail_about("options.tools", Code::invalid_argument, "options.tools: an array was expected");
    read.calls.tools = chat::tools_from(*tools);
  }
  return read;
}

const chat::OutputFormat& format_of(const SortedJson& options, const chat::ChatPrompt& prompt) {
  const auto name = option<std::string>(options, "format", "");
  const auto tools = options.find("tools");
  if (name.empty()) return prompt.output_format(tools != options.end() && !tools->empty());
  const chat::OutputFormat* format = chat::find_output_format(name);
  if (format == nullptr)
    fail_about("options.format", Code::invalid_argument, "options.format: there is no format '{}'", shortened(name, 40));
  return *format;
}

/// The numbers of chat::EventKind are those of skipstone_chat_event_kind.
static_assert(static_cast<int>(chat::EventKind::marker) == SKIPSTONE_CHAT_MARKER);

void hand_over(skipstone_chat_parser& parser, const chat::Event& event) {
  if (parser.event == nullptr) return;
  skipstone_chat_event given{};
  given.struct_size = sizeof(given);
  given.kind = static_cast<int32_t>(event.kind);
  given.call = event.call;
  given.text = event.text.c_str();
  given.bytes = event.text.size();
  given.name = event.name.c_str();
  given.id = event.id.c_str();
  given.raw = event.raw.c_str();
  given.raw_bytes = event.raw.size();
  given.note = event.note.c_str();
  given.complete = event.complete ? 1 : 0;
  if (parser.event(&given, parser.user_data) != 0) fail(Code::cancelled, "the callback for events asked to stop");
}

template <typename Feed>
skipstone_status feed(skipstone_chat_parser* parser, skipstone_chat_event_fn event, void* user_data, Feed feed) {
  return api::guard([&] {
    api::require(parser, "parser");
    const api::Use use(*parser);
    parser->event = event;
    parser->user_data = user_data;
    feed();
  });
}

}  // namespace

extern "C" {

skipstone_status skipstone_chat_parser_create(const skipstone_chat* chat, const char* options, skipstone_chat_parser** parser) {
  return api::guard([&] {
    api::require(chat, "chat");
    api::require(parser, "parser");
    *parser = nullptr;
    const SortedJson read = parsed(options);
    auto handle = std::make_unique<skipstone_chat_parser>();
    handle->prompt = chat->prompt;
    skipstone_chat_parser& self = *handle;
    handle->format = &format_of(read, *chat->prompt);
    handle->parser = std::make_unique<chat::OutputParser>(*handle->format, output_options(read),
                                                          [&self](const chat::Event& event) { hand_over(self, event); });
    *parser = handle.release();
  });
}

void skipstone_chat_parser_free(skipstone_chat_parser* parser) { api::free_handle(parser); }

skipstone_status skipstone_chat_parser_push(skipstone_chat_parser* parser, skipstone_token token, skipstone_chat_event_fn event,
                                            void* user_data) {
  return feed(parser, event, user_data, [&] {
    const text::Tokenizer& tokenizer = parser->prompt->tokenizer();
    const auto& ends = parser->prompt->end_tokens();
    const std::string piece = tokenizer.piece(token);  // refuses tokens that are none
    if (!piece.empty()) return parser->parser->push(piece);
    // Control tokens have no text of their own, but formats are made of them. One that ends the turn is no part of the answer, unless it
    // ends a call as well (gpt-oss).
    const std::string& written = tokenizer.vocabulary().tokens[static_cast<std::size_t>(token)];
    const bool ends_turn = std::find(ends.begin(), ends.end(), token) != ends.end();
    if (!ends_turn || written == parser->format->call_close) parser->parser->push_marker(written);
  });
}

skipstone_status skipstone_chat_parser_push_text(skipstone_chat_parser* parser, const char* text, size_t bytes,
                                                 skipstone_chat_event_fn event, void* user_data) {
  return feed(parser, event, user_data, [&] {
    api::require_array(text, bytes, api::most_text_bytes, "bytes of text");
    parser->parser->push({bytes > 0 ? text : "", bytes});
  });
}

skipstone_status skipstone_chat_parser_finish(skipstone_chat_parser* parser, skipstone_chat_event_fn event, void* user_data) {
  return feed(parser, event, user_data, [&] { parser->parser->finish(); });
}

const char* skipstone_chat_parser_stop_text(const skipstone_chat_parser* parser) {
  if (parser == nullptr) return "";
  const api::ReadAccess access(*parser);
  return access ? parser->parser->stop_text().c_str() : "";
}

}  // extern "C"
