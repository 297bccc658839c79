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

void CodePoints::add(char32_t first, char32_t last) {
  if (ranges_.empty() || first > ranges_.back().last) {
    append(first, last);
  } else {
    add(std::vector<Range>{{first, last}});
  }
}

void CodePoints::add(std::vector<Range> ranges) {
  ranges.insert(ranges.end(), ranges_.begin(), ranges_.end());
  std::ranges::sort(ranges);
  ranges_.clear();
  for (const Range& range : ranges) append(range.first, range.last);
}

/// Adds a range that begins where the last one does or later.
void CodePoints::append(char32_t first, char32_t last) {
  const auto join = [&](char32_t from, char32_t to) {
    if (from > to) return;
    if (!ranges_.empty() && from <= ranges_.back().last + 1) {
      ranges_.back().last = std::max(ranges_.back().last, to);
    } else {
      ranges_.push_back({from, to});
    }
  };
  join(first, std::min<char32_t>(last, first_surrogate - 1));
  join(std::max<char32_t>(first, last_surrogate + 1), last);
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
