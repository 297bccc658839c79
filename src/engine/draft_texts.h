// The user's text files that drafters have their tokens from.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "spec/corpus.h"
#include "text/tokenizer.h"

namespace skipstone::engine {

/// The tokens of a text file, without BOS and EOS. `what` it is for the user: "document". Throws invalid_argument where it cannot be
/// read or is not UTF-8.
std::vector<text::Token> read_text_tokens(const text::Tokenizer& tokenizer, const std::string& file, const std::string& what,
                                          const Progress& progress);

struct IndexedCorpus {
  std::shared_ptr<const spec::Corpus> index;
  CorpusFacts facts;
};

/// Reads, tokenises and indexes `files`. Throws as read_text_tokens(), and where there is no token in them.
IndexedCorpus index_corpus(const text::Tokenizer& tokenizer, const std::vector<std::string>& files, const Progress& progress);

}  // namespace skipstone::engine
