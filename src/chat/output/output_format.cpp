#include "chat/output/output_format.h"

#include <algorithm>

namespace skipstone::chat {
namespace {

constexpr Tags think = {"<think>", "</think>"};

// Each row's forms are those that the models' own chat templates render for an assistant's tool_calls. The order is that of detection: a
// template that holds the marks of two rows gets the first.
std::vector<OutputFormat> make_formats() {
  return {
      {.name = "harmony",
       .syntax = CallSyntax::channels,
       .call_close = "<|call|>",
       .name_prefix = "functions.",
       .in_template = {"<|channel|>"}},
      {.name = "minimax-m2",
       .syntax = CallSyntax::tagged,
       .reasoning = {think},
       .section = {"<minimax:tool_call>", "</minimax:tool_call>"},
       .call_open = "<invoke name=\"",
       .call_close = "</invoke>",
       .name_close = "\">",
       .key_open = "<parameter name=\"",
       .key_close = "\">",
       .value_close = "</parameter>",
       .in_template = {"<minimax:tool_call>"}},
      {.name = "glm",
       .syntax = CallSyntax::tagged,
       .reasoning = {think},
       .call_open = "<tool_call>",
       .call_close = "</tool_call>",
       .key_open = "<arg_key>",
       .key_close = "</arg_key>",
       .value_open = "<arg_value>",
       .value_close = "</arg_value>",
       .in_template = {"<arg_key>"}},
      {.name = "qwen3-coder",
       .syntax = CallSyntax::tagged,
       .reasoning = {think},
       .section = {"<tool_call>", "</tool_call>"},
       .call_open = "<function=",
       .call_close = "</function>",
       .name_close = ">",
       .key_open = "<parameter=",
       .key_close = ">",
       .value_close = "</parameter>",
       .value_on_lines = true,
       .in_template = {"<function=", "<parameter="}},
      {.name = "functionary",
       .syntax = CallSyntax::named,
       .reasoning = {think},
       .call_open = "<function=",
       .call_close = "</function>",
       .arguments_open = ">",
       .in_template = {"<function="}},
      {.name = "hermes",
       .syntax = CallSyntax::json,
       .reasoning = {think},
       .section = {"<tool_call>", "</tool_call>"},
       .in_template = {"<tool_call>"}},
      {.name = "mistral-named",
       .syntax = CallSyntax::named,
       .reasoning = {{{"[THINK]", "[/THINK]"}, think}},
       .call_open = "[TOOL_CALLS]",
       .id_open = "[CALL_ID]",
       .arguments_open = "[ARGS]",
       .id_length = 9,
       .in_template = {"[TOOL_CALLS]", "[ARGS]"}},
      {.name = "mistral-list",
       .syntax = CallSyntax::json,
       .reasoning = {think},
       .section = {"[TOOL_CALLS]", ""},
       .id_is_last = true,
       .bare = true,
       .id_length = 9,
       .in_template = {"[TOOL_CALLS]"}},
      {.name = "deepseek-r1",
       .syntax = CallSyntax::named,
       .reasoning = {think},
       .section = {"<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"},
       .call_open = "<｜tool▁call▁begin｜>function<｜tool▁sep｜>",
       .call_close = "<｜tool▁call▁end｜>",
       .arguments_open = "```json",
       .arguments_close = "```",
       .in_template = {"<｜tool▁calls▁begin｜>", "```json"}},
      {.name = "deepseek-v3.1",
       .syntax = CallSyntax::named,
       .reasoning = {think},
       .section = {"<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"},
       .call_open = "<｜tool▁call▁begin｜>",
       .call_close = "<｜tool▁call▁end｜>",
       .arguments_open = "<｜tool▁sep｜>",
       .in_template = {"<｜tool▁calls▁begin｜>"}},
      {.name = "kimi-k2",
       .syntax = CallSyntax::named,
       .reasoning = {think},
       .section = {"<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"},
       .call_open = "<|tool_call_begin|>",
       .call_close = "<|tool_call_end|>",
       .arguments_open = "<|tool_call_argument_begin|>",
       .name_prefix = "functions.",
       .name_is_id = true,
       .in_template = {"<|tool_calls_section_begin|>"}},
      {.name = "command-r7b",
       .syntax = CallSyntax::json,
       .reasoning = {{{"<|START_THINKING|>", "<|END_THINKING|>"}}},
       .content = {"<|START_RESPONSE|>", "<|END_RESPONSE|>"},
       .section = {"<|START_ACTION|>", "<|END_ACTION|>"},
       .id_is_index = true,
       .in_template = {"<|START_ACTION|>"}},
      {.name = "phi-4-mini",
       .syntax = CallSyntax::json,
       .reasoning = {think},
       .section = {"<|tool_call|>", "<|/tool_call|>"},
       .in_template = {"<|tool_call|>", "<|/tool_call|>"}},
      {.name = "granite",
       .syntax = CallSyntax::json,
       .reasoning = {{think, {"Here is my thought process:", "Here is my response:"}}},
       .content = {"<response>", "</response>"},
       .section = {"<|tool_call|>", ""},
       .in_template = {"<|tool_call|>"}},
      {.name = "lfm2",
       .syntax = CallSyntax::json,
       .reasoning = {think},
       .section = {"<|tool_call_start|>", "<|tool_call_end|>"},
       .python = true,
       .in_template = {"<|tool_list_start|>"}},
      {.name = "nemotron",
       .syntax = CallSyntax::json,
       .reasoning = {think},
       .section = {"<TOOLCALL>", "</TOOLCALL>"},
       .in_template = {"<TOOLCALL>"}},
      {.name = "firefunction", .syntax = CallSyntax::json, .section = {"<functioncall>", ""}, .in_template = {"<functioncall>"}},
      {.name = "llama3",
       .syntax = CallSyntax::json,
       .reasoning = {think},
       .bare = true,
       .bare_prefix = "<|python_tag|>",
       .python = true,
       .in_template = {"\"parameters\": dictionary of argument name"}},
      {.name = "plain", .reasoning = {think}},
  };
}

bool asks_for(const OutputFormat& format, std::string_view chat_template) {
  if (format.in_template.front().empty()) return false;
  return std::ranges::all_of(format.in_template, [&](std::string_view mark) { return chat_template.find(mark) != std::string_view::npos; });
}

}  // namespace

const std::vector<OutputFormat>& output_formats() {
  static const std::vector<OutputFormat> formats = make_formats();
  return formats;
}

const OutputFormat* find_output_format(std::string_view name) {
  const auto found = std::ranges::find(output_formats(), name, &OutputFormat::name);
  return found == output_formats().end() ? nullptr : &*found;
}

const OutputFormat& detect_output_format(std::string_view chat_template) {
  for (const OutputFormat& format : output_formats()) {
    if (asks_for(format, chat_template)) return format;
  }
  return output_formats().back();
}

}  // namespace skipstone::chat
