#include "serve/answer_forms.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "base/escape.h"
#include "json/json.h"
#include "serve/json_text.h"

namespace cli::serve {

using skipstone::Json;
using skipstone::SortedJson;

namespace {

Json bytes_of(const std::string& token) {
  Json bytes = Json::array();
  for (const char byte : token) bytes.push_back(static_cast<unsigned char>(byte));
  return bytes;
}

Json chat_logprobs(const std::vector<TokenLogprobs>& tokens) {
  Json content = Json::array();
  for (const TokenLogprobs& token : tokens) {
    Json top = Json::array();
    for (const TokenLogprobs& one : token.top)
      top.push_back({{"token", valid_text(one.token)}, {"logprob", one.logprob}, {"bytes", bytes_of(one.token)}});
    content.push_back({{"token", valid_text(token.token)},
                       {"logprob", token.logprob},
                       {"bytes", bytes_of(token.token)},
                       {"top_logprobs", std::move(top)}});
  }
  return {{"content", std::move(content)}, {"refusal", nullptr}};
}

Json usage_json(const Usage& usage) {
  return {{"prompt_tokens", usage.prompt_tokens},
          {"completion_tokens", usage.completion_tokens},
          {"total_tokens", usage.prompt_tokens + usage.completion_tokens},
          {"prompt_tokens_details", {{"cached_tokens", usage.cached_tokens}}},
          {"completion_tokens_details", {{"reasoning_tokens", usage.reasoning_tokens}}}};
}

Json name_or_null(const std::string& name) { return name.empty() ? Json() : Json(name); }

}  // namespace

// ---- chunks ----

void ChunkedAnswer::send_end(Json chunk) {
  if (++ended_ < request_.n) return send_event(chunk);
  last_chunk_ = std::move(chunk);
}

void ChunkedAnswer::finish_stream(Json usage_chunk, const Usage& usage) {
  const auto send_last = [this] {
    if (!last_chunk_.is_null()) send_event(last_chunk_);  // an answer that was cancelled may lack choices
  };
  if (request_.include_usage) {
    send_last();
    usage_chunk["usage"] = usage_json(usage);
    last_chunk_ = std::move(usage_chunk);
  }
  if (!last_chunk_.is_null()) last_chunk_["timings"] = timings_json(usage);
  send_last();
  end_stream(true);
}

// ---- chat completions ----

ChatAnswer::Choice& ChatAnswer::choice_at(std::uint32_t choice) {
  if (choices_.size() <= choice) choices_.resize(choice + 1);
  return choices_[choice];
}

Json ChatAnswer::chunk(std::uint32_t choice, Json delta, const std::vector<TokenLogprobs>& logprobs, const std::string& reason) const {
  Json one = {{"index", choice}, {"delta", std::move(delta)}, {"logprobs", nullptr}, {"finish_reason", name_or_null(reason)}};
  if (!logprobs.empty()) one["logprobs"] = chat_logprobs(logprobs);
  Json event = {
      {"id", id_},       {"object", "chat.completion.chunk"},        {"created", created_},
      {"model", model_}, {"choices", Json::array({std::move(one)})}, {"skipstone", {{"drafter", name_or_null(choices_[choice].drafter)}}}};
  if (request_.include_usage) event["usage"] = nullptr;
  return event;
}

void ChatAnswer::add(std::uint32_t index, const Piece& piece, const std::vector<TokenLogprobs>& logprobs) {
  keep(piece, logprobs);
  Choice& choice = choice_at(index);
  choice.drafter = piece.drafter;
  if (stream() && !std::exchange(choice.begun, true)) send_event(chunk(index, {{"role", "assistant"}, {"content", ""}}, {}, ""));
  if (!stream()) choice.logprobs.insert(choice.logprobs.end(), logprobs.begin(), logprobs.end());
  Json delta;
  switch (piece.kind) {
    case Piece::Kind::text:
      choice.text += piece.text;
      delta = {{"content", piece.text}};
      break;
    case Piece::Kind::reasoning:
      choice.reasoning += piece.text;
      delta = {{"reasoning_content", piece.text}};
      break;
    case Piece::Kind::call_begin:
      choice.calls.push_back({piece.id, piece.text, ""});
      delta = {{"tool_calls", Json::array({{{"index", choice.calls.size() - 1},
                                            {"id", piece.id},
                                            {"type", "function"},
                                            {"function", {{"name", piece.text}, {"arguments", ""}}}}})}};
      break;
    case Piece::Kind::call_arguments:
      choice.calls.back().arguments += piece.text;
      delta = {{"tool_calls", Json::array({{{"index", choice.calls.size() - 1}, {"function", {{"arguments", piece.text}}}}})}};
      break;
    case Piece::Kind::call_end:
      return;
  }
  if (stream()) send_event(chunk(index, std::move(delta), logprobs, ""));
}

void ChatAnswer::end_choice(std::uint32_t index, const std::string& reason, const std::vector<TokenLogprobs>& logprobs) {
  Choice& choice = choice_at(index);
  choice.reason = reason;
  choice.drafter.clear();
  if (!stream()) {
    keep({}, logprobs);
    choice.logprobs.insert(choice.logprobs.end(), logprobs.begin(), logprobs.end());
    return;
  }
  if (!std::exchange(choice.begun, true)) send_event(chunk(index, {{"role", "assistant"}, {"content", ""}}, {}, ""));
  send_end(chunk(index, Json::object(), logprobs, reason));
}

Json ChatAnswer::choice_json(std::uint32_t index) const {
  const Choice& choice = choices_[index];
  Json message = {{"role", "assistant"}, {"content", choice.text}, {"refusal", nullptr}};
  if (!choice.reasoning.empty()) message["reasoning_content"] = choice.reasoning;
  if (!choice.calls.empty()) {
    if (choice.text.empty()) message["content"] = nullptr;
    for (const Call& call : choice.calls)
      message["tool_calls"].push_back(
          {{"id", call.id}, {"type", "function"}, {"function", {{"name", call.name}, {"arguments", call.arguments}}}});
  }
  Json result = {{"index", index}, {"message", std::move(message)}, {"logprobs", nullptr}, {"finish_reason", choice.reason}};
  if (request_.logprobs) result["logprobs"] = chat_logprobs(choice.logprobs);
  return result;
}

void ChatAnswer::finish(const Usage& usage) {
  if (stream()) {
    Json last = chunk(0, Json::object(), {}, "");
    last["choices"] = Json::array();
    return finish_stream(std::move(last), usage);
  }
  Json choices = Json::array();
  for (std::uint32_t i = 0; i < choices_.size(); ++i) choices.push_back(choice_json(i));
  respond({{"id", id_},
           {"object", "chat.completion"},
           {"created", created_},
           {"model", model_},
           {"choices", std::move(choices)},
           {"usage", usage_json(usage)},
           {"timings", timings_json(usage)}});
}

// ---- completions ----

namespace {

/// Where tokens are in a text, in characters; `offset` is the first one's, and then that of the token after them.
std::vector<std::size_t> offsets_of(const std::vector<TokenLogprobs>& tokens, std::size_t& offset) {
  std::vector<std::size_t> offsets;
  for (const TokenLogprobs& token : tokens) {
    offsets.push_back(offset);
    offset += skipstone::characters(token.token);
  }
  return offsets;
}

Json completion_logprobs(const std::vector<TokenLogprobs>& tokens, const std::vector<std::size_t>& offsets) {
  Json names = Json::array(), numbers = Json::array(), tops = Json::array();
  for (const TokenLogprobs& token : tokens) {
    names.push_back(valid_text(token.token));
    const bool first = std::isnan(token.logprob);  // of the prompt
    numbers.push_back(first ? Json() : Json(token.logprob));
    Json top = Json::object();
    for (const TokenLogprobs& one : token.top) top[valid_text(one.token)] = one.logprob;
    tops.push_back(first ? Json() : std::move(top));
  }
  return {
      {"tokens", std::move(names)}, {"token_logprobs", std::move(numbers)}, {"top_logprobs", std::move(tops)}, {"text_offset", offsets}};
}

}  // namespace

Json CompletionAnswer::document(Json choices) const {
  Json whole = {{"id", id_}, {"object", "text_completion"}, {"created", created_}, {"model", model_}, {"choices", std::move(choices)}};
  if (stream() && request_.include_usage) whole["usage"] = nullptr;
  return whole;
}

CompletionAnswer::Choice& CompletionAnswer::choice_at(std::uint32_t choice) {
  if (choices_.size() <= choice) choices_.resize(choice + 1);
  return choices_[choice];
}

void CompletionAnswer::add(std::uint32_t index, const Piece& piece, const std::vector<TokenLogprobs>& logprobs) {
  keep(piece, logprobs);
  Choice& choice = choice_at(index);
  const std::vector<std::size_t> offsets = offsets_of(logprobs, choice.offset);
  if (request_.echo && !std::exchange(choice.echoed, true))
    choice.offset = skipstone::characters(piece.text);  // its special tokens have no text
  choice.text += piece.text;
  if (!stream()) {
    choice.logprobs.insert(choice.logprobs.end(), logprobs.begin(), logprobs.end());
    choice.offsets.insert(choice.offsets.end(), offsets.begin(), offsets.end());
    return;
  }
  Json one = {{"index", index}, {"text", piece.text}, {"logprobs", nullptr}, {"finish_reason", nullptr}};
  if (request_.logprobs) one["logprobs"] = completion_logprobs(logprobs, offsets);
  Json event = document(Json::array({std::move(one)}));
  event["skipstone"] = {{"drafter", name_or_null(piece.drafter)}};
  send_event(event);
}

void CompletionAnswer::end_choice(std::uint32_t index, const std::string& reason, const std::vector<TokenLogprobs>& logprobs) {
  Choice& choice = choice_at(index);
  choice.reason = reason;
  const std::vector<std::size_t> offsets = offsets_of(logprobs, choice.offset);
  if (!stream()) {
    keep({}, logprobs);
    choice.logprobs.insert(choice.logprobs.end(), logprobs.begin(), logprobs.end());
    choice.offsets.insert(choice.offsets.end(), offsets.begin(), offsets.end());
    return;
  }
  Json one = {{"index", index}, {"text", ""}, {"logprobs", nullptr}, {"finish_reason", reason}};
  if (!logprobs.empty()) one["logprobs"] = completion_logprobs(logprobs, offsets);
  send_end(document(Json::array({std::move(one)})));
}

void CompletionAnswer::finish(const Usage& usage) {
  if (stream()) return finish_stream(document(Json::array()), usage);
  Json choices = Json::array();
  for (std::uint32_t i = 0; i < choices_.size(); ++i) {
    choices.push_back({{"index", i}, {"text", choices_[i].text}, {"logprobs", nullptr}, {"finish_reason", choices_[i].reason}});
    if (request_.logprobs) choices.back()["logprobs"] = completion_logprobs(choices_[i].logprobs, choices_[i].offsets);
  }
  Json whole = document(std::move(choices));
  whole["usage"] = usage_json(usage);
  whole["timings"] = timings_json(usage);
  respond(whole);
}

// ---- responses ----

std::string ResponsesAnswer::numbered(const std::string& name, Json data) {
  data["type"] = name;
  data["sequence_number"] = events_++;
  return event_text(data, name);
}

void ResponsesAnswer::event(const std::string& name, Json data) {
  if (stream()) send_events(numbered(name, std::move(data)));
}

Json ResponsesAnswer::item_json(const Item& item) const {
  const char* status = item.cut ? "incomplete" : item.done ? "completed" : "in_progress";
  if (item.type == "function_call") {
    return {{"type", item.type}, {"id", item.id},          {"call_id", item.call_id},
            {"name", item.name}, {"arguments", item.text}, {"status", status}};
  }
  if (item.type == "reasoning") {
    return {{"type", item.type},
            {"id", item.id},
            {"summary", Json::array()},
            {"content", Json::array({{{"type", "reasoning_text"}, {"text", item.text}}})},
            {"status", status}};
  }
  Json content = Json::array();
  if (item.done || !item.text.empty())
    content.push_back({{"type", "output_text"}, {"text", item.text}, {"annotations", Json::array()}, {"logprobs", Json::array()}});
  return {{"type", item.type}, {"id", item.id}, {"status", status}, {"role", "assistant"}, {"content", std::move(content)}};
}

Json ResponsesAnswer::document(const std::string& status, const Usage* usage) const {
  Json output = Json::array();
  for (const Item& item : items_) output.push_back(item_json(item));
  Json whole = {{"id", id_},
                {"object", "response"},
                {"created_at", created_},
                {"status", status},
                {"error", nullptr},
                {"incomplete_details", status == "incomplete" ? Json({{"reason", "max_output_tokens"}}) : Json()},
                {"model", model_},
                {"output", std::move(output)},
                {"parallel_tool_calls", true},
                {"previous_response_id", nullptr},
                {"store", false},
                {"text", {{"format", {{"type", "text"}}}}},
                {"usage", nullptr}};
  whole.update(Json(SortedJson::parse(request_.echo_fields)));  // an ordered document searches linearly for each key
  if (!request_.notes.empty()) whole["skipstone"] = {{"notes", request_.notes}};
  if (usage != nullptr) {
    whole["usage"] = {{"input_tokens", usage->prompt_tokens},
                      {"input_tokens_details", {{"cached_tokens", usage->cached_tokens}}},
                      {"output_tokens", usage->completion_tokens},
                      {"output_tokens_details", {{"reasoning_tokens", usage->reasoning_tokens}}},
                      {"total_tokens", usage->prompt_tokens + usage->completion_tokens}};
    whole["timings"] = timings_json(*usage);
  }
  return whole;
}

void ResponsesAnswer::begin() {
  if (std::exchange(begun_, true) || !stream()) return;
  // Both events repeat the question. Sent as one piece, they keep a client that has read nothing yet within its limit at any length.
  const Json question = {{"response", document("in_progress", nullptr)}};
  std::string both = numbered("response.created", question);
  both += numbered("response.in_progress", question);
  send_events(std::move(both));
}

void ResponsesAnswer::close_item() {
  if (items_.empty() || items_.back().done) return;
  Item& item = items_.back();
  item.done = true;
  const std::size_t index = items_.size() - 1;
  const Json place = {{"item_id", item.id}, {"output_index", index}};
  const auto with = [&](Json more) {
    more.update(place);
    return more;
  };
  if (item.type == "message") {
    event("response.output_text.done", with({{"content_index", 0}, {"text", item.text}, {"logprobs", Json::array()}}));
    event("response.content_part.done",
          with({{"content_index", 0}, {"part", {{"type", "output_text"}, {"text", item.text}, {"annotations", Json::array()}}}}));
  } else if (item.type == "function_call") {
    event("response.function_call_arguments.done", with({{"arguments", item.text}, {"name", item.name}}));
  } else {
    event("response.reasoning_text.done", with({{"content_index", 0}, {"text", item.text}}));
  }
  event("response.output_item.done", {{"output_index", index}, {"item", item_json(item)}});
}

ResponsesAnswer::Item& ResponsesAnswer::item_of(const std::string& type, const Piece& piece) {
  const bool goes_on = !items_.empty() && !items_.back().done && items_.back().type == type && piece.kind != Piece::Kind::call_begin;
  if (goes_on) return items_.back();
  close_item();
  const char* prefix = type == "message" ? "msg_" : type == "function_call" ? "fc_" : "rs_";
  items_.push_back({type, prefix + random_id(), piece.id, piece.kind == Piece::Kind::call_begin ? piece.text : "", "", false, false});
  const std::size_t index = items_.size() - 1;
  event("response.output_item.added", {{"output_index", index}, {"item", item_json(items_.back())}});
  if (type == "message") {
    event("response.content_part.added", {{"item_id", items_.back().id},
                                          {"output_index", index},
                                          {"content_index", 0},
                                          {"part", {{"type", "output_text"}, {"text", ""}, {"annotations", Json::array()}}}});
  }
  return items_.back();
}

void ResponsesAnswer::add(std::uint32_t, const Piece& piece, const std::vector<TokenLogprobs>&) {
  keep(piece, {});
  begin();
  if (piece.kind == Piece::Kind::call_end) return close_item();
  const bool call = piece.kind == Piece::Kind::call_begin || piece.kind == Piece::Kind::call_arguments;
  const bool reasoning = piece.kind == Piece::Kind::reasoning;
  Item& item = item_of(call ? "function_call" : reasoning ? "reasoning" : "message", piece);
  if (piece.kind == Piece::Kind::call_begin) return;
  item.text += piece.text;
  const char* name = call        ? "response.function_call_arguments.delta"
                     : reasoning ? "response.reasoning_text.delta"
                                 : "response.output_text.delta";
  Json data = {{"item_id", item.id},
               {"output_index", items_.size() - 1},
               {"delta", piece.text},
               {"skipstone", {{"drafter", name_or_null(piece.drafter)}}}};
  if (!call) data["content_index"] = 0;
  if (!call && !reasoning) data["logprobs"] = Json::array();
  event(name, std::move(data));
}

void ResponsesAnswer::end_choice(std::uint32_t, const std::string& reason, const std::vector<TokenLogprobs>&) {
  reason_ = reason;
  begin();
  if (!items_.empty() && !items_.back().done) items_.back().cut = reason == "length";
  close_item();
}

void ResponsesAnswer::finish(const Usage& usage) {
  const std::string status = reason_ == "length" ? "incomplete" : "completed";
  if (!stream()) return respond(document(status, &usage));
  event("response." + status, {{"response", document(status, &usage)}});
  end_stream(false);
}

}  // namespace cli::serve
