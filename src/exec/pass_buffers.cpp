#include "exec/pass_buffers.h"

#include <algorithm>

#include "exec/kv_buffers.h"
#include "exec/rope_table.h"
#include "vk/device.h"
#include "vk/recorder.h"

namespace skipstone::exec {
namespace {

using kernels::padded;

using Kind = kernels::ResourceKind;

/// What the sizes of buffers depend on.
struct Dimensions {
  Dimensions(const model::Config& c, const SequenceShape& s)
      : config(c), shape(s), recurrent(recurrent_shape(c)), output_rows(s.begin == 0 ? STEP_VERIFY_ROWS : 0) {}

  /// Sizes of 0 without latent attention.
  const model::Latents& latents() const { return config.attention().latents; }
  std::uint32_t heads() const { return config.attention().heads; }
  /// The experts of the layers that have them; sizes of 0 if none has.
  model::Experts experts() const { return config.experts() == nullptr ? model::Experts() : *config.experts(); }
  /// STEP_MAX_ROWS rows of `width` floats for each expert of a row.
  std::uint64_t slots_of(std::uint32_t width) const { return experts().used * rows_of(width); }
  /// Of what experts see.
  std::uint32_t expert_width() const { return experts().latent != 0 ? experts().latent : config.width; }
  /// STEP_MAX_ROWS rows of `width` floats.
  static std::uint64_t rows_of(std::uint32_t width) { return std::uint64_t{STEP_MAX_ROWS} * padded(width) * sizeof(float); }
  std::uint64_t logits() const { return output_rows * padded(config.vocabulary) * sizeof(float); }
  std::uint64_t transferred() const { return shape.is_part_of(config.layer_count()) ? rows_of(config.width) : 0; }

  const model::Config& config;
  const SequenceShape& shape;
  RecurrentShape recurrent;
  std::uint64_t output_rows;  ///< only the device with the head has an output
};

/// Of a row before the matrix that a head for multi-token prediction begins with.
std::uint32_t prediction_input(const Dimensions& d) { return d.config.prediction_layers.empty() ? 0 : 2 * d.config.width; }

/// Of a row, of all layers.
std::uint32_t token_inputs(const Dimensions& d) { return d.config.token_input() * d.config.layer_count(); }

/// Also rows of the residual stream between two additions of a layer, the sum of outputs before their norm, and projections for all layers.
std::uint64_t gate_up(const Dimensions& d) {
  const std::uint32_t row = token_inputs(d) != 0 || d.experts().own_norms ? d.config.width : 0;
  return d.rows_of(std::max({2 * d.config.ffn(), prediction_input(d), token_inputs(d), row}));
}

/// The widest rows that matrices multiply, in half precision.
std::uint64_t half_rows(const Dimensions& d) {
  const std::uint64_t widest =
      padded(std::max({d.config.width, d.latents().query, d.config.q_width(), d.heads() * d.latents().value_dim, d.config.ffn(),
                       d.recurrent.output, d.experts().latent, prediction_input(d), d.config.token_input()}));
  return STEP_MAX_ROWS * HALF_ROWS_WORDS(widest / 32) * 16;
}

std::uint64_t expert_groups(const Dimensions& d) {
  const model::Experts experts = d.experts();
  return experts.used == 0 ? 0 : (EXPERTS_LIST(std::uint64_t{experts.count}) + std::uint64_t{STEP_MAX_ROWS} * experts.used) * 4;
}

/// Heads for multi-token prediction too.
std::uint64_t expert_use(const Dimensions& d) {
  return d.experts().used == 0 ? 0 : std::uint64_t{d.config.block_count()} * sizeof(abi::ExpertUse);
}

std::uint64_t argmax_partial(const Dimensions& d) {
  const std::uint64_t ranges = (d.config.vocabulary + MATVEC_ARGMAX_ROWS - 1) / MATVEC_ARGMAX_ROWS;
  return d.output_rows * ranges * sizeof(abi::ArgmaxPartial);
}

/// The state, and after it the page tables of the kinds of memory up to the last one that the model has.
std::uint64_t state(const Dimensions& d) {
  std::uint64_t entries = 0;
  for (const MemoryKind kind : memory_kinds) {
    if (initial_pages(kind, d.config, d.shape) == 0) continue;
    entries = first_table_entry(kind, d.shape.context) + (kind == MemoryKind::states ? scan_entries : table_entries(d.shape.context));
  }
  return sizeof(abi::StepState) + entries * sizeof(std::uint32_t);
}

template <typename Result>
std::uint64_t verified_rows(const Dimensions&) {
  return STEP_VERIFY_ROWS * sizeof(Result);
}

struct Buffer {
  Kind kind;
  vk::Role role;
  std::uint64_t (*bytes)(const Dimensions&);  ///< 0: this device has none
  std::uint32_t count = 1;                    ///< number of such buffers
  bool planned = true;                        ///< part of plan_bytes(); the others have a few hundred KiB
};

constexpr auto activations = vk::Role::activations, host_writes = vk::Role::state, readback = vk::Role::readback;

/// In the order of their allocation.
constexpr Buffer table[] = {
    {Kind::residual, activations, [](const Dimensions& d) { return d.rows_of(d.config.width); }, 2},
    {Kind::normed, activations, [](const Dimensions& d) { return d.rows_of(std::max(d.config.width, d.latents().query)); }},
    {Kind::kept, activations, [](const Dimensions& d) { return std::uint64_t{STEP_VERIFY_ROWS} * padded(d.config.width) * sizeof(float); }},
    {Kind::query_latents, activations, [](const Dimensions& d) { return d.rows_of(d.latents().query); }},
    {Kind::q_rotated, activations, [](const Dimensions& d) { return d.rows_of(d.config.q_width()); }},
    {Kind::attended, activations, [](const Dimensions& d) { return d.rows_of(d.config.q_width()); }},
    {Kind::head_outputs, activations, [](const Dimensions& d) { return d.rows_of(d.heads() * d.latents().value_dim); }},
    {Kind::qkv, activations, [](const Dimensions& d) { return d.rows_of(std::max(d.config.qkv_width(), d.recurrent.input)); }},
    {Kind::recurrent, activations, [](const Dimensions& d) { return d.rows_of(d.recurrent.output); }},
    {Kind::gate_up, activations, gate_up},
    {Kind::activated, activations, [](const Dimensions& d) { return d.rows_of(std::max(d.config.ffn(), d.config.token_input())); }},
    {Kind::token_inputs, activations, [](const Dimensions& d) { return d.rows_of(token_inputs(d)); }},
    {Kind::router_logits, activations, [](const Dimensions& d) { return d.experts().used == 0 ? 0 : d.rows_of(d.experts().logits()); }},
    {Kind::expert_choices, activations, [](const Dimensions& d) { return std::uint64_t{STEP_MAX_ROWS} * d.experts().used * 8; }},
    {Kind::expert_groups, activations, expert_groups},
    {Kind::expert_latent, activations, [](const Dimensions& d) { return d.rows_of(d.experts().latent); }},
    {Kind::expert_gate_up, activations, [](const Dimensions& d) { return d.slots_of(2 * d.experts().width); }},
    {Kind::expert_activated, activations, [](const Dimensions& d) { return d.slots_of(d.experts().width); }},
    {Kind::expert_outputs, activations, [](const Dimensions& d) { return d.slots_of(d.expert_width()); }},
    {Kind::shared_outputs, activations, [](const Dimensions& d) { return d.experts().shared_width == 0 ? 0 : d.rows_of(d.config.width); }},
    {Kind::half_rows, activations, half_rows},
    {Kind::attention_partial, activations, [](const Dimensions& d) { return partial_bytes(d.config, d.shape); }},
    {Kind::logits, activations, [](const Dimensions& d) { return d.logits(); }},
    {Kind::argmax_partial, activations, argmax_partial},
    {Kind::candidate_groups, activations,
     [](const Dimensions& d) { return d.output_rows * CANDIDATE_GROUPS * sizeof(abi::CandidateGroup); }},
    {Kind::logits_readback, readback, [](const Dimensions& d) { return d.logits(); }},
    {Kind::rows_in, host_writes, [](const Dimensions& d) { return d.transferred(); }},
    {Kind::rows_out, readback, [](const Dimensions& d) { return d.transferred(); }},
    // Of all attention sublayers, then of all MLPs.
    {Kind::cosines, activations,
     [](const Dimensions& d) { return std::uint64_t{2} * d.config.layer_count() * STEP_MAX_ROWS * sizeof(float); }},
    {Kind::rope_table, activations, [](const Dimensions& d) { return rope_table_floats(d.config, d.shape.context) * sizeof(float); }},
    {Kind::state, host_writes, state, 1, false},
    {Kind::round, host_writes, [](const Dimensions&) -> std::uint64_t { return sizeof(abi::RoundState); }, 1, false},
    {Kind::candidate_requests, host_writes, verified_rows<abi::CandidateRequest>, 1, false},
    {Kind::result, readback, verified_rows<abi::RowResult>, 1, false},
    {Kind::candidates, readback, verified_rows<abi::CandidateResult>, 1, false},
    {Kind::drafts, readback, verified_rows<abi::RowResult>, 1, false},
    {Kind::round_result, readback, [](const Dimensions&) -> std::uint64_t { return sizeof(abi::RoundResult); }, 1, false},
    {Kind::cosine_total, readback, [](const Dimensions& d) { return std::uint64_t{2} * d.config.layer_count() * sizeof(float); }, 1, false},
    {Kind::expert_use, readback, expert_use, 1, false},
};

}  // namespace

SequenceBytes plan_bytes(const model::Config& config, const SequenceShape& shape) {
  const Dimensions dimensions(config, shape);
  const KvPlan kv = plan_kv(config, shape);
  SequenceBytes bytes{.kv = kv.bytes, .kv_without_windows = kv.bytes_without_windows};
  bytes.largest_buffer = kv.largest_buffer;
  for (const Buffer& buffer : table) {
    if (!buffer.planned) continue;
    const std::uint64_t size = buffer.bytes(dimensions);
    bytes.activations += size * buffer.count;
    bytes.largest_buffer = std::max(bytes.largest_buffer, size);
  }
  return bytes;
}

PassBuffers::PassBuffers(const std::shared_ptr<vk::Device>& device, const model::Config& config, const SequenceShape& shape)
    : activation_arena_(device, activations), state_arena_(device, host_writes), readback_arena_(device, readback) {
  const Dimensions dimensions(config, shape);
  for (const Buffer& buffer : table) {
    vk::Arena& arena = buffer.role == activations ? activation_arena_ : buffer.role == readback ? readback_arena_ : state_arena_;
    const std::uint64_t bytes = buffer.bytes(dimensions);
    for (std::uint32_t i = 0; i < most_of_a_kind && bytes > 0; ++i) {
      slice_of(buffer.kind, i) = i < buffer.count ? arena.allocate(bytes) : slice_of(buffer.kind, 0);
    }
  }
  std::fill_n(candidate_requests(), STEP_VERIFY_ROWS, abi::CandidateRequest{});  // padding rows request nothing
  vk::Uploader uploader(device);
  const std::vector<float> angles = rope_table(config, shape.context);
  uploader.upload(std::as_bytes(std::span(angles)), slice_of(Kind::rope_table));
}

}  // namespace skipstone::exec
