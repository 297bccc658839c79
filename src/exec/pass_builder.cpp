#include "exec/pass_builder.h"

#include <fmt/format.h>

#include "abi/step_state.h"
#include "base/status.h"

namespace skipstone::exec {
namespace {

using kernels::Dispatch;
using kernels::Resource;
using kernels::ResourceKind;

// One pass being built. The residual stream alternates between two buffers, so that a sublayer's input is still there when its output is
// (the cosine reduction needs both, and a residual add never reads what it writes).
class Pass {
 public:
  Pass(const model::Config& config, const model::WeightLayout& weights, const kernels::AttentionShape& attention,
       const kernels::Selector& select, const PassSpec& spec)
      : config_(config), weights_(weights), attention_(attention), select_(select), spec_(spec) {}

  std::vector<Dispatch> build() {
    if (spec_.layers.begin > 0) {
      current_ = {ResourceKind::kept};
    } else {
      append(kernels::embed(select_, weights_.embedding, spec_.bucket, residual(), "embed"));
    }
    for (std::uint32_t layer = spec_.layers.begin; layer < spec_.layers.end; ++layer) {
      if (spec_.layers.runs_attention(layer)) attention_sublayer(layer);
      if (spec_.layers.runs_mlp(layer)) mlp_sublayer(layer);
      if (layer + 1 == spec_.keep_after) append(kernels::keep_rows(select_, residual(), config_.width, spec_.bucket, "keep_rows"));
    }
    if (spec_.attention_cosine) append(kernels::cosine_sum(select_, config_.layers, "cosine_sum"));
    output();
    return std::move(dispatches_);
  }

 private:
  Resource residual() const { return current_; }
  Resource other_residual() const { return {ResourceKind::residual, current_ == Resource{ResourceKind::residual, 0} ? 1u : 0u}; }

  void append(Dispatch dispatch) { dispatches_.push_back(std::move(dispatch)); }
  void append(std::vector<Dispatch> several) {
    for (Dispatch& dispatch : several) dispatches_.push_back(std::move(dispatch));
  }

  void multiply(const kernels::Matrix& weights, ResourceKind x, Resource y, std::uint32_t rows, const kernels::MatvecEpilogue& epilogue,
                const std::string& label) {
    append(kernels::matvec(select_, weights, {x}, y, rows, epilogue, label));
  }

  void attention_sublayer(std::uint32_t layer) {
    const model::LayerWeights& w = weights_.layers[layer];
    const std::string blk = fmt::format("blk.{}.", layer);
    const std::uint32_t rows = spec_.bucket;
    append(kernels::rms_norm(select_, residual(), w.attention_norm, {ResourceKind::normed}, config_.width, rows, config_.norm_epsilon,
                             false, blk + "attn_norm"));
    multiply(w.q, ResourceKind::normed, {ResourceKind::q}, rows, {w.q_bias, {}}, blk + "attn_q");
    multiply(w.k, ResourceKind::normed, {ResourceKind::k}, rows, {w.k_bias, {}}, blk + "attn_k");
    multiply(w.v, ResourceKind::normed, {ResourceKind::v}, rows, {w.v_bias, {}}, blk + "attn_v");
    append(kernels::rope_store(select_, attention_, layer, rows, blk + "rope_store"));
    if (rows <= STEP_VERIFY_ROWS) {
      append(kernels::attention(select_, attention_, layer, rows, blk + "attention"));
    } else {
      append(kernels::attention_prefill(select_, attention_, layer, rows, blk + "attention"));
    }
    multiply(w.o, ResourceKind::attended, other_residual(), rows, {w.o_bias, residual()}, blk + "attn_output");
    if (spec_.attention_cosine) {
      append(kernels::cosine(select_, residual(), other_residual(), config_.width, rows, layer, blk + "cosine"));
    }
    current_ = other_residual();
  }

  void mlp_sublayer(std::uint32_t layer) {
    const model::LayerWeights& w = weights_.layers[layer];
    const std::string blk = fmt::format("blk.{}.", layer);
    const std::uint32_t rows = spec_.bucket;
    append(kernels::rms_norm(select_, residual(), w.ffn_norm, {ResourceKind::normed}, config_.width, rows, config_.norm_epsilon, false,
                             blk + "ffn_norm"));
    multiply(w.gate, ResourceKind::normed, {ResourceKind::gate}, rows, {w.gate_bias, {}}, blk + "ffn_gate");
    multiply(w.up, ResourceKind::normed, {ResourceKind::up}, rows, {w.up_bias, {}}, blk + "ffn_up");
    append(kernels::swiglu(select_, config_.ffn, rows, blk + "swiglu"));
    multiply(w.down, ResourceKind::activated, other_residual(), rows, {w.down_bias, residual()}, blk + "ffn_down");
    current_ = other_residual();
  }

  void output() {
    const std::uint32_t rows = spec_.output_rows();
    if (rows == 0) return;
    append(kernels::rms_norm(select_, residual(), weights_.output_norm, {ResourceKind::normed}, config_.width, rows, config_.norm_epsilon,
                             spec_.last_row_only, "output_norm"));
    multiply(weights_.output, ResourceKind::normed, {ResourceKind::logits}, rows, {weights_.output_bias, {}}, "output");
    if (spec_.output == Output::argmax) append(kernels::argmax(select_, config_.vocabulary, rows, "argmax"));
  }

  const model::Config& config_;
  const model::WeightLayout& weights_;
  const kernels::AttentionShape& attention_;
  const kernels::Selector& select_;
  const PassSpec& spec_;
  Resource current_{ResourceKind::residual, 0};
  std::vector<Dispatch> dispatches_;
};

}  // namespace

std::uint32_t SequenceShape::chunk_for(const model::Config& config, std::uint32_t context) {
  SequenceShape shape{context, true, 64};
  while (attention_shape(config, shape).partial_bytes(STEP_VERIFY_ROWS) > (std::uint64_t{32} << 20) && shape.chunk < 1024) shape.chunk *= 2;
  return shape.chunk;
}

kernels::AttentionShape attention_shape(const model::Config& config, const SequenceShape& sequence) {
  kernels::AttentionShape shape;
  shape.heads = config.heads;
  shape.kv_heads = config.kv_heads;
  shape.head_dim = config.head_dim;
  shape.rope_dim = config.rope_dim;
  shape.context = sequence.context;
  shape.chunk = sequence.chunk;
  shape.half_kv = sequence.half_kv;
  shape.rope_halves = config.rope_pairs == model::RopePairs::halves;
  return shape;
}

PassBuilder::PassBuilder(const model::Config& config, const model::WeightLayout& weights, const SequenceShape& sequence,
                         const kernels::Selector& select)
    : config_(config), weights_(weights), attention_(attention_shape(config, sequence)), select_(select) {}

Plan PassBuilder::build(const PassSpec& spec) const {
  const bool uses_kept_rows = spec.layers.begin > 0 || spec.keep_after > 0;
  const bool kept_rows_fit = spec.bucket <= STEP_VERIFY_ROWS && (spec.layers.begin == 0 || spec.keep_after == 0) &&
                             spec.keep_after <= spec.layers.whole_prefix();
  if (spec.layers.end > config_.layers || kernels::bucket_for(spec.bucket) != spec.bucket || spec.output_rows() > STEP_VERIFY_ROWS ||
      (uses_kept_rows && !kept_rows_fit)) {
    fail(Code::internal, "there is no pass over layers {}-{} with {} rows, output {}, keeping rows after layer {}", spec.layers.begin,
         spec.layers.end, spec.bucket, to_string(spec.output), spec.keep_after);
  }
  return {spec, Pass(config_, weights_, attention_, select_, spec).build()};
}

}  // namespace skipstone::exec
