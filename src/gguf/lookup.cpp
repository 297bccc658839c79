#include <concepts>
#include <type_traits>
#include <utility>

#include "base/status.h"
#include "gguf/parts.h"

namespace skipstone::gguf {
namespace {

template <typename T>
constexpr bool is_integer = std::integral<T> && !std::same_as<T, bool>;

[[noreturn]] void wrong_type(const Value& value, std::string_view key, const std::string& path, std::string_view wanted) {
  fail(Code::bad_file, "{}: metadata '{}' should be {}, but is {}; the file is damaged or of a kind not known here", path, escaped(key),
       wanted, type_name(value));
}

const Array* array_in(const Value& value) {
  const auto* array = std::get_if<std::shared_ptr<const Array>>(&value);
  return array == nullptr ? nullptr : array->get();
}

}  // namespace

std::uint64_t to_unsigned(const Value& value, std::string_view key, const std::string& path) {
  return std::visit(
      [&](const auto& v) -> std::uint64_t {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::same_as<T, bool>) {
          return v ? 1 : 0;
        } else if constexpr (is_integer<T>) {
          if (std::in_range<std::uint64_t>(v)) return static_cast<std::uint64_t>(v);
          fail(Code::bad_file, "{}: metadata '{}' should not be negative, but is {}; the file is damaged", path, escaped(key), v);
        } else {
          wrong_type(value, key, path, "an integer");
        }
      },
      value);
}

double to_number(const Value& value, std::string_view key, const std::string& path) {
  return std::visit(
      [&](const auto& v) -> double {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::floating_point<T> || is_integer<T>) {
          return static_cast<double>(v);
        } else {
          wrong_type(value, key, path, "a number");
        }
      },
      value);
}

bool to_boolean(const Value& value, std::string_view key, const std::string& path) {
  return std::visit(
      [&](const auto& v) -> bool {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::same_as<T, bool>) {
          return v;
        } else if constexpr (is_integer<T>) {
          if (v == 0 || v == 1) return v == 1;
          fail(Code::bad_file, "{}: metadata '{}' should be true or false, but is {}; the file is damaged", path, escaped(key), v);
        } else {
          wrong_type(value, key, path, "true or false");
        }
      },
      value);
}

const std::string& to_string(const Value& value, std::string_view key, const std::string& path) {
  const auto* text = std::get_if<std::string>(&value);
  if (text == nullptr) wrong_type(value, key, path, "a string");
  return *text;
}

const std::vector<std::string>& to_strings(const Value& value, std::string_view key, const std::string& path) {
  const Array* array = array_in(value);
  const auto* items = array == nullptr ? nullptr : std::get_if<std::vector<std::string>>(&array->items);
  if (items == nullptr) wrong_type(value, key, path, "an array of strings");
  return *items;
}

std::vector<float> to_floats(const Value& value, std::string_view key, const std::string& path) {
  const Array* array = array_in(value);
  if (array == nullptr) wrong_type(value, key, path, "an array of numbers");
  return std::visit(
      [&](const auto& items) -> std::vector<float> {
        using T = typename std::decay_t<decltype(items)>::value_type;
        if constexpr (std::floating_point<T> || is_integer<T>) {
          std::vector<float> out;
          out.reserve(items.size());
          for (const T item : items) out.push_back(static_cast<float>(item));
          return out;
        } else {
          wrong_type(value, key, path, "an array of numbers");
        }
      },
      array->items);
}

std::vector<std::int32_t> to_integers(const Value& value, std::string_view key, const std::string& path) {
  const Array* array = array_in(value);
  if (array == nullptr) wrong_type(value, key, path, "an array of integers");
  return std::visit(
      [&](const auto& items) -> std::vector<std::int32_t> {
        using T = typename std::decay_t<decltype(items)>::value_type;
        if constexpr (is_integer<T>) {
          std::vector<std::int32_t> out;
          out.reserve(items.size());
          for (const T item : items) {
            if (!std::in_range<std::int32_t>(item)) {
              fail(Code::bad_file, "{}: metadata '{}' has an item of {}, which is out of range; the file is damaged", path, escaped(key),
                   item);
            }
            out.push_back(static_cast<std::int32_t>(item));
          }
          return out;
        } else if constexpr (std::same_as<T, bool>) {
          return std::vector<std::int32_t>(items.begin(), items.end());
        } else {
          wrong_type(value, key, path, "an array of integers");
        }
      },
      array->items);
}

}  // namespace skipstone::gguf
