#include "model/weights.h"

#include <algorithm>

#include "gguf/block_code.h"
#include "gguf/gguf.h"
#include "kernels/weight_format.h"
#include "model/random_weights.h"
#include "model/repack.h"
#include "vk/device.h"
#include "vk/recorder.h"

namespace skipstone::model {
namespace {

// Repacking goes through host memory in chunks of about this size: whole groups of interleaved rows, enough of them that the next
// chunk starts at a whole 16-byte word in both planes (a unit has at least a byte in each).
constexpr std::uint64_t piece_bytes = std::uint64_t{16} << 20, piece_groups = 16;

void upload_part(vk::Uploader& uploader, const TensorPlace& place, std::size_t part, const vk::Slice& quants, const vk::Slice& scales) {
  if (place.turned) {
    const TurnedMatrix turned = turn_rows(*place.sources[0], *place.turned, place.matrix.format);
    TensorPlace made = place;
    made.sources = {&turned.tensor};
    made.turned.reset();
    return upload_part(uploader, made, part, quants, scales);
  }
  const kernels::MatrixPart range = place.matrix.parts[part];
  const kernels::WeightFormat& format = kernels::weight_format(place.matrix.format);
  const std::uint32_t interleave = place.matrix.interleave;
  const std::uint64_t units = kernels::units_of_row(format, place.matrix.k), whole = interleave * piece_groups;
  const std::span<const std::byte> table = std::as_bytes(gguf::block_code(format.type).table);
  if (!table.empty()) uploader.upload(table, scales.part(0, table.size()));
  const std::uint64_t step = std::max(whole, piece_bytes / (units * format.quant_bytes) / whole * whole);
  for (std::uint64_t first = 0; first < range.rows; first += step) {
    const std::uint64_t rows = std::min<std::uint64_t>(step, range.rows - first);
    const Planes planes = repack_rows(place.sources, range.first + first, rows, interleave, place.order);
    uploader.upload(planes.quants, quants.part(first * units * format.quant_bytes, planes.quants.size()));
    if (scales) uploader.upload(planes.scales, scales.part(table.size() + first * units * format.scale_bytes, planes.scales.size()));
  }
}

}  // namespace

Weights::Weights(const std::shared_ptr<vk::Device>& device, const WeightLayout& layout, const std::function<void(double)>& progress,
                 RandomWeights* random)
    : device_arena_(device, vk::Role::weights), host_arena_(device, vk::Role::host_weights) {
  vk::Uploader uploader(device);
  const auto total = static_cast<double>(std::max<std::uint64_t>(1, layout.bytes()));
  double done = 0;
  for (const TensorPlace& place : layout.tensors) {
    std::vector<Buffers> buffers;
    vk::Arena& arena = place.on_host ? host_arena_ : device_arena_;
    for (std::size_t part = 0; part < place.matrix.parts.size(); ++part) {
      Buffers b;
      b.quants = arena.allocate(place.quant_bytes(part));
      if (place.scale_bytes(part) > 0) b.scales = arena.allocate(place.scale_bytes(part));
      if (random != nullptr) {
        random->fill(place, part, 0, b.quants);
        if (b.scales) random->fill(place, part, 1, b.scales);
      } else if (place.vector) {
        uploader.upload(repack_vector(place.sources, place.outputs), b.quants);
      } else {
        upload_part(uploader, place, part, b.quants, b.scales);
      }
      done += static_cast<double>(place.quant_bytes(part) + place.scale_bytes(part));
      if (progress) progress(done / total);
      buffers.push_back(b);
    }
    tensors_.push_back(std::move(buffers));
  }
}

vk::Slice Weights::slice(const kernels::Resource& resource) const {
  if (resource.index >= tensors_.size() || resource.part >= tensors_[resource.index].size()) return {};
  const Buffers& buffers = tensors_[resource.index][resource.part];
  return resource.plane == 0 ? buffers.quants : buffers.scales;
}

}  // namespace skipstone::model
