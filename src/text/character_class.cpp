#include "text/character_class.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <memory>
#include <string>

#include "base/status.h"
#include "text/utf8.h"

namespace skipstone::text {
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

}  // namespace

bool is_word_character(char32_t c) {
  static const CharacterClass word(R"([\p{L}\p{M}\p{N}\p{Pc}])");
  return word.has(c);
}

bool is_space_character(char32_t c) {
  static const CharacterClass space(R"(\s)");
  return space.has(c);
}

}  // namespace skipstone::text
