#include "engine/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <span>

#include "base/env.h"
#include "base/log.h"
#include "base/platform/files.h"
#include "base/status.h"
#include "engine/engine_state.h"
#include "engine/measurements.h"
#include "engine/model_file.h"
#include "engine/model_loading.h"
#include "engine/stage_host.h"
#include "exec/pipelines.h"
#include "exec/plan.h"
#include "model/synthetic.h"

namespace skipstone::engine {
namespace {

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

/// Distributes the layers, keeps those of the first stage in `model`, and sends the other stages theirs.
void share_layers(Engine::State& state, exec::LoadedModel& model, const EngineOptions& options, std::span<const StageWish> wishes) {
  const StageNeeds needs = stage_needs(model.config, model.layout, model.shape);
  const bool ranks = options.job && names_ranks(options.devices);
  const std::uint32_t sharers = ranks ? options.job->sharers : static_cast<std::uint32_t>(wishes.size());
  const std::string first = ranks ? "rank 0" : fmt::format("device {}", wishes.front().device);
  const auto devices = [&](bool alone) {
    const auto available = alone ? available_alone_to(*model.device, sharers) : available_to(*model.device, sharers);
    std::vector<StageDevice> list{{first, available, wishes.front().layers, model.device->caps().shares_system_memory()}};
    const std::vector<StageState> others = state.stages->states();
    for (std::size_t i = 0; i < others.size(); ++i)
      list.push_back({others[i].place, alone ? others[i].available_alone : others[i].available, wishes[i + 1].layers, others[i].of_system});
    return list;
  };
  StageSetup setup;
  const StagePlan plan = plan_with_experts(needs, model.layout, options.experts_on_host, {model.device->memory_account(), !ranks}, devices);
  setup.ends = plan.ends;
  setup.experts_on_host = plan.experts_on_host;
  setup.shape = model.shape;
  setup.matrix = model.select->math() == kernels::Math::matrix;
  setup.tuned = options.tuning != Tuning::off;
  setup.fingerprint = state.file.fingerprint;
  setup.head_fingerprint = state.file.head_fingerprint;
  setup.model = options.model_path;
  setup.mtp = options.mtp_path;
  setup.synthetic = options.synthetic;
  state.stages->load(setup);
  model.shape.begin = 0;
  model.shape.end = setup.ends.front();
  model.layout.keep_experts_on_host(plan.experts_on_host);
  model.layout.keep_layers(0, model.shape.end);
}

// Tunes the kernels on a device that has not run such a model before.
void tune_first_use(exec::LoadedModel& model, const Progress& progress) {
  try {
    model.select->use(tune_kernels(model, {}, progress).choices);
  } catch (const Error& error) {
    if (error.code() != Code::out_of_memory) throw;
    log::info("kernels are not tuned: {}", error.what());  // the planned allocations still fit
  }
}

/// Everything of the file but its tensors, which are the result.
model::ModelTensors read_file(FileContents& contents, const model::Config& config, const gguf::File& file, const EngineOptions& options) {
  ModelFile read = load_model_file(file, config, options.pre_tokenizer);
  contents.pre_tokenizer = options.pre_tokenizer;
  contents.tokenizer = std::move(read.tokenizer);
  contents.fingerprint = file.fingerprint();
  contents.head_fingerprint = file.joined_fingerprint();
  contents.chat_templates = text::chat_templates(file);
  contents.sampling = RecommendedSampling::from(file);
  if (!options.model_path.empty())
    contents.profile = platform::text_of(platform::path_of(options.model_path).replace_extension(".skip.json"));
  const model::ModelSize size = model::model_size(file);
  contents.facts = {size.parameters, size.bytes, std::string(gguf::traits(size.type).name), 0};
  return std::move(read.tensors);
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
  auto loading = std::make_unique<exec::LoadedModel>();
  exec::LoadedModel& model = *loading;
  state.model = std::move(loading);
  report(options.progress, "reading model", 0.0);
  const gguf::File file = open_model(options);
  model.config = model::Config::from(file);
  model::ModelTensors tensors = read_file(state.file, model.config, file, options);
  report(options.progress, "reading model", 1.0);

  EngineOptions first = options;
  if (!first.memory_account) first.memory_account = std::make_shared<vk::MemoryAccount>(options.memory_limit);
  const std::vector<StageWish> wishes = open_stages(state, first);
  exec::StageRing* ring = state.stages ? &state.stages->ring() : nullptr;
  if (!wishes.empty()) first.device = wishes.front().device;
  // A head drafts where all layers are on one device; of several heads the first one does. A draft model's own would draft nothing.
  model::keep_heads(model.config, tensors, state.stages == nullptr && beside == nullptr ? 1 : 0);
  const exec::LoadedModel* target = beside == nullptr ? nullptr : beside->model.get();
  model.kernel_library = target != nullptr ? target->kernel_library : options.kernels;
  if (!model.kernel_library) model.kernel_library = std::make_shared<kernels::Library>(open_device(first), env::cache_directory());
  model.device = model.kernel_library->device();
  const vk::Caps& caps = model.device->caps();
  model.select = std::make_unique<kernels::Selector>(caps, model.device->tuning());
  model.select->use(target != nullptr ? target->select->math() : math_for(options.math, model.device, *model.kernel_library));
  model.layout = model::layout_weights(model.config, tensors, caps.max_storage_range, model.select->interleave());
  model.shape = choose_shape(model.config, options.context, options.kv, model.select->kv_format());
  model.shape.pool_tokens = options.pool_tokens;
  model.shape.keeps_windows = options.prefixes != PrefixMode::off;
  state.file.facts.bytes_per_token = model.layout.bytes_per_token();
  if (state.stages) {
    share_layers(state, model, options, wishes);
  } else {
    keep_experts_on_host(model.layout, options.experts_on_host, plan_memory(model.config, model.layout, model.shape), *model.device);
  }
  state.memory = plan_memory(model.config, model.layout, model.shape);
  check_memory(state.memory, model.config, model.shape, *model.device);
  model.builder = std::make_unique<exec::PassBuilder>(model.config, model.layout, model.shape, *model.select);
  state.caches.pipelines = std::make_unique<SessionPipelines>(model);

  // Pipelines are made while the weights load, unless tuning with these weights has to choose them first. Those of drafts and their
  // verification come last, and load() does not wait for them: sessions that do not draft do not need them.
  state.tuning = options.tuning;
  const bool measure = options.tuning == Tuning::first_use || (options.tuning == Tuning::automatic && tunes_by_itself(caps));
  const bool known = options.tuning == Tuning::off || take_cached_choices(model) || !measure;
  const std::uint32_t layers = model.config.layer_count();
  std::vector<exec::PassSpec> passes = beside != nullptr ? exec::drafting_passes(layers) : exec::plain_passes(layers);
  if (state.stages) exec::add_way_back(passes);
  const auto make_pipelines = [&] {
    std::vector<exec::PassSpec> all = passes;
    if (beside == nullptr) std::ranges::copy(exec::verification_passes(layers), std::back_inserter(all));
    state.caches.pipelines->make_in_background(all);
  };
  if (known) make_pipelines();
  load_weights(model, file, options.progress);
  if (!known) {
    tune_first_use(model, options.progress);
    make_pipelines();
  }
  state.passes = std::make_unique<exec::Worker>(model, ring);
  state.caches.prefixes = std::make_unique<PrefixCache>(state.passes->cache(), options.prefixes);
  state.caches.pipelines->compile(*state.passes, {passes}, "compiling kernels", options.progress);
  if (state.stages) {
    const std::string others = state.stages->other_devices(caps);  // waits until they have loaded too; throws if one has not
    if (!others.empty()) {
      log::warning("the layers are on devices with different drivers, so texts may differ from those of one device: {} ({}), {}", caps.name,
                   driver_of(caps), others);
    }
  }
  return engine;
}

void Engine::State::make_pipelines(exec::SessionPasses needs, const Progress& progress) {
  if (passes->scheduler().clients() > 1) needs.verification = true;  // their rows are batched
  caches.pipelines->make(*passes, needs, progress);
}

tune::Report Engine::tune(double seconds, const Progress& progress) {
  state_->caches.pipelines->end_background();
  return tune_kernels(*state_->model, {.seconds = seconds, .rounds = 15}, progress);
}

exec::CostTable Engine::costs(const Progress& progress) { return costs_of(*state_, progress); }

Engine::Engine() : state_(std::make_unique<State>()) {}
Engine::~Engine() = default;

const model::Config& Engine::config() const { return state_->model->config; }
const text::Tokenizer& Engine::tokenizer() const {
  if (!state_->file.tokenizer) fail(Code::unsupported, "{} has no tokenizer: it takes tokens, not text", state_->model->config.name);
  return *state_->file.tokenizer;
}
bool Engine::has_tokenizer() const { return state_->file.tokenizer != nullptr; }
const vk::Caps& Engine::device() const { return state_->model->device->caps(); }
const MemoryPlan& Engine::memory() const { return state_->memory; }
std::uint64_t Engine::device_bytes_held() const {
  std::uint64_t bytes = state_->model->device->memory_allocated();
  if (state_->stages) {
    for (const StageState& stage : state_->stages->latest_states()) bytes += stage.held;
  }
  return bytes;
}
std::uint64_t Engine::host_bytes_held() const {
  std::uint64_t bytes = state_->model->device->host_memory_allocated();
  if (state_->stages) {
    for (const StageState& stage : state_->stages->latest_states()) bytes += stage.host_held;
  }
  return bytes;
}
const std::string& Engine::model_fingerprint() const { return state_->file.fingerprint; }
const std::vector<text::ChatTemplate>& Engine::chat_templates() const { return state_->file.chat_templates; }
const ModelFacts& Engine::facts() const { return state_->file.facts; }
std::uint32_t Engine::max_rows() const { return STEP_VERIFY_ROWS; }
std::vector<StageState> Engine::stages() const {
  if (!state_->stages) return {};
  std::vector<StageState> all = state_->stages->latest_states();
  const vk::Caps& caps = device();
  all.insert(all.begin(), {.place = fmt::format("device {}", caps.index),
                           .device = caps.name,
                           .driver = driver_of(caps),
                           .build = stage_build(),
                           .available = available_to(*state_->model->device, static_cast<std::uint32_t>(all.size() + 1)),
                           .available_alone = available_alone_to(*state_->model->device, static_cast<std::uint32_t>(all.size() + 1)),
                           .begin = 0,
                           .end = state_->model->shape.end,
                           .weights = memory().weights,
                           .kv = memory().kv,
                           .activations = memory().activations,
                           .held = state_->model->device->memory_allocated(),
                           .validation_messages = state_->model->device->instance().validation_messages(),
                           .of_system = caps.shares_system_memory(),
                           .experts_on_host = memory().experts_on_host,
                           .host_weights = memory().host_weights,
                           .host_held = state_->model->device->host_memory_allocated()});
  return all;
}
std::uint64_t Engine::validation_messages() const {
  std::uint64_t messages = state_->model->device->instance().validation_messages();
  if (state_->stages) {
    for (const StageState& stage : state_->stages->latest_states()) messages += stage.validation_messages;
  }
  return messages;
}

}  // namespace skipstone::engine
