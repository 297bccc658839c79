#include "model/random_weights.h"

#include <cmath>

#include "base/status.h"
#include "gguf/gguf.h"

namespace skipstone::model {
namespace {

using kernels::RandomPattern;
using Number = RandomPattern::Number;

constexpr RandomPattern bits{};
constexpr RandomPattern halves{Number::f16, 1, 1};

/// One row a format: what its planes hold, and the standard deviation of a weight whose scales are 1 (of all bits alike).
struct FormatPlanes {
  gguf::Type format;
  RandomPattern quants, scales;
  double deviation;
};

// Deviations: of numbers spread evenly over [-1, 1], and over the integers -128..127 and -8..7.
constexpr FormatPlanes format_planes[] = {
    {gguf::Type::f32, {Number::f32, 1, 1}, bits, 0.577},
    {gguf::Type::f16, halves, bits, 0.577},
    {gguf::Type::bf16, {Number::bf16, 1, 1}, bits, 0.577},
    {gguf::Type::q8_0, bits, halves, 73.9},
    {gguf::Type::q4_0, bits, halves, 4.61},
};

const FormatPlanes& planes_of(gguf::Type format) {
  for (const FormatPlanes& row : format_planes) {
    if (row.format == format) return row;
  }
  fail(Code::unsupported, "there are no random weights of type {}", gguf::traits(format).name);
}

struct Range {
  float low, high;
};

// Weights go both ways; scales are positive, and differ from block to block.
Range range_of(const TensorPlace& place, const FormatPlanes& planes, std::uint32_t plane) {
  if (place.vector) return {0.5f, 1.5f};
  const auto size = static_cast<float>(1.0 / (planes.deviation * std::sqrt(static_cast<double>(place.matrix.k))));
  return plane == 0 ? Range{-size, size} : Range{0.5f * size, 1.5f * size};
}

}  // namespace

RandomWeights::RandomWeights(std::shared_ptr<vk::Device> device, kernels::Library& library, const kernels::Selector& select)
    : device_(device), library_(library), select_(select), queue_(device) {}

void RandomWeights::fill(const TensorPlace& place, std::size_t part, std::uint32_t plane, const vk::Slice& target) {
  const FormatPlanes& planes = planes_of(place.matrix.format);
  const Range range = range_of(place, planes, plane);
  // One stream of numbers a plane.
  const std::uint64_t key = std::uint64_t{place.matrix.tensor} << 32 | static_cast<std::uint64_t>(part) << 8 | plane;
  const kernels::Resource resource{kernels::ResourceKind::weight, place.matrix.tensor};
  const kernels::Dispatch dispatch =
      kernels::random_fill(select_, resource, static_cast<std::uint32_t>(target.bytes / 4), plane == 0 ? planes.quants : planes.scales,
                           range.low, range.high, key, "random_fill");
  vk::Recorder recorder(device_);
  kernels::record(recorder, library_, dispatch, [&](const kernels::Resource&) { return target; });
  queue_.submit_and_wait(recorder.finish());
}

}  // namespace skipstone::model
