// What the sessions of an engine share and change after it is loaded. Each part has a lock of its own.
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "engine/draft_inputs.h"
#include "engine/grammar_constraint.h"
#include "engine/prefix_cache.h"
#include "exec/pipelines.h"
#include "exec/worker.h"
#include "speculation/bigrams.h"

namespace skipstone::engine {

/// The pipelines of sessions' passes, made by the first session that needs them. Thread-safe.
class SessionPipelines {
 public:
  /// `model` outlives the pipelines.
  explicit SessionPipelines(const exec::LoadedModel& model) : model_(model) {}

  /// Creates the pipelines of `passes` on threads of its own, until a session begins.
  void make_in_background(const std::vector<exec::PassSpec>& passes);
  void end_background();
  /// Makes the remaining pipelines of `users` and runs each once: some drivers (lavapipe) compile a kernel when it first runs, and
  /// that time is loading, not generating. Only while no session makes any.
  void compile(exec::Worker& worker, const exec::PipelineUsers& users, const char* stage, const Progress& progress);
  /// Makes the pipelines of exec::session_passes that do not exist yet, and runs each once, so that no round of a text waits for one;
  /// remote stages make theirs. No pipelines are made in the background after this call.
  void make(exec::Worker& worker, const exec::SessionPasses& needs, const Progress& progress);

  /// Pipelines that were made and run once.
  std::size_t ready() const;

 private:
  const exec::LoadedModel& model_;
  mutable std::mutex mutex_;
  std::unique_ptr<exec::PipelineMaker> maker_;
  std::set<exec::PipelineKey> ready_;
  std::vector<exec::SessionPasses> made_for_;  ///< passes whose pipelines are all in `ready_`
};

/// The corpus that drafts are looked up in, of the last requested files. Thread-safe.
class SharedCorpus {
 public:
  /// Reads and indexes `files`, unless they are the last requested ones. Throws as index_corpus() does.
  IndexedCorpus of(const text::Tokenizer& tokenizer, const std::vector<std::string>& files, const Progress& progress);

 private:
  std::mutex mutex_;
  std::vector<std::string> files_;
  IndexedCorpus corpus_;  ///< of files_
};

/// Statistics of a model's vocabulary, made by the first session that needs them (bigram_table.h).
struct TokenStatistics {
  std::mutex mutex;
  std::shared_ptr<const speculation::Bigrams> bigrams;  ///< null until a session requests them
  std::vector<speculation::Token> unigrams;             ///< empty until a session requests them
};

/// The second model that drafts, shared by the sessions that draft with it (draft_inputs.h).
struct SharedDraftModel {
  std::mutex mutex;
  std::string file;
  std::weak_ptr<Engine> model;  ///< of `file`, as long as a session uses it
};

/// The costs of the model's passes, once a session or a measurement has them.
struct KnownCosts {
  std::mutex mutex;
  std::shared_ptr<const speculation::RoundCosts> costs;  ///< null: not measured, or nothing looked for them
};

struct SharedCaches {
  std::unique_ptr<SessionPipelines> pipelines;
  std::unique_ptr<PrefixCache> prefixes;
  std::mutex costs;  ///< allows one measurement of the passes' costs at a time
  KnownCosts known_costs;
  SharedCorpus corpus;
  TokenStatistics tokens;
  SharedDraftModel draft_model;
  SharedTokenBytes token_bytes;
};

}  // namespace skipstone::engine
