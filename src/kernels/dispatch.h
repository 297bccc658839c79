// One kernel call as data: plans consist of these. Buffers are named, not held, so that plans are built and tested without a device.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "kernels/kernel_ids.h"
#include "vk/recorder.h"

namespace skipstone::kernels {

/// The purpose of a buffer. `index` of a Resource selects one of its kind.
enum class ResourceKind : std::uint8_t {
  weight,  ///< index: tensor; part and plane (0 quants, 1 scales) select a buffer of it
  k_cache,
  v_cache,   ///< index: layer
  records,   ///< of recurrent layers; index: layer
  states,    ///< of recurrent layers; index: layer
  residual,  ///< index 0 or 1: the residual stream and its other half of the ping-pong
  kept,      ///< saved hidden states: the residual stream after a pass's first layers, one row per row of the round
  normed,
  qkv,            ///< rows of q, then k, then v; of recurrent layers what their input matrix gives
  query_latents,  ///< of which matrices of latent attention make Q
  q_rotated,
  attended,
  head_outputs,  ///< of latent attention, before its last matrix
  recurrent,     ///< outputs of recurrent layers, before their output matrix
  gate_up,       ///< rows of gate, then up
  activated,     ///< activations
  router_logits,
  expert_choices,
  expert_groups,  ///< of a row its experts, of an expert its rows (shaders/abi/experts.h)
  expert_latent,  ///< rows that experts see where they do not see the model's
  expert_gate_up,
  expert_activated,
  expert_outputs,  ///< by slot
  shared_outputs,  ///< of the shared expert, by row
  token_inputs,    ///< what each token gives each layer (per-layer embeddings)
  half_rows,       ///< a matrix product's x in half precision, on its way into the tiles
  attention_partial,
  logits,
  argmax_partial,
  result,
  candidate_requests,
  candidate_groups,
  candidates,  ///< candidates for sampling, of each row
  cosines,
  cosine_total,
  expert_use,  ///< by layer: experts that had rows
  rope_table,
  state,
  round,
  round_result,
  drafts,           ///< of a round in one submission: its state, its result, a RowResult per draft
  logits_readback,  ///< where the host reads logits
  rows_in,
  rows_out,  ///< rows of the residual stream in transfer between devices
  scratch,   ///< tests: any index
};
constexpr std::size_t resource_kinds = static_cast<std::size_t>(ResourceKind::scratch) + 1;

struct Resource {
  ResourceKind kind = ResourceKind::scratch;
  std::uint32_t index = 0;
  std::uint16_t part = 0;
  std::uint16_t plane = 0;
  bool operator==(const Resource&) const = default;
};

/// "blk.3.attn_q.scales", "k_cache[3]", "residual[0]", ...; weights by ordinal where no names are given.
std::string to_string(const Resource& resource);

struct Operand {
  Resource resource;
  vk::Access access = vk::Access::read;
};

struct Dispatch {
  KernelId kernel{};
  std::vector<std::uint32_t> constants;  ///< specialization constants 0, 1, ...; omitted last ones keep the shader's defaults
  std::vector<Operand> operands;         ///< bindings 0, 1, ...
  std::vector<std::byte> push;
  std::array<std::uint32_t, 3> groups{1, 1, 1};
  std::uint32_t subgroup = 0;                  ///< lanes of a subgroup that the kernel needs; 0: any
  std::optional<std::size_t> indirect_offset;  ///< group counts are read from the state buffer at this byte instead
  std::string label;                           ///< "blk.3.attn_q"
};

/// Constants or push constants from their abi structs.
template <typename Spec>
std::vector<std::uint32_t> words(const Spec& spec) {
  static_assert(sizeof(Spec) % sizeof(std::uint32_t) == 0);
  std::vector<std::uint32_t> out(sizeof(Spec) / sizeof(std::uint32_t));
  std::memcpy(out.data(), &spec, sizeof(Spec));
  return out;
}

template <typename Push>
std::vector<std::byte> bytes(const Push& push) {
  std::vector<std::byte> out(sizeof(Push));
  std::memcpy(out.data(), &push, sizeof(Push));
  return out;
}

}  // namespace skipstone::kernels
