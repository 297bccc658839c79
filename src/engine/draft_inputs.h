// What drafters take besides the model: a second, smaller model of the same vocabulary (two-model speculation, arXiv 2211.17192), whose
// weights, keys and values are on the same device as the target's; and the user's text files.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "exec/executor.h"
#include "speculation/corpus.h"
#include "text/tokenizer.h"

namespace skipstone::engine {

/// The model of `file`, loaded beside `target`; the one that a session of `target` has loaded already, if it is the same file. Throws
/// bad_file if the file is missing, damaged or not supported, invalid_argument if the vocabularies differ, if it was trained for a shorter
/// context than `target` has, or if it does not fit beside it; all messages name the drafter.
std::shared_ptr<Engine> load_draft_model(Engine& target, const std::string& file, const Progress& progress);

/// A draft model that follows one text.
class DraftModel {
 public:
  explicit DraftModel(std::shared_ptr<Engine> model);

  /// Runs the model over the unread tokens of `text` (at least one token, within the context) and over its last token in any case. The
  /// `output` after that token is row 0 of the returned executor. `text` may share any prefix with the text that was read before.
  exec::Executor& follow(std::span<const speculation::Token> text, exec::Output output);
  /// As exec::Executor::set_slicer().
  void set_slicer(exec::PassSlicer* slicer) { passes_.set_slicer(slicer); }
  /// The next text is read from its first token on.
  void forget() { read_.clear(); }

 private:
  std::shared_ptr<Engine> model_;
  exec::Executor passes_;
  std::vector<speculation::Token> read_;  ///< tokens whose keys and values are in the cache
};

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
