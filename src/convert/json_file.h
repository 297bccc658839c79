// JSON files of a checkpoint, and look-ups in them. Nothing in them is trusted.
#pragma once

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

}  // namespace skipstone::convert
