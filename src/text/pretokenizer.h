// Pre-tokenizers of byte-level BPE: regular expressions that cut a text into words before merging, named by tokenizer.ggml.pre.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace skipstone::text {

/// Immutable after construction; safe to use from many threads.
class PreTokenizer {
 public:
  /// Throws Error: unsupported for a name it does not know (naming it and those it knows).
  explicit PreTokenizer(const std::string& name);
  ~PreTokenizer();

  static bool knows(const std::string& name);

  /// For a name that a caller chose: throws invalid_argument with every known name where it is unknown.
  static void require(const std::string& name);

  /// Every name, as the table has them, separated by ", ".
  static std::string known_names();

  /// Whether files with the pre-tokenizer `name` start texts with BOS when they lack tokenizer.ggml.add_bos_token. Throws as above.
  static bool adds_bos_by_default(const std::string& name);

  /// Whether a word that is itself a token is taken without merging (the `ignore_merges` of Llama 3).
  bool takes_whole_words() const { return takes_whole_words_; }

  /// The words of `text` (well-formed UTF-8) in order; joined they are `text`.
  std::vector<std::string_view> split(std::string_view text) const;

 private:
  struct Pattern;
  std::vector<std::unique_ptr<Pattern>> patterns_;
  bool takes_whole_words_ = false;
};

// ---- the table: the names in tokenizer.ggml.pre, and how each rule cuts ----

/// How the matches of a pattern are cut. The text between matches stays as it is.
enum class CutMode {
  isolate,        ///< each match is a piece
  threes,         ///< each match, a run of digits, is cut in threes counted from its end: 12345 is 12, 345
  threes_inside,  ///< only the places between those threes are cut; 12345 in x12345 gives x12, 345
};

struct Cut {
  std::string pattern;  ///< of PCRE2 with UTF and UCP; never matches the empty string
  CutMode mode = CutMode::isolate;
};

struct PreTokenizerRule {
  std::vector<std::string> names;  ///< of tokenizer.ggml.pre; the first is the one that converted files get
  std::vector<Cut> cuts;           ///< each cuts the pieces of the previous one further
  bool whole_words = false;        ///< a word that is itself a token is not merged (`ignore_merges`)
  bool bos = false;                ///< texts start with BOS where a file does not say
  /// The steps as tokenizer.json files write them, where `cuts` says the same in another way; alternatives.
  std::vector<std::vector<std::string>> written = {};
  const char* caveat = nullptr;  ///< how `cuts` differ from the `written` steps
};

/// Every rule; names are unique.
const std::vector<PreTokenizerRule>& pretokenizer_rules();

}  // namespace skipstone::text
