#include "serve/places.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

namespace cli::serve {
namespace {

/// Removes "NAME[INDEX]" from the beginning of a place; nullopt if it begins with something else.
std::optional<std::size_t> take_index(std::string_view& place, std::string_view name) {
  if (!place.starts_with(name) || place.substr(name.size(), 1) != "[") return std::nullopt;
  const std::size_t end = place.find(']');
  std::size_t index = 0;
  const auto [read, error] = std::from_chars(place.data() + name.size() + 1, place.data() + place.size(), index);
  if (error != std::errc() || end == std::string_view::npos || read != place.data() + end) return std::nullopt;
  place.remove_prefix(end + 1);
  return index;
}

/// Functions of the library are objects of their own, within a tool or a call.
std::string_view without_function(std::string_view rest) {
  constexpr std::string_view function = ".function";
  const bool within = rest == function || rest.starts_with(".function.");
  return within ? rest.substr(function.size()) : rest;
}

}  // namespace

std::string Places::in_request(std::string_view place, std::string_view conversation) const {
  constexpr std::string_view options = "options", all = "messages";
  std::string_view rest = place;
  if (place.starts_with(options)) return fmt::format("chat_template_kwargs{}", place.substr(options.size()));
  if (const auto tool = take_index(rest, "tools"); tool && *tool < tools.size())
    return fmt::format("tools[{}]{}", tools[*tool], without_function(rest));
  if (conversation == all || !place.starts_with(all)) return std::string(place);
  const auto message = take_index(rest, all), call = take_index(rest, ".tool_calls");
  const bool known = message && call && *message < first_calls.size() && first_calls[*message] + *call < calls.size();
  if (!known || !rest.starts_with(".function.arguments")) return std::string(conversation);
  return fmt::format("{}[{}]{}", conversation, calls[first_calls[*message] + *call], without_function(rest));
}

}  // namespace cli::serve
