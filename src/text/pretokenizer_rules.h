// The table of pre-tokenizers: the names in tokenizer.ggml.pre, and how each rule cuts.
#pragma once

#include <string>
#include <vector>

namespace skipstone::text {

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
