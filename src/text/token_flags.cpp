#include "text/token_flags.h"

#include <algorithm>
#include <cctype>
#include <string>

#include "base/status.h"
#include "gguf/gguf.h"
#include "text/character_class.h"
#include "text/segmenter.h"
#include "text/utf8.h"

namespace skipstone::text {
namespace {

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
