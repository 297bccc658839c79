#include "kbench/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/platform/system.h"
#include "base/status.h"
#include "base/stopwatch.h"
#include "kernels/abi.h"
#include "kernels/kernel_table.h"
#include "model/random_weights.h"
#include "selftest/cases.h"
#include "selftest/data.h"
#include "selftest/matrix_check.h"
#include "vk/recorder.h"

namespace kbench {

using namespace skipstone;

namespace {

constexpr std::uint32_t most_rounds = 4096;

std::uint64_t scratch_bytes(const Sizes& s) {
  const std::uint32_t of_experts = s.experts_used * kernels::padded(s.expert_ffn);
  return std::uint64_t{STEP_MAX_ROWS} * std::max(kernels::padded(std::max({s.n, s.k, s.width, s.ffn, s.heads * s.head_dim})), of_experts) *
         sizeof(float);
}

/// Prompt and verification passes have full buckets.
std::vector<std::uint32_t> buckets_of(const std::vector<std::uint32_t>& rows, const Operation& operation) {
  std::vector<std::uint32_t> buckets;
  for (const std::uint32_t n : rows) {
    if (n > operation.most_rows) continue;
    const std::uint32_t bucket = kernels::bucket_for(std::max(n, operation.least_rows));
    if (std::ranges::find(buckets, bucket) == buckets.end()) buckets.push_back(bucket);
  }
  return buckets;
}

/// The device's tuning with the settings' tile options.
vk::Tuning tuning_of(const vk::Device& device, const Settings& settings) {
  vk::Tuning tuning = device.tuning();
  tuning.prefill = settings.tier.value_or(tuning.prefill);
  if (settings.tile > 0) {
    tuning.largest_tile = settings.tile;
    tuning.fill = 1;
  }
  return tuning;
}

/// The kernel that an operation measures: the first, or the one after a half_rows conversion of x.
const Dispatch& subject(const std::vector<Dispatch>& round) {
  return round[round.size() > 1 && round.front().kernel == kernels::KernelId::half_rows ? 1 : 0];
}

}  // namespace

struct Measurement::Timed {
  Result result;
  Request request;
  std::vector<Dispatch> dispatches;  ///< of one sample: rounds that cycle through the matrix's copies
  std::uint32_t rounds = 1;
  decltype(Workload::contents) contents;
  std::unique_ptr<vk::Commands> commands;
};

Measurement::Measurement(const std::shared_ptr<vk::Device>& device, kernels::Library& library, const Settings& settings)
    : device_(device),
      library_(library),
      settings_(settings),
      tuning_(tuning_of(*device, settings)),
      select_(device->caps(), tuning_),
      buffers_(device, config_of(settings.sizes), sequence_of(settings.sizes)),
      cache_(device, config_of(settings.sizes), sequence_of(settings.sizes)),
      vectors_(device, vk::Role::activations),
      queue_(device) {
  for (const std::uint32_t index : {matrix_input.index, matrix_output.index}) {
    scratch_[index] = vectors_.allocate(scratch_bytes(settings.sizes));
  }
  const Sizes& sizes = settings.sizes;
  const std::uint32_t channels = (sizes.heads + 2 * sizes.kv_heads) * sizes.head_dim;
  const std::uint32_t longest = std::max({short_conv_kernel * sizes.width, delta_net_kernel * channels, sizes.k});
  vector_ = vectors_.allocate(std::uint64_t{kernels::padded(longest)} * sizeof(float));
}

std::uint64_t Measurement::working_set() const {
  if (settings_.working_set > 0) return settings_.working_set;
  constexpr std::uint64_t usual = std::uint64_t{256} << 20;  // larger than the caches of all GPUs tested so far
  const vk::Caps& caps = device_->caps();
  return std::min(std::max(usual, caps.is_cpu() ? 2 * platform::last_level_cache() : 0), caps.device_bytes() / 4);
}

vk::Slice Measurement::slice(const kernels::Resource& resource) const {
  switch (resource.kind) {
    case kernels::ResourceKind::scratch:
      return scratch_.at(resource.index);
    case kernels::ResourceKind::weight:
      return resource.index == vector_tensor ? vector_ : copies_.at(resource.index - first_matrix).at(resource.part).at(resource.plane);
    case kernels::ResourceKind::k_cache:
    case kernels::ResourceKind::v_cache:
    case kernels::ResourceKind::records:
    case kernels::ResourceKind::states:
      return cache_.slice(resource.kind, resource.index);
    default:
      return buffers_.slice(resource);
  }
}

/// Allocates as many copies of the matrix as fill the working set, with random weights.
void Measurement::place_matrices(const kernels::Matrix& matrix) {
  copies_.clear();
  matrices_ = std::make_unique<vk::Arena>(device_, vk::Role::weights);
  model::RandomWeights random(device_, library_, select_);
  const std::uint64_t bytes = place_of(matrix, first_matrix).bytes();
  const std::uint64_t copies = std::min<std::uint64_t>((working_set() + bytes - 1) / bytes, most_rounds);
  for (std::uint32_t copy = 0; copy < copies; ++copy) {
    const model::TensorPlace place = place_of(matrix, first_matrix + copy);
    auto& parts = copies_.emplace_back();
    for (std::size_t part = 0; part < matrix.parts.size(); ++part) {
      std::vector<vk::Slice>& planes = parts.emplace_back();
      for (const std::uint64_t plane_bytes : {place.quant_bytes(part), place.scale_bytes(part)}) {
        if (plane_bytes == 0) continue;
        planes.push_back(matrices_->allocate(plane_bytes));
        random.fill(place, part, static_cast<std::uint32_t>(planes.size() - 1), planes.back());
      }
    }
  }
}

std::string Measurement::check(const Operation& operation, gguf::Type format, const std::vector<Workload>& works) {
  const auto verdict = [](const std::string& name, const std::string& difference) {
    return difference.empty() ? std::string() : fmt::format("{}: {}", name, difference);
  };
  const auto of_another_format = [&](const std::string& name) {
    return operation.has_formats && std::ranges::any_of(selftest::formats(), [&](gguf::Type other) {
             return other != format && name.find(fmt::format(" {} ", selftest::suffix(other))) != std::string::npos;
           });
  };
  for (const selftest::Case& item : selftest::all_cases({selftest::Depth::quick, device_->tuning()})) {
    if (!item.name.starts_with(fmt::format("{} ", operation.cases)) || of_another_format(item.name)) continue;
    selftest::Bench bench(device_, library_);
    if (std::string failure = verdict(item.name, item.check(bench)); !failure.empty()) return failure;
  }
  // Checks the timed kernels on matrix rows of the same length; only a few rows, since the oracle is slow.
  const bool tiled = operation.name == "matmul";
  vk::Tuning tuning = tuning_;
  tuning.tiled_prefill = tiled;
  for (const Workload& work : works) {
    if (!work.check) continue;
    selftest::Bench bench(device_, library_);
    const std::string difference = selftest::check_matrix(bench, *work.check, kernels::Selector(device_->caps(), tuning), tiled);
    if (std::string failure = verdict(work.check->text(), difference); !failure.empty()) return failure;
  }
  return "";
}

/// Workloads share the buffers, so each sample has to bring what its kernel reads there.
void Measurement::set_state(const Timed& timed) {
  for (const auto& [resource, words] : timed.contents) vk::Uploader(device_).upload(std::as_bytes(std::span(words)), slice(resource));
  abi::StepState& state = buffers_.state();
  const Sizes& sizes = timed.request.sizes;
  state.bases[0] = sizes.depth;
  const std::uint32_t context = sequence_of(sizes).context;
  for (const exec::MemoryKind kind : {exec::MemoryKind::full, exec::MemoryKind::recurrent}) {
    const auto table = buffers_.pages().subspan(exec::first_table_entry(kind, context), kernels::pages_for(context));
    for (std::uint32_t page = 0; page < table.size(); ++page) table[page] = page * KV_PAGE % cache_.slots()[kind];
  }
  const std::array<std::uint32_t, SCAN_WORDS> scan{0, sizes.depth, 1};
  std::ranges::copy(scan, buffers_.pages().subspan(exec::first_table_entry(exec::MemoryKind::states, context)).begin());
  state.rows = timed.request.rows;
  state.kept = 0;
  const std::uint32_t chunk = sequence_of(sizes).chunk;
  state.attention_groups = {(sizes.depth + state.rows - 1) / chunk + 1, timed.dispatches.front().groups[1], state.rows};
  for (std::uint32_t i = 0; i < STEP_VERIFY_ROWS; ++i) state.depths[i] = i;  // moved in place, which costs as much
  abi::CandidateRequest request{};
  request.noise = request.tempered = 1;
  request.inverse_temperature = 1.0f;
  std::fill_n(buffers_.candidate_requests(), STEP_VERIFY_ROWS, request);
  for (std::uint32_t i = 0; i < STEP_MAX_ROWS; ++i) state.tokens[i] = i * 7919 % sizes.vocabulary;
}

/// Fills all operands with random numbers, except matrices and buffers that the host writes. A cache with blocks gets halves too: they are
/// valid scales, and any bits are valid quants.
void Measurement::fill_operands(const Dispatch& dispatch) {
  vk::Recorder fill(device_);
  const kernels::Resolver resolve = [this](const kernels::Resource& resource) { return slice(resource); };
  for (const kernels::Operand& operand : dispatch.operands) {
    using Kind = kernels::ResourceKind;
    const kernels::Resource& r = operand.resource;
    if (r.kind == Kind::state || r.kind == Kind::candidate_requests || (r.kind == Kind::weight && r.index != vector_tensor)) continue;
    const KvFormats& kv = settings_.sizes.kv_format;
    const bool halves = (r.kind == Kind::k_cache && kv.k != KvFormat::f32) || (r.kind == Kind::v_cache && kv.v != KvFormat::f32);
    const kernels::RandomPattern pattern{halves ? kernels::RandomPattern::Number::f16 : kernels::RandomPattern::Number::f32, 1, 1};
    const auto words = static_cast<std::uint32_t>(slice(r).bytes / 4);
    kernels::record(fill, library_, kernels::random_fill(select_, r, words, pattern, -1.0f, 1.0f, 3, "fill"), resolve);
  }
  queue_.submit_and_wait(fill.finish());
}

/// Records the workload: one round on each copy first, to find the number of rounds of a sample.
Measurement::Timed Measurement::prepare(const Request& request, const Workload& work, Result result) {
  if (work.matrix.n > 0 && copies_.empty()) place_matrices(work.matrix);
  Timed timed;
  timed.request = request;
  timed.dispatches = work.round(first_matrix);
  const Dispatch& kernel = subject(timed.dispatches);
  timed.result = std::move(result);
  timed.result.statistics = library_.pipeline(kernel.kernel, kernel.constants, kernel.subgroup).statistics();
  for (const Dispatch& dispatch : timed.dispatches) fill_operands(dispatch);
  timed.contents = work.contents;
  const kernels::Resolver resolve = [this](const kernels::Resource& resource) { return slice(resource); };
  const auto copies = static_cast<std::uint32_t>(std::max<std::size_t>(1, copies_.size()));
  const auto record = [&](std::uint32_t rounds) {
    vk::Recorder recorder(device_, settings_.timestamps ? vk::Timestamps::dispatches : vk::Timestamps::none);
    timed.dispatches.clear();
    for (std::uint32_t i = 0; i < rounds; ++i) {
      for (Dispatch& dispatch : work.round(first_matrix + i % copies)) {
        timed.dispatches.push_back(std::move(dispatch));
      }
    }
    for (const Dispatch& dispatch : timed.dispatches) kernels::record(recorder, library_, dispatch, resolve);
    timed.rounds = rounds;
    timed.commands = std::make_unique<vk::Commands>(recorder.finish());
  };
  record(copies);
  once(timed);  // a driver may compile at first use
  const double round = std::max(once(timed), 1e-7);
  const auto wanted = static_cast<std::uint32_t>(std::min<double>(most_rounds, std::ceil(settings_.sample_seconds / round)));
  if (wanted > copies) record((wanted + copies - 1) / copies * copies);
  return timed;
}

/// Seconds of one round: device timestamps if available, else the host's time for the submission.
double Measurement::once(Timed& timed) {
  set_state(timed);
  const Stopwatch watch;
  queue_.submit_and_wait(*timed.commands);
  const double wall = watch.seconds();
  double device = 0.0;
  for (const vk::LabelTime& time : timed.commands->times()) device += time.microseconds * 1e-6;
  return (device > 0 ? device : wall) / timed.rounds;
}

std::vector<Result> Measurement::run(const Operation& operation, gguf::Type format) {
  const std::vector<std::uint32_t> rows = buckets_of(settings_.rows, operation);
  std::vector<Timed> all;
  std::vector<Result> results;
  copies_.clear();
  matrices_.reset();
  std::vector<Workload> works;
  std::vector<Request> requests;
  for (const std::uint32_t n : rows) {
    requests.push_back({settings_.sizes, format, n, tuning_});
    works.push_back(operation.make(select_, requests.back()));
  }
  const std::string failure = rows.empty() ? "" : check(operation, format, works);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Result result{std::string(operation.name),
                  operation.has_formats ? selftest::suffix(format) : "",
                  works[i].shape,
                  kernels::info(subject(works[i].round(first_matrix)).kernel).name,
                  rows[i],
                  failure,
                  {},
                  works[i].bytes,
                  works[i].flops,
                  {}};
    if (failure.empty()) {
      all.push_back(prepare(requests[i], works[i], std::move(result)));
    } else {
      results.push_back(std::move(result));
    }
  }
  const Stopwatch watch;
  while (!all.empty() && watch.seconds() < settings_.warm_up_seconds) {
    for (Timed& timed : all) once(timed);
  }
  for (std::uint32_t sample = 0; sample < settings_.samples; ++sample) {
    for (Timed& timed : all) timed.result.seconds.push_back(once(timed));
  }
  for (Timed& timed : all) results.push_back(std::move(timed.result));
  return results;
}

std::vector<Result> Measurement::run(const std::function<void(const std::string&)>& progress) {
  std::vector<Result> results;
  for (const Operation& operation : operations()) {
    if (!settings_.operations.empty() && std::ranges::find(settings_.operations, operation.name) == settings_.operations.end()) continue;
    std::vector<gguf::Type> formats = operation.has_formats ? settings_.formats : std::vector{gguf::Type::f32};
    if (formats.empty()) formats = selftest::formats();
    for (const gguf::Type format : formats) {
      if (operation.has_formats &&
          (settings_.sizes.k % gguf::traits(format).block != 0 || settings_.sizes.width % gguf::traits(format).block != 0))
        continue;
      progress(operation.has_formats ? fmt::format("{} {}", operation.name, selftest::suffix(format)) : std::string(operation.name));
      for (Result& result : run(operation, format)) results.push_back(std::move(result));
    }
  }
  return results;
}

}  // namespace kbench
