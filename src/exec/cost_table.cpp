#include "exec/cost_table.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <vector>

#include "abi/step_state.h"
#include "base/stopwatch.h"
#include "exec/executor.h"

namespace skipstone::exec {
namespace {

constexpr std::uint32_t least_rounds = 6, most_rounds = 15;
constexpr double enough_seconds = 3;  // further rounds are for devices that take no longer

struct Sample {
  std::vector<double> device, wall;  // microseconds
  double experts = 0;                // that a layer read, on average

  /// The lower quartile: other load on a machine only ever makes a pass slower, and for longer than a pass takes.
  static double quiet(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[(values.size() - 1) / 4];
  }
};

/// A pass of `rows` rows, and what it is measured for.
struct TimedPass {
  double MeasuredPasses::*time = nullptr;
  PassSpec spec;
  std::uint32_t rows = 1;
  Sample sample;

  bool varied() const { return time == &MeasuredPasses::varied; }
};

/// The full pass; of several rows, where there are experts to choose, also the one whose rows have different tokens.
std::vector<TimedPass> full_passes(const Executor& sequence, std::uint32_t layers, std::uint32_t bucket) {
  const PassSpec full{.layers = LayerPlan::full(layers), .bucket = bucket};
  std::vector<TimedPass> passes{{&MeasuredPasses::full, full, bucket, {}}};
  if (bucket > 1 && sequence.model().config.experts() != nullptr) passes.push_back({&MeasuredPasses::varied, full, bucket, {}});
  return passes;
}

/// All passes of a number of rows; the full one is the first.
std::vector<TimedPass> passes_of(const Executor& sequence, std::uint32_t layers, std::uint32_t bucket) {
  std::vector<TimedPass> passes = full_passes(sequence, layers, bucket);
  const PassSpec full = passes.front().spec;
  PassSpec no_output = full;
  no_output.output = Output::none;
  PassSpec no_attention = no_output, no_mlp = no_output;
  for (std::uint32_t layer = 0; layer < layers; ++layer) no_attention.layers.skip_attention[layer] = no_mlp.layers.skip_mlp[layer] = true;
  passes.push_back({&MeasuredPasses::no_output, no_output, bucket, {}});
  passes.push_back({&MeasuredPasses::no_attention, no_attention, bucket, {}});
  passes.push_back({&MeasuredPasses::no_mlp, no_mlp, bucket, {}});
  if (sequence.model().local_layers() < layers) {
    PassSpec local = full;
    local.layers.end = sequence.model().local_layers();
    passes.push_back({&MeasuredPasses::local, local, bucket, {}});
  }
  return passes;
}

/// Runs `pass` at `position`. A sample that is no `warm_up` is kept.
void time(Executor& sequence, TimedPass& pass, std::uint32_t position, bool warm_up) {
  std::vector<std::int32_t> tokens(pass.rows, 0);
  const std::uint32_t step = std::max(1u, sequence.model().config.vocabulary / STEP_VERIFY_ROWS);
  for (std::uint32_t row = 0; pass.varied() && row < pass.rows; ++row)
    tokens[row] = static_cast<std::int32_t>(row * step % sequence.model().config.vocabulary);
  const Stopwatch watch;
  sequence.run(pass.spec, {.tokens = tokens, .base = position});
  sequence.worker().wait_for_stages();
  const double wall = 1e6 * watch.seconds();
  if (warm_up) return;
  const PassResults& results = sequence.results();
  pass.sample.wall.push_back(wall);
  pass.sample.device.push_back(results.device_microseconds.value_or(wall));
  if (results.experts.layers > 0)
    pass.sample.experts = static_cast<double>(results.experts.distinct) / static_cast<double>(results.experts.layers);
}

std::uint32_t position_in(std::uint32_t context) { return std::min(512u, context / 2); }

std::vector<std::uint32_t> buckets_of(std::uint32_t context) {
  std::vector<std::uint32_t> buckets;
  for (const std::uint32_t bucket : kernels::row_buckets) {
    if (bucket <= STEP_VERIFY_ROWS && position_in(context) + bucket <= context) buckets.push_back(bucket);
  }
  return buckets;
}

MeasuredPasses measured_by(std::span<const TimedPass> passes) {
  MeasuredPasses measured;
  for (const TimedPass& pass : passes) {
    const bool on_wall = pass.time == &MeasuredPasses::local;
    measured.*pass.time = Sample::quiet(on_wall ? pass.sample.wall : pass.sample.device);
    if (pass.time == &MeasuredPasses::full) {
      measured.round_trip = Sample::quiet(pass.sample.wall);
      measured.experts = pass.sample.experts;
    } else if (pass.varied()) {
      measured.varied_experts = pass.sample.experts;
    }
  }
  return measured;
}

/// Corrects noise: parts cost no more than the full pass, more experts no less than fewer, and a pass no less than one of fewer rows.
MeasuredPasses consistent(MeasuredPasses passes, const MeasuredPasses& of_fewer_rows) {
  passes.full = std::max(passes.full, of_fewer_rows.full);
  passes.round_trip = std::max(passes.round_trip, passes.full);
  if (passes.varied > 0) passes.varied = std::max({passes.varied, passes.full, of_fewer_rows.varied});
  passes.no_output = std::clamp(passes.no_output, std::min(of_fewer_rows.no_output, passes.full), passes.full);
  for (double MeasuredPasses::*part : {&MeasuredPasses::no_attention, &MeasuredPasses::no_mlp})
    passes.*part = std::clamp(passes.*part, std::min(of_fewer_rows.*part, passes.no_output), passes.no_output);
  return passes;
}

/// The first `parts` of `passes` are passes_of() one row, the others full_passes() of more.
CostTable estimated(const std::vector<TimedPass>& passes, std::size_t parts, CostTable table) {
  const MeasuredPasses one = consistent(measured_by(std::span(passes).first(parts)), {});
  table.add(1, one);
  MeasuredPasses last = one;
  std::uint32_t last_bucket = 1;
  for (const TimedPass& pass : std::span(passes).subspan(parts)) {
    if (pass.varied()) {
      if (pass.sample.wall.empty()) continue;
      last.varied = std::max(last.full, Sample::quiet(pass.sample.device));
      last.varied_experts = pass.sample.experts;
    } else {
      double factor = static_cast<double>(pass.rows) / last_bucket;
      if (!pass.sample.device.empty()) factor = std::max(1.0, Sample::quiet(pass.sample.device) / last.full);
      last = {.full = last.full * factor,
              .no_output = last.no_output * factor,
              .no_attention = last.no_attention * factor,
              .no_mlp = last.no_mlp * factor,
              .round_trip = last.full * factor + (one.round_trip - one.full),
              .local = last.local * factor,
              .experts = pass.sample.experts};
      last_bucket = pass.rows;
    }
    table.add(pass.rows, last);
  }
  return table;
}

}  // namespace

CostTable::CostTable(std::uint32_t layers, std::uint32_t position, std::string clock, std::uint32_t local)
    : layers_(layers), position_(position), local_(local), clock_(std::move(clock)) {}

void CostTable::add(std::uint32_t bucket, const MeasuredPasses& measured) { measured_[bucket] = measured; }

std::optional<CostTable::Parts> CostTable::parts(std::uint32_t rows) const {
  const auto found = measured_.lower_bound(rows);
  if (found == measured_.end() || rows == 0 || layers_ == 0) return std::nullopt;
  const MeasuredPasses& m = found->second;
  Parts parts;
  const double count = layers_;
  parts.attention = std::max(0.0, m.no_output - m.no_attention) / count;
  parts.mlp = std::max(0.0, m.no_output - m.no_mlp) / count;
  // Measured one after the other, the sublayers may sum to more than the full pass: then they share its time.
  const double sublayers = count * (parts.attention + parts.mlp);
  if (sublayers > m.no_output) {
    parts.attention *= m.no_output / sublayers;
    parts.mlp *= m.no_output / sublayers;
  }
  parts.fixed = std::max(0.0, m.no_output - sublayers);
  parts.output = std::max(0.0, m.full - m.no_output);
  parts.host = std::max(0.0, m.round_trip - m.full);
  if (m.local > 0) {  // the part of the full pass that the local layers, the output and the host do not explain
    const double remote = (count - local_) * (parts.attention + parts.mlp);
    parts.transfer = std::clamp(m.round_trip - m.local - remote, 0.0, parts.fixed);
    parts.fixed -= parts.transfer;
  }
  parts.experts = m.experts;
  // A difference of less than half an expert is noise.
  if (m.varied_experts >= m.experts + 0.5) parts.expert = std::max(0.0, m.varied - m.full) / (m.varied_experts - m.experts) / count;
  return parts;
}

std::optional<double> CostTable::microseconds(PassSpec spec, std::uint32_t rows) const {
  const auto p = parts(rows);
  if (!p || spec.output == Output::logits || spec.output == Output::candidates || spec.output == Output::hidden || spec.last_row_only ||
      spec.cosines != Cosines::none || spec.layers.end > layers_)
    return std::nullopt;
  double total = p->fixed + (spec.output == Output::argmax ? p->output : 0.0);
  for (std::uint32_t layer = spec.layers.begin; layer < spec.layers.end; ++layer) {
    if (spec.layers.runs_attention(layer)) total += p->attention;
    if (spec.layers.runs_mlp(layer)) total += p->mlp;
  }
  if (spec.layers.end > local_) total += p->transfer;
  return total;
}

std::optional<double> CostTable::verify(std::uint32_t rows) const {
  if (empty()) return std::nullopt;
  return microseconds({.layers = LayerPlan::full(layers_)}, rows);
}

std::optional<double> CostTable::draft(const LayerPlan& plan) const { return microseconds({.layers = plan}, 1); }

double time_of_one_row(Executor& sequence, std::uint32_t layers, const std::function<void(double)>& progress) {
  TimedPass pass = full_passes(sequence, layers, 1).front();
  for (const bool warm_up : {true, false}) {
    if (progress) progress(0);
    time(sequence, pass, position_in(sequence.model().shape.context), warm_up);
  }
  return 1e-6 * pass.sample.wall.back();
}

CostTable estimate_costs(Executor& sequence, std::uint32_t layers, double seconds, const std::function<void(double)>& progress) {
  const std::uint32_t position = position_in(sequence.model().shape.context);
  const std::vector<std::uint32_t> buckets = buckets_of(sequence.model().shape.context);
  const TimedPasses timed(sequence);
  const Stopwatch watch;
  const auto take = [&](TimedPass& pass, bool warm_up) {
    if (progress) progress(std::min(1.0, watch.seconds() / seconds));
    time(sequence, pass, position, warm_up);
  };
  std::vector<TimedPass> passes = passes_of(sequence, layers, 1);
  const std::size_t parts = passes.size();
  for (const std::uint32_t bucket : buckets) {
    if (bucket > 1) std::ranges::move(full_passes(sequence, layers, bucket), std::back_inserter(passes));
  }
  for (std::size_t i = 0; i < passes.size() && (i < parts || watch.seconds() < seconds); ++i) {
    for (const bool warm_up : {true, false}) take(passes[i], warm_up);  // the first run records
  }
  for (std::uint32_t round = 1; round < most_rounds && watch.seconds() < seconds; ++round) {
    for (TimedPass& pass : passes)
      if (!pass.sample.wall.empty() && watch.seconds() < seconds) take(pass, false);
  }
  return estimated(
      passes, parts,
      CostTable(layers, position, sequence.results().device_microseconds ? "timestamps" : "wall", sequence.model().local_layers()));
}

CostTable measure_costs(Executor& sequence, std::uint32_t layers, const std::function<void(double)>& progress) {
  const std::uint32_t position = position_in(sequence.model().shape.context);
  const std::vector<std::uint32_t> buckets = buckets_of(sequence.model().shape.context);
  const TimedPasses timed(sequence);
  std::vector<std::vector<TimedPass>> passes;
  passes.reserve(buckets.size());
  for (const std::uint32_t bucket : buckets) passes.push_back(passes_of(sequence, layers, bucket));
  const Stopwatch watch;
  for (std::uint32_t round = 0; round <= least_rounds || (round <= most_rounds && watch.seconds() < enough_seconds); ++round) {
    for (std::size_t i = 0; i < buckets.size(); ++i) {
      for (std::size_t pass = 0; pass < passes[i].size(); ++pass) {
        const double part = static_cast<double>(pass) / static_cast<double>(passes[i].size());
        const double done = static_cast<double>(round * buckets.size() + i) + part;
        if (progress) progress(std::min(1.0, done / static_cast<double>((least_rounds + 1) * buckets.size())));
        time(sequence, passes[i][pass], position, round == 0);  // the first round records
      }
    }
  }
  CostTable table(layers, position, sequence.results().device_microseconds ? "timestamps" : "wall", sequence.model().local_layers());
  MeasuredPasses last;
  for (std::size_t i = 0; i < buckets.size(); ++i) table.add(buckets[i], last = consistent(measured_by(passes[i]), last));
  return table;
}

}  // namespace skipstone::exec
