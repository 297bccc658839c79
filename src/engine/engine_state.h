// What an Engine holds, in the order in which it is made; destroyed in reverse.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/draft_texts.h"
#include "engine/engine.h"
#include "exec/executor.h"
#include "exec/pass_builder.h"
#include "gguf/gguf.h"
#include "kernels/library.h"
#include "kernels/selector.h"
#include "model/weights.h"
#include "spec/bigrams.h"
#include "vk/device.h"

namespace skipstone::engine {

struct Engine::State {
  model::Config config;
  std::unique_ptr<text::Tokenizer> tokenizer;  ///< null for synthetic models
  std::string fingerprint;
  ModelFacts facts;
  std::shared_ptr<vk::Instance> instance;
  std::shared_ptr<vk::Device> device;
  std::unique_ptr<kernels::Selector> select;
  std::unique_ptr<kernels::Library> kernel_library;
  model::WeightLayout layout;  ///< its tensor sources point into the file and are not used after load
  exec::SequenceShape shape;
  MemoryPlan memory;
  std::unique_ptr<model::Weights> weights;
  std::unique_ptr<exec::PassBuilder> builder;
  std::unique_ptr<exec::Executor> spare;  ///< a sequence's buffers that loading has used already: for the first session

  std::mutex corpus_mutex;
  std::vector<std::string> corpus_files;
  IndexedCorpus corpus;  ///< of corpus_files

  std::mutex bigram_mutex;
  std::shared_ptr<const spec::Bigrams> bigrams;  ///< where a session asked for them
  std::vector<spec::Token> unigrams;             ///< likewise

  std::unique_ptr<exec::Executor> new_executor();
  /// Reads and indexes `files`, unless they were the last ones asked for.
  IndexedCorpus corpus_of(const std::vector<std::string>& files, const Progress& progress);
};

}  // namespace skipstone::engine
