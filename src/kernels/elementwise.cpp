#include <algorithm>

#include "kernels/abi.h"
#include "kernels/operations.h"

namespace skipstone::kernels {

using vk::Access;

Dispatch rms_norm(const Selector& select, Resource x, std::uint32_t weight_tensor, Resource out, std::uint32_t n, std::uint32_t rows,
                  float epsilon, bool last_row, const std::string& label) {
  Dispatch d;
  d.kernel = KernelId::rms_norm;
  d.constants = words(abi::RmsNormSpec{select.tuning().wide_lanes});
  d.operands = {{x, Access::read},
                {{ResourceKind::weight, weight_tensor}, Access::read},
                {out, Access::write},
                {{ResourceKind::state}, Access::read}};
  d.push = bytes(abi::RmsNormPush{n, padded(n), epsilon, last_row ? 1u : 0u});
  d.groups = {last_row ? 1 : rows, 1, 1};
  d.label = label;
  return d;
}

Dispatch norm(const Selector& select, const Norm& norm, std::uint32_t rows, const std::string& label) {
  Dispatch d;
  d.kernel = KernelId::norm;
  const std::uint32_t kind = norm.bias ? NORM_BIASED : norm.centred ? NORM_CENTRED : NORM_RMS;
  d.constants = words(abi::NormSpec{select.tuning().wide_lanes, kind, norm.residual ? 1u : 0u, norm.output_scale ? 1u : 0u});
  if (!norm.output_scale) d.constants.pop_back();  // the shader's own
  d.operands = {{norm.x, Access::read},
                {{ResourceKind::weight, norm.weight}, Access::read},
                {norm.out, Access::write},
                {{ResourceKind::state}, Access::read},
                {{ResourceKind::weight, norm.bias.value_or(norm.output_scale.value_or(norm.weight))}, Access::read},
                {norm.residual.value_or(norm.x), Access::read}};
  d.push = bytes(abi::NormPush{norm.n, padded(norm.n), norm.epsilon, norm.last_row ? 1u : 0u, norm.scale});
  d.groups = {norm.last_row ? 1 : rows, 1, 1};
  d.label = label;
  return d;
}

static_assert(static_cast<std::uint32_t>(ValueNorm::none) == HEAD_NORM_NO_VALUES &&
              static_cast<std::uint32_t>(ValueNorm::own) == HEAD_NORM_OWN_VALUES &&
              static_cast<std::uint32_t>(ValueNorm::keys) == HEAD_NORM_KEYS_AS_VALUES);

Dispatch head_norm(const Selector& select, const HeadNorm& norm, std::uint32_t rows, const std::string& label) {
  Dispatch d;
  d.kernel = KernelId::head_norm;
  d.constants = words(abi::HeadNormSpec{select.tuning().lanes, static_cast<std::uint32_t>(norm.values)});
  if (norm.values == ValueNorm::none) d.constants.pop_back();  // the shader's own
  d.operands = {{{ResourceKind::qkv}, Access::read_write},
                {{ResourceKind::weight, norm.q_weight}, Access::read},
                {{ResourceKind::weight, norm.k_weight}, Access::read}};
  d.push = bytes(abi::HeadNormPush{norm.q_parts, norm.q_step != 0 ? norm.q_step : norm.q_length, norm.q_length, norm.k_length, norm.stride,
                                   norm.epsilon, norm.k_parts});
  d.groups = {norm.q_parts + norm.k_parts * (norm.values == ValueNorm::own ? 2 : 1), rows, 1};
  d.label = label;
  return d;
}

namespace {

std::uint32_t swiglu_activation(Activation activation) {
  switch (activation) {
    case Activation::gated_gelu:
      return SWIGLU_GELU_GATE;
    case Activation::gelu:
      return SWIGLU_GELU;
    case Activation::squared_relu:
      return SWIGLU_SQUARED_RELU;
    case Activation::clamped_silu:
      return SWIGLU_CLAMPED_GATE;
    case Activation::gated_silu:
    case Activation::none:
      break;
  }
  return SWIGLU_SILU_GATE;
}

}  // namespace

Dispatch activate(const Selector& select, Activation activation, std::uint32_t n, std::uint32_t rows, const std::string& label,
                  bool of_experts) {
  Dispatch d;
  d.kernel = KernelId::swiglu;
  d.constants = words(abi::SwigluSpec{select.tuning().lanes, swiglu_activation(activation)});
  if (activation == Activation::gated_silu) d.constants.pop_back();  // the shader's own
  d.operands = {{{of_experts ? ResourceKind::expert_gate_up : ResourceKind::gate_up}, Access::read},
                {{of_experts ? ResourceKind::expert_activated : ResourceKind::activated}, Access::write}};
  d.push = bytes(abi::SwigluPush{n, padded(is_gated(activation) ? 2 * n : n), padded(n)});
  d.groups = {(n + select.tuning().lanes - 1) / select.tuning().lanes, rows, 1};
  d.label = label;
  return d;
}

Dispatch keep_rows(const Selector& select, Resource x, std::uint32_t n, std::uint32_t rows, const std::string& label) {
  Dispatch d;
  d.kernel = KernelId::keep_rows;
  d.constants = words(abi::KeepRowsSpec{select.tuning().lanes});
  d.operands = {{x, Access::read}, {{ResourceKind::kept}, Access::read_write}, {{ResourceKind::state}, Access::read}};
  d.push = bytes(abi::KeepRowsPush{padded(n)});
  d.groups = {(padded(n) + select.tuning().lanes - 1) / select.tuning().lanes, rows, 1};
  d.label = label;
  return d;
}

Dispatch store_record(const Selector& select, Resource x, std::uint32_t n, const Records& records, std::uint32_t rows,
                      const std::string& label) {
  Dispatch d;
  d.kernel = KernelId::store_record;
  d.constants = words(abi::StoreRecordSpec{select.tuning().lanes});
  d.operands = {{x, Access::read}, {{ResourceKind::records, records.layer}, Access::read_write}, {{ResourceKind::state}, Access::read}};
  d.push = bytes(abi::StoreRecordPush{n, padded(n), records.width, records.tables});
  d.groups = {(n + select.tuning().lanes - 1) / select.tuning().lanes, rows, 1};
  d.label = label;
  return d;
}

Dispatch token_inputs(const Selector& select, const TokenInputs& inputs, std::uint32_t rows, const std::string& label) {
  Dispatch d;
  d.kernel = KernelId::token_inputs;
  d.constants = words(abi::TokenInputsSpec{select.tuning().lanes});
  d.operands = {{{ResourceKind::token_inputs}, Access::read_write},
                {inputs.projections, Access::read},
                {{ResourceKind::weight, inputs.weight}, Access::read}};
  d.push = bytes(abi::TokenInputsPush{inputs.n, padded(inputs.layers * inputs.n), inputs.epsilon});
  d.groups = {inputs.layers, rows, 1};
  d.label = label;
  return d;
}

Dispatch token_gate(const Selector& select, Resource x, const TokenGate& gate, std::uint32_t rows, const std::string& label) {
  Dispatch d;
  d.kernel = KernelId::token_gate;
  d.constants = words(abi::TokenGateSpec{select.tuning().lanes});
  d.operands = {{x, Access::read_write}, {{ResourceKind::token_inputs}, Access::read}};
  d.push = bytes(abi::TokenGatePush{gate.n, padded(gate.n), gate.first, padded(gate.width)});
  d.groups = {(gate.n + select.tuning().lanes - 1) / select.tuning().lanes, rows, 1};
  d.label = label;
  return d;
}

Dispatch prediction_input(const Selector& select, const PredictionInput& input, std::uint32_t rows, const std::string& label, bool tree) {
  Dispatch d;
  d.kernel = KernelId::prediction_input;
  d.constants = words(abi::PredictionInputSpec{select.tuning().wide_lanes, tree ? KEYS_TREE : KEYS_TEXT});
  d.operands = {{input.embeddings, Access::read},
                {{ResourceKind::records, input.records.layer}, Access::read},
                {{ResourceKind::weight, input.embedding_norm}, Access::read},
                {{ResourceKind::weight, input.hidden_norm}, Access::read},
                {{ResourceKind::gate_up}, Access::write},
                {{ResourceKind::state}, Access::read}};
  d.push = bytes(
      abi::PredictionInputPush{input.n, padded(input.n), padded(2 * input.n), input.records.width, input.epsilon, input.records.tables});
  d.groups = {rows, 1, 1};
  d.label = label;
  return d;
}

Dispatch cosine(const Selector& select, Resource before, Resource after, std::uint32_t n, std::uint32_t rows, std::uint32_t sublayer,
                const std::string& label) {
  Dispatch d;
  d.kernel = KernelId::cosine;
  d.constants = words(abi::CosineSpec{select.tuning().wide_lanes});
  d.operands = {{before, Access::read}, {after, Access::read}, {{ResourceKind::cosines, sublayer}, Access::write}};
  d.push = bytes(abi::CosinePush{n, padded(n), sublayer});
  d.groups = {rows, 1, 1};
  d.label = label;
  return d;
}

Dispatch cosine_sum(const Selector& select, std::uint32_t sublayers, const std::string& label) {
  Dispatch d;
  d.kernel = KernelId::cosine_sum;
  d.constants = words(abi::CosineSumSpec{select.tuning().lanes});
  d.operands = {
      {{ResourceKind::cosines}, Access::read}, {{ResourceKind::state}, Access::read}, {{ResourceKind::cosine_total}, Access::read_write}};
  d.push = bytes(abi::CosineSumPush{sublayers});
  d.groups = {(sublayers + select.tuning().lanes - 1) / select.tuning().lanes, 1, 1};
  d.label = label;
  return d;
}

Dispatch random_fill(const Selector& select, Resource target, std::uint32_t words, const RandomPattern& pattern, float low, float high,
                     std::uint64_t key, const std::string& label) {
  constexpr std::uint32_t most_groups = 65535;  // every device supports this many; lanes stride over the rest
  Dispatch d;
  d.kernel = KernelId::random_fill;
  d.constants = kernels::words(abi::RandomFillSpec{select.tuning().wide_lanes, static_cast<std::uint32_t>(pattern.number)});
  d.operands = {{target, Access::write}};
  d.push = bytes(abi::RandomFillPush{words, pattern.period, pattern.numbers, pattern.minima, static_cast<std::uint32_t>(key),
                                     static_cast<std::uint32_t>(key >> 32), low, high, pattern.minimum});
  const std::uint32_t lanes_words = 4 * select.tuning().wide_lanes;
  d.groups = {std::clamp(words / lanes_words + 1, 1u, most_groups), 1, 1};
  d.label = label;
  return d;
}

}  // namespace skipstone::kernels
