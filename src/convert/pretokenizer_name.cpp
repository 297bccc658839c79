#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/status.h"
#include "convert/json_file.h"
#include "convert/tokenizer.h"
#include "json/json.h"
#include "text/pretokenizer.h"
#include "text/utf8.h"

namespace skipstone::convert {
namespace {

// A pre-tokenizer as its cutting patterns, one after the other, each in canonical form.
using Steps = std::vector<std::string>;
const std::string bytes_mark = "bytes";  // from here on, texts are in the byte-level alphabet
const std::string digit_pattern = R"(\p{N})", digits_pattern = R"(\p{N}+)";
// ASCII's punctuation and symbols, and Unicode's punctuation: Rust's is_ascii_punctuation() and the categories P.
const std::string punctuation_pattern = R"([\p{P}!-/:-@\[-`{-~])", punctuations_pattern = R"([\p{P}$+<=>^~|`]+)";
// The pattern of ByteLevel's use_regex: GPT-2's released encoder.
const std::string gpt2_pattern = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) text.replace(at, from.size(), to);
}

/// The code point of an escape \uXXXX at the front of `regex`; nothing if there is no escape.
std::optional<std::uint32_t> escaped_character(std::string_view regex) {
  std::uint32_t code = 0;
  if (regex.size() < 6 || !regex.starts_with("\\u")) return std::nullopt;
  const auto [stopped, error] = std::from_chars(regex.data() + 2, regex.data() + 6, code, 16);
  return error == std::errc() && stopped == regex.data() + 6 ? std::optional(code) : std::nullopt;
}

/// A regular expression in canonical form: files write some parts in several ways.
std::string canonical(std::string_view regex) {
  std::string all;
  while (!regex.empty()) {
    if (const auto code = escaped_character(regex)) {
      all += fmt::format("\\x{{{:X}}}", *code);
      regex.remove_prefix(6);
      continue;
    }
    const text::Utf8Front front = text::utf8_front(regex);
    if (front.kind == text::Utf8Front::Kind::character && front.code_point >= 0x80) {
      all += fmt::format("\\x{{{:X}}}", static_cast<std::uint32_t>(front.code_point));
    } else {
      all += regex.substr(0, front.size);
    }
    regex.remove_prefix(front.size);
  }
  const std::vector<std::pair<std::string_view, std::string_view>> same = {
      {"\r", "\\r"},
      {"\n", "\\n"},
      {"\t", "\\t"},
      {"\\/", "/"},
      {"{1}", ""},
      {"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])", "(?i:'s|'t|'re|'ve|'m|'ll|'d)"},
      {"'(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE])", "(?i:'s|'t|'re|'ve|'m|'ll|'d)"},
      {"'(?i:[sdmt]|ll|ve|re)", "(?i:'s|'t|'re|'ve|'m|'ll|'d)"},
  };
  for (const auto& [from, to] : same) replace_all(all, from, to);
  return all;
}

/// Whether the patterns of o200k_base and its relatives match all of any text, so that keeping matches alone is the same as cutting at
/// them.
bool matches_everything(const std::string& regex) { return regex.ends_with(R"(|\s+)") && regex.find(R"([^\s\p{L})") != std::string::npos; }

[[noreturn]] void refuse(const std::string& path, const std::string& what) {
  fail(Code::unsupported,
       "{}: the pre-tokenizer {}, which no pre-tokenizer of GGUF that this build knows does; --pre NAME (pre_tokenizer in the C API) "
       "chooses one all the same",
       path, what);
}

void append_split(const SortedJson& step, const std::string& path, Steps& steps) {
  const auto regex = string_member(member(step, "pattern"), "Regex");
  const std::string behavior = string_member(step, "behavior").value_or("");
  const bool invert = boolean_member(step, "invert").value_or(false);
  if (!regex) {
    const auto text = string_member(member(step, "pattern"), "String");
    refuse(path, "splits at the string " + quote(text.value_or("")));
  }
  const bool isolated = (behavior == "Isolated" && !invert) || (behavior == "Removed" && invert && matches_everything(*regex));
  if (!isolated) refuse(path, "splits at " + quote(*regex) + " with behaviour " + quote(behavior) + (invert ? ", inverted" : ""));
  steps.push_back(canonical(*regex));
}

void append_byte_level(const SortedJson& step, const std::string& path, Steps& steps) {
  if (boolean_member(step, "add_prefix_space").value_or(true)) refuse(path, "puts a space before each text (add_prefix_space)");
  if (boolean_member(step, "use_regex").value_or(true)) steps.push_back(gpt2_pattern);
  steps.push_back(bytes_mark);
}

void append_step(const SortedJson& step, const std::string& path, int depth, Steps& steps) {
  constexpr int deepest = 4;
  const std::string type = string_member(step, "type").value_or("");
  if (type == "Sequence") {
    const SortedJson& parts = member(step, "pretokenizers");
    if (!parts.is_array() || depth == deepest) fail(Code::bad_file, "{}: the pre-tokenizer's sequence makes no sense", path);
    for (const SortedJson& part : parts) append_step(part, path, depth + 1, steps);
  } else if (type == "Split") {
    append_split(step, path, steps);
  } else if (type == "ByteLevel") {
    append_byte_level(step, path, steps);
  } else if (type == "Digits") {
    steps.push_back(boolean_member(step, "individual_digits").value_or(false) ? digit_pattern : digits_pattern);
  } else if (type == "Punctuation" && string_member(step, "behavior") == "Contiguous") {
    steps.push_back(punctuations_pattern);
  } else if (type == "Punctuation" && string_member(step, "behavior").value_or("Isolated") == "Isolated") {
    steps.push_back(punctuation_pattern);
  } else {
    refuse(path, "has a step of type " + quote(type));
  }
}

std::string in_words(const std::string& step) {
  if (step == bytes_mark) return step;
  return step == digit_pattern ? "each digit" : step == digits_pattern ? "digits" : "split at " + step;
}

std::string written_out(const Steps& steps) {
  std::string all;
  for (const std::string& step : steps) all += (all.empty() ? "" : ", then ") + quote(in_words(step));
  return all;
}

/// The ways in which files may write `rule`.
std::vector<Steps> written_ways(const text::PreTokenizerRule& rule) {
  std::vector<Steps> ways = rule.written;
  const bool patterns_alone =
      std::all_of(rule.cuts.begin(), rule.cuts.end(), [](const text::Cut& cut) { return cut.mode == text::CutMode::isolate; });
  if (ways.empty() && patterns_alone) {
    ways.emplace_back();
    for (const text::Cut& cut : rule.cuts) ways.back().push_back(cut.pattern);
  }
  for (Steps& way : ways) {
    for (std::string& step : way) step = canonical(step);
  }
  return ways;
}

/// The rule for `steps` and `whole_words`; failing that, where the file does not take words whole, a rule that does. Null: none.
const text::PreTokenizerRule* rule_for(const Steps& steps, bool whole_words) {
  const text::PreTokenizerRule* found = nullptr;
  for (const text::PreTokenizerRule& rule : text::pretokenizer_rules()) {
    const std::vector<Steps> ways = written_ways(rule);
    if (std::find(ways.begin(), ways.end(), steps) == ways.end()) continue;
    if (rule.whole_words == whole_words) return &rule;
    if (found == nullptr && !whole_words) found = &rule;
  }
  return found;
}

std::string name_for(const text::PreTokenizerRule& rule, std::string_view preferred) {
  const auto found = std::find(rule.names.begin(), rule.names.end(), preferred);
  return found != rule.names.end() ? *found : rule.names.front();
}

}  // namespace

std::string pretokenizer_name(const SortedJson& pre_tokenizer, bool ignore_merges, const std::function<bool()>& merging_gives_all,
                              std::string_view preferred, const std::string& path) {
  if (!pre_tokenizer.is_object()) {
    fail(Code::unsupported, "{}: has no pre-tokenizer; only byte-level BPE and converted SentencePiece models can be converted", path);
  }
  Steps steps;
  append_step(pre_tokenizer, path, 0, steps);
  Steps cuts = steps;
  const auto bytes = std::find(cuts.begin(), cuts.end(), bytes_mark);
  const bool cuts_bytes = bytes != cuts.end() && bytes + 1 != cuts.end();
  if (bytes != cuts.end()) cuts.erase(bytes);
  const text::PreTokenizerRule* rule = cuts.size() == steps.size() ? nullptr : rule_for(cuts, ignore_merges);
  if (rule == nullptr || (cuts_bytes && rule->caveat == nullptr)) {
    refuse(path, "does " + written_out(steps) + (ignore_merges ? " and takes whole words first (ignore_merges)" : ""));
  }
  if (rule->whole_words != ignore_merges && !merging_gives_all()) {
    refuse(path,
           "does " + written_out(steps) + " and never takes words whole (no ignore_merges), although merging does not give all tokens");
  }
  if (rule->caveat != nullptr) log::warning("{}: has the pre-tokenizer of {}; {}.", path, rule->names.front(), rule->caveat);
  return name_for(*rule, preferred);
}

}  // namespace skipstone::convert
