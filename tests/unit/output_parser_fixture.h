// For tests of the parser of answers: an answer fed in pieces, and what every answer must keep.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat/output/output_parser.h"
#include "json/json.h"

namespace skipstone::chat {

struct ToolCall {
  std::string name, id;
  std::string arguments;  ///< a JSON object
};

struct Message {
  std::string content, reasoning;
  std::vector<ToolCall> calls;
  std::vector<std::string> notes;
};

/// Assembles a whole answer from its events.
class MessageBuilder {
 public:
  void add(const Event& event);

  /// The message of the events so far. A call that is still open is not included.
  const Message& message() const { return message_; }

 private:
  Message message_;
  std::optional<ToolCall> open_;
  std::string open_raw_;  ///< raw text of the open call's events: content, should it break off
};

inline void MessageBuilder::add(const Event& event) {
  if (!event.note.empty()) message_.notes.push_back(event.note);
  switch (event.kind) {
    case EventKind::text:
      message_.content += event.text;
      break;
    case EventKind::reasoning:
      message_.reasoning += event.text;
      break;
    case EventKind::marker:
      break;
    case EventKind::tool_call_begin:
      open_ = ToolCall{event.name, event.id, {}};
      open_raw_ = event.raw;
      break;
    case EventKind::tool_call_arguments:
      if (open_) open_->arguments += event.text;
      open_raw_ += event.raw;
      break;
    case EventKind::tool_call_end:
      open_raw_ += event.raw;
      if (!event.complete) {
        message_.content += std::exchange(open_raw_, {});
      } else if (open_) {
        message_.calls.push_back(std::move(*open_));
      }
      open_.reset();
      break;
  }
}

struct Parsed {
  Message message;
  std::vector<Event> events;
};

/// `answer`, cut at the offsets `cuts` (ascending). The events' raw texts must join to the answer.
inline Parsed parse(const OutputFormat& format, const OutputOptions& options, std::string_view answer,
                    const std::vector<std::size_t>& cuts = {}) {
  Parsed parsed;
  MessageBuilder builder;
  std::string raw;
  {
    OutputParser parser(format, options, [&](const Event& event) {
      parsed.events.push_back(event);
      builder.add(event);
      raw += event.raw;
    });
    std::size_t from = 0;
    for (const std::size_t cut : cuts) {
      parser.push(answer.substr(from, cut - from));
      from = cut;
    }
    parser.push(answer.substr(from));
    parser.finish();
  }
  EXPECT_EQ(raw, answer) << "nothing may be lost or made up";
  parsed.message = builder.message();
  return parsed;
}

inline std::vector<std::size_t> every_byte(std::string_view answer) {
  std::vector<std::size_t> cuts;
  for (std::size_t i = 1; i < answer.size(); ++i) cuts.push_back(i);
  return cuts;
}

/// One line a thing, to compare.
inline std::string described(const Message& message) {
  std::string text = "content: " + message.content + "\nreasoning: " + message.reasoning + "\n";
  for (const ToolCall& call : message.calls) text += "call " + call.name + " " + call.id + " " + call.arguments + "\n";
  return text;
}

inline const OutputFormat& format_named(std::string_view name) {
  const OutputFormat* format = find_output_format(name);
  EXPECT_NE(format, nullptr) << name;
  return *format;
}

inline std::vector<Tool> test_tools() {
  return tools_from(SortedJson::parse(R"([
    {"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object", "properties": {
      "city": {"type": "string"}, "days": {"type": "integer"}}}}},
    {"type": "function", "function": {"name": "search_orders", "parameters": {"type": "object", "properties": {
      "customer_id": {"type": "integer"}, "filters": {"type": "object"}, "express": {"type": "boolean"}}}}},
    {"type": "function", "function": {"name": "ping"}}])"));
}

}  // namespace skipstone::chat
