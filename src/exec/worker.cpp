#include "exec/worker.h"

#include "exec/pipeline_runner.h"
#include "exec/sequence_memory.h"
#include "exec/stage_request.h"

namespace skipstone::exec {

Worker::Worker(const LoadedModel& model, StageRing* ring)
    : model_(model), ring_(ring), cache_(model.device, model.config, model.shape), runner_(new_runner()), scheduler_(*runner_) {
  if (ring != nullptr) cache_.add(*ring);
}

std::unique_ptr<Runner> Worker::new_runner() {
  if (ring_ == nullptr) return std::make_unique<LocalRunner>(model_, cache_.buffers());
  return std::make_unique<PipelineRunner>(model_, cache_.buffers(), *ring_);
}

void Worker::run_alone(std::uint32_t positions, const std::function<void(LocalRunner&, const PageLists&)>& work) {
  SequenceMemory pages(cache_);
  pages.reserve(0, positions);
  BatchScheduler::Client client(scheduler_);
  scheduler_.run_alone(client, [&](Runner& runner) { work(runner.local(), pages.lists()); });
}

void Worker::warm_up(const CacheDispatches& dispatches, const std::function<void(double)>& progress) {
  run_alone(1, [&](LocalRunner& runner, const PageLists& pages) { runner.warm_up(dispatches, pages, progress); });
}

// Requests arrive in order: whoever has the page next writes to it before it reads it.
void Worker::prepare_stages(const SessionPasses& needs) {
  if (ring_ == nullptr) return;
  SequenceMemory page(cache_);
  page.reserve(0, 1);
  ring_->post({.command = StageCommand::prepare, .request = prepare_request(needs, page.lists()), .rows = {}, .cosines = {}, .bytes = {}});
}

std::vector<float> Worker::read_embeddings(std::span<const std::int32_t> tokens) {
  std::vector<float> embeddings;  // nothing is stored, but rows need pages
  run_alone(static_cast<std::uint32_t>(tokens.size()),
            [&](LocalRunner& runner, const PageLists& pages) { embeddings = runner.read_embeddings(tokens, pages); });
  return embeddings;
}

}  // namespace skipstone::exec
