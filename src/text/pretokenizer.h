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

  /// Every name, as the table (pretokenizer_rules.h) has them, separated by ", ".
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

}  // namespace skipstone::text
