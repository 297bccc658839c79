// JSON text taken apart without reading its values: the order of keys and the digits of numbers stay as their author wrote them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace skipstone {

/// A key, decoded, and its value as it is written.
using JsonMember = std::pair<std::string, std::string_view>;

// The texts are valid JSON: parse_json() or a parser of the library has read them before. The parts are views of them.

/// The members of an object, in their order.
std::vector<JsonMember> json_members(std::string_view object);
/// The items of an array.
std::vector<std::string_view> json_items(std::string_view array);
/// The value of a key of an object; "" where it is absent or null.
std::string_view json_member(const std::vector<JsonMember>& members, std::string_view key);

/// The text of an object with more members at its end. Each is a key and the JSON text of its value.
std::string json_object_with(std::string_view object, const std::vector<std::pair<std::string, std::string>>& more);

}  // namespace skipstone
