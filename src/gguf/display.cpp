#include <fmt/format.h>

#include <algorithm>
#include <type_traits>

#include "gguf/gguf.h"

namespace skipstone::gguf {
namespace {

constexpr std::size_t shown_items = 6;
constexpr std::size_t shown_text = 240;      // bytes of a value that is a string
constexpr std::size_t shown_item_text = 40;  // bytes of a string in an array

template <typename T>
std::string_view name_of() {
  if constexpr (std::is_same_v<T, std::uint8_t>) return "uint8";
  if constexpr (std::is_same_v<T, std::int8_t>) return "int8";
  if constexpr (std::is_same_v<T, std::uint16_t>) return "uint16";
  if constexpr (std::is_same_v<T, std::int16_t>) return "int16";
  if constexpr (std::is_same_v<T, std::uint32_t>) return "uint32";
  if constexpr (std::is_same_v<T, std::int32_t>) return "int32";
  if constexpr (std::is_same_v<T, float>) return "float32";
  if constexpr (std::is_same_v<T, bool>) return "bool";
  if constexpr (std::is_same_v<T, std::string>) return "string";
  if constexpr (std::is_same_v<T, std::uint64_t>) return "uint64";
  if constexpr (std::is_same_v<T, std::int64_t>) return "int64";
  if constexpr (std::is_same_v<T, double>) return "float64";
}

template <typename T>
std::string item_text(const T& item) {
  if constexpr (std::is_same_v<T, std::string>) {
    return '"' + shortened(item, shown_item_text) + '"';
  } else {
    return fmt::format("{}", item);
  }
}

template <typename T>
std::string array_text(const std::vector<T>& items) {
  std::string out = "[";
  for (std::size_t i = 0; i < std::min(items.size(), shown_items); ++i) {
    if (i > 0) out += ", ";
    out += item_text<T>(items[i]);
  }
  if (items.size() > shown_items) out += fmt::format(", ...] ({} items)", items.size());
  if (items.size() <= shown_items) out += "]";
  return out;
}

}  // namespace

std::size_t Array::size() const {
  return std::visit([](const auto& list) { return list.size(); }, items);
}

std::string type_name(const Value& value) {
  return std::visit(
      [](const auto& v) -> std::string {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, std::shared_ptr<const Array>>) {
          if (v == nullptr) return "array of nothing";
          return std::visit(
              [](const auto& items) {
                return fmt::format("array of {} {}", items.size(), name_of<typename std::decay_t<decltype(items)>::value_type>());
              },
              v->items);
        } else {
          return std::string(name_of<T>());
        }
      },
      value);
}

std::string to_display(const Value& value) {
  return std::visit(
      [](const auto& v) -> std::string {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, std::shared_ptr<const Array>>) {
          if (v == nullptr) return "[]";
          return std::visit([](const auto& items) { return array_text(items); }, v->items);
        } else if constexpr (std::is_same_v<T, std::string>) {
          return shortened(v, shown_text);
        } else {
          return fmt::format("{}", v);
        }
      },
      value);
}

}  // namespace skipstone::gguf
