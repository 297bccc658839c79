// A model's bigram table: made on the device once, and kept in the cache folder.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "engine/engine_state.h"
#include "spec/bigrams.h"

namespace skipstone::engine {

/// Vocabularies grow to hundreds of thousands of tokens; the work of a table grows with them. Byte pairs are numbered in the order in which
/// they were merged, the frequent ones first, so that the first tokens are those worth having.
struct BigramLimits {
  std::uint32_t tokens = 65536;
  std::chrono::seconds time{120};
};

/// The likeliest tokens behind each of the first tokens, 32 texts of one token in every pass; what there is no time for is left out.
spec::Bigrams make_bigrams(exec::Executor& passes, const model::Config& config, const BigramLimits& limits, const Progress& progress);

/// The file of a model's table, named after the model's fingerprint. Damaged, of another model or of another version of the format: as if
/// it were not there.
class BigramFile {
 public:
  /// `directory`: "" for no file at all.
  BigramFile(const std::string& directory, const std::string& fingerprint, std::uint32_t vocabulary);

  /// Null where there is none that can be used.
  std::shared_ptr<const spec::Bigrams> read() const;
  /// Replaces the file as a whole; that it cannot be written is only logged.
  void write(const spec::Bigrams& bigrams) const;
  const std::string& path() const { return path_; }

 private:
  std::string path_, fingerprint_;
  std::uint32_t vocabulary_;
};

/// From the cache, or made now within BigramLimits. Kept in `state` for its other sessions.
std::shared_ptr<const spec::Bigrams> bigrams_of(Engine::State& state, const Progress& progress);

/// The tokens that are likely anywhere, by the embeddings (spec/unigrams.h); made of the first
/// BigramLimits::tokens, once for all sessions of an engine, not kept in a file.
std::vector<spec::Token> unigrams_of(Engine::State& state, const Progress& progress);

}  // namespace skipstone::engine
