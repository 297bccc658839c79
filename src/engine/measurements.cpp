#include "engine/measurements.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <optional>
#include <set>

#include "base/env.h"
#include "base/log.h"
#include "exec/cost_table.h"
#include "json/json.h"
#include "tune/measurement_file.h"

namespace skipstone::engine {
namespace {

/// Choices are valid for all models of a device that have weights of the same types, about the same width and the same attention heads.
tune::MeasurementFile choices_file(const exec::LoadedModel& model) {
  std::set<std::string> formats;
  for (const model::TensorPlace& place : model.layout.tensors) {
    if (!place.vector) formats.emplace(gguf::traits(place.matrix.format).name);
  }
  Json key = tune::device_key(model.device->caps(), kernels::shader_hash());
  key["candidates"] = kernels::candidates_version;
  key["formats"] = formats;
  key["width"] = std::bit_ceil(model.config.width);
  key["heads"] = {model.config.attention().group(), model.config.attention().head_dim};
  key["kv"] = to_string(model.shape.kv_format);
  return {env::cache_directory(), "choices", key};
}

/// `complete`: everything that measure_costs() measures, not the result of estimate_costs() from fewer measurements.
tune::MeasurementFile costs_file(const Engine::State& state, bool complete) {
  Json key = tune::device_key(state.model->device->caps(), kernels::shader_hash());
  key["method"] = exec::cost_method;
  key["model"] = state.file.fingerprint;
  if (!state.file.head_fingerprint.empty()) key["head"] = state.file.head_fingerprint;
  key["context"] = state.model->shape.context;
  key["kv"] = to_string(state.model->shape.kv_format);
  key["choices"] = tune::to_json(state.model->select->choices());
  if (state.model->select->math() == kernels::Math::matrix) key["math"] = "matrix";
  if (state.model->layout.experts_on_host > 0) key["experts_on_host"] = state.model->layout.experts_on_host;
  if (state.stages) key["stages"] = state.stages->described();
  return {env::cache_directory(), complete ? "costs" : "estimated-costs", key};
}

/// The first layers up to `most_bytes`, but at least one: enough that caches do not hold all of them.
tune::Workload workload_of(const exec::LoadedModel& model) {
  constexpr std::uint64_t most_bytes = std::uint64_t{64} << 20;
  constexpr std::size_t most_layers = 4;
  tune::Workload work;
  std::uint64_t bytes = 0;
  const std::size_t layers = std::min<std::size_t>(most_layers, model.local_layers());  // local layers only
  for (std::size_t i = 0; i < layers && (i == 0 || bytes < most_bytes); ++i) {
    for (const kernels::Matrix* matrix : model.layout.layers[i].matrices()) {
      const model::TensorPlace& place = model.layout.tensors[matrix->tensor];
      for (std::size_t part = 0; part < matrix->parts.size(); ++part) bytes += place.quant_bytes(part);
      work.layer_matrices.push_back(*matrix);
    }
  }
  work.output = model.layout.output;
  work.attention = exec::attention_shape(model.config, model.shape);
  work.attention.context = 512;
  return work;
}

Json to_json(const exec::CostTable& costs) {
  Json passes = Json::array();
  for (const auto& [bucket, m] : costs.measured()) {
    passes.push_back({{"rows", bucket},
                      {"full", m.full},
                      {"no_output", m.no_output},
                      {"no_attention", m.no_attention},
                      {"no_mlp", m.no_mlp},
                      {"round_trip", m.round_trip},
                      {"local", m.local},
                      {"varied", m.varied},
                      {"experts", m.experts},
                      {"varied_experts", m.varied_experts}});
  }
  return {{"layers", costs.layers()},
          {"local", costs.local_layers()},
          {"position", costs.position()},
          {"clock", costs.clock()},
          {"passes", std::move(passes)}};
}

/// Throws nlohmann's exceptions if to_json() did not write the document.
exec::CostTable costs_from(const Json& document) {
  exec::CostTable costs(document.at("layers"), document.at("position"), document.at("clock"), document.at("local"));
  for (const Json& pass : document.at("passes"))
    costs.add(pass.at("rows"), {pass.at("full"), pass.at("no_output"), pass.at("no_attention"), pass.at("no_mlp"), pass.at("round_trip"),
                                pass.at("local"), pass.at("varied"), pass.at("experts"), pass.at("varied_experts")});
  return costs;
}

std::optional<exec::CostTable> cached_costs(const Engine::State& state, const tune::MeasurementFile& file) {
  const auto cached = file.read();
  if (!cached) return std::nullopt;
  try {
    exec::CostTable costs = costs_from(*cached);
    if (costs.layers() == state.model->config.layer_count()) return costs;
  } catch (const Json::exception& error) {
    log::debug("'{}' is ignored: {}", file.path(), error.what());
  }
  return std::nullopt;
}

std::function<void(double)> step_of(const Progress& progress) {
  return [&progress](double done) {
    if (progress) progress("measuring costs", done);
  };
}

exec::CostTable measured_costs(const Engine::State& state, exec::Executor& passes, const Progress& progress) {
  exec::CostTable costs = exec::measure_costs(passes, state.model->config.layer_count(), step_of(progress));
  costs_file(state, true).write(to_json(costs));
  return costs;
}

void know(Engine::State& state, const speculation::RoundCosts& costs) {
  KnownCosts& known = state.caches.known_costs;
  const std::lock_guard lock(known.mutex);
  known.costs = std::make_shared<const speculation::RoundCosts>(costs);
}

/// Measured or estimated by an earlier run.
std::optional<exec::CostTable> costs_of_earlier_run(const Engine::State& state) {
  if (auto cached = cached_costs(state, costs_file(state, true))) return cached;
  return cached_costs(state, costs_file(state, false));
}

/// round_costs_of() where nothing is cached.
speculation::RoundCosts costs_of_now(Engine::State& state, const Progress& progress) {
  constexpr std::uint64_t large = std::uint64_t{1} << 30;
  if (state.model->device->caps().is_cpu() && state.file.facts.bytes_per_token > large) return {};
  constexpr double patience = 3, passes_of_all = 500;  // seconds; about how many times a pass of one token all of measure_costs() takes
  exec::Executor passes(*state.passes);
  state.make_pipelines({.verification = true}, progress);
  if (exec::time_of_one_row(passes, state.model->config.layer_count(), step_of(progress)) * passes_of_all <= patience)
    return round_costs(measured_costs(state, passes, progress));
  const exec::CostTable costs = exec::estimate_costs(passes, state.model->config.layer_count(), patience, step_of(progress));
  costs_file(state, false).write(to_json(costs));
  return round_costs(costs);
}

}  // namespace

bool tunes_by_itself(const vk::Caps& caps) { return !caps.is_cpu() && caps.profile.empty(); }

bool take_cached_choices(exec::LoadedModel& model) {
  const auto cached = choices_file(model).read();
  if (!cached) return false;
  model.select->use(tune::choices_from(*cached));
  log::info("{} kernel choices from the cache", model.select->choices().size());
  return true;
}

tune::Report tune_kernels(const exec::LoadedModel& model, const tune::Effort& effort, const Progress& progress) {
  const kernels::Selector built_in(model.device->caps(), model.device->tuning());
  const kernels::Resolver weights = [&](const kernels::Resource& resource) { return model.weights->slice(resource); };
  const auto step = [&](double done) {
    if (progress) progress("tuning kernels", done);
  };
  const tune::Workload work = workload_of(model);
  tune::Report report = tune::tune(model.device, *model.kernel_library, built_in, work, weights, effort, step);
  choices_file(model).write(tune::to_json(report.choices));
  log::info("tuned kernels in {:.1f} s: {} of {} choices are not the built-in ones, {} were left out", report.seconds,
            report.choices.size(), report.results.size(), report.left_out);
  return report;
}

exec::CostTable costs_of(Engine::State& state, const Progress& progress) {
  const auto lock = locked(state.caches.costs, progress);
  std::optional<exec::CostTable> costs = cached_costs(state, costs_file(state, true));
  if (!costs) {
    exec::Executor passes(*state.passes);
    state.make_pipelines({.verification = true}, progress);
    costs = measured_costs(state, passes, progress);
  }
  know(state, round_costs(*costs));
  return *std::move(costs);
}

speculation::RoundCosts round_costs(const exec::CostTable& table) {
  speculation::RoundCosts costs;
  for (const auto& [bucket, measured] : table.measured()) {
    const exec::CostTable::Parts parts = *table.parts(bucket);
    costs.add(bucket, {parts.attention, parts.mlp, parts.fixed + parts.output + parts.host, parts.transfer, table.local_layers(),
                       parts.expert, parts.experts});
  }
  return costs;
}

speculation::RoundCosts round_costs_of(Engine::State& state, const Progress& progress) {
  const auto lock = locked(state.caches.costs, progress);
  const auto cached = costs_of_earlier_run(state);
  speculation::RoundCosts costs = cached ? round_costs(*cached) : costs_of_now(state, progress);
  know(state, costs);
  return costs;
}

std::shared_ptr<const speculation::RoundCosts> known_round_costs(Engine::State& state) {
  KnownCosts& known = state.caches.known_costs;
  const std::lock_guard lock(known.mutex);
  if (!known.costs) {
    const auto cached = costs_of_earlier_run(state);
    known.costs = std::make_shared<const speculation::RoundCosts>(cached ? round_costs(*cached) : speculation::RoundCosts());
  }
  return known.costs;
}

}  // namespace skipstone::engine
