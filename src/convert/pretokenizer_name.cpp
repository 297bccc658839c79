#include "convert/pretokenizer_name.h"

#include <vector>

#include "base/log.h"
#include "base/status.h"
#include "convert/json_file.h"
#include "json/json.h"

namespace skipstone::convert {
namespace {

// A pre-tokenizer as a list of steps, each written in one way only.
using Steps = std::vector<std::string>;
const std::string kByteLevel = "bytes";
const std::string kDigits = "each digit";
const std::string kNumbers = "digits";
const std::string kPunctuation = "punctuation";

// The patterns as in the tokenizer.json files of GPT-2 (what ByteLevel's use_regex stands for), Llama 3, Qwen2, DeepSeek Coder and Falcon.
const std::string kGpt2 = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
const std::string kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
const std::string kQwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
const std::string kChineseAndKorean = "[一-龥ࠀ-一가-퟿]+";

std::string split(const std::string& pattern) { return "split at " + pattern; }

struct Known {
  const char* name;
  bool ignore_merges;
  Steps steps;
  const char* caveat = nullptr;
};

const std::vector<Known>& known() {
  static const std::vector<Known> table = {
      {"gpt-2", false, {split(kGpt2), kByteLevel}},
      {"llama-bpe", true, {split(kLlama3), kByteLevel}},
      {"smaug-bpe", false, {split(kLlama3), kByteLevel}},
      {"qwen2", false, {split(kQwen2), kByteLevel}},
      // Also what SmolLM, Refact and CodeShell do; llama.cpp has a name for each and one rule for all.
      {"starcoder", false, {kDigits, split(kGpt2), kByteLevel}},
      {"deepseek-coder",
       false,
       {split("[\r\n]"), split(R"(\s?\p{L}+)"), split(R"(\s?\p{P}+)"), split(kChineseAndKorean), kDigits, kByteLevel}},
      {"falcon",
       false,
       {kPunctuation, split(kGpt2), kByteLevel, kNumbers, split("[0-9][0-9][0-9]")},
       "its last steps look at bytes in disguise and cut some letters apart (Cyrillic U+043C), which the GGUF rule of that name does not"},
  };
  return table;
}

[[noreturn]] void refuse(const std::string& path, const std::string& what) {
  fail(Code::unsupported, "{}: the pre-tokenizer {}, which no pre-tokenizer of GGUF that this build knows does", path, what);
}

void append_split(const SortedJson& step, const std::string& path, Steps& steps) {
  const auto regex = string_member(member(step, "pattern"), "Regex");
  const std::string behavior = string_member(step, "behavior").value_or("");
  const bool invert = boolean_member(step, "invert").value_or(false);
  if (!regex) {
    const auto text = string_member(member(step, "pattern"), "String");
    refuse(path, "splits at the string " + quote(text.value_or("")));
  }
  // These three match every character, so that keeping the matches alone is the same as cutting at them.
  const bool matches_all = *regex == kGpt2 || *regex == kLlama3 || *regex == kQwen2;
  const bool isolated = (behavior == "Isolated" && !invert) || (behavior == "Removed" && invert && matches_all);
  if (!isolated) refuse(path, "splits at " + quote(*regex) + " with behaviour " + quote(behavior) + (invert ? ", inverted" : ""));
  steps.push_back(split(*regex));
}

void append_byte_level(const SortedJson& step, const std::string& path, Steps& steps) {
  if (boolean_member(step, "add_prefix_space").value_or(true)) refuse(path, "puts a space before each text (add_prefix_space)");
  if (boolean_member(step, "use_regex").value_or(true)) steps.push_back(split(kGpt2));
  steps.push_back(kByteLevel);
}

void append_step(const SortedJson& step, const std::string& path, int depth, Steps& steps) {
  constexpr int kDeepest = 4;
  const std::string type = string_member(step, "type").value_or("");
  if (type == "Sequence") {
    const SortedJson& parts = member(step, "pretokenizers");
    if (!parts.is_array() || depth == kDeepest) fail(Code::bad_file, "{}: the pre-tokenizer's sequence makes no sense", path);
    for (const SortedJson& part : parts) append_step(part, path, depth + 1, steps);
  } else if (type == "Split") {
    append_split(step, path, steps);
  } else if (type == "ByteLevel") {
    append_byte_level(step, path, steps);
  } else if (type == "Digits") {
    steps.push_back(boolean_member(step, "individual_digits").value_or(false) ? kDigits : kNumbers);
  } else if (type == "Punctuation" && string_member(step, "behavior") == "Contiguous") {
    steps.push_back(kPunctuation);
  } else {
    refuse(path, "has a step of type " + quote(type));
  }
}

std::string written_out(const Steps& steps) {
  std::string all;
  for (const std::string& step : steps) all += (all.empty() ? "" : ", then ") + quote(step);
  return all;
}

}  // namespace

std::string pretokenizer_name(const SortedJson& pre_tokenizer, bool ignore_merges, const std::string& path) {
  if (!pre_tokenizer.is_object()) {
    fail(Code::unsupported, "{}: has no pre-tokenizer; only byte-level BPE and converted SentencePiece models can be converted", path);
  }
  Steps steps;
  append_step(pre_tokenizer, path, 0, steps);
  for (const Known& candidate : known()) {
    if (candidate.steps != steps || candidate.ignore_merges != ignore_merges) continue;
    if (candidate.caveat != nullptr) log::warning("{}: has Falcon's pre-tokenizer; {}.", path, candidate.caveat);
    return candidate.name;
  }
  refuse(path, "does " + written_out(steps) + (ignore_merges ? " and takes whole words first (ignore_merges)" : ""));
}

}  // namespace skipstone::convert
