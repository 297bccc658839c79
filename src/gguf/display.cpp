#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <type_traits>

#include "gguf/gguf.h"

namespace skipstone::gguf {
namespace {

constexpr std::size_t kShownItems = 6;
constexpr std::size_t kShownText = 240;     // bytes of a value that is a string
constexpr std::size_t kShownItemText = 40;  // bytes of a string in an array

struct Character {
  char32_t code = 0;
  std::size_t length = 0;  ///< 0 where the bytes are not UTF-8
};

/// The first character of a text that is not empty. Ill-formed sequences are those of table 3-7 of the Unicode standard.
Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return {};
  char32_t code = lead & (0x7fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0u) != 0x80u) return {};
    code = (code << 6) | (byte(i) & 0x3fu);
  }
  constexpr std::array<char32_t, 5> kLeast{0, 0, 0x80, 0x800, 0x10000};
  if (code < kLeast[length] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return {};
  return {code, length};
}

/// Controls move the cursor or colour the terminal; bidirectional ones make a text look like another.
bool unsafe(char32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x061c || code == 0x200e || code == 0x200f ||
         (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) || code == 0xfeff;
}

std::string shortened(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return escaped(text);
  std::size_t end = limit;
  // Not in the middle of a character: step back over its continuation bytes.
  while (end > limit - 4 && (static_cast<unsigned char>(text[end]) & 0xc0u) == 0x80u) --end;
  return fmt::format("{}... ({} bytes)", escaped(text.substr(0, end)), text.size());
}

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
    return '"' + shortened(item, kShownItemText) + '"';
  } else {
    return fmt::format("{}", item);
  }
}

template <typename T>
std::string array_text(const std::vector<T>& items) {
  std::string out = "[";
  for (std::size_t i = 0; i < std::min(items.size(), kShownItems); ++i) {
    if (i > 0) out += ", ";
    out += item_text<T>(items[i]);
  }
  if (items.size() > kShownItems) out += fmt::format(", ...] ({} items)", items.size());
  if (items.size() <= kShownItems) out += "]";
  return out;
}

}  // namespace

std::size_t Array::size() const {
  return std::visit([](const auto& list) { return list.size(); }, items);
}

std::string escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto [code, length] = first_character(text);
    const std::size_t step = std::max<std::size_t>(length, 1);
    if (length == 0) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    } else if (code == '\n') {
      out += "\\n";
    } else if (code == '\t') {
      out += "\\t";
    } else if (code == '\r') {
      out += "\\r";
    } else if (unsafe(code)) {
      out += fmt::format("\\u{{{:x}}}", static_cast<std::uint32_t>(code));
    } else {
      out += text.substr(0, step);
    }
    text.remove_prefix(step);
  }
  return out;
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
          return shortened(v, kShownText);
        } else {
          return fmt::format("{}", v);
        }
      },
      value);
}

}  // namespace skipstone::gguf
