// Sets of characters, as classes of grammars and regular expressions have them.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

namespace skipstone::grammar {

inline constexpr char32_t last_code_point = 0x10FFFF;
inline constexpr char32_t first_surrogate = 0xD800, last_surrogate = 0xDFFF;

/// What the first `count` characters of a text are as hexadecimal digits; nothing where they are none, or a number above the last code
/// point.
std::optional<char32_t> parse_hexadecimal(std::string_view text, std::size_t count);

/// A set of Unicode scalar values: ranges in ascending order that neither touch nor overlap. Surrogates are never in it.
class CodePoints {
 public:
  struct Range {
    char32_t first = 0, last = 0;
    friend auto operator<=>(const Range&, const Range&) = default;
  };

  CodePoints() = default;
  CodePoints(std::initializer_list<Range> ranges) { add(std::vector(ranges)); }
  static CodePoints all() { return {{0, last_code_point}}; }
  static CodePoints one(char32_t c) { return {{c, c}}; }

  /// Adds `first` to `last`, both included.
  void add(char32_t first, char32_t last);
  void add(const CodePoints& other) { add(other.ranges_); }
  /// The same for ranges in any order.
  void add(std::vector<Range> ranges);
  CodePoints complement() const;
  bool contains(char32_t c) const;
  bool is_empty() const { return ranges_.empty(); }
  const std::vector<Range>& ranges() const { return ranges_; }

  friend CodePoints operator&(const CodePoints& a, const CodePoints& b);
  friend CodePoints operator-(const CodePoints& a, const CodePoints& b) { return a & b.complement(); }
  friend auto operator<=>(const CodePoints&, const CodePoints&) = default;

 private:
  void append(char32_t first, char32_t last);

  std::vector<Range> ranges_;
};

}  // namespace skipstone::grammar
