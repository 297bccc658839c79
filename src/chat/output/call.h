// A call's name and arguments from the text that a model wrote, as JSON or as Python.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "chat/output/json_scanner.h"
#include "chat/output/tool.h"

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
std::optional<Call> call_from_json(std::string_view object, std::string& note);

/// The same from an object that is damaged, where its repair is a call. Its arguments are nowhere word for word.
std::optional<Call> call_from_damaged_json(std::string_view object);

/// Whether `text` is one JSON object; else a `note`.
bool is_json_object(std::string_view text, std::string& note);

/// The object that a damaged one certainly is; nothing where that is unknown.
std::optional<std::string> repaired_object(std::string_view text);

/// The JSON of a bare value that is JSON, perhaps damaged, or a literal of Python; nothing for all other text.
std::optional<std::string> bare_json(std::string_view value);

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
  std::set<std::string> keys_;  ///< not a hash table, which chosen keys make slow
};

// ---- calls that are written as Python: name(key=value, ...) ----

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

/// A literal as JSON; nothing for other expressions.
std::optional<std::string> json_from_python(std::string_view text);

/// Which calls a parser of answers looks for.
struct CallOptions {
  bool wanted = true;                           ///< false: text that looks like a call stays text
  std::optional<std::vector<Tool>> tools = {};  ///< of the request: other names make no calls; nothing: any name does
  bool stream_arguments = false;                ///< give JSON arguments as they arrive, before it is known whether they end well

  /// The request's tool of that name; null where it has none.
  const Tool* tool(std::string_view name) const;
  bool allows(std::string_view name) const { return wanted && (!tools || tool(name) != nullptr); }
};

}  // namespace skipstone::chat
