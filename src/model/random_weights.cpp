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

/// A unit's halves in plane 1: the scale is the first one; a minimum beside it is as large as makes the mean of all weights about zero.
constexpr RandomPattern scale_and_minimum(std::uint32_t unit_halves, float minimum) { return {Number::f16, unit_halves, 3, 2, minimum}; }

/// One row a format: the contents of its planes (model/repack_unit.cpp), and the root mean square of weights whose scales are around 1.
struct FormatPlanes {
  gguf::Type format;
  RandomPattern quants, scales;
  double size;
};

// Sizes: sampled, with scales and minima evenly from 0.5 to 1.5 and codes of random bits; of plain numbers 1 / sqrt(3).
constexpr FormatPlanes format_planes[] = {
    {gguf::Type::f32, {Number::f32, 1, 1}, bits, 0.577},
    {gguf::Type::f16, halves, bits, 0.577},
    {gguf::Type::bf16, {Number::bf16, 1, 1}, bits, 0.577},
    {gguf::Type::q8_0, bits, halves, 77.0},
    {gguf::Type::q4_0, bits, halves, 4.83},
    {gguf::Type::iq4_nl, bits, halves, 70.2},
    {gguf::Type::q4_1, bits, scale_and_minimum(2, -7.5f), 5.68},
    {gguf::Type::q5_0, bits, {Number::f32, 4, 4}, 9.61},
    {gguf::Type::q5_1, bits, {Number::f16, 4, 12, 8, -15.5f}, 11.5},
    {gguf::Type::q2_k, bits, scale_and_minimum(10, 1.5f), 15.1},
    {gguf::Type::q3_k, bits, {Number::f16, 24, 1}, 45.1},
    {gguf::Type::q4_k, bits, scale_and_minimum(8, 7.5f), 286.0},
    {gguf::Type::q5_k, bits, scale_and_minimum(24, 15.5f), 583.0},
    {gguf::Type::q6_k, bits, {Number::f32, 10, 1}, 1420.0},
    // Of random places some are out of order or the same: 11 of 32 weights are there.
    {gguf::Type::sparse_f16, halves, bits, 0.338},
    {gguf::Type::sparse_q8_0, bits, {Number::f32, 6, 1}, 45.1},
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
  if (place.vector) return place.name.ends_with(".bias") ? Range{-0.1f, 0.1f} : Range{0.5f, 1.5f};
  const auto size = static_cast<float>(1.0 / (planes.size * std::sqrt(static_cast<double>(place.matrix.k))));
  return plane == 0 ? Range{-size, size} : Range{0.5f * size, 1.5f * size};
}

}  // namespace

RandomWeights::RandomWeights(const std::shared_ptr<vk::Device>& device, kernels::Library& library, const kernels::Selector& select)
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
