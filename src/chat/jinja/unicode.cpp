#include "chat/jinja/unicode.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "base/platform/system.h"
#include "base/status.h"
#include "text/utf8.h"

namespace skipstone::chat::jinja {
namespace {

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

struct FreePattern {
  void operator()(pcre2_code* pattern) const { pcre2_code_free(pattern); }
};
using Pattern = std::unique_ptr<pcre2_code, FreePattern>;

Pattern compile(const std::string& expression) {
  int error = 0;
  PCRE2_SIZE offset = 0;
  Pattern pattern(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(expression.c_str()), expression.size(), PCRE2_UTF | PCRE2_UCP | PCRE2_DOTALL,
                                &error, &offset, nullptr));
  if (!pattern) fail(Code::internal, "the expression for characters '{}' does not compile", expression);
  return pattern;
}

struct FreeMatch {
  void operator()(pcre2_match_data* match) const { pcre2_match_data_free(match); }
};

bool matches(const pcre2_code* pattern, std::string_view text) {
  const std::unique_ptr<pcre2_match_data, FreeMatch> match(pcre2_match_data_create(1, nullptr));
  return pcre2_match(pattern, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), 0, PCRE2_ANCHORED, match.get(), nullptr) > 0;
}

/// Case mappings from one character to several, which PCRE2's case forcing does not do.
std::string special_upper(char32_t code) {
  switch (code) {
    case 0x149:
      return "\xCA\xBCN";
    case 0xDF:
      return "SS";
    case 0xFB00:
      return "FF";
    case 0xFB01:
      return "FI";
    case 0xFB02:
      return "FL";
    case 0xFB03:
      return "FFI";
    case 0xFB04:
      return "FFL";
    case 0xFB05:
    case 0xFB06:
      return "ST";
    default:
      return "";
  }
}

std::string forced_case(std::string_view character, const char* replacement) {
  static const Pattern any = compile(".");
  std::array<PCRE2_UCHAR, 64> out{};
  PCRE2_SIZE size = out.size();
  const int result =
      pcre2_substitute(any.get(), reinterpret_cast<PCRE2_SPTR>(character.data()), character.size(), 0, PCRE2_SUBSTITUTE_EXTENDED, nullptr,
                       nullptr, reinterpret_cast<PCRE2_SPTR>(replacement), PCRE2_ZERO_TERMINATED, out.data(), &size);
  return result == 1 ? std::string(reinterpret_cast<const char*>(out.data()), size) : std::string(character);
}

}  // namespace

std::size_t character_size(std::string_view text, std::size_t at) {
  std::size_t end = at + 1;
  while (end < text.size() && continues(text[end])) ++end;
  return end - at;
}

char32_t code_point_at(std::string_view text, std::size_t at) {
  const auto first = static_cast<unsigned char>(text[at]);
  return first < 0x80 ? first : text::utf8_front(text.substr(at)).code_point;
}

std::size_t count_characters(std::string_view text) {
  std::size_t count = 0;
  for (const char c : text) count += continues(c) ? 0 : 1;
  return count;
}

std::size_t byte_of_character(std::string_view text, std::size_t index) {
  std::size_t at = 0;
  for (; index > 0 && at < text.size(); --index) at += character_size(text, at);
  return at;
}

bool is_white_space(char32_t code) {
  if (code <= 0x20) return code == 0x20 || (code >= 0x09 && code <= 0x0D) || (code >= 0x1C && code <= 0x1F);
  return code == 0x85 || code == 0xA0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x2028 || code == 0x2029 ||
         code == 0x202F || code == 0x205F || code == 0x3000;
}

namespace {

template <typename Belongs>
std::size_t skip_front(std::string_view text, Belongs belongs) {
  std::size_t at = 0;
  while (at < text.size() && belongs(at)) at += character_size(text, at);
  return at;
}

template <typename Belongs>
std::size_t skip_back(std::string_view text, Belongs belongs) {
  std::size_t end = text.size();
  while (end > 0) {
    std::size_t begin = end - 1;
    while (begin > 0 && continues(text[begin])) --begin;
    if (!belongs(begin)) break;
    end = begin;
  }
  return end;
}

bool holds(std::string_view set, std::string_view text, std::size_t at) {
  return set.find(text.substr(at, character_size(text, at))) != std::string_view::npos;
}

}  // namespace

std::size_t strip_begin(std::string_view text) {
  return skip_front(text, [&](std::size_t at) { return is_white_space(code_point_at(text, at)); });
}

std::size_t strip_end(std::string_view text) {
  return skip_back(text, [&](std::size_t at) { return is_white_space(code_point_at(text, at)); });
}

std::size_t strip_begin(std::string_view text, std::string_view set) {
  return skip_front(text, [&](std::size_t at) { return holds(set, text, at); });
}

std::size_t strip_end(std::string_view text, std::string_view set) {
  return skip_back(text, [&](std::size_t at) { return holds(set, text, at); });
}

std::string with_case(std::string_view character, Letters letters) {
  const char first = character[0];
  if (static_cast<unsigned char>(first) < 0x80) {
    const bool change = letters == Letters::upper ? first >= 'a' && first <= 'z' : first >= 'A' && first <= 'Z';
    return std::string(1, change ? static_cast<char>(first ^ 0x20) : first);
  }
  if (letters == Letters::upper) {
    std::string special = special_upper(code_point_at(character, 0));
    if (!special.empty()) return special;
  } else if (code_point_at(character, 0) == 0x130) {
    return "i\xCC\x87";
  }
  return forced_case(character, letters == Letters::upper ? "\\U$0" : "\\L$0");
}

bool has_property(std::string_view character, const char* property) {
  static std::mutex mutex;
  static std::map<std::string, Pattern> patterns;
  const pcre2_code* pattern = nullptr;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    Pattern& known = patterns[property];
    if (!known) known = compile("\\p{" + std::string(property) + "}");
    pattern = known.get();
  }
  return matches(pattern, character);
}

bool is_printable(std::string_view character) {
  if (static_cast<unsigned char>(character[0]) < 0x80) return character[0] >= 0x20 && character[0] < 0x7F;
  static const Pattern printable = compile("[\\p{L}\\p{M}\\p{N}\\p{P}\\p{S}]");
  return matches(printable.get(), character);
}

std::size_t find_text(std::string_view text, std::string_view what, std::size_t from) {
  if (from > text.size()) return std::string_view::npos;
  if (what.empty()) return from;
  if (what.size() <= 8) return text.find(what, from);
  const std::size_t found = platform::find_bytes(text.substr(from), what);
  return found == std::string_view::npos ? found : from + found;
}

}  // namespace skipstone::chat::jinja
