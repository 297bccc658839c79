#include "exec/cost_measurement.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <vector>

#include "abi/step_state.h"

namespace skipstone::exec {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t least_rounds = 3, most_rounds = 7;
constexpr double enough_seconds = 3;  // further rounds are for devices that take no longer

struct Sample {
  std::vector<double> device, wall;  // microseconds

  static double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
  }
};

/// full, no output, no attention, no MLP.
std::array<PassSpec, 4> passes_of(std::uint32_t layers, std::uint32_t bucket) {
  PassSpec full;
  full.layers = LayerPlan::full(layers);
  full.bucket = bucket;
  PassSpec no_output = full;
  no_output.output = Output::none;
  PassSpec no_attention = no_output, no_mlp = no_output;
  for (std::uint32_t layer = 0; layer < layers; ++layer) no_attention.layers.skip_attention[layer] = no_mlp.layers.skip_mlp[layer] = true;
  return {full, no_output, no_attention, no_mlp};
}

void time(Executor& sequence, const PassSpec& spec, std::span<const std::int32_t> tokens, std::uint32_t position, Sample& sample) {
  const auto start = Clock::now();
  sequence.run(spec, {.tokens = tokens, .base = position});
  const double wall = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
  sample.wall.push_back(wall);
  sample.device.push_back(sequence.device_microseconds().value_or(wall));
}

std::uint32_t position_in(std::uint32_t context) { return std::min(512u, context / 2); }

std::vector<std::uint32_t> buckets_of(std::uint32_t context) {
  std::vector<std::uint32_t> buckets;
  for (const std::uint32_t bucket : kernels::row_buckets) {
    if (bucket <= STEP_VERIFY_ROWS && position_in(context) + bucket <= context) buckets.push_back(bucket);
  }
  return buckets;
}

MeasuredPasses medians_of(const std::array<Sample, 4>& s) {
  return {Sample::median(s[0].device), Sample::median(s[1].device), Sample::median(s[2].device), Sample::median(s[3].device),
          Sample::median(s[0].wall)};
}

}  // namespace

double time_of_one_row(Executor& sequence, std::uint32_t layers) {
  const std::int32_t token = 0;
  Sample sample;
  for (int i = 0; i < 2; ++i) {
    time(sequence, passes_of(layers, 1)[0], std::span(&token, 1), position_in(sequence.shape().context), sample);
  }
  return 1e-6 * sample.wall.back();
}

CostTable estimate_costs(Executor& sequence, std::uint32_t layers, double seconds, const std::function<void(double)>& progress) {
  const std::uint32_t position = position_in(sequence.shape().context);
  const std::vector<std::uint32_t> buckets = buckets_of(sequence.shape().context);
  const TimedPasses timed(sequence);
  const std::vector<std::int32_t> tokens(STEP_VERIFY_ROWS, 0);
  const auto start = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  const auto take = [&](const PassSpec& spec, std::uint32_t rows, int samples) {
    Sample warm_up, sample;  // the first run records
    for (int i = 0; i <= samples; ++i) time(sequence, spec, std::span(tokens).first(rows), position, i == 0 ? warm_up : sample);
    if (progress) progress(std::min(1.0, elapsed() / seconds));
    return sample;
  };
  std::array<Sample, 4> one_row;
  const std::array<PassSpec, 4> passes = passes_of(layers, 1);
  for (std::size_t pass = 0; pass < passes.size(); ++pass) one_row[pass] = take(passes[pass], 1, 2);
  const MeasuredPasses one = medians_of(one_row);
  CostTable table(layers, position, sequence.device_microseconds() ? "timestamps" : "wall");
  table.add(1, one);
  MeasuredPasses last = one;
  std::uint32_t last_bucket = 1;
  for (const std::uint32_t bucket : buckets) {
    if (bucket == 1) continue;
    double factor = static_cast<double>(bucket) / last_bucket;
    if (elapsed() < seconds) factor = Sample::median(take(passes_of(layers, bucket)[0], bucket, 1).device) / last.full;
    last = {last.full * factor, last.no_output * factor, last.no_attention * factor, last.no_mlp * factor,
            last.full * factor + (one.round_trip - one.full)};
    last_bucket = bucket;
    table.add(bucket, last);
  }
  return table;
}

CostTable measure_costs(Executor& sequence, std::uint32_t layers, const std::function<void(double)>& progress) {
  const std::uint32_t position = position_in(sequence.shape().context);
  const std::vector<std::uint32_t> buckets = buckets_of(sequence.shape().context);
  const TimedPasses timed(sequence);
  const std::vector<std::int32_t> tokens(STEP_VERIFY_ROWS, 0);
  std::vector<std::array<Sample, 4>> samples(buckets.size());
  const auto start = Clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  for (std::uint32_t round = 0; round <= least_rounds || (round <= most_rounds && seconds() < enough_seconds); ++round) {
    for (std::size_t i = 0; i < buckets.size(); ++i) {
      const std::array<PassSpec, 4> passes = passes_of(layers, buckets[i]);
      for (std::size_t pass = 0; pass < passes.size(); ++pass) {
        Sample warm_up;  // the first round records
        time(sequence, passes[pass], std::span(tokens).first(buckets[i]), position, round == 0 ? warm_up : samples[i][pass]);
      }
      const double done = static_cast<double>(round * buckets.size() + i), all = static_cast<double>((least_rounds + 1) * buckets.size());
      if (progress) progress(std::min(1.0, done / all));
    }
  }
  CostTable table(layers, position, sequence.device_microseconds() ? "timestamps" : "wall");
  for (std::size_t i = 0; i < buckets.size(); ++i) table.add(buckets[i], medians_of(samples[i]));
  return table;
}

}  // namespace skipstone::exec
