// The state of an Engine, in order of construction; destroyed in reverse.
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
#include "speculation/bigrams.h"

namespace skipstone::engine {

struct Engine::State : DeviceModel {
  std::string pre_tokenizer;                   // chosen instead of the file's; "": the file's
  std::unique_ptr<text::Tokenizer> tokenizer;  ///< null for synthetic models
  std::string fingerprint;
  std::vector<text::ChatTemplate> chat_templates;
  RecommendedSampling sampling;
  std::string profile;  ///< path of a skip set's profile: MODEL.skip.json beside the model; empty for models without a path
  ModelFacts facts;
  Tuning tuning = Tuning::automatic;
  std::unique_ptr<Stages> stages;  ///< the layers on other devices; null if there are none
  bool is_here(std::uint32_t layer) const { return layer < shape.end_of(config.layer_count()); }

  std::mutex pipelines_mutex;  ///< guards the next three members
  std::unique_ptr<exec::PipelineMaker> maker;  ///< makes pipelines for sessions that draft, until a session begins
  std::set<exec::PipelineKey> ready;           ///< pipelines made and run once
  std::vector<exec::SessionPasses> made_for;   ///< passes whose pipelines are all in `ready`

  std::unique_ptr<exec::BatchScheduler> passes;  ///< shared by all sequences
  std::unique_ptr<PrefixCache> prefixes;

  std::mutex costs_mutex;  ///< allows one measurement at a time

  std::mutex corpus_mutex;
  std::vector<std::string> corpus_files;
  IndexedCorpus corpus;  ///< of corpus_files

  std::mutex bigram_mutex;
  std::shared_ptr<const speculation::Bigrams> bigrams;  ///< null until a session requests them
  std::vector<speculation::Token> unigrams;             ///< empty until a session requests them

  std::mutex draft_model_mutex;
  std::string draft_model_file;
  std::weak_ptr<Engine> draft_model;  ///< of draft_model_file, as long as a session drafts with it

  /// Makes the pipelines of exec::session_passes that do not exist yet, and runs each once with `sequence`, so that no round of a text
  /// waits for one; concurrent sequences need those of verification. No pipelines are made in the background after this call.
  void make_pipelines(exec::Executor& sequence, exec::SessionPasses needs, const Progress& progress);
  void end_making();  ///< ends making pipelines in the background
  /// Reads and indexes `files`, unless they are the last requested ones.
  IndexedCorpus corpus_of(const std::vector<std::string>& files, const Progress& progress);
};

}  // namespace skipstone::engine
