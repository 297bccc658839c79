#include "exec/pass_buffers.h"

#include <algorithm>

#include "exec/kv_cache.h"
#include "exec/rope_table.h"
#include "vk/device.h"
#include "vk/recorder.h"

namespace skipstone::exec {
namespace {

using kernels::padded;

struct Sizes {
  std::uint64_t kv, sliding_kv, width, kept, q, qkv, gate_up, ffn, half_rows, partial, logits, argmax_partial, candidate_groups, cosines,
      rope, handed;
};

/// Bytes of K or V of one layer with room for `positions` positions.
std::uint64_t kv_bytes(kernels::AttentionShape shape, std::uint32_t positions) {
  if (positions == 0) return 0;
  shape.slots = pages_for(positions) * KV_PAGE;
  return shape.kv_bytes();
}

Sizes sizes_of(const model::Config& config, const SequenceShape& shape) {
  constexpr std::uint64_t rows = STEP_MAX_ROWS, word = sizeof(float);
  const kernels::AttentionShape attention = attention_shape(config, shape);
  const std::uint64_t ranges = (config.vocabulary + MATVEC_ARGMAX_ROWS - 1) / MATVEC_ARGMAX_ROWS;
  const std::uint64_t output_rows = shape.begin == 0 ? STEP_VERIFY_ROWS : 0;                    // only on the device with the head
  const std::uint64_t widest =
      padded(std::max({config.width, config.attention().q_width(), config.ffn()}));  // of the rows that matrices multiply
  return {kv_bytes(attention, full_positions(shape)),
          kv_bytes(attention, sliding_positions(config, shape)),
          rows * padded(config.width) * word,
          std::uint64_t{STEP_VERIFY_ROWS} * padded(config.width) * word,
          rows * padded(config.attention().q_width()) * word,
          rows * padded(attention.qkv_width()) * word,
          rows * padded(2 * config.ffn()) * word,
          rows * padded(config.ffn()) * word,
          rows * HALF_ROWS_WORDS(widest / 32) * 16,
          attention.partial_bytes(STEP_VERIFY_ROWS),
          output_rows * padded(config.vocabulary) * word,
          output_rows * ranges * sizeof(abi::ArgmaxPartial),
          output_rows * CANDIDATE_GROUPS * sizeof(abi::CandidateGroup),
          std::uint64_t{2} * config.layer_count() * rows * word,  // attention and MLP
          std::uint64_t{rope_table_rows(config, shape.context)} * config.rope_dim * word,
          shape.is_part_of(config.layer_count()) ? rows * padded(config.width) * word : 0};
}

}  // namespace

SequenceBytes plan_bytes(const model::Config& config, const SequenceShape& shape) {
  const Sizes s = sizes_of(config, shape);
  SequenceBytes bytes;
  const std::uint32_t layers = shape.end_of(config.layer_count()) - shape.begin;
  const std::size_t sliding = layers_of(config, shape.context, true, shape.begin, shape.end_of(config.layer_count())).size();
  bytes.kv_without_windows = 2 * s.kv * layers;
  bytes.kv = 2 * (s.kv * (layers - sliding) + s.sliding_kv * sliding);
  bytes.activations = s.width * 3 + s.kept + s.q * 2 + s.qkv + s.gate_up + s.ffn + s.half_rows + s.partial + s.logits * 2 +
                      s.argmax_partial + s.candidate_groups + s.cosines + s.rope + s.handed * 2;
  bytes.largest_buffer = std::max({sliding < layers ? s.kv : 0, s.sliding_kv, s.width, s.qkv, s.gate_up, s.partial, s.logits, s.rope});
  return bytes;
}

PassBuffers::PassBuffers(const std::shared_ptr<vk::Device>& device, const model::Config& config, const SequenceShape& shape)
    : activation_arena_(device, vk::Role::activations),
      state_arena_(device, vk::Role::state),
      readback_arena_(device, vk::Role::readback) {
  const Sizes s = sizes_of(config, shape);
  for (vk::Slice* slice : {&residual_[0], &residual_[1], &normed_}) *slice = activation_arena_.allocate(s.width);
  kept_ = activation_arena_.allocate(s.kept);
  for (vk::Slice* slice : {&q_rotated_, &attended_}) *slice = activation_arena_.allocate(s.q);
  qkv_ = activation_arena_.allocate(s.qkv);
  gate_up_ = activation_arena_.allocate(s.gate_up);
  activated_ = activation_arena_.allocate(s.ffn);
  half_rows_ = activation_arena_.allocate(s.half_rows);
  attention_partial_ = activation_arena_.allocate(s.partial);
  if (s.logits > 0) {
    logits_ = activation_arena_.allocate(s.logits);
    argmax_partial_ = activation_arena_.allocate(s.argmax_partial);
    candidate_groups_ = activation_arena_.allocate(s.candidate_groups);
    logits_readback_ = readback_arena_.allocate(s.logits);
  }
  if (s.handed > 0) {
    rows_in_ = state_arena_.allocate(s.handed);
    rows_out_ = readback_arena_.allocate(s.handed);
  }
  cosines_ = activation_arena_.allocate(s.cosines);
  rope_table_ = activation_arena_.allocate(s.rope);
  const std::uint64_t kinds = layers_of(config, shape.context, true, 0, config.layer_count()).empty() ? 1 : 2;
  state_ = state_arena_.allocate(sizeof(abi::StepState) + kinds * sizeof(std::uint32_t) * table_entries(shape.context));
  round_ = state_arena_.allocate(sizeof(abi::RoundState));
  candidate_requests_ = state_arena_.allocate(STEP_VERIFY_ROWS * sizeof(abi::CandidateRequest));
  std::fill_n(candidate_requests(), STEP_VERIFY_ROWS, abi::CandidateRequest{});  // padding rows request nothing
  result_ = readback_arena_.allocate(STEP_VERIFY_ROWS * sizeof(abi::RowResult));
  candidates_ = readback_arena_.allocate(STEP_VERIFY_ROWS * sizeof(abi::CandidateResult));
  drafts_ = readback_arena_.allocate(STEP_VERIFY_ROWS * sizeof(abi::RowResult));
  round_result_ = readback_arena_.allocate(sizeof(abi::RoundResult));
  cosine_total_ = readback_arena_.allocate(std::uint64_t{2} * config.layer_count() * sizeof(float));
  vk::Uploader uploader(device);
  const std::vector<float> table = rope_table(config, shape.context);
  uploader.upload(std::as_bytes(std::span(table)), rope_table_);
}

vk::Slice PassBuffers::slice(const kernels::Resource& resource) const {
  using Kind = kernels::ResourceKind;
  switch (resource.kind) {
    case Kind::residual:
      return residual_[resource.index];
    case Kind::kept:
      return kept_;
    case Kind::normed:
      return normed_;
    case Kind::qkv:
      return qkv_;
    case Kind::q_rotated:
      return q_rotated_;
    case Kind::attended:
      return attended_;
    case Kind::gate_up:
      return gate_up_;
    case Kind::activated:
      return activated_;
    case Kind::half_rows:
      return half_rows_;
    case Kind::attention_partial:
      return attention_partial_;
    case Kind::logits:
      return logits_;
    case Kind::argmax_partial:
      return argmax_partial_;
    case Kind::result:
      return result_;
    case Kind::candidate_requests:
      return candidate_requests_;
    case Kind::candidate_groups:
      return candidate_groups_;
    case Kind::candidates:
      return candidates_;
    case Kind::cosines:
      return cosines_;
    case Kind::cosine_total:
      return cosine_total_;
    case Kind::rope_table:
      return rope_table_;
    case Kind::state:
      return state_;
    case Kind::round:
      return round_;
    case Kind::round_result:
      return round_result_;
    case Kind::drafts:
      return drafts_;
    case Kind::k_cache:
    case Kind::v_cache:
    case Kind::weight:
    case Kind::scratch:
      return {};
  }
  return {};
}

}  // namespace skipstone::exec
