#include "serve/generation_request.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

#include "base/escape.h"
#include "base/status.h"
#include "json/parse_json.h"
#include "options/sampling.h"
#include "serve/anthropic_request.h"
#include "serve/api_error.h"
#include "serve/conversation_request.h"
#include "serve/json_text.h"
#include "skipstone/skipstone.hpp"

namespace cli::serve {

using skipstone::SortedJson;

namespace {

constexpr std::size_t most_stops = 64, most_stop_bytes = 4096;  // skipstone_session_set_stop()
constexpr std::size_t most_biases = 1024;                       // skipstone_session_params.logit_bias_count
constexpr double most_choices = 16, most_top_logprobs = 20;
// OpenAI's limits, https://platform.openai.com/docs/api-reference/responses/create
constexpr std::size_t most_metadata = 16, most_metadata_key = 64, most_metadata_value = 512;

double number_in(std::string_view field, const SortedJson& value, double least, double most) {
  if (!value.is_number()) refuse(field, "'{}' has to be a number, not {}", field, name_of(value));
  const double number = value.get<double>();
  if (!(number >= least && number <= most)) refuse(field, "'{}' is {}, but has to be from {} to {}", field, number, least, most);
  return number;
}

double whole_in(std::string_view field, const SortedJson& value, double least, double most) {
  if (value.is_number() && !value.is_number_integer() && std::floor(value.get<double>()) != value.get<double>())
    refuse(field, "'{}' has to be a whole number", field);
  return number_in(field, value, least, most);
}

bool flag(std::string_view field, const SortedJson& value) {
  if (!value.is_boolean()) refuse(field, "'{}' has to be true or false, not {}", field, name_of(value));
  return value.get<bool>();
}

std::string text(std::string_view field, const SortedJson& value) {
  if (!value.is_string()) refuse(field, "'{}' has to be a text, not {}", field, name_of(value));
  return value.get<std::string>();
}

std::vector<std::string> stops(std::string_view field, const SortedJson& value) {
  std::vector<std::string> all;
  if (value.is_string()) {
    all.push_back(value.get<std::string>());
  } else if (value.is_array()) {
    for (const SortedJson& stop : value) all.push_back(text(field, stop));
  } else {
    refuse(field, "'{}' has to be a text or a list of texts, not {}", field, name_of(value));
  }
  std::erase(all, "");
  if (all.size() > most_stops) refuse(field, "'{}' has {} texts; {} are possible", field, all.size(), most_stops);
  for (const std::string& stop : all) {
    if (stop.size() > most_stop_bytes) refuse(field, "a text of '{}' has {} bytes; {} are possible", field, stop.size(), most_stop_bytes);
    if (stop.find('\0') != std::string::npos) refuse(field, "a text of '{}' has a NUL character, which is not possible", field);
  }
  return all;
}

/// Clients may name lossless drafters, and no files of the server.
void check_draft(std::string_view field, const std::string& draft) {
  if (skipstone_draft_is_lossless(draft.c_str()) == 0)
    refuse(field, "'draft' has to name a lossless drafter, as GET /props lists them; none leaves a text as it is");
  for (const skipstone_drafter_info& drafter : skipstone::drafters()) {
    if (drafter.file == SKIPSTONE_NAMES_NO_FILE) continue;
    const std::string name = drafter.name;
    for (std::size_t at = draft.find(name); at != std::string::npos; at = draft.find(name, at + 1)) {
      const std::string_view separators = "+,:", rest = std::string_view(draft).substr(at + name.size());
      const bool whole = at == 0 || separators.find(draft[at - 1]) != std::string_view::npos;
      const bool needed = drafter.file == SKIPSTONE_MUST_NAME_FILE && (rest.empty() || separators.find(rest[0]) != std::string_view::npos);
      if (whole && (needed || rest.starts_with(':')))
        refuse(field, "'{}' as a part of 'draft' names a file, which a request may not", name);
    }
  }
}

constexpr double any_number = std::numeric_limits<std::uint32_t>::max();

/// A single-value field: its name, the forms that have it, and its setter. null counts as absent.
struct Field {
  const char* name;
  unsigned forms;
  void (*set)(GenerationRequest&, std::string_view name, const SortedJson&);
};

constexpr unsigned bit(Form form) { return 1u << static_cast<unsigned>(form); }
constexpr unsigned chat = bit(Form::chat), completion = bit(Form::completion), responses = bit(Form::responses),
                   messages = bit(Form::messages), classic = chat | completion, all = classic | responses | messages;

using Request = GenerationRequest;
using Name = std::string_view;

void read_sampling(Request& request, const SamplingField& field, const SortedJson& given) {
  with_value(field, request.sampling, [&](auto& value) {
    using Value = std::remove_reference_t<decltype(value)>;
    if constexpr (std::is_floating_point_v<Value>) {
      value = static_cast<Value>(number_in(field.name, given, field.least, field.most));
    } else {
      value = static_cast<Value>(std::max(0.0, whole_in(field.name, given, field.least, field.most)));
    }
  });
}

/// A variable of the template that has a field of its own.
void set_variable(Request& request, Name name, const SortedJson& value) { request.variables.emplace_back(name, json_text(value)); }

/// The library takes the largest unsigned number for equal to -1.
bool is_minus_one(const SortedJson& value) { return !value.is_number_unsigned() && value == -1; }

/// A limit of tokens; -1 is none, as llama.cpp and LM Studio have it.
std::optional<std::uint32_t> token_limit(std::string_view field, const SortedJson& value, double least) {
  if (is_minus_one(value)) return std::nullopt;
  return static_cast<std::uint32_t>(whole_in(field, value, least, any_number));
}

/// {"TOKEN": BIAS, ...}, a token by its number.
std::vector<skipstone_token_bias> biases(std::string_view field, const SortedJson& value) {
  constexpr double most_bias = 100;
  if (!value.is_object()) refuse(field, "'{}' has to be an object of tokens and biases, not {}", field, name_of(value));
  if (value.size() > most_biases) refuse(field, "'{}' has {} tokens; {} are possible", field, value.size(), most_biases);
  std::vector<skipstone_token_bias> all;
  for (const auto& [key, bias] : value.items()) {
    skipstone_token token = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), token);
    if (error != std::errc() || std::to_string(token) != key || token < 0)
      refuse(field, "a key of '{}' has to be the number of a token, not {}", field, skipstone::shown(key));
    all.push_back({token, static_cast<float>(number_in(field, bias, -most_bias, most_bias))});
  }
  return all;
}

constexpr Field fields[] = {
    {"model", all, [](Request& r, Name n, const SortedJson& v) { r.model = text(n, v); }},
    {"stream", all, [](Request& r, Name n, const SortedJson& v) { r.stream = flag(n, v); }},
    {"stop", classic, [](Request& r, Name n, const SortedJson& v) { r.stop = stops(n, v); }},
    {"stop_sequences", messages, [](Request& r, Name n, const SortedJson& v) { r.stop = stops(n, v); }},
    {"seed", all,
     [](Request& r, Name n, const SortedJson& v) {
       if (!v.is_number_integer()) refuse(n, "'seed' has to be a whole number, not {}", name_of(v));
       if (is_minus_one(v)) {  // a random one, as llama.cpp and LM Studio have it
         r.seed.reset();
         return;
       }
       r.seed = v.is_number_unsigned() ? v.get<std::uint64_t>() : static_cast<std::uint64_t>(v.get<std::int64_t>());
     }},
    {"n", classic, [](Request& r, Name n, const SortedJson& v) { r.n = static_cast<std::uint32_t>(whole_in(n, v, 1, most_choices)); }},
    {"max_tokens", classic | messages, [](Request& r, Name n, const SortedJson& v) { r.max_tokens = token_limit(n, v, 0); }},
    {"max_completion_tokens", chat, [](Request& r, Name n, const SortedJson& v) { r.max_tokens = token_limit(n, v, 0); }},
    {"max_output_tokens", responses, [](Request& r, Name n, const SortedJson& v) { r.max_tokens = token_limit(n, v, 1); }},
    {"logprobs", chat, [](Request& r, Name n, const SortedJson& v) { r.logprobs = flag(n, v); }},
    {"logprobs", completion,
     [](Request& r, Name n, const SortedJson& v) {
       r.top_logprobs = static_cast<std::uint32_t>(whole_in(n, v, 0, most_top_logprobs));
       r.logprobs = true;
     }},
    {"top_logprobs", chat,
     [](Request& r, Name n, const SortedJson& v) { r.top_logprobs = static_cast<std::uint32_t>(whole_in(n, v, 0, most_top_logprobs)); }},
    {"echo", completion, [](Request& r, Name n, const SortedJson& v) { r.echo = flag(n, v); }},
    {"draft", all,
     [](Request& r, Name n, const SortedJson& v) {
       if (const std::string draft = text(n, v); draft != r.draft) {  // the server's own setting may name any drafter
         check_draft(n, draft);
         r.draft = draft;
       }
     }},
    {"stream_options", classic,
     [](Request& r, Name n, const SortedJson& v) {
       if (!v.is_object()) refuse(n, "'stream_options' has to be an object, not {}", name_of(v));
       if (v.contains("include_usage") && !v["include_usage"].is_null())
         r.include_usage = flag("stream_options.include_usage", v["include_usage"]);
     }},
    {"logit_bias", classic, [](Request& r, Name n, const SortedJson& v) { r.logit_bias = biases(n, v); }},
    {"functions", chat, [](Request&, Name n, const SortedJson&) { refuse(n, "'functions' is not built; 'tools' is what came after it"); }},
    {"suffix", completion,
     [](Request&, Name n, const SortedJson& v) {
       if (!v.is_string() || !v.get<std::string>().empty()) refuse(n, "'suffix' is not built: a prompt is continued at its end");
     }},
    {"best_of", completion,
     [](Request&, Name n, const SortedJson& v) {
       if (v != 1) refuse(n, "'best_of' is not built but for 1");
     }},
    {"metadata", chat | responses,
     [](Request&, Name n, const SortedJson& v) {
       if (!v.is_object()) refuse(n, "'metadata' has to be an object, not {}", name_of(v));
       if (v.size() > most_metadata) refuse(n, "'metadata' has {} pairs; {} are possible", v.size(), most_metadata);
       for (const auto& [key, value] : v.items()) {
         if (skipstone::characters(key) > most_metadata_key)
           refuse(n, "a key of 'metadata' has more than {} characters", most_metadata_key);
         if (!value.is_string()) refuse(n, "a value of 'metadata' has to be a text, not {}", name_of(value));
         if (skipstone::characters(value.get_ref<const std::string&>()) > most_metadata_value)
           refuse(n, "a value of 'metadata' has more than {} characters", most_metadata_value);
       }
     }},
    {"enable_thinking", chat | responses | messages,
     [](Request& r, Name n, const SortedJson& v) {
       for (const char* name : thinking_variables) set_variable(r, name, SortedJson(flag(n, v)));
     }},
    {"reasoning_effort", chat | responses | messages,
     [](Request& r, Name n, const SortedJson& v) { set_variable(r, n, SortedJson(text(n, v))); }},
    {"reasoning", responses,
     [](Request& r, Name n, const SortedJson& v) {
       if (!v.is_object()) refuse(n, "'reasoning' has to be an object, not {}", name_of(v));
       if (v.contains("effort") && !v["effort"].is_null())
         set_variable(r, "reasoning_effort", SortedJson(text("reasoning.effort", v["effort"])));
     }},
    {"add_generation_prompt", chat | responses,
     [](Request& r, Name n, const SortedJson& v) { set_variable(r, n, SortedJson(flag(n, v))); }},
    {"continue_final_message", chat | responses,
     [](Request& r, Name n, const SortedJson& v) { set_variable(r, n, SortedJson(flag(n, v))); }},
    {"continue_final_message", messages,
     [](Request&, Name n, const SortedJson&) {
       refuse(n, "'continue_final_message' is not built here: a last turn of the assistant is continued");
     }},
    {"add_generation_prompt", messages,
     [](Request&, Name n, const SortedJson&) { refuse(n, "'add_generation_prompt' is not built here"); }},
    {"chat_template_kwargs", chat | responses,
     [](Request&, Name n, const SortedJson& v) {
       if (!v.is_object()) refuse(n, "'chat_template_kwargs' has to be an object, not {}", name_of(v));
     }},
    {"documents", chat | responses,
     [](Request&, Name n, const SortedJson& v) {
       if (!v.is_array()) refuse(n, "'documents' has to be a list, not {}", name_of(v));
     }},
    {"previous_response_id", responses,
     [](Request&, Name n, const SortedJson&) {
       refuse(n, "'previous_response_id' is not built: no answer is kept; send the conversation in 'input'");
     }},
};

void read_fields(const SortedJson& body, Request& request) {
  for (const Field& field : fields) {
    const auto found = body.find(field.name);
    if ((field.forms & bit(request.form)) == 0 || found == body.end() || found->is_null()) continue;
    field.set(request, field.name, *found);
  }
  for (const SamplingField& field : sampling_fields) {
    const auto found = body.find(std::string(field.name));
    if (found == body.end() || found->is_null()) continue;
    read_sampling(request, field, *found);
    request.given_sampling |= 1u << (&field - sampling_fields.data());
  }
  if (request.form == Form::chat && request.top_logprobs > 0 && !request.logprobs)
    refuse("top_logprobs", "'top_logprobs' needs 'logprobs' to be true");
}

void read_completion(const SortedJson& body, Request& request) {
  const auto prompt = body.find("prompt");
  if (prompt == body.end()) refuse("prompt", "'prompt' is missing");
  const SortedJson* one = &*prompt;
  if (one->is_array() && one->size() == 1 && (one->front().is_string() || one->front().is_array())) one = &one->front();
  if (one->is_string()) {
    request.prompt = one->get<std::string>();
    return;
  }
  const bool tokens = one->is_array() && !one->empty() && std::ranges::all_of(*one, [](const SortedJson& token) {
                        return token.is_number_unsigned() && token.get<std::uint64_t>() <= std::numeric_limits<std::int32_t>::max();
                      });
  if (!tokens) refuse("prompt", "'prompt' has to be a text, or a list of tokens; several prompts are several requests");
  for (const SortedJson& token : *one) request.prompt_tokens.push_back(token.get<std::int32_t>());
}

}  // namespace

const char* name_of(const SortedJson& value) {
  switch (value.type()) {
    case SortedJson::value_t::null:
      return "null";
    case SortedJson::value_t::boolean:
      return "true or false";
    case SortedJson::value_t::string:
      return "a text";
    case SortedJson::value_t::array:
      return "a list";
    case SortedJson::value_t::object:
      return "an object";
    default:
      return "a number";
  }
}

void GenerationRequest::set_tools(std::string json, bool callable) {
  tools_bytes = json.size();
  if (!callable || json.empty()) return;
  parse_tool_calls = true;
  tools = std::move(json);
}

SortedJson read_object(const std::string& body) {
  try {
    return skipstone::parse_json_object(body, "the request's body");
  } catch (const skipstone::Error& error) {
    std::string sentence = error.what();  // its end concerns files
    if (const std::size_t end = sentence.find("; the file is damaged"); end != std::string::npos) sentence.resize(end);
    throw ApiError(400, sentence);
  }
}

// nlohmann's values have 16 bytes, and a growing list up to two and a half times as much; strings and nodes of objects are separate
// allocations. Counts the characters that begin a value.
std::size_t parsing_bytes(std::string_view body) {
  constexpr std::size_t per_value = 40, per_key = 140, per_quote = 24;
  std::size_t bytes = body.size();
  for (const char c : body) bytes += c == ',' || c == '[' || c == '{' ? per_value : c == ':' ? per_key : c == '"' ? per_quote : 0;
  return bytes;
}

void take_sampling(GenerationRequest& request, const skipstone_session_params& defaults) {
  for (std::size_t i = 0; i < sampling_fields.size(); ++i) {
    if ((request.given_sampling >> i & 1) == 0) copy_value(sampling_fields[i], defaults, request.sampling);
  }
}

GenerationRequest read_request(Form form, const std::string& text_of_body, const RequestDefaults& defaults) {
  const SortedJson body = read_object(text_of_body);
  GenerationRequest request;
  request.form = form;
  request.sampling = defaults.sampling;
  request.draft = defaults.draft;
  read_fields(body, request);
  request.format = read_format(form, text_of_body);
  switch (form) {
    case Form::chat:
      read_chat(body, text_of_body, request);
      break;
    case Form::completion:
      read_completion(body, request);
      break;
    case Form::responses:
      read_responses(body, text_of_body, request);
      break;
    case Form::messages:
      anthropic::read_request(text_of_body, request);
  }
  return request;
}

}  // namespace cli::serve
