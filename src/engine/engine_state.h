// The state of an Engine, in order of construction; destroyed in reverse.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/draft_inputs.h"
#include "engine/engine.h"
#include "engine/model_file.h"
#include "engine/model_loading.h"
#include "engine/shared_caches.h"
#include "engine/stages.h"
#include "exec/executor.h"

namespace skipstone::engine {

/// The contents of the model file besides its weights, and its name.
struct FileContents {
  std::string pre_tokenizer;                   ///< chosen instead of the file's; "": the file's
  std::unique_ptr<text::Tokenizer> tokenizer;  ///< null for synthetic models
  std::string fingerprint, head_fingerprint;   ///< of the model, and of a second file with its heads ("": none)
  std::vector<text::ChatTemplate> chat_templates;
  RecommendedSampling sampling;
  std::string profile;  ///< path of a skip set's profile: MODEL.skip.json beside the model; empty for models without a path
  ModelFacts facts;
};

/// load() writes the members before `passes`; after it they are only read. `stages`, `passes` and `caches` are thread-safe.
struct Engine::State {
  FileContents file;
  std::unique_ptr<const exec::LoadedModel> model;
  MemoryPlan memory;
  Tuning tuning = Tuning::automatic;
  std::unique_ptr<Stages> stages;        ///< the layers on other devices; null if there are none
  std::unique_ptr<exec::Worker> passes;  ///< shared by all sequences
  SharedCaches caches;

  /// As SessionPipelines::make; concurrent sequences need the passes of verification too.
  void make_pipelines(exec::SessionPasses needs, const Progress& progress);
};

}  // namespace skipstone::engine
