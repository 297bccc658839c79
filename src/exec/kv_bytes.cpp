#include "exec/kv_bytes.h"

#include <algorithm>

namespace skipstone::exec {

KvBytes::KvBytes(const std::shared_ptr<vk::Device>& device, const kernels::AttentionShape& shape, const CacheBuffers& buffers,
                 const PageLists& pages, std::uint32_t positions)
    : buffers_(buffers), pages_(pages), shape_(shape), positions_(positions), uploader_(device) {}

std::uint64_t KvBytes::layer_bytes(const kernels::AttentionShape& shape, std::uint32_t positions) {
  return std::uint64_t{2} * shape.kv_heads * positions * (shape.kv_position_bytes() + shape.kv_scale_bytes());
}

template <typename Visit>
void KvBytes::for_each_run(std::uint32_t layer, const Visit& visit) {
  const auto held = buffers_.hold();
  const KvBuffers& store = buffers_.of_layer(layer);
  const std::span<const std::uint32_t> table = buffers_.is_sliding(layer) ? pages_.sliding : pages_.full;
  shape_.slots = store.slots();
  const auto visit_plane = [&](const vk::Slice& cache, std::uint64_t first, std::uint64_t bytes) {
    for (std::uint32_t position = first_of(layer); position < positions_; position += KV_PAGE) {
      const std::uint64_t slot = std::uint64_t{table[position / KV_PAGE]} * KV_PAGE;
      visit(cache.part(first + slot * bytes, std::min<std::uint64_t>(KV_PAGE, positions_ - position) * bytes));
    }
  };
  for (const kernels::ResourceKind kind : {kernels::ResourceKind::k_cache, kernels::ResourceKind::v_cache}) {
    const vk::Slice cache = store.slice(kind, layer);
    for (std::uint32_t head = 0; head < shape_.kv_heads; ++head) {
      const std::uint64_t at = head * shape_.kv_head_bytes();
      visit_plane(cache, at, shape_.kv_position_bytes());
      if (shape_.kv_scale_bytes() > 0)
        visit_plane(cache, at + std::uint64_t{shape_.slots} * shape_.kv_position_bytes(), shape_.kv_scale_bytes());
    }
  }
}

void KvBytes::read(std::uint32_t layer, std::span<std::byte> to) {
  for_each_run(layer, [&](const vk::Slice& run) {
    uploader_.download(run, to.first(run.bytes));
    to = to.subspan(run.bytes);
  });
}

void KvBytes::write(std::uint32_t layer, std::span<const std::byte> from) {
  for_each_run(layer, [&](const vk::Slice& run) {
    uploader_.upload(from.first(run.bytes), run);
    from = from.subspan(run.bytes);
  });
}

}  // namespace skipstone::exec
