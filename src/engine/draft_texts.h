// The user's text files that drafters take tokens from.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "speculation/corpus.h"
#include "text/tokenizer.h"

namespace skipstone::engine {

/// The tokens of a text file, without BOS and EOS. `what`: the user's name for it, as "document". Throws invalid_argument if it cannot be
/// read or is not UTF-8.
std::vector<text::Token> read_text_tokens(const text::Tokenizer& tokenizer, const std::string& file, const std::string& what,
                                          const Progress& progress);

struct IndexedCorpus {
  std::shared_ptr<const speculation::Corpus> index;
  CorpusFacts facts;
};

/// Reads, tokenises and indexes `files`. Throws as read_text_tokens() does, and if they contain no token.
IndexedCorpus index_corpus(const text::Tokenizer& tokenizer, const std::vector<std::string>& files, const Progress& progress);

}  // namespace skipstone::engine
