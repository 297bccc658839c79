#include "engine/engine.h"

#include "abi/step_state.h"
#include "base/env.h"
#include "base/log.h"
#include "base/status.h"
#include "engine/engine_state.h"
#include "engine/memory_plan.h"
#include "exec/plan.h"

namespace skipstone::engine {
namespace {

void report(const Progress& progress, const char* stage, double done) {
  if (progress) progress(stage, done);
}

std::shared_ptr<vk::Device> open_device(Engine::State& state, const EngineOptions& options) {
  state.instance = vk::Instance::create(options.validation || env::flag("SKIPSTONE_VALIDATION"));
  const auto unsuitable = [&](std::uint32_t index) { return state.instance->unsuitable(index); };
  const std::string wanted = options.device.empty() ? env::get("SKIPSTONE_DEVICE").value_or("") : options.device;
  const vk::Choice choice = vk::choose_device(state.instance->devices(), unsuitable, wanted);
  auto device = vk::Device::create(state.instance, choice.index);
  log::info("device {}: {} ({})", choice.index, device->caps().name, choice.reason);
  return device;
}

// The passes of plain decoding, prompts and verification; skipped ones use the same kernels.
std::vector<exec::PassSpec> usual_passes(const model::Config& config) {
  std::vector<exec::PassSpec> specs;
  for (const std::uint32_t bucket : kernels::row_buckets) {
    exec::PassSpec spec;
    spec.layers = exec::LayerPlan::full(config.layers);
    spec.bucket = bucket;
    spec.last_row_only = bucket > STEP_VERIFY_ROWS;
    spec.attention_cosine = spec.last_row_only;
    specs.push_back(spec);
  }
  return specs;
}

void compile_kernels(Engine::State& state, const Progress& progress) {
  std::vector<kernels::Dispatch> dispatches;
  for (const exec::PassSpec& spec : usual_passes(state.config)) {
    for (kernels::Dispatch& d : state.builder->build(spec).dispatches) dispatches.push_back(std::move(d));
  }
  for (std::size_t i = 0; i < dispatches.size(); ++i) {
    state.library->pipeline(dispatches[i].kernel, dispatches[i].constants);
    report(progress, "compiling kernels", static_cast<double>(i + 1) / static_cast<double>(dispatches.size()));
  }
  state.library->save_cache();
}

}  // namespace

std::vector<DeviceEntry> list_devices(const std::string& wanted) {
  const auto instance = vk::Instance::create(false);
  const auto unsuitable = [&](std::uint32_t index) { return instance->unsuitable(index); };
  std::vector<DeviceEntry> entries;
  for (const vk::Caps& caps : instance->devices()) {
    DeviceEntry entry;
    entry.caps = caps;
    entry.unsuitable = unsuitable(caps.index);
    for (const vk::Quirk& quirk : vk::quirks_for(caps))
      entry.quirks.push_back(quirk.name + ": " + quirk.effect + " (" + quirk.reason + ")");
    entries.push_back(std::move(entry));
  }
  try {
    const vk::Choice choice = vk::choose_device(instance->devices(), unsuitable, wanted);
    for (DeviceEntry& entry : entries) {
      if (entry.caps.index != choice.index) continue;
      entry.chosen = true;
      entry.reason = choice.reason;
    }
  } catch (const Error& error) {
    log::info("no device would be chosen: {}", error.what());
  }
  return entries;
}

std::shared_ptr<Engine> Engine::load(const EngineOptions& options) {
  std::shared_ptr<Engine> engine(new Engine);
  State& state = *engine->state_;
  report(options.progress, "reading model", 0.0);
  const gguf::File file = gguf::File::open(options.model_path);
  state.config = model::Config::from(file);
  const model::ModelTensors tensors = model::find_tensors(file, state.config);
  state.tokenizer = std::make_unique<text::Tokenizer>(text::Vocabulary::from(file));
  if (state.tokenizer->size() > state.config.vocabulary) {
    fail(Code::bad_file, "{}: the tokenizer has {} tokens, but the model only {}", options.model_path, state.tokenizer->size(),
         state.config.vocabulary);
  }
  state.fingerprint = file.fingerprint();
  report(options.progress, "reading model", 1.0);

  state.device = open_device(state, options);
  const vk::Caps& caps = state.device->caps();
  state.select = std::make_unique<kernels::Selector>(caps, state.device->tuning());
  state.layout = model::layout_weights(tensors, caps.max_storage_range);
  state.shape = choose_shape(state.config, options.context, options.kv, state.select->half_kv());
  state.memory = plan_memory(state.config, state.layout, state.shape);
  check_memory(state.memory, state.config, state.shape, caps);

  state.weights =
      std::make_unique<model::Weights>(state.device, state.layout, [&](double done) { report(options.progress, "loading weights", done); });
  for (model::TensorPlace& place : state.layout.tensors) place.source = nullptr;  // the file is closed when this returns
  state.library = std::make_unique<kernels::Library>(state.device, env::cache_directory());
  state.builder = std::make_unique<exec::PassBuilder>(state.config, state.layout, state.shape, *state.select);
  compile_kernels(state, options.progress);
  return engine;
}

Engine::Engine() : state_(std::make_unique<State>()) {}
Engine::~Engine() = default;

const model::Config& Engine::config() const { return state_->config; }
const text::Tokenizer& Engine::tokenizer() const { return *state_->tokenizer; }
const vk::Caps& Engine::device() const { return state_->device->caps(); }
const MemoryPlan& Engine::memory() const { return state_->memory; }
std::uint64_t Engine::device_bytes_held() const { return state_->device->memory_allocated(); }
const std::string& Engine::model_fingerprint() const { return state_->fingerprint; }
std::uint64_t Engine::validation_messages() const { return state_->instance->validation_messages(); }

}  // namespace skipstone::engine
