#include "kbench/measure.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/status.h"
#include "kernels/abi.h"
#include "kernels/kernel_table.h"
#include "model/random_weights.h"
#include "selftest/cases.h"
#include "selftest/data.h"
#include "selftest/matrix_check.h"

namespace kbench {

using namespace skipstone;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::uint32_t most_rounds = 4096;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

std::uint64_t last_level_cache() {
#ifdef _SC_LEVEL3_CACHE_SIZE
  const long bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
  if (bytes > 0) return static_cast<std::uint64_t>(bytes);
#endif
  return 0;
}

std::uint64_t scratch_bytes(const Sizes& s) {
  return std::uint64_t{STEP_MAX_ROWS} * kernels::padded(std::max({s.n, s.k, s.width, s.ffn})) * sizeof(float);
}

/// Prompts and verification take whole buckets.
std::vector<std::uint32_t> buckets_of(const std::vector<std::uint32_t>& rows, std::uint32_t most) {
  std::vector<std::uint32_t> buckets;
  for (const std::uint32_t n : rows) {
    if (n <= most && std::ranges::find(buckets, kernels::bucket_for(n)) == buckets.end()) buckets.push_back(kernels::bucket_for(n));
  }
  return buckets;
}

}  // namespace

struct Measurement::Timed {
  Result result;
  Request request;
  std::vector<Dispatch> dispatches;  ///< of one sample: rounds, on the matrix's copies in turn
  std::uint32_t rounds = 1;
  std::unique_ptr<vk::Commands> commands;
};

Measurement::Measurement(std::shared_ptr<vk::Device> device, kernels::Library& library, const Settings& settings)
    : device_(device),
      library_(library),
      settings_(settings),
      select_(device->caps(), device->tuning()),
      buffers_(device, config_of(settings.sizes), sequence_of(settings.sizes, select_.half_kv())),
      vectors_(device, vk::Role::activations),
      queue_(device) {
  for (const std::uint32_t index : {matrix_input.index, matrix_output.index}) {
    scratch_[index] = vectors_.allocate(scratch_bytes(settings.sizes));
  }
  vector_ = vectors_.allocate(std::uint64_t{kernels::padded(settings.sizes.width)} * sizeof(float));
}

std::uint64_t Measurement::working_set() const {
  if (settings_.working_set > 0) return settings_.working_set;
  constexpr std::uint64_t usual = std::uint64_t{256} << 20;  // more than any GPU's caches that are known here
  const vk::Caps& caps = device_->caps();
  return std::min(std::max(usual, caps.is_cpu() ? 2 * last_level_cache() : 0), caps.device_bytes() / 4);
}

vk::Slice Measurement::slice(const kernels::Resource& resource) const {
  switch (resource.kind) {
    case kernels::ResourceKind::scratch:
      return scratch_.at(resource.index);
    case kernels::ResourceKind::weight:
      return resource.index == vector_tensor ? vector_ : copies_.at(resource.index - first_matrix).at(resource.plane);
    default:
      return buffers_.slice(resource);
  }
}

/// As many copies of the matrix as make up the working set, with random weights.
void Measurement::place_matrices(const Request& request, std::uint64_t matrix_bytes) {
  copies_.clear();
  matrices_.reset();
  const kernels::Matrix shape = matrix_of(request, first_matrix);
  const std::uint64_t range = model::TensorPlace{nullptr, false, shape}.quant_bytes(0);
  if (range > select_.max_storage_range()) {
    fail(Code::invalid_argument, "a matrix of {} MiB cannot be bound at once on {}, which takes {} MiB; choose a smaller --shape",
         range >> 20, device_->caps().name, select_.max_storage_range() >> 20);
  }
  matrices_ = std::make_unique<vk::Arena>(device_, vk::Role::weights);
  model::RandomWeights random(device_, library_, select_);
  const std::uint64_t copies = std::max<std::uint64_t>(1, (working_set() + matrix_bytes - 1) / matrix_bytes);
  for (std::uint32_t copy = 0; copy < std::min<std::uint64_t>(copies, most_rounds); ++copy) {
    const model::TensorPlace place{nullptr, false, matrix_of(request, first_matrix + copy)};
    std::vector<vk::Slice>& planes = copies_.emplace_back();
    for (const std::uint64_t bytes : {place.quant_bytes(0), place.scale_bytes(0)}) {
      if (bytes == 0) continue;
      planes.push_back(matrices_->allocate(bytes));
      random.fill(place, 0, static_cast<std::uint32_t>(planes.size() - 1), planes.back());
    }
  }
}

std::string Measurement::check(const Operation& operation, gguf::Type format, const std::vector<std::uint32_t>& rows) {
  const std::string type = selftest::suffix(format);
  const auto verdict = [](const std::string& name, const std::string& difference) {
    return difference.empty() ? std::string() : fmt::format("{}: {}", name, difference);
  };
  for (const selftest::Case& item : selftest::all_cases({selftest::Depth::quick, device_->tuning()})) {
    if (item.operation != operation.name || item.name.starts_with("invariance")) continue;
    if (operation.has_formats && item.name.find(" " + type + " ") == std::string::npos) continue;
    selftest::Bench bench(device_, library_);
    if (std::string failure = verdict(item.name, item.check(bench)); !failure.empty()) return failure;
  }
  const bool tiled = operation.name == "matmul";
  if (operation.name != "matvec" && !tiled) return "";
  // The kernels that are timed, on rows as long as theirs; a few of them, since the oracle is slow.
  vk::Tuning tuning = device_->tuning();
  tuning.tiled_prefill = false;
  for (const std::uint32_t n : rows) {
    const selftest::MatrixShape shape{.format = format, .n = std::min(settings_.sizes.n, 40u), .k = settings_.sizes.k, .rows = n};
    selftest::Bench bench(device_, library_);
    const std::string difference = selftest::check_matrix(bench, shape, kernels::Selector(device_->caps(), tuning), tiled);
    if (std::string failure = verdict(shape.text(), difference); !failure.empty()) return failure;
  }
  return "";
}

void Measurement::set_state(const Timed& timed) {
  abi::StepState& state = buffers_.state();
  const Sizes& sizes = timed.request.sizes;
  state.base = sizes.depth;
  state.rows = timed.request.rows;
  state.kept = 0;
  const std::uint32_t chunk = sequence_of(sizes, timed.request.half_kv).chunk;
  state.attention_groups = {(sizes.depth + state.rows - 1) / chunk + 1, timed.dispatches.front().groups[1], state.rows};
  for (std::uint32_t i = 0; i < STEP_MAX_ROWS; ++i) state.tokens[i] = i * 7919 % sizes.n;
}

/// Fills what the workload reads, and records it: one round first, to see how many make a sample.
Measurement::Timed Measurement::prepare(const Operation& operation, const Request& request) {
  const Workload work = operation.make(select_, request);
  if (work.matrix_bytes > 0 && copies_.empty()) place_matrices(request, work.matrix_bytes);
  Timed timed;
  timed.request = request;
  timed.dispatches = work.round(0);
  const Dispatch& first = timed.dispatches.front();
  timed.result = {std::string(operation.name),
                  operation.has_formats ? selftest::suffix(request.format) : "",
                  work.shape,
                  kernels::info(first.kernel).name,
                  request.rows,
                  "",
                  {},
                  work.bytes,
                  work.flops,
                  library_.pipeline(first.kernel, first.constants).statistics()};
  vk::Recorder fill(device_);
  const kernels::Resolver resolve = [this](const kernels::Resource& resource) { return slice(resource); };
  for (const kernels::Operand& operand : first.operands) {
    using Kind = kernels::ResourceKind;
    const kernels::Resource& r = operand.resource;
    if (r.kind == Kind::state || (r.kind == Kind::weight && r.index != vector_tensor)) continue;
    const bool halves = (r.kind == Kind::k_cache || r.kind == Kind::v_cache) && request.half_kv;
    const kernels::RandomPattern pattern{halves ? kernels::RandomPattern::Number::f16 : kernels::RandomPattern::Number::f32, 1, 1};
    const auto words = static_cast<std::uint32_t>(slice(r).bytes / 4);
    kernels::record(fill, library_, kernels::random_fill(select_, r, words, pattern, -1.0f, 1.0f, 3, "fill"), resolve);
  }
  queue_.submit_and_wait(fill.finish());

  const auto record = [&](std::uint32_t rounds) {
    vk::Recorder recorder(device_, settings_.timestamps);
    timed.dispatches.clear();
    for (std::uint32_t i = 0; i < rounds; ++i) {
      for (Dispatch& dispatch : work.round(copies_.empty() ? 0 : i % static_cast<std::uint32_t>(copies_.size()))) {
        timed.dispatches.push_back(std::move(dispatch));
      }
    }
    for (const Dispatch& dispatch : timed.dispatches) kernels::record(recorder, library_, dispatch, resolve);
    timed.rounds = rounds;
    timed.commands = std::make_unique<vk::Commands>(recorder.finish());
  };
  const auto copies = static_cast<std::uint32_t>(std::max<std::size_t>(1, work.matrix_bytes > 0 ? copies_.size() : 1));
  record(copies);
  once(timed);  // a driver may compile at first use
  const double round = std::max(once(timed), 1e-7);
  const auto wanted = static_cast<std::uint32_t>(std::min<double>(most_rounds, std::ceil(settings_.sample_seconds / round)));
  if (wanted > copies) record((wanted + copies - 1) / copies * copies);
  return timed;
}

/// Seconds of one round: by the device's clock where it has one, else by the host's over the whole submission.
double Measurement::once(Timed& timed) {
  set_state(timed);
  const auto start = Clock::now();
  queue_.submit_and_wait(*timed.commands);
  const double wall = seconds_since(start);
  double device = 0.0;
  for (const vk::LabelTime& time : timed.commands->times()) device += time.microseconds * 1e-6;
  return (device > 0 ? device : wall) / timed.rounds;
}

std::vector<Result> Measurement::run(const Operation& operation, gguf::Type format) {
  const std::vector<std::uint32_t> rows = buckets_of(settings_.rows, operation.most_rows);
  std::vector<Timed> all;
  std::vector<Result> results;
  copies_.clear();
  matrices_.reset();
  const std::string failure = rows.empty() ? "" : check(operation, format, rows);
  for (const std::uint32_t n : rows) {
    const Request request{settings_.sizes, format, n, select_.half_kv(), device_->tuning()};
    if (failure.empty()) {
      all.push_back(prepare(operation, request));
    } else {
      const Workload work = operation.make(select_, request);
      results.push_back({std::string(operation.name),
                         operation.has_formats ? selftest::suffix(format) : "",
                         work.shape,
                         kernels::info(work.round(0).front().kernel).name,
                         n,
                         failure,
                         {},
                         work.bytes,
                         work.flops,
                         {}});
    }
  }
  const auto start = Clock::now();
  while (!all.empty() && seconds_since(start) < settings_.warm_up_seconds) {
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
    if (formats.empty()) formats.assign(std::begin(selftest::formats), std::end(selftest::formats));
    for (const gguf::Type format : formats) {
      if (operation.has_formats && settings_.sizes.k % gguf::traits(format).block != 0) continue;
      progress(operation.has_formats ? fmt::format("{} {}", operation.name, selftest::suffix(format)) : std::string(operation.name));
      for (Result& result : run(operation, format)) results.push_back(std::move(result));
    }
  }
  return results;
}

}  // namespace kbench
