#include "engine/engine.h"

#include <algorithm>
#include <iterator>

#include "abi/step_state.h"
#include "base/env.h"
#include "base/log.h"
#include "base/status.h"
#include "engine/engine_state.h"
#include "engine/memory_plan.h"
#include "exec/plan.h"
#include "model/random_weights.h"
#include "model/synthetic.h"

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

// Makes every pipeline that decoding, verification and prompts use, and runs each once over a single layer: some drivers (lavapipe) compile
// a kernel when it first runs, and that time is loading, not generating. Models whose layers differ in format compile the rest on first
// use.
void compile_kernels(Engine::State& state, const Progress& progress) {
  constexpr std::uint32_t buckets[] = {1, 2, 4, 8, 16, 32, 64};  // larger ones use the kernels of the last
  state.spare = state.new_executor();
  for (std::size_t i = 0; i < std::size(buckets); ++i) {
    exec::PassSpec spec;
    spec.layers = exec::LayerPlan::full(state.config.layers);
    spec.layers.end = 1;
    spec.bucket = buckets[i];
    spec.last_row_only = spec.attention_cosine = buckets[i] > STEP_VERIFY_ROWS;
    spec.keep_after = buckets[i] == 1 ? 1 : 0;
    const std::vector<std::int32_t> tokens(std::min(buckets[i], state.shape.context), 0);
    state.spare->run(spec, tokens, 0);
    report(progress, "compiling kernels", static_cast<double>(i + 1) / static_cast<double>(std::size(buckets)));
  }
  state.kernel_library->save_cache();
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
  const gguf::File file = options.synthetic.empty() ? gguf::File::open(options.model_path) : model::synthetic_model(options.synthetic);
  state.config = model::Config::from(file);
  const model::ModelTensors tensors = model::find_tensors(file, state.config);
  if (file.has_data()) state.tokenizer = std::make_unique<text::Tokenizer>(text::Vocabulary::from(file));
  if (state.tokenizer && state.tokenizer->size() > state.config.vocabulary) {
    fail(Code::bad_file, "{}: the tokenizer has {} tokens, but the model only {}", options.model_path, state.tokenizer->size(),
         state.config.vocabulary);
  }
  state.fingerprint = file.fingerprint();
  report(options.progress, "reading model", 1.0);

  state.device = open_device(state, options);
  const vk::Caps& caps = state.device->caps();
  state.select = std::make_unique<kernels::Selector>(caps, state.device->tuning());
  state.layout = model::layout_weights(tensors, caps.max_storage_range, state.select->interleave());
  state.shape = choose_shape(state.config, options.context, options.kv, state.select->half_kv());
  state.memory = plan_memory(state.config, state.layout, state.shape);
  check_memory(state.memory, state.config, state.shape, caps);

  const model::ModelSize size = model::model_size(file);
  state.facts = {size.parameters, size.bytes, std::string(gguf::traits(size.type).name), state.layout.bytes_per_token()};

  state.kernel_library = std::make_unique<kernels::Library>(state.device, env::cache_directory());
  model::RandomWeights random(state.device, *state.kernel_library, *state.select);
  state.weights = std::make_unique<model::Weights>(
      state.device, state.layout, [&](double done) { report(options.progress, "loading weights", done); },
      file.has_data() ? nullptr : &random);
  for (model::TensorPlace& place : state.layout.tensors) place.sources.clear();  // the file is closed when this returns
  state.builder = std::make_unique<exec::PassBuilder>(state.config, state.layout, state.shape, *state.select);
  compile_kernels(state, options.progress);
  return engine;
}

std::unique_ptr<exec::Executor> Engine::State::new_executor() {
  return std::make_unique<exec::Executor>(device, *kernel_library, *builder, config, *weights, shape);
}

Engine::Engine() : state_(std::make_unique<State>()) {}
Engine::~Engine() = default;

const model::Config& Engine::config() const { return state_->config; }
const text::Tokenizer& Engine::tokenizer() const {
  if (!state_->tokenizer) fail(Code::unsupported, "{} has no tokenizer: it takes tokens, not text", state_->config.name);
  return *state_->tokenizer;
}
bool Engine::has_tokenizer() const { return state_->tokenizer != nullptr; }
const vk::Caps& Engine::device() const { return state_->device->caps(); }
const MemoryPlan& Engine::memory() const { return state_->memory; }
std::uint64_t Engine::device_bytes_held() const { return state_->device->memory_allocated(); }
const std::string& Engine::model_fingerprint() const { return state_->fingerprint; }
const ModelFacts& Engine::facts() const { return state_->facts; }
std::uint32_t Engine::max_rows() const { return STEP_VERIFY_ROWS; }
std::uint64_t Engine::validation_messages() const { return state_->instance->validation_messages(); }

}  // namespace skipstone::engine
