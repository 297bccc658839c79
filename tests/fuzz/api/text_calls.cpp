#include <cstring>
#include <utility>

#include "fuzz/api/caller.h"

namespace skipstone::fuzz {

const std::vector<Caller::Call>& Caller::text_calls() {
  static const std::vector<Call> calls = {
      &Caller::tokenize,  &Caller::detokenize, &Caller::piece,       &Caller::render, &Caller::show, &Caller::render_template,
      &Caller::make_chat, &Caller::chat_info,  &Caller::make_parser, &Caller::push,   &Caller::push, &Caller::finish};
  return calls;
}

namespace {

const char* const conversations[] = {
    R"([{"role": "user", "content": "Hi <s>"}])",
    R"([{"role": "system", "content": "a"}, {"role": "user", "content": [{"type": "text", "text": "b"}]}])",
    R"([{"role": "assistant", "content": 7}])",
    R"([{"role": "tool", "tool_call_id": "x", "content": ""}])",
    R"([{"role": "user", "content": "\ud800"}])",
    "[[[[[[[[[[",
    "[]",
    "",
    "{}",
    nullptr};
const char* const tool_lists[] = {nullptr, "", "[]", R"([{"type": "function", "function": {"name": "f", "parameters": {}}}])", "[7]", "{"};
const char* const option_lists[] = {nullptr, "", "{}", R"({"add_generation_prompt": false})", R"({"now": "x"})", R"({"messages": 1})",
                                    "[1"};
const char* const parser_options[] = {nullptr,
                                      "{}",
                                      R"({"format": "nosuch"})",
                                      R"({"tools": [{"type": "function", "function": {"name": "f"}}]})",
                                      R"({"id_seed": -1})",
                                      "[",
                                      R"({"prompt": "<think>", "stop": ["f"], "used_ids": ["1"]})",
                                      R"({"stop": [""]})"};

}  // namespace

void Caller::tokenize() {
  const char* text = any_text();
  const std::size_t bytes = text == nullptr ? random_.below(2) : one_in(10) ? (std::size_t{1} << 40) : std::strlen(text);
  std::size_t count = 0;
  if (one_in(2)) {
    skipstone_token room[16];
    taken(
        skipstone_tokenize(an_engine(), text, bytes, 1, 0, one_in(20) ? nullptr : room, one_in(2) ? 16 : 0, one_in(20) ? nullptr : &count),
        "tokenize");
    return;
  }
  skipstone_token* made = nullptr;
  const bool given =
      taken(skipstone_tokenize_polled(an_engine(), text, bytes, 1, 1, a_progress(), this, one_in(30) ? nullptr : &made, &count),
            "tokenize_polled");
  expect(given == (made != nullptr), "tokenize_polled", "tokens stand for success");
  skipstone_tokens_free(made);
}

void Caller::detokenize() {
  std::size_t count = 0, bytes = 0;
  const skipstone_token* given = tokens(count);
  char* text = nullptr;
  if (one_in(2)) {
    text_given(skipstone_detokenize(an_engine(), given, count, &text, one_in(3) ? nullptr : &bytes), "detokenize", text);
  } else {
    text_given(skipstone_detokenize_polled(an_engine(), given, count, a_progress(), this, &text, &bytes), "detokenize_polled", text);
  }
  if (one_in(20)) taken(skipstone_detokenize(an_engine(), given, count, nullptr, nullptr), "detokenize");
}

void Caller::piece() {
  char* text = nullptr;
  const auto token = either<skipstone_token>({0, 1, 65, 300, -1, INT32_MAX, INT32_MIN});
  text_given(skipstone_token_piece(an_engine(), token, &text, nullptr), "piece", text);
  static_cast<void>(skipstone_engine_special_token(an_engine(), either<int32_t>({0, 5, -1, 99})));
  static_cast<void>(skipstone_engine_ends_generation(an_engine(), token));
}

void Caller::render() {
  skipstone_token* made = nullptr;
  std::size_t count = 0;
  const char *messages = conversations[random_.below(10)], *tools = tool_lists[random_.below(6)], *options = option_lists[random_.below(7)];
  const bool given = taken(one_in(2) ? skipstone_chat_render(a_chat(), messages, tools, options, &made, &count)
                                     : skipstone_chat_render_polled(a_chat(), messages, tools, options, a_progress(), this,
                                                                    one_in(30) ? nullptr : &made, one_in(30) ? nullptr : &count),
                           "render");
  expect(given == (made != nullptr), "render", "tokens stand for success");
  skipstone_tokens_free(made);
}

void Caller::show() {
  char* json = nullptr;
  const char *messages = conversations[random_.below(10)], *tools = tool_lists[random_.below(6)], *options = option_lists[random_.below(7)];
  if (one_in(2)) {
    text_given(skipstone_chat_show(a_chat(), messages, tools, options, &json), "show", json);
  } else {
    text_given(skipstone_chat_show_polled(a_chat(), messages, tools, options, a_progress(), this, &json), "show_polled", json);
  }
}

void Caller::render_template() {
  skipstone_template_params params;
  skipstone_template_params_init(&params, sizeof(params));
  params.source = either<const char*>(
      {"{{ x }}", "{% for i in range(3000) %}{{ i }}{% endfor %}", "{% if %}", "{{ raise_exception('x') }}", nullptr, "plain"});
  params.variables = either<const char*>({nullptr, R"({"x": 1})", "[", "7"});
  if (one_in(20)) params.source_bytes = SIZE_MAX;
  if (one_in(20)) params.variables_bytes = SIZE_MAX;
  if (one_in(20)) params.now = any_text();
  if (one_in(10)) params.continue_final_message = 1;
  if (one_in(20)) params.struct_size = SIZE_MAX;
  params.progress = a_progress();
  params.user_data = this;
  char* text = nullptr;
  text_given(skipstone_template_render(one_in(30) ? nullptr : &params, &text, nullptr), "template_render", text);
}

void Caller::make_chat() {
  skipstone_chat_params params;
  skipstone_chat_params_init(&params, sizeof(params));
  params.chat_template =
      either<const char*>({nullptr, "", "chatml", "llama3", "nosuch", "{% if %}", "{{ messages[0].content }}", "model:x"});
  if (one_in(20)) params.pre_tokenizer = any_text();
  if (one_in(20)) params.struct_size = 0;
  skipstone_chat* made = nullptr;
  const bool open = one_in(4);
  const std::string path = one_in(2) ? shared_.model : shared_.folder + "/none";
  const bool given = taken(open ? skipstone_chat_open(one_in(9) ? nullptr : path.c_str(), &params, &made)
                                : skipstone_chat_create(an_engine(), one_in(9) ? nullptr : &params, one_in(60) ? nullptr : &made),
                           "make_chat");
  expect(given == (made != nullptr), "make_chat", "a chat stands for success");
  skipstone_chat_free(std::exchange(chat_, made));
}

void Caller::chat_info() {
  info_given<skipstone_chat_info>("chat_get_info",
                                  [](skipstone_chat_info* info, Caller& self) { return skipstone_chat_get_info(self.a_chat(), info); });
}

void Caller::make_parser() {
  skipstone_chat_parser* made = nullptr;
  const bool given =
      taken(skipstone_chat_parser_create(a_chat(), parser_options[random_.below(std::size(parser_options))], one_in(60) ? nullptr : &made),
            "parser_create");
  expect(given == (made != nullptr), "parser_create", "a parser stands for success");
  skipstone_chat_parser_free(std::exchange(parser_, made));
}

void Caller::push() {
  skipstone_chat_parser* parser = one_in(30) ? nullptr : parser_ == nullptr || one_in(4) ? shared_.parser : parser_;
  const auto event = one_in(4) ? nullptr : &Caller::on_event;
  if (one_in(2)) {
    taken(skipstone_chat_parser_push(parser, either<skipstone_token>({65, 70, 2, 300, -1, INT32_MAX}), event, this), "push");
    return;
  }
  const char* text =
      one_in(2)
          ? any_text()
          : either<const char*>({"<tool_call>\n{\"name\": \"f\", ", "\"arguments\": {\"a\": 1}}\n</tool_call>", "<think>", "</think>"});
  const std::size_t bytes = text == nullptr ? random_.below(2) : one_in(10) ? (std::size_t{1} << 40) : std::strlen(text);
  taken(skipstone_chat_parser_push_text(parser, text, bytes, event, this), "push_text");
  if (parser == parser_) expect(std::strlen(skipstone_chat_parser_stop_text(parser)) < 2, "parser_stop_text", "it is one of the options'");
}

void Caller::finish() {
  skipstone_chat_parser* parser = one_in(30) ? nullptr : parser_ == nullptr || one_in(4) ? shared_.parser : parser_;
  taken(skipstone_chat_parser_finish(parser, one_in(4) ? nullptr : &Caller::on_event, this), "finish");
  if (one_in(3)) skipstone_chat_parser_free(std::exchange(parser_, nullptr));
}

}  // namespace skipstone::fuzz
