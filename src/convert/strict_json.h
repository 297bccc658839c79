// JSON objects in which every key stands once.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace skipstone::convert {

/// `text` as a JSON object; `where` begins the sentences. Throws bad_file for text that is not JSON, is no object, names a key of an object
/// twice (readers differ in which one they take) or nests deeper than any file of a checkpoint.
nlohmann::json parse_strict_json(std::string_view text, const std::string& where);

/// A value for a message: short, and safe for a terminal.
std::string shown(const nlohmann::json& value);

}  // namespace skipstone::convert
