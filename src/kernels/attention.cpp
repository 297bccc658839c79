#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "kernels/abi.h"
#include "kernels/operations.h"

namespace skipstone::kernels {

using vk::Access;

namespace {

float attention_scale(const AttentionShape& shape) {
  return shape.scale > 0.0f ? shape.scale : 1.0f / std::sqrt(static_cast<float>(shape.head_dim));
}

/// The last `optional` constants are for attention features of few models; those after the last that is not 0 are left to the shader's
/// defaults.
template <typename Spec>
std::vector<std::uint32_t> attention_words(const Spec& spec, std::size_t optional) {
  std::vector<std::uint32_t> all = words(spec);
  for (; optional > 0 && all.back() == 0; --optional) all.pop_back();
  return all;
}

/// WINDOWED of shaders/lib/keys.glsl.
std::uint32_t sliding(const AttentionLayer& layer) { return (layer.window > 0 ? 1u : 0u) | (layer.without_first ? 2u : 0u); }
std::uint32_t capped(const AttentionShape& shape) { return shape.softcap > 0.0f ? 1 : 0; }
std::uint32_t sunk(const AttentionLayer& layer) { return layer.sinks ? 1 : 0; }
/// Without sinks a kernel reads none, but its binding needs a buffer.
Operand sinks_of(const AttentionLayer& layer) {
  return {layer.sinks ? Resource{ResourceKind::weight, *layer.sinks} : Resource{ResourceKind::state}, Access::read};
}

std::uint32_t q_stride(const AttentionShape& shape) { return padded(shape.heads * shape.head_dim); }

static_assert(static_cast<int>(KvFormat::f32) == KV_FORMAT_F32 && static_cast<int>(KvFormat::f16) == KV_FORMAT_F16 &&
              static_cast<int>(KvFormat::q8_0) == KV_FORMAT_Q8_0 && static_cast<int>(KvFormat::q4_0) == KV_FORMAT_Q4_0 &&
              static_cast<int>(KvFormat::q5_1) == KV_FORMAT_Q5_1 && kv_block == KV_BLOCK);
static_assert(static_cast<std::uint32_t>(Keys::text) == KEYS_TEXT && static_cast<std::uint32_t>(Keys::tree) == KEYS_TREE &&
              static_cast<std::uint32_t>(Keys::window) == KEYS_WINDOW);
std::uint32_t k_constant(const AttentionShape& shape) { return static_cast<std::uint32_t>(shape.kv_format.k); }
std::uint32_t v_constant(const AttentionShape& shape) { return static_cast<std::uint32_t>(shape.cache(ResourceKind::v_cache).format); }
KvFormats formats_of(const AttentionShape& shape) { return {shape.kv_format.k, shape.cache(ResourceKind::v_cache).format}; }

/// The variant of a kernel that knows the formats of K and V and as few others as possible (KV_BLOCKS in shaders/lib/kv_blocks.glsl).
/// `variants`: those of floats, of Q8_0 too, of all formats.
KernelId variant_for(KvFormats formats, const std::array<KernelId, 3>& variants) {
  const auto knows = [](KvFormat format) { return !traits(format).has_blocks() ? 0u : format == KvFormat::q8_0 ? 1u : 2u; };
  return variants[std::max(knows(formats.k), knows(formats.v))];
}

/// Invocations of rope_store that store a row's K or V.
std::uint32_t stores(const KvLayout& cache) {
  return cache.kv_heads * (traits(cache.format).has_blocks() ? (cache.head_dim + 2 * kv_block - 1) / (2 * kv_block) : cache.head_dim / 4);
}

}  // namespace

std::uint32_t KvLayout::scale_bytes() const { return (head_dim / kv_block * traits(format).scale_bytes + 3) / 4 * 4; }

std::uint64_t AttentionShape::partial_bytes(std::uint32_t rows) const {
  return std::uint64_t{rows} * heads * max_chunks() * (head_dim + ATTENTION_PARTIAL_EXTRA) * sizeof(float);
}

Dispatch rope_store(const Selector& select, const AttentionShape& shape, const AttentionLayer& layer, std::uint32_t rows,
                    const std::string& label, bool tree) {
  const std::uint32_t kv_heads = shape.queries_alone ? 0 : shape.kv_heads;
  const std::uint32_t rounds = select.tuning().texels ? 8 : 1;  // a CPU driver's workgroup costs more than its lanes have to do in one
  Dispatch d;
  d.kernel = shape.has_latents() ? variant_for(formats_of(shape), {KernelId::rope_store_latent, KernelId::rope_store_latent_q8_0,
                                                                   KernelId::rope_store_latent_blocks})
             : select.tuning().texels
                 ? variant_for(formats_of(shape),
                               {KernelId::rope_store_texels, KernelId::rope_store_texels_q8_0, KernelId::rope_store_texels_blocks})
                 : variant_for(formats_of(shape), {KernelId::rope_store, KernelId::rope_store_q8_0, KernelId::rope_store_blocks});
  d.constants = words(
      abi::RopeStoreSpec{select.tuning().lanes, k_constant(shape), v_constant(shape), shape.rope_halves ? 1u : 0u, tree ? 1u : 0u, rounds});
  d.operands = {{{ResourceKind::qkv}, Access::read},
                {{ResourceKind::rope_table}, Access::read},
                {{ResourceKind::state}, Access::read},
                {{ResourceKind::q_rotated}, Access::write},
                {{ResourceKind::k_cache, layer.index}, Access::read_write},
                {{shape.value_cache(), layer.index}, Access::read_write}};
  d.push = bytes(abi::RopeStorePush{shape.heads, kv_heads, shape.head_dim, layer.rotates ? shape.rope_dim : 0, padded(shape.qkv_width()),
                                    q_stride(shape), shape.cache_slots(), layer.k_row, layer.q_row, shape.tables, shape.q_step()});
  std::uint32_t invocations = shape.heads * (shape.has_latents() ? shape.rope_dim : shape.head_dim) / 4;
  if (!shape.queries_alone) invocations += stores(shape.cache(ResourceKind::k_cache));
  if (!shape.queries_alone && !shape.has_latents()) invocations += stores(shape.cache(ResourceKind::v_cache));
  d.groups = {(invocations + select.tuning().lanes * rounds - 1) / (select.tuning().lanes * rounds), rows, 1};
  d.label = label;
  return d;
}

namespace {

Dispatch attention_serial(const Selector& select, const AttentionShape& shape, const AttentionLayer& layer, std::uint32_t rows,
                          const std::string& label, Keys keys) {
  const AttentionChoice choice = select.attention(shape.group(), shape.head_dim, shape.chunk, rows);
  Dispatch d;
  d.kernel =
      variant_for(formats_of(shape), {KernelId::attention_serial, KernelId::attention_serial_q8_0, KernelId::attention_serial_blocks});
  d.constants =
      attention_words(abi::AttentionSerialSpec{choice.lanes, k_constant(shape), v_constant(shape), shape.head_dim, choice.heads,
                                               static_cast<std::uint32_t>(keys), choice.rows, sliding(layer), capped(shape), sunk(layer)},
                      3);
  d.operands = {{{ResourceKind::q_rotated}, Access::read},          {{ResourceKind::k_cache, layer.index}, Access::read},
                {{shape.value_cache(), layer.index}, Access::read}, {{ResourceKind::state}, Access::read},
                {{ResourceKind::attended}, Access::write},          sinks_of(layer)};
  d.push = bytes(abi::AttentionSerialPush{shape.group(), q_stride(shape), shape.cache_slots(), attention_scale(shape), shape.softcap,
                                          layer.window, shape.tables});
  d.groups = {shape.heads / choice.heads, (rows + choice.rows - 1) / choice.rows, 1};
  d.label = label;
  return d;
}

}  // namespace

std::vector<Dispatch> attention(const Selector& select, const AttentionShape& shape, const AttentionLayer& layer, std::uint32_t rows,
                                const std::string& label, Keys keys) {
  if (select.tuning().texels && shape.texel_aligned()) return {attention_serial(select, shape, layer, rows, label, keys)};
  const AttentionChoice choice = select.attention(shape.group(), shape.head_dim, shape.chunk, rows);
  Dispatch split;
  split.kernel = variant_for(formats_of(shape), {KernelId::attention, KernelId::attention_q8_0, KernelId::attention_blocks});
  split.constants = attention_words(abi::AttentionSpec{choice.lanes, k_constant(shape), v_constant(shape), shape.head_dim, choice.heads,
                                                       shape.chunk, static_cast<std::uint32_t>(keys), sliding(layer), capped(shape)},
                                    2);
  split.operands = {{{ResourceKind::q_rotated}, Access::read},
                    {{ResourceKind::k_cache, layer.index}, Access::read},
                    {{shape.value_cache(), layer.index}, Access::read},
                    {{ResourceKind::state}, Access::read},
                    {{ResourceKind::attention_partial}, Access::write}};
  split.push = bytes(abi::AttentionPush{shape.heads, shape.group(), q_stride(shape), shape.cache_slots(), shape.max_chunks(),
                                        attention_scale(shape), shape.softcap, layer.window, shape.tables});
  // The host writes (chunks in use, rows of workgroups, rows) into the state; y is what this choice of heads needs.
  split.groups = {shape.max_chunks(), shape.heads / choice.heads, rows};
  split.indirect_offset = offsetof(abi::StepState, attention_groups);
  split.label = label;

  Dispatch merge;
  merge.kernel = KernelId::attention_merge;
  merge.constants = attention_words(
      abi::AttentionMergeSpec{choice.lanes, shape.head_dim, shape.chunk, static_cast<std::uint32_t>(keys), sliding(layer), sunk(layer)}, 2);
  merge.operands = {{{ResourceKind::attention_partial}, Access::read},
                    {{ResourceKind::state}, Access::read},
                    {{ResourceKind::attended}, Access::write},
                    sinks_of(layer)};
  merge.push = bytes(abi::AttentionMergePush{shape.heads, q_stride(shape), shape.max_chunks(), layer.window});
  merge.groups = {shape.heads, rows, 1};
  merge.label = label + ".merge";
  return {std::move(split), std::move(merge)};
}

Dispatch head_gate(const Selector& select, const AttentionShape& shape, std::uint32_t rows, const std::string& label) {
  const std::uint32_t lanes = select.tuning().lanes, width = shape.heads * shape.head_dim;
  Dispatch d;
  d.kernel = KernelId::head_gate;
  d.constants = words(abi::HeadGateSpec{lanes});
  d.operands = {{{ResourceKind::qkv}, Access::read}, {{ResourceKind::attended}, Access::read_write}};
  d.push = bytes(abi::HeadGatePush{width, shape.head_dim, padded(shape.qkv_width()), q_stride(shape)});
  d.groups = {(width + lanes - 1) / lanes, rows, 1};
  d.label = label;
  return d;
}

std::vector<Dispatch> move_kv(const Selector& select, const AttentionShape& shape, std::uint32_t layer, const std::string& label) {
  const KvLayout k = shape.cache(ResourceKind::k_cache), v = shape.cache(ResourceKind::v_cache);
  const auto to_words = [](std::uint64_t bytes) { return static_cast<std::uint32_t>(bytes / 4); };
  std::vector<Dispatch> planes;
  const auto move = [&](std::uint32_t k_first, std::uint32_t v_first, std::uint32_t k_words, std::uint32_t v_words) {
    Dispatch d;
    d.kernel = KernelId::move_kv;
    d.constants = words(abi::MoveKvSpec{select.tuning().lanes});
    d.operands = {{{ResourceKind::k_cache, layer}, Access::read_write},
                  {{shape.value_cache(), layer}, Access::read_write},
                  {{ResourceKind::state}, Access::read}};
    d.push = bytes(abi::MoveKvPush{to_words(k.head_bytes()), to_words(v.head_bytes()), k_first, v_first, k_words, v_words, shape.tables});
    d.groups = {(std::max(k_words, v_words) + select.tuning().lanes - 1) / select.tuning().lanes, shape.kv_heads,
                shape.has_latents() ? 1u : 2u};
    d.label = label;
    planes.push_back(std::move(d));
  };
  move(0, 0, k.code_bytes() / 4, v.code_bytes() / 4);
  if (formats_of(shape).have_blocks()) {
    move(to_words(k.scales_at()), to_words(v.scales_at()), k.scale_bytes() / 4, v.scale_bytes() / 4);
  }
  return planes;
}

Dispatch attention_prefill(const Selector& select, const AttentionShape& shape, const AttentionLayer& layer, std::uint32_t rows,
                           const std::string& label) {
  Dispatch d;
  d.kernel = select.tuning().texels && shape.texel_aligned()
                 ? variant_for(formats_of(shape), {KernelId::attention_prefill_texels, KernelId::attention_prefill_texels_q8_0,
                                                   KernelId::attention_prefill_texels_blocks})
                 : variant_for(formats_of(shape),
                               {KernelId::attention_prefill, KernelId::attention_prefill_q8_0, KernelId::attention_prefill_blocks});
  const std::uint32_t split = select.attention_split(shape.head_dim), rows_of_group = select.tuning().lanes / split;
  d.constants = attention_words(abi::AttentionPrefillSpec{select.tuning().lanes, k_constant(shape), v_constant(shape), shape.head_dim,
                                                          split, sliding(layer), capped(shape), sunk(layer)},
                                3);
  d.operands = {{{ResourceKind::q_rotated}, Access::read},          {{ResourceKind::k_cache, layer.index}, Access::read},
                {{shape.value_cache(), layer.index}, Access::read}, {{ResourceKind::state}, Access::read},
                {{ResourceKind::attended}, Access::write},          sinks_of(layer)};
  d.push = bytes(abi::AttentionPrefillPush{shape.group(), q_stride(shape), shape.cache_slots(), attention_scale(shape), shape.softcap,
                                           layer.window, shape.tables});
  d.groups = {(rows + rows_of_group - 1) / rows_of_group, shape.heads, 1};
  d.label = label;
  return d;
}

}  // namespace skipstone::kernels
