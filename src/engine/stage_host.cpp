#include "engine/stage_host.h"

#include <fmt/format.h>

#include <exception>
#include <utility>

#include "base/commit.h"
#include "base/env.h"
#include "base/log.h"
#include "base/platform/files.h"
#include "base/status.h"
#include "engine/measurements.h"
#include "exec/pipelines.h"

namespace skipstone::engine {

using exec::StageCommand;
using exec::StageMessage;

std::string stage_build() { return fmt::format("{} {} {:016x}", SKIPSTONE_VERSION, commit(), kernels::shader_hash()); }

StageHost::StageHost(EngineOptions options, std::uint32_t number, std::string place, std::uint32_t sharers)
    : options_(std::move(options)), number_(number), sharers_(sharers), place_(std::move(place)) {}

void StageHost::serve(exec::Link& in, exec::Link& out) {
  for (;;) {
    StageMessage message = in.receive();
    const StageCommand command = message.command;
    try {
      take(message);
    } catch (const Error& error) {
      message = exec::failure(error.code(), fmt::format("{}: {}", place_, error.what()));
    } catch (const std::bad_alloc&) {
      message = exec::failure(Code::out_of_memory, fmt::format("{}: the system has no memory left", place_));
    } catch (const std::exception& error) {
      message = exec::failure(Code::internal, fmt::format("{}: {}", place_, error.what()));
    }
    out.send(std::move(message));
    if (command == StageCommand::end) return;
  }
}

void StageHost::take(StageMessage& message) {
  switch (message.command) {
    case StageCommand::state: {
      open();
      const std::string line = described();
      const auto bytes = std::as_bytes(std::span(line));
      message.bytes.insert(message.bytes.end(), bytes.begin(), bytes.end());
      return;
    }
    case StageCommand::load:
      open();
      return load(setup_from({reinterpret_cast<const char*>(message.request.data()), message.request.size()}));
    case StageCommand::end:
    case StageCommand::failed:
      return;
    default:
      if (!stage_) fail(Code::internal, "no layers are loaded");
      return stage_->take(message);
  }
}

void StageHost::open() {
  if (!model_.device) model_.device = open_device(options_);
}

std::string StageHost::described() const {
  const vk::Caps& caps = model_.device->caps();
  return to_json({.place = place_,
                  .device = caps.name,
                  .driver = driver_of(caps),
                  .build = stage_build(),
                  .available = available_to(*model_.device, sharers_),
                  .available_alone = available_alone_to(*model_.device, sharers_),
                  .begin = model_.shape.begin,
                  .end = model_.shape.end,
                  .weights = memory_.weights,
                  .kv = memory_.kv,
                  .activations = memory_.activations,
                  .held = model_.device->memory_allocated(),
                  .validation_messages = model_.device->instance().validation_messages(),
                  .of_system = caps.shares_system_memory(),
                  .experts_on_host = memory_.experts_on_host,
                  .host_weights = memory_.host_weights,
                  .host_held = model_.device->host_memory_allocated()});
}

void StageHost::load(const StageSetup& setup) {
  if (number_ >= setup.ends.size()) fail(Code::internal, "there is no stage {} among {}", number_, setup.ends.size());
  if (!options_.model_file) {
    options_.model_path = setup.model;
    options_.synthetic = setup.synthetic;
  }
  options_.mtp_path = setup.mtp;
  const gguf::File file = open_model(options_);
  if (file.fingerprint() != setup.fingerprint) fail(Code::invalid_argument, "'{}' is another model there", setup.model);
  if (file.joined_fingerprint() != setup.head_fingerprint) fail(Code::invalid_argument, "'{}' is another head there", setup.mtp);
  model_.config = model::Config::from(file);
  model::ModelTensors tensors = model::find_tensors(file, model_.config);
  model::keep_heads(model_.config, tensors, 0);
  const vk::Caps& caps = model_.device->caps();
  model_.select = std::make_unique<kernels::Selector>(caps, model_.device->tuning());
  model_.kernel_library = std::make_shared<kernels::Library>(model_.device, env::cache_directory());
  model_.select->use(math_for(setup.matrix ? MathMode::matrix : MathMode::f32, model_.device, *model_.kernel_library));
  model_.layout = model::layout_weights(model_.config, tensors, caps.max_storage_range, model_.select->interleave());
  model_.shape = setup.shape;
  model_.shape.begin = setup.ends[number_ - 1];
  model_.shape.end = setup.ends[number_];
  model_.layout.keep_experts_on_host(setup.experts_on_host);
  model_.layout.keep_layers(model_.shape.begin, model_.shape.end);
  memory_ = plan_memory(model_.config, model_.layout, model_.shape);
  check_memory(memory_, model_.config, model_.shape, *model_.device);
  model_.builder = std::make_unique<exec::PassBuilder>(model_.config, model_.layout, model_.shape, *model_.select);
  if (setup.tuned) take_cached_choices(model_);
  load_weights(model_, file, {});
  stage_ = std::make_unique<exec::Stage>(model_);
  stage_->prepare({exec::plain_passes(model_.config.layer_count())});
  log::info("{}: {} has layers {} to {}", place_, caps.name, model_.shape.begin, model_.shape.end - 1);
}

}  // namespace skipstone::engine
