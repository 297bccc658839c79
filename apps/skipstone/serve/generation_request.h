// A client's request, read from its body and checked: the forms of OpenAI's and Anthropic's APIs become one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "json/json_fwd.h"
#include "options/sampling.h"
#include "serve/places.h"
#include "serve/text_format.h"
#include "skipstone/skipstone.hpp"

namespace cli::serve {

/// The API form of a request and of its answer.
enum class Form { chat, completion, responses, messages };

/// Values of absent fields.
struct RequestDefaults {
  skipstone_session_params sampling = default_sampling();
  std::string draft = "auto";
};

/// The variables by which templates are told to think; families differ in them.
inline constexpr const char* thinking_variables[] = {"enable_thinking", "thinking"};

struct GenerationRequest {
  Form form = Form::chat;
  std::string model;  ///< "" if none is named
  /// The conversation (all but completion), as skipstone_chat_render() takes it.
  std::string messages, tools, template_options;
  std::size_t tools_bytes = 0;  ///< of all given tools; an answer also repeats those that the model may not call
  /// The prompt to continue (completion): text, or tokens if given as tokens.
  std::string prompt;
  std::vector<std::int32_t> prompt_tokens;
  bool parse_tool_calls = false;  ///< there are tools, and tool_choice lets the model call them
  bool stream = false, include_usage = false, echo = false;
  std::vector<std::string> stop;
  std::optional<std::uint64_t> seed;
  std::uint32_t n = 1;
  std::optional<std::uint32_t> max_tokens;
  skipstone_session_params sampling{};  ///< the values of sampling_fields alone
  std::uint32_t given_sampling = 0;     ///< bit i: the request has the field sampling_fields[i]
  bool logprobs = false;
  std::uint32_t top_logprobs = 0;
  std::vector<skipstone_token_bias> logit_bias;
  std::optional<TextFormat> format;  ///< what the answer's text fits
  std::string draft;
  std::string echo_fields;                                     ///< responses, messages: more fields of the answer, as JSON
  std::vector<std::pair<std::string, std::string>> variables;  ///< of the template, from fields of their own: names and JSON
  std::vector<std::string> notes;                              ///< responses, messages: what the request has and the answer leaves out
  Places places;                                               ///< responses, messages: where the conversation is in the request

  /// `json`: the tools in the form of chat completions, "" for none. `callable`: whether the model may call them.
  void set_tools(std::string json, bool callable);

  /// Memory of its texts.
  std::size_t bytes() const {
    std::size_t stops = 0;
    for (const std::string& one : stop) stops += one.size();
    return stops + (format ? format->text.size() : 0) + messages.size() + tools.size() + template_options.size() + prompt.size() +
           prompt_tokens.size() * sizeof(std::int32_t) + logit_bias.size() * sizeof(skipstone_token_bias) + echo_fields.size() +
           places.bytes();
  }
};

/// The most memory that parsing `body` as JSON needs besides the body itself.
std::size_t parsing_bytes(std::string_view body);

/// Throws ApiError (400) that names the field which is wrong. Unknown fields are ignored.
GenerationRequest read_request(Form form, const std::string& body, const RequestDefaults& defaults);

/// Sets the sampling values that the request does not have.
void take_sampling(GenerationRequest& request, const skipstone_session_params& defaults);

/// What a value is, for messages: "a text".
const char* name_of(const skipstone::SortedJson& value);

/// The body as an object; throws ApiError (400).
skipstone::SortedJson read_object(const std::string& body);

}  // namespace cli::serve
