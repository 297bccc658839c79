#include "engine/shared_caches.h"

#include <algorithm>
#include <iterator>

#include "base/log.h"

namespace skipstone::engine {

void SessionPipelines::make_in_background(const std::vector<exec::PassSpec>& passes) {
  maker_ = std::make_unique<exec::PipelineMaker>(*model_.kernel_library, exec::distinct_pipelines(*model_.builder, {passes}));
}

void SessionPipelines::end_background() {
  const std::lock_guard lock(mutex_);
  maker_.reset();
}

void SessionPipelines::compile(exec::Worker& worker, const exec::PipelineUsers& users, const char* stage, const Progress& progress) {
  const auto in_cache = [&](const exec::ByKind<std::uint32_t>& slots) {
    return exec::distinct_pipelines(*model_.builder, users, ready_, slots);
  };
  worker.warm_up(in_cache, [&](double done) { report(progress, stage, done); });
  report(progress, stage, 1.0);
  for (const kernels::Dispatch& dispatch : in_cache({})) ready_.insert(exec::pipeline_key(dispatch));
  model_.kernel_library->save_cache();
  log::info("{} pipelines, {} of them from the cache", model_.kernel_library->size(), model_.kernel_library->cache_hits());
}

void SessionPipelines::make(exec::Worker& worker, const exec::SessionPasses& needs, const Progress& progress) {
  const auto lock = locked(mutex_, progress);
  if (!needs.verification) maker_.reset();
  const auto begun = std::move(maker_);  // continues with the pipelines needed here
  if (std::ranges::any_of(made_for_, [&](const exec::SessionPasses& made) { return made.cover(needs); })) return;
  worker.prepare_stages(needs);
  exec::PipelineUsers users{exec::session_passes(model_.config.layer_count(), needs), needs.trees};
  if (worker.has_remote_layers()) exec::add_way_back(users.passes);
  if (needs.verification && !model_.config.prediction_layers.empty())
    std::ranges::copy(exec::prediction_passes(needs), std::back_inserter(users.passes));
  if (const auto dispatches = exec::distinct_pipelines(*model_.builder, users, ready_); !dispatches.empty()) {
    const exec::PipelineMaker rest(*model_.kernel_library, dispatches);
    compile(worker, users, needs.verification ? "compiling kernels of drafts" : "compiling kernels", progress);
  }
  made_for_.push_back(needs);
}

std::size_t SessionPipelines::ready() const {
  const std::lock_guard lock(mutex_);
  return ready_.size();
}

IndexedCorpus SharedCorpus::of(const text::Tokenizer& tokenizer, const std::vector<std::string>& files, const Progress& progress) {
  const auto lock = locked(mutex_, progress);
  if (!corpus_.index || files_ != files) {
    corpus_ = index_corpus(tokenizer, files, progress);
    files_ = files;
  }
  return corpus_;
}

}  // namespace skipstone::engine
