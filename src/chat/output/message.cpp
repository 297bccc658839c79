#include "chat/output/message.h"

#include <utility>

namespace skipstone::chat {

void MessageBuilder::add(const Event& event) {
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

}  // namespace skipstone::chat
