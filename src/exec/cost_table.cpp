#include "exec/cost_table.h"

#include <algorithm>
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

  /// The lower quartile: other load on a machine only ever makes a pass slower, and for longer than a pass takes.
  static double quiet(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[(values.size() - 1) / 4];
  }
};

/// full, no output, no attention, no MLP; with remote layers, the local ones too.
std::vector<PassSpec> passes_of(const Executor& sequence, std::uint32_t layers, std::uint32_t bucket) {
  PassSpec full;
  full.layers = LayerPlan::full(layers);
  full.bucket = bucket;
  PassSpec no_output = full;
  no_output.output = Output::none;
  PassSpec no_attention = no_output, no_mlp = no_output;
  for (std::uint32_t layer = 0; layer < layers; ++layer) no_attention.layers.skip_attention[layer] = no_mlp.layers.skip_mlp[layer] = true;
  std::vector<PassSpec> passes{full, no_output, no_attention, no_mlp};
  if (sequence.model().local_layers() < layers) {
    passes.push_back(full);
    passes.back().layers.end = sequence.model().local_layers();
  }
  return passes;
}

void time(Executor& sequence, const PassSpec& spec, std::span<const std::int32_t> tokens, std::uint32_t position, Sample& sample) {
  const Stopwatch watch;
  sequence.run(spec, {.tokens = tokens, .base = position});
  sequence.worker().wait_for_stages();
  const double wall = 1e6 * watch.seconds();
  sample.wall.push_back(wall);
  sample.device.push_back(sequence.results().device_microseconds.value_or(wall));
}

std::uint32_t position_in(std::uint32_t context) { return std::min(512u, context / 2); }

std::vector<std::uint32_t> buckets_of(std::uint32_t context) {
  std::vector<std::uint32_t> buckets;
  for (const std::uint32_t bucket : kernels::row_buckets) {
    if (bucket <= STEP_VERIFY_ROWS && position_in(context) + bucket <= context) buckets.push_back(bucket);
  }
  return buckets;
}

/// From the samples of passes_of().
MeasuredPasses measured_by(const std::vector<Sample>& s) {
  return {Sample::quiet(s[0].device), Sample::quiet(s[1].device), Sample::quiet(s[2].device),
          Sample::quiet(s[3].device), Sample::quiet(s[0].wall),   s.size() > 4 ? Sample::quiet(s[4].wall) : 0.0};
}

/// Corrects noise: parts cost no more than the full pass, and a pass no less than one of fewer rows.
MeasuredPasses consistent(MeasuredPasses passes, const MeasuredPasses& of_fewer_rows) {
  passes.full = std::max(passes.full, of_fewer_rows.full);
  passes.round_trip = std::max(passes.round_trip, passes.full);
  passes.no_output = std::clamp(passes.no_output, std::min(of_fewer_rows.no_output, passes.full), passes.full);
  for (double MeasuredPasses::*part : {&MeasuredPasses::no_attention, &MeasuredPasses::no_mlp})
    passes.*part = std::clamp(passes.*part, std::min(of_fewer_rows.*part, passes.no_output), passes.no_output);
  return passes;
}

/// A pass that estimate_costs() measures.
struct TimedPass {
  PassSpec spec;
  std::uint32_t rows = 1;
  Sample sample;
};

/// The first `parts` of `passes` are passes_of() one row.
CostTable estimated(const std::vector<TimedPass>& passes, std::size_t parts, CostTable table) {
  std::vector<Sample> samples;
  for (const TimedPass& pass : std::span(passes).first(parts)) samples.push_back(pass.sample);
  const MeasuredPasses one = consistent(measured_by(samples), {});
  table.add(1, one);
  MeasuredPasses last = one;
  std::uint32_t last_bucket = 1;
  for (const TimedPass& pass : std::span(passes).subspan(parts)) {
    double factor = static_cast<double>(pass.rows) / last_bucket;
    if (!pass.sample.device.empty()) factor = std::max(1.0, Sample::quiet(pass.sample.device) / last.full);
    last = {last.full * factor,
            last.no_output * factor,
            last.no_attention * factor,
            last.no_mlp * factor,
            last.full * factor + (one.round_trip - one.full),
            last.local * factor};
    last_bucket = pass.rows;
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
  const std::int32_t token = 0;
  Sample sample;
  for (int i = 0; i < 2; ++i) {
    if (progress) progress(0);
    time(sequence, passes_of(sequence, layers, 1)[0], std::span(&token, 1), position_in(sequence.model().shape.context), sample);
  }
  return 1e-6 * sample.wall.back();
}

CostTable estimate_costs(Executor& sequence, std::uint32_t layers, double seconds, const std::function<void(double)>& progress) {
  const std::uint32_t position = position_in(sequence.model().shape.context);
  const std::vector<std::uint32_t> buckets = buckets_of(sequence.model().shape.context);
  const TimedPasses timed(sequence);
  const std::vector<std::int32_t> tokens(STEP_VERIFY_ROWS, 0);
  const Stopwatch watch;
  const auto take = [&](const TimedPass& pass, Sample& sample) {
    if (progress) progress(std::min(1.0, watch.seconds() / seconds));
    time(sequence, pass.spec, std::span(tokens).first(pass.rows), position, sample);
  };
  std::vector<TimedPass> passes;
  for (const PassSpec& spec : passes_of(sequence, layers, 1)) passes.push_back({spec, 1, {}});
  const std::size_t parts = passes.size();
  for (const std::uint32_t bucket : buckets) {
    if (bucket > 1) passes.push_back({passes_of(sequence, layers, bucket)[0], bucket, {}});
  }
  for (std::size_t i = 0; i < passes.size() && (i < parts || watch.seconds() < seconds); ++i) {
    Sample warm_up;  // the first run records
    take(passes[i], warm_up);
    take(passes[i], passes[i].sample);
  }
  for (std::uint32_t round = 1; round < most_rounds && watch.seconds() < seconds; ++round) {
    for (TimedPass& pass : passes)
      if (!pass.sample.wall.empty() && watch.seconds() < seconds) take(pass, pass.sample);
  }
  return estimated(
      passes, parts,
      CostTable(layers, position, sequence.results().device_microseconds ? "timestamps" : "wall", sequence.model().local_layers()));
}

CostTable measure_costs(Executor& sequence, std::uint32_t layers, const std::function<void(double)>& progress) {
  const std::uint32_t position = position_in(sequence.model().shape.context);
  const std::vector<std::uint32_t> buckets = buckets_of(sequence.model().shape.context);
  const TimedPasses timed(sequence);
  const std::vector<std::int32_t> tokens(STEP_VERIFY_ROWS, 0);
  std::vector<std::vector<Sample>> samples(buckets.size());
  const Stopwatch watch;
  for (std::uint32_t round = 0; round <= least_rounds || (round <= most_rounds && watch.seconds() < enough_seconds); ++round) {
    for (std::size_t i = 0; i < buckets.size(); ++i) {
      const std::vector<PassSpec> passes = passes_of(sequence, layers, buckets[i]);
      samples[i].resize(passes.size());
      for (std::size_t pass = 0; pass < passes.size(); ++pass) {
        const double part = static_cast<double>(pass) / static_cast<double>(passes.size());
        const double done = static_cast<double>(round * buckets.size() + i) + part;
        if (progress) progress(std::min(1.0, done / static_cast<double>((least_rounds + 1) * buckets.size())));
        Sample warm_up;  // the first round records
        time(sequence, passes[pass], std::span(tokens).first(buckets[i]), position, round == 0 ? warm_up : samples[i][pass]);
      }
    }
  }
  CostTable table(layers, position, sequence.results().device_microseconds ? "timestamps" : "wall", sequence.model().local_layers());
  MeasuredPasses last;
  for (std::size_t i = 0; i < buckets.size(); ++i) table.add(buckets[i], last = consistent(measured_by(samples[i]), last));
  return table;
}

}  // namespace skipstone::exec
