#include "exec/stage.h"

#include "base/status.h"
#include "exec/stage_request.h"

namespace skipstone::exec {

Stage::Stage(const LoadedModel& model) : model_(model), cache_(model.device, model.config, model.shape) {
  runner(0);  // the runner of the engine's sequences: allocates its memory now
}

LocalRunner& Stage::runner(std::uint32_t number) {
  std::unique_ptr<LocalRunner>& place = runners_[number];
  if (!place) place = std::make_unique<LocalRunner>(model_, cache_);
  return *place;
}

void Stage::prepare(const PipelineUsers& users, const PageLists& pages) {
  const std::vector<kernels::Dispatch> dispatches = distinct_pipelines(*model_.builder, users, ready_);
  if (dispatches.empty()) return;
  const PipelineMaker maker(*model_.kernel_library, dispatches);
  const auto in_cache = [&](const ByKind<std::uint32_t>& slots) { return distinct_pipelines(*model_.builder, users, ready_, slots); };
  runner(0).warm_up(in_cache, pages, [](double) {});
  for (const kernels::Dispatch& dispatch : dispatches) ready_.insert(pipeline_key(dispatch));
  model_.kernel_library->save_cache();
}

void Stage::prepare(const PipelineUsers& users) {
  const std::uint32_t page = 0;
  prepare(users, by_kind([&](MemoryKind kind) { return PageList{{&page, cache_.slots()[kind] > 0 ? 1u : 0u}}; }));
}

void Stage::take(StageMessage& message) {
  switch (message.command) {
    case StageCommand::pass:
      return pass(message);
    case StageCommand::prepare: {
      const PrepareRequest request = prepare_request(message.request);
      return prepare({session_passes(model_.config.layer_count(), request.needs), request.needs.trees}, request.pages.lists());
    }
    case StageCommand::move:
      return move(message);
    case StageCommand::resize:
    case StageCommand::copy: {
      const PagesRequest request = pages_request(message.request);
      if (message.command == StageCommand::resize) return cache_.resize(request.kind, request.to, request.shortage);
      return cache_.copy(request.kind, request.from, request.to);
    }
    case StageCommand::read_kv:
    case StageCommand::write_kv:
      return copy_kv(message);
    case StageCommand::forget:
      runners_.erase(runner_request(message.request));
      return;
    case StageCommand::state:
    case StageCommand::load:
    case StageCommand::end:
    case StageCommand::failed:
      return;  // these do not concern the layers
  }
}

void Stage::pass(StageMessage& message) {
  const PassRequest request = pass_request(message.request);
  const StageWork work = work_of(request.spec, model_.builder->begin(), model_.builder->end());
  if (!work.runs()) return;
  LocalRunner& runs = runner(request.runner);
  const std::vector<SequenceRows> rows = request.rows();
  runs.begin_pass(request.spec, rows);
  runs.run_layers(request.spec, rows, message.rows, message.cosines, nullptr);
  if (work.hands_on) return;
  // The rows that the first stage computes the output of.
  if (request.spec.output == Output::none) message.rows.clear();
  if (request.spec.last_row_only && !message.rows.empty()) {
    message.rows.erase(message.rows.begin(), message.rows.end() - static_cast<std::ptrdiff_t>(kernels::padded(model_.config.width)));
  }
}

void Stage::move(const StageMessage& message) {
  const MoveRequest request = move_request(message.request);
  runner(request.runner).move(request.base, request.path, request.pages.lists());
}

void Stage::copy_kv(StageMessage& message) {
  const KvRequest request = kv_request(message.request);
  if (request.layer < model_.builder->begin() || request.layer >= model_.builder->end()) return;
  KvBytes cache(cache_, request.pages.lists(), request.positions);
  if (message.command == StageCommand::write_kv) {
    cache.write(request.layer, message.bytes);
    message.bytes.clear();
    return;
  }
  message.bytes.resize(cache.layer_bytes(request.layer));
  cache.read(request.layer, message.bytes);
}

}  // namespace skipstone::exec
