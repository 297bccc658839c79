// Aggressive decoding: the text is expected to be much like a document, so the document is the draft.
// Sun et al., "Instantaneous Grammatical Error Correction with Shallow Aggressive Decoding", ACL 2021 (arXiv 2106.04970); Ge et al.,
// "Lossless Acceleration for Seq2seq Generation with Aggressive Decoding", 2022 (arXiv 2205.10350).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "speculation/drafter.h"
#include "speculation/options.h"
#include "speculation/text_index.h"

namespace skipstone::speculation {

struct CopyParams {
  std::string file;
  std::uint32_t drafts = 15;
  std::uint32_t max = 8, min = 1;  ///< tokens that have to match for the document to be taken up again
};

/// Where in a document a text is that follows it with differences.
class CopyPlace {
 public:
  CopyPlace(std::span<const Token> document, std::uint32_t max, std::uint32_t min);

  /// The text is to begin with the document's first token.
  void begin();
  /// `text` has one token more than at the last call, or than at begin().
  void follow(std::span<const Token> text);
  /// The document's continuation; empty where it has ended, or the text left it and was not found in it again.
  std::span<const Token> rest() const;
  /// How many tokens have matched in a row.
  std::uint32_t matched() const { return matched_; }

 private:
  Occurrences document_;
  std::uint32_t max_, min_;
  std::uint32_t next_ = 0;  ///< the place that is expected next
  std::uint32_t matched_ = 0;
  bool lost_ = false;
};

}  // namespace skipstone::speculation
