#include "exec/kv_buffers.h"

#include <algorithm>

namespace skipstone::exec {

using kernels::ResourceKind;

KvBuffers::KvBuffers(std::shared_ptr<vk::Device> device, const kernels::AttentionShape& shape, std::vector<std::uint32_t> layers,
                     std::uint32_t pages)
    : device_(std::move(device)), shape_(shape), layers_(std::move(layers)), buffers_(allocate(pages)), slots_(pages * KV_PAGE) {}

KvBuffers::Buffers KvBuffers::allocate(std::uint32_t pages) const {
  kernels::AttentionShape shape = shape_;
  shape.slots = pages * KV_PAGE;
  Buffers buffers{std::make_unique<vk::Arena>(device_, vk::Role::kv), {}};
  for (std::uint32_t i = 0; i < 2 * layers_.size(); ++i) buffers.slices.push_back(buffers.arena->allocate(shape.kv_bytes()));
  return buffers;
}

vk::Slice KvBuffers::slice(ResourceKind kind, std::uint32_t layer) const {
  const auto place = static_cast<std::size_t>(std::ranges::lower_bound(layers_, layer) - layers_.begin());
  return buffers_.slices.at(2 * place + (kind == ResourceKind::v_cache ? 1 : 0));
}

namespace {

/// Copies slots [from, from + count) of one buffer to `to` of another.
struct Move {
  std::uint32_t from = 0, to = 0, count = 0;
};

/// KV head by KV head; the buffers may have different numbers of slots.
void record(vk::Recorder& recorder, kernels::AttentionShape shape, const vk::Slice& old, std::uint32_t old_slots, const vk::Slice& now,
            std::uint32_t now_slots, const Move& move) {
  shape.slots = old_slots;
  const std::uint64_t old_head = shape.kv_head_bytes();
  shape.slots = now_slots;
  const std::uint64_t now_head = shape.kv_head_bytes(), vector = shape.kv_position_bytes(), scales = shape.kv_scale_bytes();
  for (std::uint32_t head = 0; head < shape.kv_heads; ++head) {
    const std::uint64_t from = head * old_head, to = head * now_head;
    recorder.copy(old.part(from + move.from * vector, move.count * vector), now.part(to + move.to * vector, move.count * vector));
    if (scales == 0) continue;
    recorder.copy(old.part(from + old_slots * vector + move.from * scales, move.count * scales),
                  now.part(to + now_slots * vector + move.to * scales, move.count * scales));
  }
}

}  // namespace

void KvBuffers::copy(std::uint32_t from, std::uint32_t to) {
  const auto held = hold();
  vk::Recorder recorder(device_);
  for (const vk::Slice& slice : buffers_.slices) {
    record(recorder, shape_, slice, slots_, slice, slots_, {from * KV_PAGE, to * KV_PAGE, KV_PAGE});
  }
  vk::Queue(device_).submit_and_wait(recorder.finish());
}

// Passes submitted earlier are over when the copies run: the copies follow them on the queue, after a barrier.
void KvBuffers::resize(std::uint32_t pages) {
  const std::unique_lock lock(mutex_);
  if (pages * KV_PAGE <= slots_) return;
  Buffers larger = allocate(pages);
  vk::Recorder recorder(device_);
  for (std::size_t i = 0; i < larger.slices.size(); ++i) {
    record(recorder, shape_, buffers_.slices[i], slots_, larger.slices[i], pages * KV_PAGE, {0, 0, slots_});
  }
  vk::Queue(device_).submit_and_wait(recorder.finish());
  buffers_ = std::move(larger);
  slots_ = pages * KV_PAGE;
  ++generation_;
}

std::vector<std::uint32_t> layers_of(const model::Config& config, std::uint32_t context, bool sliding, std::uint32_t begin,
                                     std::uint32_t end) {
  std::vector<std::uint32_t> layers;
  for (std::uint32_t layer = begin; layer < end; ++layer) {
    if (config.has_window(layer, context) == sliding) layers.push_back(layer);
  }
  return layers;
}

CacheBuffers::CacheBuffers(const std::shared_ptr<vk::Device>& device, const model::Config& config, const kernels::AttentionShape& shape,
                           std::uint32_t begin, std::uint32_t end, const Pages& pages)
    : config_(config),
      context_(shape.context),
      full_(device, shape, layers_of(config, shape.context, false, begin, end), pages.full),
      sliding_(device, shape, layers_of(config, shape.context, true, begin, end), pages.sliding) {}

}  // namespace skipstone::exec
