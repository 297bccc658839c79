// The "key=value,..." part of a drafter's specification.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace skipstone::speculation {

/// Every getter names a key, its default and its range, and throws invalid_argument where the value is none or out of range. finish() then
/// knows all keys, so that no list of them has to be kept anywhere.
class Options {
 public:
  /// `text` may be empty. A key is small letters, digits and '_'. Throws invalid_argument where it is not a value and a list of key=value,
  /// either of which may be missing, or gives a key twice.
  Options(std::string_view drafter, std::string_view text);

  /// The text before the first key=value ("6" of "exit:6,k=4"; it may have commas of its own). Empty if none.
  std::string value(std::string_view what);

  double real(std::string_view key, double fallback, double low, double high);
  std::uint32_t whole(std::string_view key, std::uint32_t fallback, std::uint32_t low, std::uint32_t high, std::string_view hint = {});
  bool flag(std::string_view key, bool fallback);  ///< 1 or 0
  /// Which of `words`; 0, the first, where the key is not given.
  std::size_t choice(std::string_view key, std::initializer_list<std::string_view> words);

  /// Throws invalid_argument naming a key that no getter asked for, and those that there are.
  void finish() const;

 private:
  struct Entry {
    std::string key, value;
    bool used = false;
  };
  const std::string* find(std::string_view key);

  std::string drafter_;
  std::string value_;
  std::string value_name_;  ///< the name that value() was called with; empty: the drafter takes none
  std::vector<Entry> entries_;
  std::vector<std::string> known_;
};

}  // namespace skipstone::speculation
