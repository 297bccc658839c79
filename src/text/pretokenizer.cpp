#include "text/pretokenizer.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <cstdint>

#include "base/status.h"

namespace skipstone::text {
namespace {

// GPT-2, released encoder (Radford et al. 2019).
constexpr const char* kGpt2 = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
// Llama 3 (Meta 2024, tokenizer.json); Qwen2 has the same with digits one by one (Qwen team 2024, tokenizer.json).
constexpr const char* kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kQwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

struct Rule {
  std::vector<const char*> names;     // the first is the one we list in messages; the others are the same rule under other names
  std::vector<const char*> patterns;  // each cuts further what the one before left
  bool whole_words = false;
  bool bos = false;
};

const std::vector<Rule>& rules() {
  static const std::vector<Rule> table = {
      // What files without a pre-tokenizer's name are read with.
      {{"default"}, {R"([\p{P}$+<=>^~|]+)", kGpt2, R"(\p{N}+)", "[0-9][0-9][0-9]"}},
      {{"gpt-2", "gpt2", "phi-2", "mpt", "olmo", "jais"}, {kGpt2}},
      {{"llama-bpe", "llama3", "llama-v3", "falcon3"}, {kLlama3}, true, true},
      {{"smaug-bpe", "dbrx"}, {kLlama3}},
      {{"qwen2", "deepseek-r1-qwen", "stablelm2"}, {kQwen2}},
      {{"deepseek-coder"}, {R"([\r\n])", R"(\s?\p{L}+)", R"(\s?\p{P}+)", R"([\x{800}-\x{9FA5}\x{AC00}-\x{D7FF}]+)", R"(\p{N})"}},
      {{"falcon"}, {R"([\p{P}$+<=>^~|`]+)", kGpt2, "[0-9][0-9][0-9]"}},
      {{"starcoder", "refact", "command-r", "codeshell"}, {R"(\p{N})", kGpt2}},
      {{"smollm"}, {R"(\p{N})", kGpt2}},
  };
  return table;
}

const Rule& rule_of(const std::string& name) {
  std::string known;
  for (const Rule& rule : rules()) {
    if (std::find(rule.names.begin(), rule.names.end(), name) != rule.names.end()) return rule;
    known += (known.empty() ? "" : ", ") + std::string(rule.names.front());
  }
  fail(Code::unsupported, "The pre-tokenizer \"{}\" (tokenizer.ggml.pre) is not known to this build; it knows {}.", name, known);
}

std::string message_of(int code) {
  PCRE2_UCHAR buffer[160];
  const int length = pcre2_get_error_message(code, buffer, sizeof buffer);
  return length < 0 ? std::to_string(code) : std::string(reinterpret_cast<const char*>(buffer), static_cast<std::size_t>(length));
}

template <auto Free>
struct Release {
  template <typename T>
  void operator()(T* pointer) const {
    Free(pointer);
  }
};
using CodePointer = std::unique_ptr<pcre2_code, Release<pcre2_code_free>>;
using MatchData = std::unique_ptr<pcre2_match_data, Release<pcre2_match_data_free>>;
using MatchContext = std::unique_ptr<pcre2_match_context, Release<pcre2_match_context_free>>;

// The patterns are ours and none backtracks more than once over a run, so PCRE2's limits, made for patterns from outside, only
// get in the way of long words; memory and time stay linear in the word.
MatchContext unlimited_context() {
  MatchContext context(pcre2_match_context_create(nullptr));
  if (!context) fail(Code::out_of_memory, "No memory for the pre-tokenizer's match context.");
  pcre2_set_match_limit(context.get(), UINT32_MAX);
  pcre2_set_depth_limit(context.get(), UINT32_MAX);
  return context;
}

}  // namespace

struct PreTokenizer::Pattern {
  CodePointer code;

  explicit Pattern(const char* source) {
    int error = 0;
    PCRE2_SIZE offset = 0;
    code.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(source), PCRE2_ZERO_TERMINATED, PCRE2_UTF | PCRE2_UCP, &error, &offset, nullptr));
    if (!code) fail(Code::internal, "The pre-tokenizer pattern {} does not compile: {} at {}.", source, message_of(error), offset);
    // Where there is no JIT (some platforms, hardened kernels), pcre2_match() interprets.
    (void)pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE);
  }

  /// Finds the next match in `text` from `from` on; false where there is none.
  bool find(std::string_view text, std::size_t from, pcre2_match_data* data, pcre2_match_context* context) const {
    const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
    // The text was checked once, on the way in; checking it again at every match would make this quadratic.
    std::uint32_t options = PCRE2_NO_UTF_CHECK;
    int result = pcre2_match(code.get(), subject, text.size(), from, options, data, context);
    if (result == PCRE2_ERROR_JIT_STACKLIMIT) {
      options |= PCRE2_NO_JIT;  // the interpreter keeps its state on the heap
      result = pcre2_match(code.get(), subject, text.size(), from, options, data, context);
    }
    if (result == PCRE2_ERROR_NOMATCH) return false;
    if (result == PCRE2_ERROR_NOMEMORY || result == PCRE2_ERROR_HEAPLIMIT) {
      fail(Code::out_of_memory, "No memory to cut a text of {} bytes into words.", text.size());
    }
    if (result < 0) fail(Code::internal, "The pre-tokenizer failed at byte {} of {}: {}.", from, text.size(), message_of(result));
    return true;
  }

  /// Appends the pieces of `text` to `out`: each match, and what lies between matches.
  void cut(std::string_view text, pcre2_match_data* data, pcre2_match_context* context, std::vector<std::string_view>& out) const {
    const PCRE2_SIZE* bounds = pcre2_get_ovector_pointer(data);
    std::size_t done = 0;
    while (done < text.size() && find(text, done, data, context)) {
      const std::size_t begin = bounds[0];
      const std::size_t end = bounds[1];
      if (end <= begin) fail(Code::internal, "A pre-tokenizer pattern matched nothing at byte {}.", begin);
      if (begin > done) out.push_back(text.substr(done, begin - done));
      out.push_back(text.substr(begin, end - begin));
      done = end;
    }
    if (done < text.size()) out.push_back(text.substr(done));
  }
};

PreTokenizer::PreTokenizer(const std::string& name) {
  const Rule& rule = rule_of(name);
  takes_whole_words_ = rule.whole_words;
  for (const char* source : rule.patterns) patterns_.push_back(std::make_unique<Pattern>(source));
}

PreTokenizer::~PreTokenizer() = default;

bool PreTokenizer::adds_bos_by_default(const std::string& name) { return rule_of(name).bos; }

std::vector<std::string_view> PreTokenizer::split(std::string_view text) const {
  std::vector<std::string_view> pieces;
  if (text.empty()) return pieces;
  pieces.push_back(text);
  const MatchContext context = unlimited_context();
  const MatchData data(pcre2_match_data_create(1, nullptr));  // no groups are asked for: one pair of bounds
  if (!data) fail(Code::out_of_memory, "No memory for the pre-tokenizer's match data.");
  std::vector<std::string_view> next;
  for (const auto& pattern : patterns_) {
    next.clear();
    for (std::string_view piece : pieces) pattern->cut(piece, data.get(), context.get(), next);
    pieces.swap(next);
  }
  return pieces;
}

}  // namespace skipstone::text
