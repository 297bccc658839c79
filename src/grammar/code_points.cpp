#include "grammar/code_points.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace skipstone::grammar {

std::optional<char32_t> parse_hexadecimal(std::string_view text, std::size_t count) {
  std::uint32_t value = 0;
  const char* const end = text.data() + std::min(count, text.size());
  const auto [stop, error] = std::from_chars(text.data(), end, value, 16);
  if (text.size() < count || error != std::errc() || stop != end || value > last_code_point) return std::nullopt;
  return value;
}

CodePoints::CodePoints(std::initializer_list<Range> ranges) {
  for (const Range& range : ranges) add(range.first, range.last);
}

void CodePoints::add(char32_t first, char32_t last) {
  if (first < first_surrogate) insert(first, std::min<char32_t>(last, first_surrogate - 1));
  if (last > last_surrogate) insert(std::max<char32_t>(first, last_surrogate + 1), last);
}

void CodePoints::add(const CodePoints& other) {
  for (const Range& range : other.ranges_) add(range.first, range.last);
}

void CodePoints::insert(char32_t first, char32_t last) {
  if (first > last) return;
  // The ranges that the new one touches become one with it.
  auto begin = std::ranges::lower_bound(ranges_, first, {}, [](const Range& range) { return range.last + 1; });
  auto end = begin;
  while (end != ranges_.end() && end->first <= last + 1) {
    first = std::min(first, end->first);
    last = std::max(last, end->last);
    ++end;
  }
  begin = ranges_.erase(begin, end);
  ranges_.insert(begin, Range{first, last});
}

CodePoints CodePoints::complement() const {
  CodePoints rest;
  char32_t next = 0;
  for (const Range& range : ranges_) {
    if (range.first > next) rest.add(next, range.first - 1);
    next = range.last + 1;
  }
  if (next <= last_code_point) rest.add(next, last_code_point);
  return rest;
}

bool CodePoints::contains(char32_t c) const {
  const auto found = std::ranges::lower_bound(ranges_, c, {}, &Range::last);
  return found != ranges_.end() && found->first <= c;
}

CodePoints operator&(const CodePoints& a, const CodePoints& b) {
  CodePoints both;
  auto left = a.ranges_.begin(), right = b.ranges_.begin();
  while (left != a.ranges_.end() && right != b.ranges_.end()) {
    const char32_t first = std::max(left->first, right->first), last = std::min(left->last, right->last);
    if (first <= last) both.ranges_.push_back({first, last});
    (left->last < right->last ? left : right)++;
  }
  return both;
}

}  // namespace skipstone::grammar
