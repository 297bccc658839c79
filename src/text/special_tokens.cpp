#include "text/special_tokens.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <string>

#include "base/status.h"
#include "gguf/gguf.h"
#include "text/segmenter.h"
#include "text/utf8.h"

namespace skipstone::text {

void SpecialTokens::add(std::string_view written, Token token) {
  std::uint32_t node = 0;
  for (std::size_t i = 0; i < written.size(); ++i) {
    const auto byte = static_cast<unsigned char>(written[i]);
    std::uint32_t& next = i == 0 ? roots_[byte] : edges_[std::uint64_t{node} * 256 + byte];
    if (next == 0) {
      next = static_cast<std::uint32_t>(ends_.size());
      ends_.push_back(-1);
    }
    node = next;
  }
  if (node != 0 && ends_[node] < 0) ends_[node] = token;
}

std::uint32_t SpecialTokens::child(std::uint32_t node, unsigned char byte) const {
  const auto found = edges_.find(std::uint64_t{node} * 256 + byte);
  return found == edges_.end() ? 0 : found->second;
}

bool is_marker(std::string_view written) {
  const bool brackets =
      written.size() > 3 && ((written.front() == '<' && written.back() == '>') || (written.front() == '[' && written.back() == ']'));
  return brackets && written.find_first_of(" \t\n") == std::string_view::npos;
}

namespace {

/// Tests one character at a time; immutable once made.
class CharacterClass {
 public:
  explicit CharacterClass(const char* pattern) {
    int error = 0;
    PCRE2_SIZE offset = 0;
    code_.reset(
        pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern), PCRE2_ZERO_TERMINATED, PCRE2_UTF | PCRE2_UCP, &error, &offset, nullptr));
    if (!code_) fail(Code::internal, "The character class {} does not compile: error {} at {}.", pattern, error, offset);
  }

  bool has(char32_t c) const {
    const std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> data(pcre2_match_data_create(1, nullptr),
                                                                                   pcre2_match_data_free);
    if (!data) fail(Code::out_of_memory, "No memory to look at a character.");
    std::string character;
    append_utf8(character, c);
    const auto* subject = reinterpret_cast<PCRE2_SPTR>(character.data());
    return pcre2_match(code_.get(), subject, character.size(), 0, PCRE2_NO_UTF_CHECK, data.get(), nullptr) >= 0;
  }

 private:
  std::unique_ptr<pcre2_code, decltype(&pcre2_code_free)> code_{nullptr, pcre2_code_free};
};

// Classes of characters as regular expressions have them: \w and \s with Unicode.

/// A letter, mark, number or connector such as the underscore.
bool is_word_character(char32_t c) {
  static const CharacterClass word(R"([\p{L}\p{M}\p{N}\p{Pc}])");
  return word.has(c);
}

bool is_space_character(char32_t c) {
  static const CharacterClass space(R"(\s)");
  return space.has(c);
}

/// Files of these models were made without flags. `name`: part of general.name, in lower case. All special tokens but `except` have `flag`.
/// As in llama.cpp's llama-vocab.cpp (0.7.0); its other rows are for models that do not generate text.
struct NamedModel {
  std::string_view name;
  bool TokenFlags::*flag;
  std::string_view except[3];
};
constexpr NamedModel named_models[] = {{"phi-3", &TokenFlags::strip_right, {"<unk>", "<s>", "<|endoftext|>"}},
                                       {"phi3", &TokenFlags::strip_right, {"<unk>", "<s>", "<|endoftext|>"}}};

void flags_by_name(const std::string& model_name, Vocabulary& v) {
  std::string name = model_name;
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const NamedModel& row : named_models) {
    if (name.find(row.name) == std::string::npos) continue;
    for (std::size_t i = 0; i < v.tokens.size(); ++i) {
      const TokenType type = type_of(v, static_cast<Token>(i));
      const bool special = type == TokenType::control || type == TokenType::user_defined || type == TokenType::unknown;
      const bool excepted = std::find(std::begin(row.except), std::end(row.except), v.tokens[i]) != std::end(row.except);
      if (special && !excepted) v.flags[static_cast<Token>(i)].*row.flag = true;
    }
    return;
  }
}

/// Start of the character in front of `at`; `at` is above 0.
std::size_t before(std::string_view text, std::size_t at) {
  do {
    --at;
  } while (at > 0 && continues_character(text[at]));
  return at;
}

char32_t character_at(std::string_view text, std::size_t at) { return utf8_front(text.substr(at)).code_point; }

}  // namespace

void read_token_flags(const gguf::File& file, Vocabulary& v) {
  bool any = false;
  for (const TokenFlagKey& row : token_flag_keys) {
    if (file.find(row.key) == nullptr) continue;
    any = true;
    for (const std::int32_t id : file.integers(row.key)) {
      if (id < 0 || static_cast<std::size_t>(id) >= v.tokens.size()) {
        fail(Code::bad_file, "{}: {} has {}, but the vocabulary has {} tokens.", file.path(), row.key, id, v.tokens.size());
      }
      v.flags[id].*row.flag = true;
    }
  }
  if (!any) flags_by_name(file.string("general.name", ""), v);
}

bool may_stand(const TokenFlags& flags, std::string_view text, std::size_t begin, std::size_t end) {
  if (!flags.single_word) return true;
  if (begin > 0 && is_word_character(character_at(text, before(text, begin)))) return false;
  return end == text.size() || !is_word_character(character_at(text, end));
}

std::pair<std::size_t, std::size_t> with_spaces_taken(const TokenFlags& flags, std::string_view text, std::size_t from, std::size_t begin,
                                                      std::size_t end) {
  while (flags.strip_left && begin > from && is_space_character(character_at(text, before(text, begin)))) begin = before(text, begin);
  while (flags.strip_right && end < text.size() && is_space_character(character_at(text, end))) end += utf8_front(text.substr(end)).size;
  return {begin, end};
}

}  // namespace skipstone::text
