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

}  // namespace

CostTable measure_costs(Executor& sequence, std::uint32_t layers, const std::function<void(double)>& progress) {
  const std::uint32_t context = sequence.shape().context, position = std::min(512u, context / 2);
  std::vector<std::uint32_t> buckets;
  for (const std::uint32_t bucket : kernels::row_buckets) {
    if (bucket <= STEP_VERIFY_ROWS && position + bucket <= context) buckets.push_back(bucket);
  }
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
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    const auto& s = samples[i];
    table.add(buckets[i], {Sample::median(s[0].device), Sample::median(s[1].device), Sample::median(s[2].device),
                           Sample::median(s[3].device), Sample::median(s[0].wall)});
  }
  return table;
}

}  // namespace skipstone::exec
