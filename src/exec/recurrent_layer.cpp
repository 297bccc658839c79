// The dispatches of recurrent mixers with states: model::GatedDeltaNet and model::Mamba2.
#include <fmt/format.h>

#include <type_traits>
#include <variant>

#include "base/status.h"
#include "exec/pass_dispatches.h"

namespace skipstone::exec {
namespace {

using kernels::ResourceKind;
using kernels::ScanExtent;

const char* missing(const model::Attention& attention) {
  return attention.output_gate && attention.qk_norm == model::QkNorm::width ? "norms of all of Q beside gates" : nullptr;
}
const char* missing(const model::ShortConv&) { return nullptr; }
// The kernels read four rows of a state at a time.
const char* missing(const model::GatedDeltaNet& net) {
  return net.key_dim % 4 != 0 ? "gated delta nets whose keys have no multiple of 4 dimensions" : nullptr;
}
const char* missing(const model::Mamba2& mamba) {
  return mamba.state_size % 4 != 0 ? "Mamba-2 layers whose states have no multiple of 4 rows" : nullptr;
}
const char* missing(const std::monostate&) { return nullptr; }

const model::LayerWeights& weights_of(const PassContext& context, std::uint32_t layer) { return context.weights.layers[layer]; }

/// What all recurrent layers with states have alike.
kernels::RecurrentScan scan_base(const PassContext& context, std::uint32_t layer) {
  const RecurrentShape shape = recurrent_shape(context.config);
  return {.records = records_of(context, layer),
          .input = shape.input,
          .record_first = shape.input - shape.record,
          .scans = first_table_entry(MemoryKind::states, context.sequence.context)};
}

kernels::RecurrentScan scan_of(const PassContext& context, std::uint32_t layer, const model::GatedDeltaNet& net) {
  const auto& own = std::get<model::GatedDeltaNetWeights>(weights_of(context, layer).mixer);
  kernels::RecurrentScan scan = scan_base(context, layer);
  scan.heads = net.value_heads;
  scan.key_heads = net.key_heads;
  scan.key_dim = net.key_dim;
  scan.value_dim = net.value_dim;
  scan.tiled_heads = net.tiled_heads;
  scan.kernel = net.kernel;
  scan.k = net.key_width();
  scan.v = 2 * net.key_width();
  scan.rates = net.channels();
  scan.taps = own.taps;
  scan.dt_bias = own.dt_bias;
  scan.decay_rate = own.decay_rate;
  return scan;
}

kernels::RecurrentScan scan_of(const PassContext& context, std::uint32_t layer, const model::Mamba2& mamba) {
  const auto& own = std::get<model::Mamba2Weights>(weights_of(context, layer).mixer);
  kernels::RecurrentScan scan = scan_base(context, layer);
  scan.delta = false;
  scan.heads = mamba.heads;
  scan.key_heads = mamba.groups;
  scan.key_dim = mamba.state_size;
  scan.value_dim = mamba.head_dim;
  scan.tiled_heads = false;
  scan.kernel = mamba.kernel;
  scan.k = mamba.width();
  scan.q = mamba.width() + mamba.groups * mamba.state_size;
  scan.rates = mamba.channels();
  scan.taps = own.taps;
  scan.taps_bias = own.taps_bias;
  scan.dt_bias = own.dt_bias;
  scan.decay_rate = own.decay_rate;
  scan.skip = own.skip;
  return scan;
}

kernels::GatedNorm norm_of(const PassContext& context, std::uint32_t layer, const model::GatedDeltaNet& net) {
  const auto& own = std::get<model::GatedDeltaNetWeights>(weights_of(context, layer).mixer);
  return {.part = net.value_dim, .width = net.value_width(), .weight = own.norm};
}

kernels::GatedNorm norm_of(const PassContext& context, std::uint32_t layer, const model::Mamba2& mamba) {
  const auto& own = std::get<model::Mamba2Weights>(weights_of(context, layer).mixer);
  return {.gate_first = true, .part = mamba.group_width(), .width = mamba.width(), .weight = own.norm};
}

/// `own`: the layer's weights.
template <typename Weights, typename Mixer>
void store(PassDispatches& pass, std::uint32_t layer, const Weights& own, const Mixer& mixer) {
  const PassContext& context = pass.context();
  const PassSpec& spec = pass.spec();
  const std::string blk = fmt::format("blk.{}.", layer);
  project(pass, layer, own.in);
  const ScanExtent extent = spec.kv_only                                             ? ScanExtent::store
                            : !writes_states(spec, context.config, context.sequence) ? ScanExtent::draft
                            : spec.prompt                                            ? ScanExtent::prompt
                                                                                     : ScanExtent::rows;
  pass.append(kernels::recurrent_scan(pass.select(), scan_of(context, layer, mixer), extent, spec.bucket, blk + "scan", spec.tree));
}

template <typename Weights, typename Mixer>
void mix(PassDispatches& pass, std::uint32_t layer, const Weights& own, const Mixer& mixer) {
  store(pass, layer, own, mixer);
  const model::LayerWeights& weights = weights_of(pass.context(), layer);
  const std::string blk = fmt::format("blk.{}.", layer);
  kernels::GatedNorm norm = norm_of(pass.context(), layer, mixer);
  norm.input = recurrent_shape(pass.config()).input;
  norm.epsilon = pass.config().norm_epsilon;
  pass.append(kernels::gated_norm(pass.select(), norm, pass.spec().bucket, blk + "gated_norm"));
  pass.add_to_residual({own.out, {ResourceKind::recurrent}, {}, weights.attention_post_norm, blk + "ssm_out", blk + "post_attention_norm"});
}

template <typename Mixer>
void advance(PassDispatches& pass, std::uint32_t layer, const Mixer& mixer) {
  pass.append(kernels::recurrent_scan(pass.select(), scan_of(pass.context(), layer, mixer), ScanExtent::advance, pass.spec().bucket,
                                      fmt::format("blk.{}.advance", layer)));
}

}  // namespace

const char* missing_on_devices(const model::Config& config) {
  for (std::uint32_t block = 0; block < config.block_count(); ++block) {
    const model::LayerConfig& layer = config.block(block);
    if (const char* what = std::visit([](const auto& mixer) { return missing(mixer); }, layer.mixer)) return what;
    if (const auto* experts = std::get_if<model::Experts>(&layer.feedforward)) {
      if (const char* what = missing_on_devices(layer, *experts)) return what;
    }
  }
  return nullptr;
}

void append_store(PassDispatches& pass, const ByKind<std::uint32_t>&, std::uint32_t layer, const model::GatedDeltaNet& net) {
  store(pass, layer, std::get<model::GatedDeltaNetWeights>(weights_of(pass.context(), layer).mixer), net);
}
void append_store(PassDispatches& pass, const ByKind<std::uint32_t>&, std::uint32_t layer, const model::Mamba2& mamba) {
  store(pass, layer, std::get<model::Mamba2Weights>(weights_of(pass.context(), layer).mixer), mamba);
}

void append_mixer(PassDispatches& pass, const ByKind<std::uint32_t>&, std::uint32_t layer, const model::GatedDeltaNet& net) {
  mix(pass, layer, std::get<model::GatedDeltaNetWeights>(weights_of(pass.context(), layer).mixer), net);
}
void append_mixer(PassDispatches& pass, const ByKind<std::uint32_t>&, std::uint32_t layer, const model::Mamba2& mamba) {
  mix(pass, layer, std::get<model::Mamba2Weights>(weights_of(pass.context(), layer).mixer), mamba);
}

void append_advance(PassDispatches& pass, std::uint32_t layer, const model::GatedDeltaNet& net) { advance(pass, layer, net); }
void append_advance(PassDispatches& pass, std::uint32_t layer, const model::Mamba2& mamba) { advance(pass, layer, mamba); }

}  // namespace skipstone::exec
