#include "serve/tool_list.h"

#include <fmt/format.h>

#include <utility>

#include "base/escape.h"

namespace cli::serve {

void ToolList::add_function(const std::string& json) {
  functions_.append(functions_.empty() ? "" : ",").append(json);
  places_.push_back(given_++);
}

void ToolList::leave_out(const std::string& type) {
  constexpr std::size_t most_notes = 32;
  ++given_;
  if (left_out_.size() < most_notes) left_out_.insert(skipstone::shortened(type, 40));
}

void ToolList::give_to(GenerationRequest& request, bool callable) {
  for (const std::string& type : left_out_)
    request.notes.push_back(fmt::format("tools of the type '{}' cannot run here and are left out", type));
  request.places.tools = std::move(places_);
  request.set_tools(functions_.empty() ? "" : "[" + functions_ + "]", callable);
}

}  // namespace cli::serve
