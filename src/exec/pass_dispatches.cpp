#include "exec/pass_dispatches.h"

#include <fmt/format.h>

namespace skipstone::exec {
namespace {

using kernels::Dispatch;
using kernels::Resource;
using kernels::ResourceKind;

}  // namespace

Resource PassDispatches::other_residual() const {
  return {ResourceKind::residual, current_ == Resource{ResourceKind::residual, 0} ? 1u : 0u};
}

void PassDispatches::append(std::vector<Dispatch> several) {
  for (Dispatch& dispatch : several) append(std::move(dispatch));
}

void PassDispatches::multiply(const kernels::Matrix& weights, Resource x, Resource y, const kernels::MatvecFusion& fusion,
                              const std::string& label) {
  append(spec_.prompt                           ? kernels::prompt_matmul(select(), weights, x, y, spec_.bucket, fusion, label)
         : select().on_matrices(weights.format) ? kernels::matrix_product(select(), weights, x, y, spec_.bucket, fusion, label)
                                                : kernels::matvec(select(), weights, x, y, spec_.bucket, fusion, label));
}

std::pair<Resource, std::optional<kernels::MatvecNorm>> PassDispatches::normalise(const std::optional<model::NormWeights>& norm,
                                                                                  const std::string& label) {
  if (!norm) return {residual(), {}};
  if (!norm->centred && fused()) return {residual(), kernels::MatvecNorm{norm->weight, config().norm_epsilon}};
  normalise(residual(), *norm, spec_.bucket, false, label);
  return {{ResourceKind::normed}, {}};
}

std::pair<Resource, std::optional<kernels::MatvecNorm>> PassDispatches::normalise_ffn(const std::optional<model::NormWeights>& norm,
                                                                                      const std::string& label) {
  if (!layer_input_) return normalise(norm, label);
  if (!norm) return {*layer_input_, {}};
  if (!norm->centred && fused()) return {*layer_input_, kernels::MatvecNorm{norm->weight, config().norm_epsilon}};
  return {{ResourceKind::normed}, {}};  // the mixer has normalised it, and a parallel block has no norms after sublayers
}

void PassDispatches::normalise(Resource x, const model::NormWeights& norm, std::uint32_t rows, bool last_row, const std::string& label) {
  const model::Config& c = config();
  if (!norm.centred) {
    append(kernels::rms_norm(select(), x, norm.weight, {ResourceKind::normed}, c.width, rows, c.norm_epsilon, last_row, label));
    return;
  }
  append(kernels::norm(select(),
                       {.x = x,
                        .out = {ResourceKind::normed},
                        .weight = norm.weight,
                        .bias = norm.bias,
                        .centred = norm.centred,
                        .n = c.width,
                        .epsilon = c.norm_epsilon,
                        .last_row = last_row},
                       rows, label));
}

void PassDispatches::add_to_residual(const Addition& addition) {
  const model::Config& c = config();
  const auto& [matrix, x, bias, norm, label, norm_label, out, scale] = addition;
  if (!norm) {
    multiply(matrix, x, other_residual(), {.bias_tensor = bias, .residual = residual(), .scale = c.residual_scale}, label);
    return;
  }
  multiply(matrix, x, {ResourceKind::normed}, {.bias_tensor = bias}, label);
  add_normalised({{ResourceKind::normed}, *norm, norm_label, out, scale});
}

void PassDispatches::add_normalised(const NormedAddition& addition) {
  const model::Config& c = config();
  append(kernels::norm(select(),
                       {.x = addition.x,
                        .out = addition.out.value_or(other_residual()),
                        .weight = addition.norm.weight,
                        .bias = addition.norm.bias,
                        .centred = addition.norm.centred,
                        .residual = residual(),
                        .n = c.width,
                        .epsilon = c.norm_epsilon,
                        .scale = c.residual_scale,
                        .output_scale = addition.scale},
                       spec_.bucket, addition.label));
}

kernels::Records records_of(const PassContext& context, std::uint32_t layer) {
  return {.layer = layer,
          .width = recurrent_shape(context.config).record,
          .tables = first_table_entry(MemoryKind::recurrent, context.sequence.context)};
}

Dispatch move_records(const PassContext& context, std::uint32_t layer) {
  return kernels::move_records(context.select, records_of(context, layer), fmt::format("blk.{}.move_records", layer));
}

void project(PassDispatches& pass, std::uint32_t layer, const std::vector<model::Projection>& in) {
  const std::string blk = fmt::format("blk.{}.", layer);
  const auto [x, norm] = pass.normalise(pass.context().weights.layers[layer].attention_norm, blk + "attn_norm");
  for (const model::Projection& p : in) {
    pass.multiply(p.matrix, x, {kernels::ResourceKind::qkv},
                  {.norm = norm, .y_first = p.first, .y_width = recurrent_shape(pass.config()).input}, blk + p.name);
  }
}

}  // namespace skipstone::exec
