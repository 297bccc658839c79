// A call's name and arguments from the text that a model wrote.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chat/output/json_scanner.h"

namespace skipstone::chat {

struct Call {
  std::string name = {}, id = {};
  std::string arguments = {};                         ///< a JSON object
  std::size_t arguments_at = 0, arguments_bytes = 0;  ///< its place, word for word, in the text that was read; no bytes: nowhere
};

/// Keys of a call's JSON object; families differ.
bool is_name_key(std::string_view key);
bool is_id_key(std::string_view key);
bool is_arguments_key(std::string_view key);

/// The call that an object is: {"name", "arguments", "id"?}, also inside {"function": ...}. Arguments that are a string with an object in
/// it are that object. Nothing and a `note` where it is none.
std::optional<Call> call_from_json(std::string_view object, const std::vector<JsonScanner::Member>& members, std::string& note);

/// Whether `text` is one JSON object; else a `note`.
bool is_json_object(std::string_view text, std::string& note);

/// A bare value as JSON: text as a string; else its value as JSON or as Python's True, False and None, and a string where it is neither.
/// Nothing for text that is not UTF-8.
std::optional<std::string> json_of_bare(std::string_view value, bool is_text);

/// `text` as a JSON string; nothing for text that is not UTF-8.
std::optional<std::string> json_string(std::string_view text);

/// Collects "key": value pairs, one after the other, into an object.
class ObjectWriter {
 public:
  /// False for a key that is present already or that is not UTF-8.
  bool add(std::string_view key, std::string_view json_value);
  std::string finish() { return text_ + "}"; }

 private:
  std::string text_ = "{";
  std::vector<std::string> keys_;
};

}  // namespace skipstone::chat
