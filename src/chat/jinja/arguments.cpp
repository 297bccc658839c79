#include "chat/jinja/arguments.h"

#include <algorithm>

#include "base/escape.h"
#include "base/status.h"

namespace skipstone::chat::jinja {

std::vector<const Value*> Arguments::bind(const std::string& function, std::initializer_list<const char*> names) const {
  if (positional.size() > names.size()) {
    fail(Code::invalid_argument, "'{}' takes at most {} arguments, and {} are given", shortened(function), names.size(), positional.size());
  }
  std::vector<const Value*> bound(names.size(), nullptr);
  for (std::size_t i = 0; i < positional.size(); ++i) bound[i] = &positional[i];
  for (const auto& [name, value] : named) {
    const auto* found = std::find_if(names.begin(), names.end(), [&, &key = name](const char* known) { return key == known; });
    if (found == names.end()) fail(Code::invalid_argument, "'{}' has no argument '{}'", shortened(function), shortened(name));
    const Value*& slot = bound[static_cast<std::size_t>(found - names.begin())];
    if (slot != nullptr) fail(Code::invalid_argument, "'{}' is given its argument '{}' twice", shortened(function), shortened(name));
    slot = &value;
  }
  return bound;
}

}  // namespace skipstone::chat::jinja
