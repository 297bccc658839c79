#include "model/weights.h"

#include <algorithm>

#include "gguf/gguf.h"
#include "model/repack.h"
#include "vk/device.h"
#include "vk/recorder.h"

namespace skipstone::model {
namespace {

// Repacking goes through host memory in pieces of about this size, of whole groups of interleaved rows and an even number of them, so that
// scales stay on word boundaries.
constexpr std::uint64_t piece_bytes = std::uint64_t{16} << 20;

void upload_part(vk::Uploader& uploader, const TensorPlace& place, std::size_t part, const vk::Slice& quants, const vk::Slice& scales) {
  const kernels::MatrixPart range = place.matrix.parts[part];
  const std::uint32_t interleave = place.matrix.interleave;
  const std::uint64_t row_quants = place.quant_bytes(part) / kernels::padded_rows(range.rows, interleave);
  const std::uint64_t row_scales = scales ? std::uint64_t{kernels::padded(place.matrix.k) / 32} * 2 : 0;
  const std::uint64_t whole = interleave * 2, step = std::max<std::uint64_t>(whole, piece_bytes / row_quants / whole * whole);
  for (std::uint64_t first = 0; first < range.rows; first += step) {
    const std::uint64_t rows = std::min<std::uint64_t>(step, range.rows - first);
    const Planes planes = repack_rows(place.sources, range.first + first, rows, interleave);
    uploader.upload(planes.quants, quants.part(first * row_quants, planes.quants.size()));
    if (scales) uploader.upload(planes.scales, scales.part(first * row_scales, planes.scales.size()));
  }
}

}  // namespace

Weights::Weights(std::shared_ptr<vk::Device> device, const WeightLayout& layout, const std::function<void(double)>& progress)
    : arena_(device, vk::Role::weights) {
  vk::Uploader uploader(device);
  const auto total = static_cast<double>(std::max<std::uint64_t>(1, layout.bytes()));
  double done = 0;
  for (const TensorPlace& place : layout.tensors) {
    std::vector<Buffers> buffers;
    for (std::size_t part = 0; part < place.matrix.parts.size(); ++part) {
      Buffers b;
      b.quants = arena_.allocate(place.quant_bytes(part));
      if (place.scale_bytes(part) > 0) b.scales = arena_.allocate(place.scale_bytes(part));
      if (place.vector) {
        uploader.upload(repack_vector(place.sources), b.quants);
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
