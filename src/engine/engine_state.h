// What an Engine holds, in the order in which it is made; destroyed in reverse.
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "engine/device_model.h"
#include "engine/draft_texts.h"
#include "engine/engine.h"
#include "engine/recommended_sampling.h"
#include "engine/stages.h"
#include "exec/executor.h"
#include "exec/pipelines.h"
#include "spec/bigrams.h"

namespace skipstone::engine {

struct Engine::State : DeviceModel {
  std::string pre_tokenizer;                   // that was chosen instead of the file's
  std::unique_ptr<text::Tokenizer> tokenizer;  ///< null for synthetic models
  std::string fingerprint;
  std::vector<text::ChatTemplate> chat_templates;
  RecommendedSampling sampling;
  std::string profile;  ///< where a skip set's profile would lie: MODEL.skip.json beside the model; empty for models without a path
  ModelFacts facts;
  Tuning tuning = Tuning::automatic;
  std::unique_ptr<Stages> stages;  ///< the layers on other devices; null where there are none
  bool is_here(std::uint32_t layer) const { return layer < shape.end_of(config.layers); }

  std::mutex pipelines_mutex;  ///< of the next three
  std::unique_ptr<exec::PipelineMaker> maker;  ///< makes what sessions that draft will need, until a session begins
  std::set<exec::PipelineKey> ready;           ///< made, and run once
  std::vector<exec::SessionPasses> made_for;   ///< all of whose pipelines are among them

  std::unique_ptr<exec::PassMerger> passes;  ///< of all sequences
  std::unique_ptr<PrefixCache> prefixes;

  std::mutex costs_mutex;  ///< one measurement at a time

  std::mutex corpus_mutex;
  std::vector<std::string> corpus_files;
  IndexedCorpus corpus;  ///< of corpus_files

  std::mutex bigram_mutex;
  std::shared_ptr<const spec::Bigrams> bigrams;  ///< where a session asked for them
  std::vector<spec::Token> unigrams;             ///< likewise

  std::mutex draft_model_mutex;
  std::string draft_model_file;
  std::weak_ptr<Engine> draft_model;  ///< from draft_model_file, for as long as a session drafts with it

  /// Makes the pipelines of exec::session_passes that nobody has made yet, and runs each once with `sequence`, so that no round of a text
  /// waits for one; a sequence in company needs those of verification. Behind it nothing is made in the background.
  void make_pipelines(exec::Executor& sequence, exec::SessionPasses needs, const Progress& progress);
  void end_making();  ///< of pipelines in the background
  /// Reads and indexes `files`, unless they were the last ones asked for.
  IndexedCorpus corpus_of(const std::vector<std::string>& files, const Progress& progress);
};

}  // namespace skipstone::engine
