#include "speculation/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/number.h"
#include "base/status.h"

namespace skipstone::speculation {
namespace {

/// Anything else before a '=' is part of a value: the name of a file may have one.
bool is_key(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; });
}

}  // namespace

Options::Options(std::string_view drafter, std::string_view text) : drafter_(drafter) {
  while (!text.empty()) {
    const auto comma = text.find(',');
    const std::string_view item = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
    const auto equals = item.find('=');
    if ((equals == std::string_view::npos || !is_key(item.substr(0, equals))) && entries_.empty()) {
      value_.append(value_.empty() ? "" : ",").append(item);
      continue;
    }
    if (equals == 0 || equals == std::string_view::npos) {
      fail(Code::invalid_argument, "drafter {}: '{}' is not an option; options are written key=value,key=value", drafter_, item);
    }
    const std::string_view key = item.substr(0, equals);
    const bool twice = std::any_of(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.key == key; });
    if (twice) fail(Code::invalid_argument, "drafter {}: option {} is given twice", drafter_, key);
    entries_.push_back({std::string(key), std::string(item.substr(equals + 1)), false});
  }
}

const std::string* Options::find(std::string_view key) {
  known_.emplace_back(key);
  for (Entry& entry : entries_) {
    if (entry.key != key) continue;
    entry.used = true;
    return &entry.value;
  }
  return nullptr;
}

std::string Options::value(std::string_view what) {
  value_name_ = what;
  return value_;
}

double Options::real(std::string_view key, double fallback, double low, double high) {
  const std::string* text = find(key);
  if (text == nullptr) return fallback;
  const auto value = parse_number<double>(*text);
  if (!value || !(*value >= low && *value <= high)) {
    fail(Code::invalid_argument, "drafter {}: {}={} has to be a number from {} to {}", drafter_, key, *text, low, high);
  }
  return *value;
}

std::uint32_t Options::whole(std::string_view key, std::uint32_t fallback, std::uint32_t low, std::uint32_t high, std::string_view hint) {
  const std::string* text = find(key);
  if (text == nullptr) return fallback;
  const auto value = parse_number<std::uint32_t>(*text);
  if (!value || *value < low || *value > high) {
    fail(Code::invalid_argument, "drafter {}: {}={} has to be a whole number from {} to {}{}", drafter_, key, *text, low, high, hint);
  }
  return *value;
}

bool Options::flag(std::string_view key, bool fallback) {
  const std::string* text = find(key);
  if (text == nullptr) return fallback;
  if (*text != "0" && *text != "1") fail(Code::invalid_argument, "drafter {}: {}={} has to be 1 (on) or 0 (off)", drafter_, key, *text);
  return *text == "1";
}

std::size_t Options::choice(std::string_view key, std::initializer_list<std::string_view> words) {
  const std::string* text = find(key);
  if (text == nullptr) return 0;
  const auto found = std::ranges::find(words, *text);
  if (found == words.end()) {
    fail(Code::invalid_argument, "drafter {}: {}={} has to be one of: {}", drafter_, key, *text, fmt::join(words, ", "));
  }
  return static_cast<std::size_t>(found - words.begin());
}

void Options::finish() const {
  if (!value_.empty() && value_name_.empty()) {
    fail(Code::invalid_argument, "drafter {}: '{}' is not an option; options are written key=value,key=value", drafter_, value_);
  }
  for (const Entry& entry : entries_) {
    if (entry.used) continue;
    if (known_.empty()) fail(Code::invalid_argument, "drafter {}: there is no option {}; this drafter takes none", drafter_, entry.key);
    fail(Code::invalid_argument, "drafter {}: there is no option {}; the options are {}", drafter_, entry.key, fmt::join(known_, ", "));
  }
}

}  // namespace skipstone::speculation
