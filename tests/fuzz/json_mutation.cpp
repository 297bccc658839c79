#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "fuzz/mutator.h"

namespace skipstone::fuzz {
namespace {

using Json = nlohmann::ordered_json;

/// Placeholder in the tree for text that no tree can hold; put in after printing.
const std::string mark = "\x01raw text";

std::string print(const Json& document) { return document.dump(-1, ' ', false, Json::error_handler_t::replace); }

void collect(Json& node, std::vector<Json*>& all) {
  all.push_back(&node);
  if (node.is_structured()) {
    for (Json& child : node) collect(child, all);
  }
}

std::string nested(Random& random) {
  constexpr std::array<std::size_t, 5> depths{3, 65, 1000, 20000, 100000};
  const std::size_t depth = depths[random.below(depths.size())];
  std::string text;
  const bool objects = random.one_in(2);
  for (std::size_t i = 0; i < depth; ++i) text += objects ? "{\"a\":" : "[";
  text += "1";
  return random.one_in(4) ? text : text + std::string(depth, objects ? '}' : ']');
}

/// A value as text, so that it may be one that the parser refuses.
std::string hostile_value(const Json& old, Random& random) {
  constexpr std::array<std::string_view, 26> values{"0",
                                                    "1",
                                                    "-1",
                                                    "-0",
                                                    "0.5",
                                                    "2147483648",
                                                    "4294967295",
                                                    "4294967296",
                                                    "18446744073709551615",
                                                    "18446744073709551616",
                                                    "-9223372036854775808",
                                                    "1e308",
                                                    "1e400",
                                                    "-1e400",
                                                    "1e-400",
                                                    "1E+5",
                                                    "true",
                                                    "false",
                                                    "null",
                                                    "[]",
                                                    "{}",
                                                    "\"\"",
                                                    "\"\\u0000\"",
                                                    "\"\\ud800\"",
                                                    "\"\xff\"",
                                                    "NaN"};
  switch (random.below(6)) {
    case 0:
      return nested(random);
    case 1: {
      std::string many = "[";
      for (std::size_t count = random.below(3000); count > 0; --count) many += "0,";
      return many + "0]";
    }
    case 2:
      if (old.is_number_integer()) return std::to_string(hostile_number(old.get<std::uint64_t>(), 4096, random));
      if (old.is_string()) return print(Json(hostile_text(old.get<std::string>(), random)));
      [[fallthrough]];
    default:
      return std::string(values[random.below(values.size())]);
  }
}

/// The object once more with one member twice, or under another name.
std::string doubled_or_renamed(const Json& object, Random& random) {
  const std::size_t chosen = random.below(object.size());
  const bool twice = random.one_in(2);
  std::string text = "{";
  std::size_t at = 0;
  for (const auto& [key, value] : object.items()) {
    const std::string member = print(Json(at == chosen && !twice ? hostile_text(key, random) : key)) + ":" + print(value);
    text += (at == 0 ? "" : ",") + member + (at == chosen && twice ? "," + member : "");
    ++at;
  }
  return text + "}";
}

void remove_or_repeat(Json& container, Random& random) {
  const std::size_t chosen = random.below(container.size());
  if (container.is_object() || random.one_in(2)) {
    auto at = container.begin();
    std::advance(at, static_cast<std::ptrdiff_t>(chosen));
    container.erase(at);
    return;
  }
  const Json repeated = container[chosen];
  for (std::size_t count = random.below(64); count > 0; --count) container.push_back(repeated);
}

std::string mutate_text(std::string text, Random& random) {
  if (text.empty()) return "{";
  const std::size_t at = random.below(text.size());
  switch (random.below(4)) {
    case 0:
      return text.substr(0, at);
    case 1:
      text[at] = static_cast<char>(random.next());
      return text;
    case 2:
      return text.erase(at, 1 + random.below(8));
    default:
      return text.insert(at, hostile_text("", random));
  }
}

}  // namespace

std::string mutate_json(const std::string& text, Random& random) {
  if (random.one_in(8) || text.size() > (std::size_t{1} << 20)) return mutate_text(text, random);
  // A document that was made deep before cannot be walked or printed again.
  const auto shallow = [](int depth, Json::parse_event_t, Json&) {
    if (depth > 500) throw std::length_error("too deep to be changed by its tree");
    return true;
  };
  Json document;
  try {
    document = Json::parse(text, shallow);
  } catch (const std::exception&) {
    return mutate_text(text, random);
  }
  std::vector<Json*> all;
  collect(document, all);
  Json& node = *random.pick(all);
  std::string raw;
  const std::size_t how = random.below(8);
  if (how < 2 && node.is_structured() && !node.empty()) {
    remove_or_repeat(node, random);
  } else if (how < 4 && node.is_object() && !node.empty()) {
    raw = doubled_or_renamed(node, random);
  } else if (how < 5) {
    Json& other = *random.pick(all);
    const Json copy = other;  // one may be a part of the other
    node = copy;
  } else {
    raw = hostile_value(node, random);
  }
  if (raw.empty()) return print(document);
  node = mark;
  std::string printed = print(document);
  const std::string place = print(Json(mark));
  return printed.replace(printed.find(place), place.size(), raw);
}

}  // namespace skipstone::fuzz
