#include "text/pretokenizer.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <cstdint>

#include "base/escape.h"
#include "base/poll.h"
#include "base/status.h"
#include "text/utf8.h"

namespace skipstone::text {
namespace {

const PreTokenizerRule* find_rule(const std::string& name) {
  for (const PreTokenizerRule& rule : pretokenizer_rules()) {
    if (std::find(rule.names.begin(), rule.names.end(), name) != rule.names.end()) return &rule;
  }
  return nullptr;
}

const PreTokenizerRule& rule_of(const std::string& name) {
  if (const PreTokenizerRule* rule = find_rule(name)) return *rule;
  fail(Code::unsupported,
       "The pre-tokenizer \"{}\" (tokenizer.ggml.pre) is not known to this build; it knows {}; --pre NAME (pre_tokenizer in the C API) "
       "chooses one of them.",
       shortened(name), PreTokenizer::known_names());
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

// The patterns are our own and none backtracks more than once over a run, so PCRE2's limits, made for untrusted patterns, would only
// reject long words; memory and time stay linear in the word.
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
  CutMode mode;

  explicit Pattern(const Cut& cut) : mode(cut.mode) {
    int error = 0;
    PCRE2_SIZE offset = 0;
    const auto* source = reinterpret_cast<PCRE2_SPTR>(cut.pattern.data());
    code.reset(pcre2_compile(source, cut.pattern.size(), PCRE2_UTF | PCRE2_UCP | PCRE2_USE_OFFSET_LIMIT, &error, &offset, nullptr));
    if (!code) fail(Code::internal, "The pre-tokenizer pattern {} does not compile: {} at {}.", cut.pattern, message_of(error), offset);
    // Without a JIT (some platforms, hardened kernels), pcre2_match() interprets.
    (void)pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE);
  }

  /// Finds the next match in `text` from `from` on; false for none. Searches a stretch at a time, so that a long search can be
  /// cancelled.
  bool find(std::string_view text, std::size_t from, pcre2_match_data* data, pcre2_match_context* context) const {
    constexpr std::size_t stretch = 65536;
    while (text.size() - from > stretch) {
      std::size_t last = from + stretch;
      while (continues_character(text[last])) ++last;  // the text ends with a whole character
      if (begins(text, from, last, data, context)) return true;
      poll(Poll::period / 2);
      from = last;
    }
    return begins(text, from, text.size(), data, context);
  }

  /// Appends the pieces of `text` to `out`: each match as `mode` cuts it, and the text between matches.
  void cut(std::string_view text, pcre2_match_data* data, pcre2_match_context* context, std::vector<std::string_view>& out) const {
    const PCRE2_SIZE* bounds = pcre2_get_ovector_pointer(data);
    Poll* const asking = Poll::current();
    if (asking != nullptr) asking->work(1);
    std::size_t done = 0;  // given out
    std::size_t from = 0;  // searched
    const auto give = [&](std::size_t end) {
      if (end > done) out.push_back(text.substr(done, end - done));
      done = end;
    };
    while (from < text.size() && find(text, from, data, context)) {
      const std::size_t begin = bounds[0];
      const std::size_t end = bounds[1];
      if (asking != nullptr) asking->work(1 + (end - from) / 4);
      if (end <= begin) fail(Code::internal, "A pre-tokenizer pattern matched nothing at byte {}.", begin);
      if (mode != CutMode::threes_inside) give(begin);
      if (mode != CutMode::isolate) {
        for (const std::size_t place : threes(text, begin, end)) give(place);
      }
      if (mode != CutMode::threes_inside) give(end);
      from = end;
    }
    give(text.size());
  }

 private:
  /// Finds the first match that begins from `from` to `last`, both at the start of a character, or at the end.
  bool begins(std::string_view text, std::size_t from, std::size_t last, pcre2_match_data* data, pcre2_match_context* context) const {
    pcre2_set_offset_limit(context, last);
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

  /// Where threes of characters begin that are counted from `end` back to `begin`, in order.
  static std::vector<std::size_t> threes(std::string_view text, std::size_t begin, std::size_t end) {
    std::vector<std::size_t> places;
    std::size_t characters = 0;
    for (std::size_t at = end; at > begin;) {
      do {
        --at;
      } while (at > begin && continues_character(text[at]));
      if (++characters % 3 == 0) places.push_back(at);
    }
    std::reverse(places.begin(), places.end());
    return places;
  }
};

PreTokenizer::PreTokenizer(const std::string& name) {
  const PreTokenizerRule& rule = rule_of(name);
  takes_whole_words_ = rule.whole_words;
  for (const Cut& cut : rule.cuts) patterns_.push_back(std::make_unique<Pattern>(cut));
}

PreTokenizer::~PreTokenizer() = default;

bool PreTokenizer::knows(const std::string& name) { return find_rule(name) != nullptr; }

void PreTokenizer::require(const std::string& name) {
  if (!knows(name)) fail(Code::invalid_argument, "There is no pre-tokenizer \"{}\"; there are {}.", shortened(name), known_names());
}

std::string PreTokenizer::known_names() {
  std::string all;
  for (const PreTokenizerRule& rule : pretokenizer_rules()) {
    for (const std::string& name : rule.names) all += (all.empty() ? "" : ", ") + name;
  }
  return all;
}

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
