#include "serve/anthropic_answer.h"

#include <utility>

#include "json/json.h"
#include "serve/json_text.h"

namespace cli::serve::anthropic {

using skipstone::Json;
using skipstone::SortedJson;

namespace {

/// Clients keep a thought only with a signature. Nothing checks it here.
constexpr const char* signature = "unsigned";

constexpr const char* white = " \t\r\n";

Json token_counts(const Usage& usage) {
  return {{"input_tokens", usage.prompt_tokens - usage.cached_tokens},
          {"cache_creation_input_tokens", 0},
          {"cache_read_input_tokens", usage.cached_tokens},
          {"output_tokens", usage.completion_tokens}};
}

/// A stop text in the middle of a call ends it too: other APIs say then that it is not whole.
std::string stop_reason(const std::string& reason, const Usage& usage) {
  if (reason == "tool_calls") return "tool_use";
  if (!usage.stop_text.empty()) return "stop_sequence";
  return reason == "length" ? "max_tokens" : "end_turn";
}

Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

}  // namespace

// ---- the message ----

Json MessageAnswer::message(const Json& usage) const {
  Json whole = {{"id", id_},       {"type", "message"},      {"role", "assistant"},
                {"model", model_}, {"stop_reason", nullptr}, {"stop_sequence", nullptr},
                {"usage", usage}};
  if (!request_.notes.empty()) whole["skipstone"] = {{"notes", request_.notes}};
  return whole;
}

/// Inputs of tools are their JSON as the model wrote it, so that no number and no order of keys changes.
std::string MessageAnswer::content_json() const {
  std::string content;
  for (const Block& block : blocks_) {
    content += content.empty() ? "[" : ",";
    if (block.type == "tool_use") {
      Json head = {{"type", block.type}, {"id", block.id}, {"name", block.name}};
      std::string text = json_text(head);
      text.pop_back();
      content += text + ",\"input\":" + (SortedJson::accept(block.text) ? block.text : "{}") + "}";
    } else if (block.type == "thinking") {
      content += json_text(Json{{"type", block.type}, {"thinking", block.text}, {"signature", signature}});
    } else {
      content += json_text(Json{{"type", block.type}, {"text", block.text}});
    }
  }
  return content.empty() ? "[]" : content + "]";
}

// ---- events ----

void MessageAnswer::event(const std::string& name, const Json& data) {
  if (!stream()) return;
  Json whole = {{"type", name}};
  whole.update(data);
  send_event(whole, name);
}

void MessageAnswer::begin() {
  if (std::exchange(begun_, true) || !stream()) return;
  Usage usage;
  usage.prompt_tokens = prompt_tokens_;
  Json empty = message(token_counts(usage));
  empty["content"] = Json::array();
  event("message_start", {{"message", std::move(empty)}});
  event("ping", Json::object());
}

void MessageAnswer::open(Block block) {
  close();
  white_space_.clear();
  Json content = {{"type", block.type}};
  if (block.type == "tool_use") {
    content.update({{"id", block.id}, {"name", block.name}, {"input", Json::object()}});
  } else if (block.type == "thinking") {
    content.update({{"thinking", ""}, {"signature", ""}});
  } else {
    content["text"] = "";
  }
  event("content_block_start", {{"index", opened_++}, {"content_block", std::move(content)}});
  if (stream()) blocks_.clear();
  blocks_.push_back(std::move(block));
}

void MessageAnswer::close() {
  if (!stream() || blocks_.empty()) return;
  const Json index = opened_ - 1;
  if (blocks_.back().type == "thinking")
    event("content_block_delta", {{"index", index}, {"delta", {{"type", "signature_delta"}, {"signature", signature}}}});
  event("content_block_stop", {{"index", index}});
  blocks_.clear();
}

void MessageAnswer::write(const std::string& text, const std::string& drafter) {
  Block& block = blocks_.back();
  if (!stream()) {
    block.text += text;
    return;
  }
  const bool thinking = block.type == "thinking", call = block.type == "tool_use";
  const Json delta = {{"type", call       ? "input_json_delta"
                               : thinking ? "thinking_delta"
                                          : "text_delta"},
                      {call       ? "partial_json"
                       : thinking ? "thinking"
                                  : "text",
                       text}};
  event("content_block_delta", {{"index", opened_ - 1}, {"delta", delta}, {"skipstone", {{"drafter", text_or_null(drafter)}}}});
}

void MessageAnswer::add(std::uint32_t, const Piece& piece, const std::vector<TokenLogprobs>&) {
  if (!stream()) keep(piece, {});
  begin();
  const auto continued = [&](const char* type) { return !blocks_.empty() && blocks_.back().type == type; };
  switch (piece.kind) {
    case Piece::Kind::text: {
      if (continued("text")) return write(piece.text, piece.drafter);
      white_space_ += piece.text;
      if (white_space_.find_first_not_of(white) == std::string::npos) return;
      const std::string text = std::exchange(white_space_, {});
      open({"text", "", "", ""});
      return write(text, piece.drafter);
    }
    case Piece::Kind::reasoning:
      if (!continued("thinking")) open({"thinking", "", "", ""});
      return write(piece.text, piece.drafter);
    case Piece::Kind::call_begin:
      return open({"tool_use", "", piece.id, piece.text});
    case Piece::Kind::call_arguments:
      return write(piece.text, piece.drafter);
    case Piece::Kind::call_end:
      return close();
  }
}

void MessageAnswer::end_choice(std::uint32_t, const std::string& reason, const std::vector<TokenLogprobs>&) {
  reason_ = reason;
  begin();
  close();
}

void MessageAnswer::finish(const Usage& usage) {
  const std::string why = stop_reason(reason_, usage);
  const Json ended = {{"stop_reason", why}, {"stop_sequence", text_or_null(why == "stop_sequence" ? usage.stop_text : "")}};
  if (stream()) {
    event("message_delta", {{"delta", ended}, {"usage", token_counts(usage)}, {"timings", timings_json(usage)}});
    event("message_stop", Json::object());
    return end_stream(false);
  }
  Json whole = message(token_counts(usage));
  whole.update(ended);
  whole["timings"] = timings_json(usage);
  std::string text = json_text(whole);
  text.pop_back();
  respond_text(text + ",\"content\":" + content_json() + "}");
}

// ---- errors ----

namespace {

/// OpenAI's type of an error, but where Anthropic's API has another one for the status.
std::string error_type(unsigned status, const Json& error) {
  switch (status) {
    case 408:
      return "timeout_error";
    case 413:
    case 431:
      return "request_too_large";
    case 500:
      return "api_error";
    case 503:
      return "overloaded_error";
    default:
      return error.at("type").get<std::string>();
  }
}

/// `error`: of OpenAI's form.
Json error_of(unsigned status, const Json& error) {
  std::string message = error.at("message").get<std::string>();
  // Agents recognize these words of Anthropic's, and shorten their conversation.
  if (error.value("code", Json()) == "context_length_exceeded") message = "prompt is too long: " + message;
  return {{"type", "error"}, {"error", {{"type", error_type(status, error)}, {"message", message}}}};
}

}  // namespace

HttpReply with_error_form(HttpReply reply) {
  if (reply.status >= 400) reply.body = json_text(error_of(reply.status, Json::parse(reply.body).at("error")));
  return reply;
}

}  // namespace cli::serve::anthropic
