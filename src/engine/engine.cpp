#include "engine/engine.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <span>

#include "base/env.h"
#include "base/log.h"
#include "base/platform/paths.h"
#include "base/status.h"
#include "engine/engine_state.h"
#include "engine/math_mode.h"
#include "engine/measurements.h"
#include "engine/memory_plan.h"
#include "engine/read_model.h"
#include "exec/pipelines.h"
#include "exec/plan.h"
#include "model/random_weights.h"
#include "model/synthetic.h"

namespace skipstone::engine {
namespace {

void report(const Progress& progress, const char* stage, double done) {
  if (progress) progress(stage, done);
}

std::shared_ptr<vk::Device> open_device(const EngineOptions& options) {
  const vk::DeviceOptions how{.low_priority = options.low_priority, .memory_limit = options.memory_limit};
  if (options.host) {
    auto device = vk::Device::adopt(*options.host, how);
    log::info("the host's device: {}", device->caps().name);
    return device;
  }
  const auto instance = vk::Instance::create(options.validation || env::flag("SKIPSTONE_VALIDATION"));
  const auto unsuitable = [&](std::uint32_t index) { return instance->unsuitable(index); };
  const std::string wanted = options.device.empty() ? env::get("SKIPSTONE_DEVICE").value_or("") : options.device;
  const vk::ChosenDevice choice = vk::choose_device(instance->devices(), unsuitable, wanted);
  auto device = vk::Device::create(instance, choice.index, how);
  log::info("device {}: {} ({})", choice.index, device->caps().name, choice.reason);
  return device;
}

gguf::File open_model(const EngineOptions& options) {
  if (!options.synthetic.empty()) return model::synthetic_model(options.synthetic);
  return options.model_file ? gguf::File::open(options.model_file) : gguf::File::open(options.model_path);
}

// Makes what is left to make of the pipelines and runs each once with `sequence`: some drivers (lavapipe) compile a kernel when it first
// runs, and that time is loading, not generating.
void compile_kernels(Engine::State& state, exec::Executor& sequence, std::span<const kernels::Dispatch> dispatches, const Progress& progress) {
  sequence.warm_up(dispatches, [&](double done) { report(progress, "compiling kernels", done); });
  report(progress, "compiling kernels", 1.0);
  for (const kernels::Dispatch& dispatch : dispatches) state.ready.insert(exec::pipeline_key(dispatch));
  state.kernel_library->save_cache();
  log::info("{} pipelines, {} of them from the cache", state.kernel_library->size(), state.kernel_library->cache_hits());
}

// A device that has not run such a model before.
void tune_first_use(Engine::State& state, const Progress& progress) {
  try {
    state.select->use(tune_kernels(state, {}, progress).choices);
  } catch (const Error& error) {
    if (error.code() != Code::out_of_memory) throw;
    log::info("kernels are not tuned: {}", error.what());  // what was planned for still fits
  }
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
    const vk::ChosenDevice choice = vk::choose_device(instance->devices(), unsuitable, wanted);
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

std::shared_ptr<Engine> Engine::load(const EngineOptions& options) { return load(options, nullptr); }

std::shared_ptr<Engine> Engine::load_beside(const Engine& other, const EngineOptions& options) { return load(options, other.state_.get()); }

std::shared_ptr<Engine> Engine::load(const EngineOptions& options, const State* beside) {
  std::shared_ptr<Engine> engine(new Engine);
  State& state = *engine->state_;
  report(options.progress, "reading model", 0.0);
  const gguf::File file = open_model(options);
  state.config = model::Config::from(file);
  ReadModel read = read_model(file, state.config, options.pre_tokenizer);
  state.pre_tokenizer = options.pre_tokenizer;
  state.tokenizer = std::move(read.tokenizer);
  state.fingerprint = file.fingerprint();
  state.chat_templates = text::chat_templates(file);
  state.sampling = RecommendedSampling::from(file);
  if (!options.model_path.empty()) state.profile = platform::text_of(platform::path_of(options.model_path).replace_extension(".skip.json"));
  report(options.progress, "reading model", 1.0);

  state.device = beside != nullptr ? beside->device : open_device(options);
  const vk::Caps& caps = state.device->caps();
  state.select = std::make_unique<kernels::Selector>(caps, state.device->tuning());
  state.kernel_library =
      beside != nullptr ? beside->kernel_library : std::make_shared<kernels::Library>(state.device, env::cache_directory());
  state.select->use(beside != nullptr ? beside->select->math() : math_for(options.math, state.device, *state.kernel_library));
  state.layout = model::layout_weights(read.tensors, caps.max_storage_range, state.select->interleave());
  state.shape = choose_shape(state.config, options.context, options.kv, state.select->kv_format());
  state.shape.pool_tokens = options.pool_tokens;
  state.shape.keeps_windows = options.prefixes != PrefixMode::off;
  state.memory = plan_memory(state.config, state.layout, state.shape);
  check_memory(state.memory, state.config, state.shape, *state.device);
  state.builder = std::make_unique<exec::PassBuilder>(state.config, state.layout, state.shape, *state.select);

  const model::ModelSize size = model::model_size(file);
  state.facts = {size.parameters, size.bytes, std::string(gguf::traits(size.type).name), state.layout.bytes_per_token()};

  // Pipelines are made beside the loading of the weights, unless which ones is to be measured with these. Those of drafts and their
  // verification come last, and nobody waits for them here: sessions without do not need them.
  state.tuning = options.tuning;
  const bool measure = options.tuning == Tuning::first_use || (options.tuning == Tuning::automatic && tunes_by_itself(caps));
  const bool known = options.tuning == Tuning::off || take_cached_choices(state) || !measure;
  std::vector<kernels::Dispatch> dispatches;
  const auto make_pipelines = [&] {
    const std::uint32_t layers = state.config.layers;
    std::vector<exec::PassSpec> passes = beside != nullptr ? exec::drafting_passes(layers) : exec::plain_passes(layers);
    dispatches = exec::distinct_pipelines(*state.builder, passes);
    if (beside == nullptr) std::ranges::copy(exec::verification_passes(layers), std::back_inserter(passes));
    state.maker = std::make_unique<exec::PipelineMaker>(*state.kernel_library, exec::distinct_pipelines(*state.builder, passes));
  };
  if (known) make_pipelines();
  model::RandomWeights random(state.device, *state.kernel_library, *state.select);
  state.weights = std::make_unique<model::Weights>(
      state.device, state.layout, [&](double done) { report(options.progress, "loading weights", done); },
      file.has_data() ? nullptr : &random);
  for (model::TensorPlace& place : state.layout.tensors) place.sources.clear();  // the file is closed when this returns
  if (!known) {
    tune_first_use(state, options.progress);
    make_pipelines();
  }
  state.passes = std::make_unique<exec::PassMerger>(state.device, *state.kernel_library, *state.builder, state.config, *state.weights,
                                                    state.shape);
  state.prefixes = std::make_unique<PrefixCache>(state.passes->cache(), options.prefixes);
  exec::Executor sequence(*state.passes);
  compile_kernels(state, sequence, dispatches, options.progress);
  return engine;
}

void Engine::State::make_pipelines(exec::Executor& sequence, exec::SessionPasses needs, const Progress& progress) {
  if (passes->members() > 1) needs.verification = true;  // their rows go side by side
  const std::lock_guard lock(pipelines_mutex);
  if (!needs.verification) maker.reset();
  const auto begun = std::move(maker);  // goes on with what is needed here
  if (std::ranges::any_of(made_for, [&](const exec::SessionPasses& made) { return made.cover(needs); })) return;
  std::vector<kernels::Dispatch> dispatches = exec::distinct_pipelines(*builder, exec::session_passes(config.layers, needs));
  if (needs.trees) std::ranges::move(builder->build_move(), std::back_inserter(dispatches));
  std::erase_if(dispatches, [&](const kernels::Dispatch& dispatch) { return ready.contains(exec::pipeline_key(dispatch)); });
  if (!dispatches.empty()) {
    const exec::PipelineMaker rest(*kernel_library, dispatches);
    compile_kernels(*this, sequence, dispatches, progress);
  }
  made_for.push_back(needs);
}

void Engine::State::end_making() {
  const std::lock_guard lock(pipelines_mutex);
  maker.reset();
}

IndexedCorpus Engine::State::corpus_of(const std::vector<std::string>& files, const Progress& progress) {
  const std::lock_guard lock(corpus_mutex);
  if (!corpus.index || corpus_files != files) {
    if (!tokenizer) fail(Code::unsupported, "{} has no tokenizer, so no corpus can be read", config.name);
    corpus = index_corpus(*tokenizer, files, progress);
    corpus_files = files;
  }
  return corpus;
}

tune::Report Engine::tune(double seconds, const Progress& progress) {
  state_->end_making();
  return tune_kernels(*state_, {.seconds = seconds, .rounds = 15}, progress);
}

exec::CostTable Engine::costs(const Progress& progress) { return costs_of(*state_, progress); }

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
const std::vector<text::ChatTemplate>& Engine::chat_templates() const { return state_->chat_templates; }
const ModelFacts& Engine::facts() const { return state_->facts; }
std::uint32_t Engine::max_rows() const { return STEP_VERIFY_ROWS; }
std::uint64_t Engine::validation_messages() const { return state_->device->instance().validation_messages(); }

}  // namespace skipstone::engine
