// Calls that are written as Python: name(key=value, ...).
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "chat/output/arguments.h"
#include "chat/output/json_scanner.h"

namespace skipstone::chat {

/// Finds the end of name(...) in a text that is still being written. Every byte is read once.
class PythonScanner {
 public:
  /// As JsonScanner::scan().
  JsonScanner::Status scan(std::string_view text);
  std::size_t at() const { return at_; }

 private:
  bool step(char byte);

  static constexpr int deepest = 32;
  std::size_t at_ = 0;
  int depth_ = 0;
  char quote_ = 0;
  bool escaped_ = false, done_ = false;
};

/// The call; its values are literals (strings, numbers, True, False, None, lists, dictionaries with keys that are strings). Nothing for
/// arguments without a keyword, other expressions, or a repeated keyword. A name's ".call" at its end is left out.
std::optional<Call> call_from_python(std::string_view text);

/// Whether `byte` can be part of a tool's name.
bool is_name_byte(char byte);

}  // namespace skipstone::chat
