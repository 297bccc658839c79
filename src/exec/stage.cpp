#include "exec/stage.h"

#include <algorithm>
#include <iterator>

#include "base/status.h"
#include "exec/kv_bytes.h"
#include "exec/stage_request.h"

namespace skipstone::exec {

Stage::Stage(const std::shared_ptr<vk::Device>& device, kernels::Library& library, const PassBuilder& builder, const model::Config& config,
             const model::Weights& weights, const SequenceShape& shape)
    : device_(device),
      library_(library),
      builder_(builder),
      config_(config),
      weights_(weights),
      shape_(shape),
      cache_(device, config, attention_shape(config, shape), shape.begin, shape.end_of(config.layer_count()), first_pages(config, shape)) {
  runner(0);  // the runner of the engine's sequences: allocates its memory now
}

PassRunner& Stage::runner(std::uint32_t number) {
  std::unique_ptr<PassRunner>& place = runners_[number];
  if (!place) place = std::make_unique<PassRunner>(device_, library_, builder_, config_, weights_, shape_, cache_);
  return *place;
}

void Stage::prepare(std::span<const PassSpec> passes, bool moves) {
  std::vector<kernels::Dispatch> dispatches = distinct_pipelines(builder_, passes);
  if (moves) std::ranges::move(builder_.build_move(), std::back_inserter(dispatches));
  std::erase_if(dispatches, [&](const kernels::Dispatch& dispatch) { return !ready_.insert(pipeline_key(dispatch)).second; });
  if (dispatches.empty()) return;
  const PipelineMaker maker(library_, dispatches);
  const std::uint32_t page = 0;  // its contents are overwritten before they are read: prompts come in order
  runner(0).warm_up(dispatches, {.full = {&page, 1}, .sliding = {&page, 1}}, [](double) {});
  library_.save_cache();
}

void Stage::take(StageMessage& message) {
  switch (message.command) {
    case StageCommand::pass:
      return pass(message);
    case StageCommand::prepare: {
      const SessionPasses needs = prepare_request(message.request);
      return prepare(session_passes(config_.layer_count(), needs), needs.trees);
    }
    case StageCommand::move:
      return move(message);
    case StageCommand::resize:
    case StageCommand::copy: {
      const PagesRequest request = pages_request(message.request);
      KvBuffers& store = request.sliding ? cache_.sliding() : cache_.full();
      return message.command == StageCommand::resize ? store.resize(request.to) : store.copy(request.from, request.to);
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
  const StageWork work = work_of(request.spec, builder_.begin(), builder_.end());
  if (!work.runs()) return;
  PassRunner& runs = runner(request.runner);
  runs.run_leg(request.spec, request.rows(), message.rows, message.cosines);
  if (work.hands_on) return;
  // The rows that the first stage computes the output of.
  if (request.spec.output == Output::none) message.rows.clear();
  if (request.spec.last_row_only && !message.rows.empty()) {
    message.rows.erase(message.rows.begin(), message.rows.end() - static_cast<std::ptrdiff_t>(kernels::padded(config_.width)));
  }
}

void Stage::move(const StageMessage& message) {
  const MoveRequest request = move_request(message.request);
  runner(request.runner).move(request.base, request.path, {.full = request.full, .sliding = request.sliding});
}

void Stage::copy_kv(StageMessage& message) {
  const KvRequest request = kv_request(message.request);
  if (request.layer < builder_.begin() || request.layer >= builder_.end()) return;
  KvBytes cache(device_, attention_shape(config_, shape_), cache_, {request.full, request.sliding, request.left}, request.positions);
  if (message.command == StageCommand::write_kv) {
    cache.write(request.layer, message.bytes);
    message.bytes.clear();
    return;
  }
  message.bytes.resize(cache.layer_bytes(request.layer));
  cache.read(request.layer, message.bytes);
}

}  // namespace skipstone::exec
