#include "model/random_weights.h"

#include <cmath>

#include "gguf/block_code.h"

namespace skipstone::model {
namespace {

struct Range {
  float low, high;
};

// Weights go both ways, but rates of decay, which are below 0; scales are positive, and differ from block to block.
Range range_of(const TensorPlace& place, double size_of_unit, std::uint32_t plane) {
  if (place.vector && place.name.ends_with(".ssm_a")) return {-1.5f, -0.5f};
  if (place.vector) return place.name.ends_with(".bias") ? Range{-0.1f, 0.1f} : Range{0.5f, 1.5f};
  const auto size = static_cast<float>(1.0 / (size_of_unit * std::sqrt(static_cast<double>(place.matrix.k))));
  return plane == 0 ? Range{-size, size} : Range{0.5f * size, 1.5f * size};
}

}  // namespace

RandomWeights::RandomWeights(const std::shared_ptr<vk::Device>& device, kernels::Library& library, const kernels::Selector& select)
    : device_(device), library_(library), select_(select), queue_(device) {}

void RandomWeights::fill(const TensorPlace& place, std::size_t part, std::uint32_t plane, const vk::Slice& target) {
  const gguf::BlockCode& code = gguf::block_code(place.matrix.format);
  const gguf::RandomUnit& unit = code.random;
  const Range range = range_of(place, unit.size, plane);
  // One stream of numbers a plane.
  const std::uint64_t key = std::uint64_t{place.matrix.tensor} << 32 | static_cast<std::uint64_t>(part) << 8 | plane;
  const std::span<const std::byte> table = plane == 1 ? std::as_bytes(code.table) : std::span<const std::byte>();
  if (!table.empty()) vk::Uploader(device_).upload(table, target.part(0, table.size()));
  const vk::Slice units = table.empty() ? target : target.part(table.size(), target.bytes - table.size());
  const kernels::Resource resource{kernels::ResourceKind::weight, place.matrix.tensor};
  const kernels::Dispatch dispatch =
      kernels::random_fill(select_, resource, static_cast<std::uint32_t>(units.bytes / 4), plane == 0 ? unit.quants : unit.scales,
                           range.low, range.high, key, "random_fill");
  vk::Recorder recorder(device_);
  kernels::record(recorder, library_, dispatch, [&](const kernels::Resource&) { return units; });
  queue_.submit_and_wait(recorder.finish());
}

}  // namespace skipstone::model
