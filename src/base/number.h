// Numbers as people write them.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace skipstone {

/// All of `text` as a decimal number that T holds exactly as it is written (floating-point numbers rounded); nothing for anything else: an
/// empty text, blanks, a sign before an unsigned number, another base, a number that is too large.
template <typename T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

}  // namespace skipstone
