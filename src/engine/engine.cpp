#include "engine/engine.h"

#include <fmt/format.h>

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
#include "engine/model_file.h"
#include "engine/stage_host.h"
#include "exec/pipelines.h"
#include "exec/plan.h"
#include "exec/stage_request.h"
#include "model/synthetic.h"

namespace skipstone::engine {
namespace {

// Makes the remaining pipelines and runs each once with `sequence`: some drivers (lavapipe) compile a kernel when it first runs, and that
// time is loading, not generating.
void compile_kernels(Engine::State& state, exec::Executor& sequence, std::span<const kernels::Dispatch> dispatches,
                     const Progress& progress) {
  sequence.warm_up(dispatches, [&](double done) { report(progress, "compiling kernels", done); });
  report(progress, "compiling kernels", 1.0);
  for (const kernels::Dispatch& dispatch : dispatches) state.ready.insert(exec::pipeline_key(dispatch));
  state.kernel_library->save_cache();
  log::info("{} pipelines, {} of them from the cache", state.kernel_library->size(), state.kernel_library->cache_hits());
}

/// Opens the stages after the first one, if layers are to be on several devices; returns the request for each stage.
std::vector<StageWish> open_stages(Engine::State& state, const EngineOptions& options) {
  if (options.devices.empty()) return {};
  if (options.host)
    fail(Code::invalid_argument, "layers on several devices and the program's own Vulkan device are two ways to choose a device; take one");
  if (names_ranks(options.devices)) {
    if (!options.job)
      fail(Code::invalid_argument, "--devices {} needs ranks: start the program with mpirun -n 2 or more, in a build with SKIPSTONE_MPI",
           options.devices);
    std::vector<StageWish> ranks = parse_ranks(options.devices, options.job->ranks, options.job->device);
    state.stages = std::make_unique<Stages>(options.job->link_to_second(std::chrono::microseconds(options.transfer_microseconds)),
                                            options.job->link_from_last(), options.transfer_microseconds);
    return ranks;
  }
  std::vector<StageWish> wishes = parse_devices(options.devices, env::flag("SKIPSTONE_SAME_DEVICE"));
  if (wishes.size() == 1) fail(Code::invalid_argument, "--devices {} names one device; take --device for that", options.devices);
  state.stages = std::make_unique<Stages>(options, wishes);
  return wishes;
}

/// Distributes the layers, keeps those of the first stage in `state`, and sends the other stages theirs.
void share_layers(Engine::State& state, const EngineOptions& options, std::span<const StageWish> wishes) {
  const StageNeeds needs = stage_needs(state.config, state.layout, state.shape);
  const bool ranks = options.job && names_ranks(options.devices);
  const std::uint32_t sharers = ranks ? options.job->sharers : static_cast<std::uint32_t>(wishes.size());
  const std::string first = ranks ? "rank 0" : fmt::format("device {}", wishes.front().device);
  std::vector<StageDevice> devices{{first, available_to(*state.device, sharers), wishes.front().layers}};
  const std::vector<StageState> others = state.stages->states();
  for (std::size_t i = 0; i < others.size(); ++i) devices.push_back({others[i].place, others[i].available, wishes[i + 1].layers});
  StageSetup setup;
  setup.ends = plan_stages(needs, devices);
  setup.shape = state.shape;
  setup.matrix = state.select->math() == kernels::Math::matrix;
  setup.tuned = options.tuning != Tuning::off;
  setup.fingerprint = state.fingerprint;
  setup.model = options.model_path;
  setup.synthetic = options.synthetic;
  state.stages->load(setup);
  state.shape.begin = 0;
  state.shape.end = setup.ends.front();
  state.layout.keep_layers(0, state.shape.end);
}

// Tunes the kernels on a device that has not run such a model before.
void tune_first_use(Engine::State& state, const Progress& progress) {
  try {
    state.select->use(tune_kernels(state, {}, progress).choices);
  } catch (const Error& error) {
    if (error.code() != Code::out_of_memory) throw;
    log::info("kernels are not tuned: {}", error.what());  // the planned allocations still fit
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
  ModelFile read = load_model_file(file, state.config, options.pre_tokenizer);
  state.pre_tokenizer = options.pre_tokenizer;
  state.tokenizer = std::move(read.tokenizer);
  state.fingerprint = file.fingerprint();
  state.chat_templates = text::chat_templates(file);
  state.sampling = RecommendedSampling::from(file);
  if (!options.model_path.empty()) state.profile = platform::text_of(platform::path_of(options.model_path).replace_extension(".skip.json"));
  report(options.progress, "reading model", 1.0);

  EngineOptions first = options;
  const std::vector<StageWish> wishes = open_stages(state, options);
  if (!wishes.empty()) first.device = wishes.front().device;
  state.device = beside != nullptr ? beside->device : open_device(first);
  const vk::Caps& caps = state.device->caps();
  state.select = std::make_unique<kernels::Selector>(caps, state.device->tuning());
  state.kernel_library =
      beside != nullptr ? beside->kernel_library : std::make_shared<kernels::Library>(state.device, env::cache_directory());
  state.select->use(beside != nullptr ? beside->select->math() : math_for(options.math, state.device, *state.kernel_library));
  state.layout = model::layout_weights(state.config, read.tensors, caps.max_storage_range, state.select->interleave());
  state.shape = choose_shape(state.config, options.context, options.kv, state.select->kv_format());
  state.shape.pool_tokens = options.pool_tokens;
  state.shape.keeps_windows = options.prefixes != PrefixMode::off;
  const std::uint64_t bytes_per_token = state.layout.bytes_per_token();
  if (state.stages) share_layers(state, options, wishes);
  state.memory = plan_memory(state.config, state.layout, state.shape);
  check_memory(state.memory, state.config, state.shape, *state.device);
  state.builder = std::make_unique<exec::PassBuilder>(state.config, state.layout, state.shape, *state.select);

  const model::ModelSize size = model::model_size(file);
  state.facts = {size.parameters, size.bytes, std::string(gguf::traits(size.type).name), bytes_per_token};

  // Pipelines are made while the weights load, unless tuning with these weights has to choose them first. Those of drafts and their
  // verification come last, and load() does not wait for them: sessions that do not draft do not need them.
  state.tuning = options.tuning;
  const bool measure = options.tuning == Tuning::first_use || (options.tuning == Tuning::automatic && tunes_by_itself(caps));
  const bool known = options.tuning == Tuning::off || take_cached_choices(state) || !measure;
  std::vector<kernels::Dispatch> dispatches;
  const auto make_pipelines = [&] {
    const std::uint32_t layers = state.config.layer_count();
    std::vector<exec::PassSpec> passes = beside != nullptr ? exec::drafting_passes(layers) : exec::plain_passes(layers);
    if (state.stages) exec::add_way_back(passes);
    dispatches = exec::distinct_pipelines(*state.builder, passes);
    if (beside == nullptr) std::ranges::copy(exec::verification_passes(layers), std::back_inserter(passes));
    state.maker = std::make_unique<exec::PipelineMaker>(*state.kernel_library, exec::distinct_pipelines(*state.builder, passes));
  };
  if (known) make_pipelines();
  load_weights(state, file, options.progress);
  if (!known) {
    tune_first_use(state, options.progress);
    make_pipelines();
  }
  state.passes = std::make_unique<exec::BatchScheduler>(state.device, *state.kernel_library, *state.builder, state.config, *state.weights,
                                                        state.shape, state.stages ? &state.stages->ring() : nullptr);
  state.prefixes = std::make_unique<PrefixCache>(state.passes->cache(), options.prefixes);
  exec::Executor sequence(*state.passes);
  compile_kernels(state, sequence, dispatches, options.progress);
  if (state.stages) {
    const std::string others = state.stages->other_devices(caps);  // waits until they have loaded too; throws if one has not
    if (!others.empty()) {
      log::warning("the layers are on devices with different drivers, so texts may differ from those of one device: {} ({}), {}", caps.name,
                   driver_of(caps), others);
    }
  }
  return engine;
}

void Engine::State::make_pipelines(exec::Executor& sequence, exec::SessionPasses needs, const Progress& progress) {
  if (passes->clients() > 1) needs.verification = true;  // their rows are batched
  const auto lock = locked(pipelines_mutex, progress);
  if (!needs.verification) maker.reset();
  const auto begun = std::move(maker);  // continues with the pipelines needed here
  if (std::ranges::any_of(made_for, [&](const exec::SessionPasses& made) { return made.cover(needs); })) return;
  if (stages)
    stages->ring().post(
        {.command = exec::StageCommand::prepare, .request = exec::prepare_request(needs), .rows = {}, .cosines = {}, .bytes = {}});
  std::vector<exec::PassSpec> specs = exec::session_passes(config.layer_count(), needs);
  if (stages) exec::add_way_back(specs);
  std::vector<kernels::Dispatch> dispatches = exec::distinct_pipelines(*builder, specs);
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
  const auto lock = locked(corpus_mutex, progress);
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
std::uint64_t Engine::device_bytes_held() const {
  std::uint64_t bytes = state_->device->memory_allocated();
  if (state_->stages) {
    for (const StageState& stage : state_->stages->states()) bytes += stage.held;
  }
  return bytes;
}
const std::string& Engine::model_fingerprint() const { return state_->fingerprint; }
const std::vector<text::ChatTemplate>& Engine::chat_templates() const { return state_->chat_templates; }
const ModelFacts& Engine::facts() const { return state_->facts; }
std::uint32_t Engine::max_rows() const { return STEP_VERIFY_ROWS; }
std::vector<StageState> Engine::stages() const {
  if (!state_->stages) return {};
  std::vector<StageState> all = state_->stages->states();
  const vk::Caps& caps = device();
  all.insert(all.begin(), {.place = fmt::format("device {}", caps.index),
                           .device = caps.name,
                           .driver = driver_of(caps),
                           .build = stage_build(),
                           .available = available_to(*state_->device, static_cast<std::uint32_t>(all.size() + 1)),
                           .begin = 0,
                           .end = state_->shape.end,
                           .weights = memory().weights,
                           .kv = memory().kv,
                           .activations = memory().activations,
                           .held = state_->device->memory_allocated(),
                           .validation_messages = state_->device->instance().validation_messages()});
  return all;
}
std::uint64_t Engine::validation_messages() const {
  std::uint64_t messages = state_->device->instance().validation_messages();
  if (state_->stages) {
    for (const StageState& stage : state_->stages->states()) messages += stage.validation_messages;
  }
  return messages;
}

}  // namespace skipstone::engine
