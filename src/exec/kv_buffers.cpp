#include "exec/kv_buffers.h"

#include <algorithm>
#include <array>
#include <utility>

#include "exec/pass_builder.h"

namespace skipstone::exec {

using kernels::ResourceKind;

LayerBuffers layer_buffers(MemoryKind kind, const model::Config& config, const SequenceShape& shape) {
  if (kind == MemoryKind::full || kind == MemoryKind::sliding) return {attention_shape(config, shape), 2};
  const RecurrentShape recurrent = recurrent_shape(config);
  const std::uint32_t floats = kind == MemoryKind::states ? recurrent.state / KV_PAGE : recurrent.record;
  return {{.heads = 1, .kv_heads = 1, .head_dim = floats, .kv_format = KvFormat::f32}, 1};
}

KvPlan plan_kv(const model::Config& config, const SequenceShape& shape) {
  const auto buffer_bytes = [&](MemoryKind kind, MemoryKind room) {
    LayerBuffers buffers = layer_buffers(kind, config, shape);
    buffers.shape.slots = initial_pages(room, config, shape) * KV_PAGE;
    return buffers.shape.kv_bytes();
  };
  KvPlan plan;
  for (const MemoryKind kind : memory_kinds) {
    const std::uint64_t count = layers_of(kind, config, shape).size() * layer_buffers(kind, config, shape).count;
    if (count == 0) continue;
    plan.bytes += count * buffer_bytes(kind, kind);
    plan.bytes_without_windows += count * buffer_bytes(kind, kind == MemoryKind::sliding ? MemoryKind::full : kind);
    plan.largest_buffer = std::max(plan.largest_buffer, buffer_bytes(kind, kind));
  }
  return plan;
}

KvBuffers::KvBuffers(std::shared_ptr<vk::Device> device, const model::Config& config, const SequenceShape& shape)
    : device_(std::move(device)),
      layer_buffers_(by_kind([&](MemoryKind kind) { return layer_buffers(kind, config, shape); })),
      layers_(by_kind([&](MemoryKind kind) { return layers_of(kind, config, shape); })),
      buffers_(by_kind([&](MemoryKind kind) { return allocate(kind, initial_pages(kind, config, shape), vk::Shortage::makes_room); })),
      slots_(by_kind([&](MemoryKind kind) { return initial_pages(kind, config, shape) * KV_PAGE; })) {
  for (std::uint32_t layer = 0; layer < config.layer_count(); ++layer) {
    kinds_.push_back(memory_kind_of(config, shape.context, layer));
    has_memory_.push_back(config.layers[layer].has_mixer());
  }
}

namespace {

/// Bytes of blocks that hold whole slices: nothing of them is unused, so that a cache asks for no more than it needs.
std::uint64_t block_bytes(std::size_t slices, std::uint64_t slice_bytes) {
  constexpr std::uint64_t largest = std::uint64_t{64} << 20;
  std::size_t blocks = 1;
  while (blocks < slices && (slices % blocks != 0 || slices / blocks * slice_bytes > largest)) ++blocks;
  return slices / blocks * slice_bytes;
}

}  // namespace

KvBuffers::Buffers KvBuffers::allocate(MemoryKind kind, std::uint32_t pages, vk::Shortage shortage) const {
  auto [shape, count] = layer_buffers_[kind];
  shape.slots = pages * KV_PAGE;
  std::vector<vk::Slice> slices(count * layers_[kind].size());
  auto arena = std::make_unique<vk::Arena>(device_, vk::Role::kv, block_bytes(slices.size(), shape.kv_bytes()));
  if (!device_->could_have(slices.size() * shape.kv_bytes())) shortage = vk::Shortage::fails;  // others would leave in vain
  for (vk::Slice& slice : slices) slice = arena->allocate(shape.kv_bytes(), shortage);
  return {std::move(arena), std::move(slices)};
}

vk::Slice KvBuffers::slice(ResourceKind kind, std::uint32_t layer) const {
  const MemoryKind memory = kind == ResourceKind::states ? MemoryKind::states : kind_of(layer);
  const std::vector<std::uint32_t>& layers = layers_[memory];
  const auto place = static_cast<std::size_t>(std::ranges::lower_bound(layers, layer) - layers.begin());
  return buffers_[memory].slices.at(layer_buffers_[memory].count * place + (kind == ResourceKind::v_cache ? 1 : 0));
}

std::uint64_t KvBuffers::layer_bytes(std::uint32_t layer, std::uint32_t positions) const {
  if (!has_memory_.at(layer)) return 0;
  const auto& [shape, count] = layer_buffers_[kind_of(layer)];
  return std::uint64_t{count} * shape.kv_heads * positions * (shape.kv_position_bytes() + shape.kv_scale_bytes());
}

std::uint64_t KvBuffers::state_bytes(std::uint32_t layer) const {
  if (kind_of(layer) != MemoryKind::recurrent) return 0;
  return std::uint64_t{KV_PAGE} * layer_buffers_[MemoryKind::states].shape.kv_position_bytes();
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

void KvBuffers::copy(MemoryKind kind, std::uint32_t from, std::uint32_t to) {
  const auto held = hold();
  const std::uint32_t slots = slots_[kind];
  vk::Recorder recorder(device_);
  for (const vk::Slice& slice : buffers_[kind].slices) {
    record(recorder, layer_buffers_[kind].shape, slice, slots, slice, slots, {from * KV_PAGE, to * KV_PAGE, KV_PAGE});
  }
  vk::Queue(device_).submit_and_wait(recorder.finish());
}

// Passes submitted earlier are over when the copies run: the copies follow them on the queue, after a barrier.
void KvBuffers::resize(MemoryKind kind, std::uint32_t pages, vk::Shortage shortage) {
  const std::unique_lock lock(mutex_);
  const std::uint32_t slots = slots_[kind];
  if (pages * KV_PAGE <= slots) return;
  Buffers larger = allocate(kind, pages, shortage);
  vk::Recorder recorder(device_);
  for (std::size_t i = 0; i < larger.slices.size(); ++i) {
    record(recorder, layer_buffers_[kind].shape, buffers_[kind].slices[i], slots, larger.slices[i], pages * KV_PAGE, {0, 0, slots});
  }
  vk::Queue(device_).submit_and_wait(recorder.finish());
  buffers_[kind] = std::move(larger);
  slots_[kind] = pages * KV_PAGE;
  ++generation_;
}

KvBytes::KvBytes(const KvBuffers& buffers, const PageLists& pages, std::uint32_t positions)
    : buffers_(buffers), pages_(pages), positions_(positions), uploader_(buffers.device_) {}

std::uint32_t KvBytes::first_of(std::uint32_t layer) const {
  return std::min(positions_, pages_[buffers_.kind_of(layer)].released * KV_PAGE);
}

template <typename Visit>
void KvBytes::for_each_run(std::uint32_t layer, const Visit& visit) const {
  if (!buffers_.has_memory_.at(layer)) return;
  const auto held = buffers_.hold();
  const MemoryKind kind = buffers_.kind_of(layer);
  const std::span<const std::uint32_t> pages = pages_[kind].pages;
  auto [shape, count] = buffers_.layer_buffers_[kind];
  shape.slots = buffers_.slots()[kind];
  const auto visit_plane = [&](const vk::Slice& cache, std::uint64_t first, std::uint64_t bytes) {
    for (std::uint32_t position = first_of(layer); position < positions_; position += KV_PAGE) {
      const std::uint64_t slot = std::uint64_t{pages[position / KV_PAGE]} * KV_PAGE;
      visit(cache.part(first + slot * bytes, std::min<std::uint64_t>(KV_PAGE, positions_ - position) * bytes));
    }
  };
  constexpr std::array parts{ResourceKind::k_cache, ResourceKind::v_cache};
  for (const ResourceKind part : std::span(parts).first(count)) {
    const vk::Slice cache = buffers_.slice(part, layer);
    for (std::uint32_t head = 0; head < shape.kv_heads; ++head) {
      const std::uint64_t at = head * shape.kv_head_bytes();
      visit_plane(cache, at, shape.kv_position_bytes());
      if (shape.kv_scale_bytes() > 0)
        visit_plane(cache, at + std::uint64_t{shape.slots} * shape.kv_position_bytes(), shape.kv_scale_bytes());
    }
  }
  const std::uint64_t bytes = has_state() ? buffers_.state_bytes(layer) : 0;
  if (bytes > 0) visit(buffers_.slice(ResourceKind::states, layer).part(pages_[MemoryKind::states].pages.front() * bytes, bytes));
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
