// Options that take numbers.
#pragma once

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "base/number.h"

namespace cli {

namespace number_option {

template <typename T>
struct Element {
  using type = T;
};
template <typename T>
struct Element<std::vector<T>> {
  using type = T;
};
template <typename T>
struct Element<std::optional<T>> {
  using type = T;
};

/// Rewrites `text` so that CLI11 reads it as decimal ("010" would be octal); returns the error, or "".
template <typename T>
std::string normalize(std::string& text) {
  const auto number = skipstone::parse_number<T>(text);
  if constexpr (std::is_integral_v<T>) {
    using Limits = std::numeric_limits<T>;
    if (!number) return fmt::format("'{}' is no whole number from {} to {}", text, Limits::min(), Limits::max());
    text = std::to_string(*number);
  } else if (!number) {
    return fmt::format("'{}' is no number", text);
  }
  return {};
}

}  // namespace number_option

/// App::add_option() for a number, a list of them, or an optional one. Everything but a decimal number that fits is refused, on the
/// command line and in the environment alike; CLI11 by itself would truncate numbers that are too large.
template <typename T>
CLI::Option* add_number(CLI::App& command, const std::string& names, T& value, const std::string& text) {
  const auto normalize = [](std::string& given) { return number_option::normalize<typename number_option::Element<T>::type>(given); };
  return command.add_option(names, value, text)->transform(CLI::Validator(normalize, ""));
}

}  // namespace cli
