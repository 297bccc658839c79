// The one reader of JSON from files: its documents never nest deeply, since code that walks or prints a document recurses.
#pragma once

#include <string>
#include <string_view>

#include "json/json_fwd.h"

namespace skipstone {

/// `text` as a Document (Json or SortedJson); `where` begins the error messages. Throws bad_file for text that is not JSON, names
/// a key of an object twice (readers differ in which one they take) or nests deeper than 512 levels. The caller limits the text's
/// length.
template <typename Document>
Document parse_json(std::string_view text, const std::string& where);

extern template SortedJson parse_json(std::string_view text, const std::string& where);
extern template Json parse_json(std::string_view text, const std::string& where);

/// The same; throws bad_file also for anything but an object.
SortedJson parse_json_object(std::string_view text, const std::string& where);

/// A value for a message: short, and safe for a terminal.
std::string shown(const SortedJson& value);

}  // namespace skipstone
