#include "exec/kv_buffers.h"

#include <algorithm>
#include <array>
#include <utility>

#include "exec/pass_builder.h"

namespace skipstone::exec {

using kernels::KvLayout;
using kernels::ResourceKind;

namespace {

/// That of the layers of a kind, whose keys and values are stored alike; without such layers any.
const model::Attention& attention_of(MemoryKind kind, const model::Config& config, const SequenceShape& shape) {
  for (std::uint32_t layer = 0; layer < config.block_count(); ++layer) {
    if (row_of(kind).has_layer(config, shape.context, layer)) return std::get<model::Attention>(config.block(layer).mixer);
  }
  return config.attention();
}

}  // namespace

std::vector<KvLayout> layer_buffers(MemoryKind kind, const model::Config& config, const SequenceShape& shape) {
  if (kind == MemoryKind::full || kind == MemoryKind::sliding) {
    const kernels::AttentionShape attention = attention_shape(config, attention_of(kind, config, shape), shape);
    std::vector<KvLayout> buffers{attention.cache(ResourceKind::k_cache)};
    if (!attention.has_latents()) buffers.push_back(attention.cache(ResourceKind::v_cache));
    for (KvLayout& buffer : buffers) buffer.slots = 0;
    return buffers;
  }
  const RecurrentShape recurrent = recurrent_shape(config);
  const std::uint32_t floats = kind == MemoryKind::states ? recurrent.state / KV_PAGE : recurrent.record;
  return {{.format = KvFormat::f32, .kv_heads = 1, .head_dim = floats}};
}

KvPlan plan_kv(const model::Config& config, const SequenceShape& shape) {
  const auto buffer_bytes = [&](KvLayout buffer, MemoryKind room) {
    buffer.slots = initial_pages(room, config, shape) * KV_PAGE;
    return buffer.bytes();
  };
  KvPlan plan;
  for (const MemoryKind kind : memory_kinds) {
    const std::uint64_t layers = layers_of(kind, config, shape).size();
    if (layers == 0) continue;
    for (const KvLayout& buffer : layer_buffers(kind, config, shape)) {
      plan.bytes += layers * buffer_bytes(buffer, kind);
      plan.bytes_without_windows += layers * buffer_bytes(buffer, kind == MemoryKind::sliding ? MemoryKind::full : kind);
      plan.largest_buffer = std::max(plan.largest_buffer, buffer_bytes(buffer, kind));
    }
  }
  return plan;
}

KvBuffers::KvBuffers(std::shared_ptr<vk::Device> device, const model::Config& config, const SequenceShape& shape)
    : device_(std::move(device)),
      layouts_(by_kind([&](MemoryKind kind) { return layer_buffers(kind, config, shape); })),
      layers_(by_kind([&](MemoryKind kind) { return layers_of(kind, config, shape); })),
      buffers_(by_kind([&](MemoryKind kind) { return allocate(kind, initial_pages(kind, config, shape), vk::Shortage::makes_room); })),
      slots_(by_kind([&](MemoryKind kind) { return initial_pages(kind, config, shape) * KV_PAGE; })) {
  const std::uint64_t state = KV_PAGE * layouts_[MemoryKind::states].front().position_bytes();
  for (std::uint32_t layer = 0; layer < config.block_count(); ++layer) {
    kinds_.push_back(position_kinds_of(config, shape.context, layer));
    state_bytes_.push_back(row_of(MemoryKind::states).has_layer(config, shape.context, layer) ? state : 0);
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
  const std::size_t layers = layers_[kind].size(), parts = layouts_[kind].size();
  std::uint64_t all = 0;
  for (std::size_t part = 0; part < parts; ++part) all += layers * layout(kind, part, pages * KV_PAGE).bytes();
  if (!device_->could_have(all)) shortage = vk::Shortage::fails;  // others would leave in vain
  Buffers buffers;
  buffers.slices.resize(parts * layers);
  for (std::size_t part = 0; part < parts; ++part) {
    const std::uint64_t bytes = layout(kind, part, pages * KV_PAGE).bytes();
    vk::Arena& arena = *buffers.arenas.emplace_back(std::make_unique<vk::Arena>(device_, vk::Role::kv, block_bytes(layers, bytes)));
    for (std::size_t i = part; i < buffers.slices.size(); i += parts) buffers.slices[i] = arena.allocate(bytes, shortage);
  }
  return buffers;
}

vk::Slice KvBuffers::slice(ResourceKind kind, std::uint32_t layer) const {
  const MemoryKind memory = kind == ResourceKind::states    ? MemoryKind::states
                            : kind == ResourceKind::records ? MemoryKind::recurrent
                                                            : kinds_of(layer).front();
  const std::vector<std::uint32_t>& layers = layers_[memory];
  const auto place = static_cast<std::size_t>(std::ranges::lower_bound(layers, layer) - layers.begin());
  return buffers_[memory].slices.at(layouts_[memory].size() * place + (kind == ResourceKind::v_cache ? 1 : 0));
}

KvLayout KvBuffers::layout(MemoryKind kind, std::size_t part, std::uint32_t slots) const {
  KvLayout layout = layouts_[kind].at(part);
  layout.slots = slots;
  return layout;
}

std::uint64_t KvBuffers::layer_bytes(std::uint32_t layer, std::uint32_t positions, const ByKind<std::uint32_t>& released) const {
  std::uint64_t bytes = 0;
  for (const MemoryKind kind : kinds_of(layer)) {
    const std::uint32_t kept = positions - std::min(positions, released[kind] * KV_PAGE);
    for (const KvLayout& buffer : layouts_[kind]) bytes += kept * buffer.position_bytes();
  }
  return bytes;
}

namespace {

/// Copies slots [from, from + count) of one buffer to `to` of another.
struct Move {
  std::uint32_t from = 0, to = 0, count = 0;
};

/// K, V or records of a layer.
struct Part {
  vk::Slice slice;
  KvLayout layout;
};

/// KV head by KV head; the parts differ in slots at most.
void record(vk::Recorder& recorder, const Part& old, const Part& now, const Move& move) {
  const std::uint64_t codes = old.layout.code_bytes(), scales = old.layout.scale_bytes();
  for (std::uint32_t head = 0; head < old.layout.kv_heads; ++head) {
    const std::uint64_t from = head * old.layout.head_bytes(), to = head * now.layout.head_bytes();
    recorder.copy(old.slice.part(from + move.from * codes, move.count * codes), now.slice.part(to + move.to * codes, move.count * codes));
    if (scales == 0) continue;
    recorder.copy(old.slice.part(from + old.layout.scales_at() + move.from * scales, move.count * scales),
                  now.slice.part(to + now.layout.scales_at() + move.to * scales, move.count * scales));
  }
}

}  // namespace

void KvBuffers::copy(MemoryKind kind, std::uint32_t from, std::uint32_t to) {
  const auto held = hold();
  vk::Recorder recorder(device_);
  const std::size_t parts = layouts_[kind].size();
  for (std::size_t i = 0; i < buffers_[kind].slices.size(); ++i) {
    const Part part{buffers_[kind].slices[i], layout(kind, i % parts, slots_[kind])};
    record(recorder, part, part, {from * KV_PAGE, to * KV_PAGE, KV_PAGE});
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
    const std::size_t part = i % layouts_[kind].size();
    record(recorder, {buffers_[kind].slices[i], layout(kind, part, slots)}, {larger.slices[i], layout(kind, part, pages * KV_PAGE)},
           {0, 0, slots});
  }
  vk::Queue(device_).submit_and_wait(recorder.finish());
  buffers_[kind] = std::move(larger);
  slots_[kind] = pages * KV_PAGE;
  ++generation_;
}

KvBytes::KvBytes(const KvBuffers& buffers, const PageLists& pages, std::uint32_t positions)
    : buffers_(buffers), pages_(pages), positions_(positions), uploader_(buffers.device_) {}

template <typename Visit>
void KvBytes::for_each_run(std::uint32_t layer, const Visit& visit) const {
  const auto held = buffers_.hold();
  for (const MemoryKind kind : buffers_.kinds_of(layer)) for_each_run(kind, layer, visit);
  const std::uint64_t bytes = has_state() ? buffers_.state_bytes(layer) : 0;
  if (bytes > 0) visit(buffers_.slice(ResourceKind::states, layer).part(pages_[MemoryKind::states].pages.front() * bytes, bytes));
}

template <typename Visit>
void KvBytes::for_each_run(MemoryKind kind, std::uint32_t layer, const Visit& visit) const {
  const std::span<const std::uint32_t> pages = pages_[kind].pages;
  const auto visit_plane = [&](const vk::Slice& cache, std::uint64_t first, std::uint64_t bytes) {
    for (std::uint32_t position = std::min(positions_, pages_[kind].released * KV_PAGE); position < positions_; position += KV_PAGE) {
      const std::uint64_t slot = std::uint64_t{pages[position / KV_PAGE]} * KV_PAGE;
      visit(cache.part(first + slot * bytes, std::min<std::uint64_t>(KV_PAGE, positions_ - position) * bytes));
    }
  };
  for (std::size_t part = 0; part < buffers_.layouts_[kind].size(); ++part) {
    const ResourceKind buffer = kind == MemoryKind::recurrent ? ResourceKind::records
                                : part == 0                   ? ResourceKind::k_cache
                                                              : ResourceKind::v_cache;
    const vk::Slice cache = buffers_.slice(buffer, layer);
    const KvLayout layout = buffers_.layout(kind, part, buffers_.slots()[kind]);
    for (std::uint32_t head = 0; head < layout.kv_heads; ++head) {
      const std::uint64_t at = head * layout.head_bytes();
      visit_plane(cache, at, layout.code_bytes());
      if (layout.scale_bytes() > 0) visit_plane(cache, at + layout.scales_at(), layout.scale_bytes());
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
