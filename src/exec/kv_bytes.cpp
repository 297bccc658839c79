#include "exec/kv_bytes.h"

namespace skipstone::exec {

KvBytes::KvBytes(const std::shared_ptr<vk::Device>& device, Executor& sequence, std::uint32_t positions)
    : sequence_(sequence), shape_(attention_shape(sequence.config_, sequence.shape())), positions_(positions), uploader_(device) {}

std::uint64_t KvBytes::layer_bytes(const kernels::AttentionShape& shape, std::uint32_t positions) {
  return std::uint64_t{2} * shape.kv_heads * positions * (shape.kv_position_bytes() + shape.kv_scale_bytes());
}

template <typename Visit>
void KvBytes::for_each_run(std::uint32_t layer, const Visit& visit) {
  if (positions_ == 0) return;
  const std::uint64_t scales_at = std::uint64_t{shape_.context} * shape_.kv_position_bytes();
  for (const kernels::ResourceKind kind : {kernels::ResourceKind::k_cache, kernels::ResourceKind::v_cache}) {
    const vk::Slice cache = sequence_.buffers_.slice({kind, layer});
    for (std::uint32_t head = 0; head < shape_.kv_heads; ++head) {
      const std::uint64_t at = head * shape_.kv_head_bytes();
      visit(cache.part(at, std::uint64_t{positions_} * shape_.kv_position_bytes()));
      if (shape_.kv_scale_bytes() > 0) visit(cache.part(at + scales_at, std::uint64_t{positions_} * shape_.kv_scale_bytes()));
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
