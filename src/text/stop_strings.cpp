#include "text/stop_strings.h"

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "text/tokenizer.h"

namespace skipstone::text {
namespace {

void check(const std::vector<std::string>& strings) {
  if (strings.size() > StopStrings::most) {
    fail(Code::invalid_argument, "there are {} stop strings; at most {} are taken", strings.size(), StopStrings::most);
  }
  for (const std::string& text : strings) {
    if (text.empty()) fail(Code::invalid_argument, "a stop string is empty; it would end every text at once");
    if (text.size() > StopStrings::longest) {
      fail(Code::invalid_argument, "a stop string has {} bytes; at most {} are taken", text.size(), StopStrings::longest);
    }
    if (const std::size_t at = find_invalid_utf8(text); at != std::string::npos) {
      fail(Code::invalid_argument, "stop string \"{}\" is not UTF-8 from byte {} on", text, at);
    }
  }
}

/// For each prefix of `text`: the longest shorter one that it ends with.
std::vector<std::size_t> fallbacks(const std::string& text) {
  std::vector<std::size_t> fallback(text.size() + 1, 0);
  for (std::size_t i = 1, matched = 0; i < text.size(); ++i) {
    while (matched > 0 && text[i] != text[matched]) matched = fallback[matched];
    if (text[i] == text[matched]) ++matched;
    fallback[i + 1] = matched;
  }
  return fallback;
}

}  // namespace

StopStrings::StopStrings(std::vector<std::string> strings) {
  check(strings);
  for (std::string& text : strings) {
    std::vector<std::size_t> fallback = fallbacks(text);
    patterns_.push_back({std::move(text), std::move(fallback)});
  }
}

std::string StopStrings::push(std::string_view piece) {
  if (stopped_) return {};
  for (const char byte : piece) {
    held_.push_back(byte);
    std::size_t longest_stop = 0;
    for (Pattern& pattern : patterns_) {
      std::size_t& matched = pattern.matched;
      while (matched > 0 && pattern.text[matched] != byte) matched = pattern.fallback[matched];
      if (pattern.text[matched] == byte) ++matched;
      if (matched == pattern.text.size()) longest_stop = std::max(longest_stop, matched);
    }
    if (longest_stop == 0) continue;
    stopped_ = true;
    held_.resize(held_.size() - longest_stop);
    return std::exchange(held_, {});
  }
  std::size_t open = 0;
  for (const Pattern& pattern : patterns_) open = std::max(open, pattern.matched);
  std::string certain = held_.substr(0, held_.size() - open);
  held_.erase(0, certain.size());
  return certain;
}

std::string StopStrings::finish() { return std::exchange(held_, {}); }

}  // namespace skipstone::text
