// A model's bigram table: made on the device once and stored in the cache folder.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "engine/engine_state.h"
#include "speculation/bigrams.h"

namespace skipstone::engine {

/// Vocabularies reach hundreds of thousands of tokens, and the work for a table grows with them. Byte pairs are numbered in the order in
/// which they were merged, the frequent ones first, so the first tokens are the useful ones.
struct BigramLimits {
  std::uint32_t tokens = 65536;
  std::chrono::seconds time{120};
};

/// The likeliest successors of each of the first tokens, 32 texts of one token in every pass; tokens past the time limit are left out.
speculation::Bigrams make_bigrams(exec::Executor& passes, const model::Config& config, const BigramLimits& limits,
                                  const Progress& progress);

/// The file of a model's table, named after the model's fingerprint. A file that is damaged, or of another model or format version, is
/// treated as missing.
class BigramFile {
 public:
  /// `directory`: "" for no file.
  BigramFile(const std::string& directory, const std::string& fingerprint, std::uint32_t vocabulary);

  /// Null if there is no usable file.
  std::shared_ptr<const speculation::Bigrams> read() const;
  /// Replaces the entire file; a failed write is only logged.
  void write(const speculation::Bigrams& bigrams) const;
  const std::string& path() const { return path_; }

 private:
  std::string path_, fingerprint_;
  std::uint32_t vocabulary_;
};

/// The table from the cache, or made now within BigramLimits. Kept in `state` for the engine's other sessions.
std::shared_ptr<const speculation::Bigrams> bigrams_of(Engine::State& state, const Progress& progress);

/// The tokens that are likely anywhere, ranked by their embeddings (speculation/bigrams.h); made of the first BigramLimits::tokens, once
/// for all sessions of an engine, not stored in a file.
std::vector<speculation::Token> unigrams_of(Engine::State& state, const Progress& progress);

}  // namespace skipstone::engine
