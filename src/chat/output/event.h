// The events that a parser of answers emits.
#pragma once

#include <functional>
#include <string>

namespace skipstone::chat {

enum class EventKind {
  text,
  reasoning,
  tool_call_begin,      ///< name and id are known
  tool_call_arguments,  ///< JSON; joined over the call's events, an object
  tool_call_end,
  marker,  ///< the format's own: a tag, white space around one
};

struct Event {
  EventKind kind = EventKind::text;
  std::string raw = {};   ///< the part of the answer that the event covers: joined over all events, these are the answer
  std::string text = {};  ///< content of text, reasoning and arguments
  std::string name = {}, id = {};
  std::string note = {};  ///< why something that looked like a call is none, or what was not closed
  int call = -1;          ///< which call of the answer, from 0
  bool complete = true;   ///< of tool_call_end: false where arguments that were already given broke off; the call is void
};

using Sink = std::function<void(const Event&)>;

}  // namespace skipstone::chat
