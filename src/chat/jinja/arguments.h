// The arguments of one call.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "chat/jinja/value.h"

namespace skipstone::chat::jinja {

struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;

  /// In the order of `names`, null where an argument is not given. Throws invalid_argument, naming `function`, for arguments that it does
  /// not have.
  std::vector<const Value*> bind(const std::string& function, std::initializer_list<const char*> names) const;
};

}  // namespace skipstone::chat::jinja
