// JSON files of a checkpoint, and look-ups in them. Nothing in them is trusted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "json/json_fwd.h"
#include "text/tokenizer.h"

namespace skipstone::convert {

/// All bytes of a file. Throws not_found, io, bad_file (a directory, a device, an empty file).
std::string read_file(const std::string& path);

/// The file's JSON object. Throws like read_file and parse_json_object.
SortedJson read_json_object(const std::string& path);

/// As above; an empty object where the file does not exist.
SortedJson read_json_object_if_there(const std::string& path);

/// The member `key` of an object; null where it is absent or `object` is none.
const SortedJson& member(const SortedJson& object, const char* key);

/// The member `key` where it is of that kind, otherwise nothing.
std::optional<std::string> string_member(const SortedJson& object, const char* key);
std::optional<bool> boolean_member(const SortedJson& object, const char* key);

/// lstrip, rstrip and single_word of an added token.
text::TokenFlags token_flags(const SortedJson& added_token);

/// Text from a file for a message: quoted, escaped, and shortened.
std::string quote(const std::string& text);

/// The values of one JSON object. A key whose value is null counts as absent, as in transformers.
/// Everything throws bad_file for a value of another kind or range and for an absent one without a fallback.
class ConfigValues {
 public:
  /// `where` begins the error messages. Both must outlive the object.
  ConfigValues(const SortedJson& object, const std::string& where) : object_(object), where_(where) {}

  const std::string& where() const { return where_; }
  bool has(const char* key) const { return find(key) != nullptr; }
  const SortedJson* find(const char* key) const;  ///< nullptr where absent or null

  std::uint32_t count(const char* key, std::uint32_t low, std::uint32_t high, std::optional<std::uint32_t> fallback = {}) const;
  float positive(const char* key, std::optional<float> fallback = {}) const;  ///< finite and above 0
  float not_negative(const char* key, float fallback) const;                  ///< finite
  bool flag(const char* key, bool fallback) const;
  std::string text(const char* key, const std::string& fallback) const;

 private:
  const SortedJson& object_;
  const std::string& where_;
};

/// `item`, the value of `key`, as a finite number above 0; throws bad_file.
float positive_number(const SortedJson& item, const char* key, const std::string& where);

}  // namespace skipstone::convert
