// Templates for models that bring none, written from the published formats that models were trained on.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace skipstone::chat {

struct BuiltinTemplate {
  const char* name;
  const char* source;                     ///< Jinja
  std::vector<std::string_view> tokens;   ///< special tokens that suggest it, all of them; none: it is not chosen by tokens
  std::vector<std::string> stop_strings;  ///< where turns end without a token
};

/// The templates in the order in which their tokens are looked for.
std::span<const BuiltinTemplate> builtin_templates();

/// Null for an unknown name.
const BuiltinTemplate* find_builtin(std::string_view name);

}  // namespace skipstone::chat
