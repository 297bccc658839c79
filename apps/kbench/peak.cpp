#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base/status.h"
#include "base/stopwatch.h"
#include "kbench/measure.h"
#include "vk/memory.h"
#include "vk/pipeline.h"
#include "vk/recorder.h"

namespace kbench {

using namespace skipstone;

namespace {

const std::uint32_t spirv[] = {
#include "fma_peak.inc"
};
constexpr std::uint32_t steps = 512, chains = 8;

/// The value that shaders/fma_peak.comp computes in lane `lane`.
double expected(std::uint32_t lane) {
  const double seed = static_cast<double>(lane & 255u) / 256.0;
  const std::array<double, 4> a{0.5, 0.75, 0.25, 0.625}, b{seed, 0.5, 1.0, 0.125};
  double sum = 0.0;
  for (std::uint32_t i = 0; i < chains; ++i) {
    for (std::size_t j = 0; j < 4; ++j) {
      double x = i + seed;
      for (std::uint32_t step = 0; step < steps; ++step) x = x * a[j] + b[j];
      sum += x;
    }
  }
  return sum;
}

}  // namespace

double peak_flops(const std::shared_ptr<vk::Device>& device) {
  const std::uint32_t lanes = device->tuning().wide_lanes;
  vk::PipelineFactory factory(device, "");
  vk::PipelineSpec spec;
  spec.name = "fma_peak";
  spec.spirv = spirv;
  spec.bindings = 1;
  spec.constants = {lanes, steps};
  const auto pipeline = factory.create(spec);
  vk::Queue queue(device);
  double best = 0.0;
  // Increases the workgroups until a run is long enough to measure; the fastest of a few runs is the peak.
  for (std::uint32_t groups = 256; groups <= 65535; groups *= 4) {
    vk::Arena arena(device, vk::Role::readback);
    const std::uint32_t total = groups * lanes;
    const vk::Slice out = arena.allocate(std::uint64_t{total} * sizeof(float));
    const vk::Binding binding{out, vk::Access::write};
    vk::Recorder recorder(device);
    recorder.dispatch(*pipeline, std::span(&binding, 1), {}, groups, 1, 1, "fma_peak");
    const vk::Commands commands = recorder.finish();
    double seconds = 0.0;
    for (int run = 0; run < 4; ++run) {
      const Stopwatch watch;
      queue.submit_and_wait(commands);
      seconds = watch.seconds();
      best = std::max(best, 2.0 * 4 * chains * steps * total / seconds);
    }
    const auto* got = reinterpret_cast<const float*>(out.mapped);
    for (const std::uint32_t lane : {0u, 1u, lanes - 1, total - 1}) {
      const double wanted = expected(lane);
      if (!(std::abs(static_cast<double>(got[lane]) - wanted) <= 1e-3 * wanted)) {
        fail(Code::internal, "the device's multiply-adds give {} where {} is right", got[lane], wanted);
      }
    }
    if (seconds > 0.02) break;
  }
  return best;
}

}  // namespace kbench
