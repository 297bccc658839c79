// RAII over the C API of chats (chat.h). Header only; needs C++17. Failed calls throw skipstone::error.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skipstone/chat.h"
#include "skipstone/skipstone.hpp"

namespace skipstone {

inline skipstone_template_params template_params() { return detail::filled(skipstone_template_params_init); }
inline skipstone_chat_params chat_params() { return detail::filled(skipstone_chat_params_init); }

/// Renders a template alone: skipstone_template_render().
inline std::string render_template(const skipstone_template_params& params) {
  char* text = nullptr;
  std::size_t bytes = 0;
  check(skipstone_template_render(&params, &text, &bytes));
  return detail::take(text, bytes);
}

namespace detail {
/// NULL for what is not given.
inline const char* given(const std::string& json) { return json.empty() ? nullptr : json.c_str(); }
}  // namespace detail

/// A model's chat template and its tokenizer. Copies share it.
class Chat {
 public:
  /// `chat_template`: as skipstone_chat_params has it; "" for the model's own.
  explicit Chat(const Engine& engine, const std::string& chat_template = {}) {
    skipstone_chat_params params = chat_params();
    params.chat_template = chat_template.c_str();
    skipstone_chat* chat = nullptr;
    check(skipstone_chat_create(engine.get(), &params, &chat));
    handle_.reset(chat, skipstone_chat_free);
  }

  /// From the model file alone, without a device.
  static Chat open(const std::string& model_path, const std::string& chat_template = {}, const std::string& pre_tokenizer = {}) {
    skipstone_chat_params params = chat_params();
    params.chat_template = chat_template.c_str();
    params.pre_tokenizer = pre_tokenizer.c_str();
    skipstone_chat* chat = nullptr;
    check(skipstone_chat_open(model_path.c_str(), &params, &chat));
    Chat opened;
    opened.handle_.reset(chat, skipstone_chat_free);
    return opened;
  }

  skipstone_chat* get() const noexcept { return handle_.get(); }

  /// Its strings and arrays live as long as the chat.
  skipstone_chat_info info() const {
    skipstone_chat_info info{};
    info.struct_size = sizeof(info);
    check(skipstone_chat_get_info(get(), &info));
    return info;
  }

  std::vector<skipstone_token> end_tokens() const {
    const skipstone_chat_info known = info();
    return std::vector<skipstone_token>(known.end_tokens, known.end_tokens + known.end_token_count);
  }

  std::vector<std::string> stop_strings() const {
    const skipstone_chat_info known = info();
    return std::vector<std::string>(known.stop_strings, known.stop_strings + known.stop_string_count);
  }

  /// A conversation's tokens; all three are JSON, `tools` and `options` may be empty.
  std::vector<skipstone_token> render(const std::string& messages, const std::string& tools = {}, const std::string& options = {},
                                      KeepGoing keep_going = {}) const {
    detail::Relay<KeepGoing> relay{std::move(keep_going), nullptr};
    skipstone_token* tokens = nullptr;
    std::size_t count = 0;
    relay.finish(skipstone_chat_render_polled(get(), messages.c_str(), detail::given(tools), detail::given(options), detail::poll_of(relay),
                                              &relay, &tokens, &count));
    return detail::take(tokens, count);
  }

  /// The document of skipstone_chat_show().
  std::string show(const std::string& messages, const std::string& tools = {}, const std::string& options = {},
                   KeepGoing keep_going = {}) const {
    detail::Relay<KeepGoing> relay{std::move(keep_going), nullptr};
    char* json = nullptr;
    relay.finish(skipstone_chat_show_polled(get(), messages.c_str(), detail::given(tools), detail::given(options), detail::poll_of(relay),
                                            &relay, &json));
    return detail::take(json);
  }

 private:
  Chat() = default;
  std::shared_ptr<skipstone_chat> handle_;
};

/// Called for every event; false stops: the call throws an error with the status SKIPSTONE_CANCELLED.
using OnChatEvent = std::function<bool(const skipstone_chat_event& event)>;

/// Takes one answer apart; moves, does not copy.
class ChatParser {
 public:
  explicit ChatParser(const Chat& chat, const std::string& options = {}) {
    skipstone_chat_parser* parser = nullptr;
    check(skipstone_chat_parser_create(chat.get(), detail::given(options), &parser));
    handle_.reset(parser);
  }

  void push(skipstone_token token, OnChatEvent on_event) {
    feed(std::move(on_event), [&](void* relay) { return skipstone_chat_parser_push(handle_.get(), token, on, relay); });
  }
  void push(std::string_view text, OnChatEvent on_event) {
    feed(std::move(on_event), [&](void* relay) { return skipstone_chat_parser_push_text(handle_.get(), text.data(), text.size(), on, relay); });
  }
  /// The text of the option "stop" that has ended the answer; "" while none has.
  std::string stop_text() const { return skipstone_chat_parser_stop_text(handle_.get()); }
  void finish(OnChatEvent on_event) {
    feed(std::move(on_event), [&](void* relay) { return skipstone_chat_parser_finish(handle_.get(), on, relay); });
  }

 private:
  static int on(const skipstone_chat_event* event, void* relay) { return static_cast<detail::Relay<OnChatEvent>*>(relay)->call(*event); }

  template <typename Call>
  void feed(OnChatEvent on_event, Call call) {
    detail::Relay<OnChatEvent> relay{std::move(on_event), nullptr};
    relay.finish(call(&relay));
  }

  struct Free {
    void operator()(skipstone_chat_parser* parser) const noexcept { skipstone_chat_parser_free(parser); }
  };
  std::unique_ptr<skipstone_chat_parser, Free> handle_;
};

}  // namespace skipstone
