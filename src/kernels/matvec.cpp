#include <algorithm>
#include <cstddef>
#include <cstring>

#include "base/status.h"
#include "kernels/abi.h"
#include "kernels/operations.h"
#include "kernels/weight_format.h"

namespace skipstone::kernels {
namespace {

using vk::Access;

constexpr std::uint32_t divide_up(std::uint32_t a, std::uint32_t b) { return (a + b - 1) / b; }

// Both planes of a part. Formats with one bind the weights twice: every declared buffer must be bound.
void add_weights(std::vector<Operand>& operands, const Matrix& weights, std::size_t part) {
  const Resource quants{ResourceKind::weight, weights.tensor, static_cast<std::uint16_t>(part), 0};
  Resource scales = quants;
  if (weight_format(weights.format).scale_bytes > 0) scales.plane = 1;
  operands.push_back({quants, Access::read});
  operands.push_back({scales, Access::read});
}

std::vector<Operand> matrix_operands(const Matrix& weights, std::size_t part, Resource x, Resource y, const MatvecFusion& fusion) {
  std::vector<Operand> operands;
  add_weights(operands, weights, part);
  operands.push_back({x, Access::read});
  // Several dispatches that write ranges of the same rows do not hurt each other: their order is free.
  operands.push_back({y, Access::write});
  operands.push_back({fusion.bias_tensor ? Resource{ResourceKind::weight, *fusion.bias_tensor} : x, Access::read});
  operands.push_back({fusion.residual.value_or(x), Access::read});
  operands.push_back({weights.factors ? Resource{ResourceKind::weight, *weights.factors} : x, Access::read});
  return operands;
}

abi::MatvecPush matrix_push(const Matrix& weights, std::size_t part, const MatvecFusion& fusion) {
  abi::MatvecPush push{};
  const bool pairs = is_gated(fusion.activation);
  push.n = pairs ? weights.n / 2 : weights.parts[part].rows;
  push.blocks = padded(weights.k) / 32;
  push.x_stride = padded(weights.k);
  push.y_stride = padded(fusion.y_width != 0 ? fusion.y_width : pairs ? weights.n / 2 : weights.n);
  push.y_first = fusion.y_first + weights.parts[part].first;
  push.k = weights.k;
  push.epsilon = fusion.norm ? fusion.norm->epsilon : 0.0f;
  push.scale = fusion.scale;
  push.cap = fusion.softcap;
  push.row_first = weights.parts[part].first;
  return push;
}

std::uint32_t epilogue_of(const MatvecFusion& fusion) {
  switch (fusion.activation) {
    case Activation::gated_silu:
      return MATVEC_SWIGLU;
    case Activation::gated_gelu:
      return MATVEC_GEGLU;
    case Activation::gelu:
      return MATVEC_GELU;
    case Activation::squared_relu:
    case Activation::clamped_silu:
    case Activation::none:
      break;
  }
  return fusion.softcap > 0.0f ? MATVEC_STORE_CAPPED : MATVEC_STORE;
}

std::string part_label(const std::string& label, const Matrix& weights, std::size_t part) {
  return weights.parts.size() == 1 ? label : label + "." + std::to_string(part);
}

Dispatch skinny(const Selector& select, const Matrix& weights, std::size_t part, Resource x, Resource y, std::uint32_t rows,
                const MatvecFusion& fusion, const MatvecChoice& choice, std::uint32_t epilogue) {
  Dispatch d;
  d.kernel = matvec_kernel(weights.format, select.tuning());
  d.constants = words(abi::MatvecSpec{choice.lanes, choice.k_lanes, choice.rows, choice.columns, weights.interleave, fusion.norm ? 1u : 0u,
                                      fusion.bias_tensor ? 1u : 0u, fusion.residual ? 1u : 0u, epilogue, choice.shared_table ? 1u : 0u,
                                      weights.factors ? 1u : 0u});
  d.operands = matrix_operands(weights, part, x, y, fusion);
  d.operands.push_back({fusion.norm ? Resource{ResourceKind::weight, fusion.norm->weight_tensor} : x, Access::read});
  d.push = bytes(matrix_push(weights, part, fusion));
  // A lane's rows of gate and up make half as many outputs.
  d.groups = {divide_up(weights.parts[part].rows, choice.lanes / choice.k_lanes * choice.rows), divide_up(rows, choice.columns), 1};
  return d;
}

Dispatch half_rows(const Selector& select, Resource x, Resource out, std::uint32_t blocks, std::uint32_t rows, const std::string& label) {
  Dispatch d;
  d.kernel = KernelId::half_rows;
  d.constants = words(abi::HalfRowsSpec{select.tuning().wide_lanes});
  d.operands = {{x, Access::read}, {out, Access::write}};
  d.push = bytes(abi::HalfRowsPush{blocks});
  d.groups = {rows, 1, 1};
  d.label = label;
  return d;
}

std::vector<std::uint32_t> tile_constants(const Selector& select, const MatmulChoice& tile, const Matrix& weights,
                                          const MatvecFusion& fusion) {
  const std::uint32_t bias = fusion.bias_tensor ? 1 : 0, residual = fusion.residual ? 1 : 0, scaled = weights.factors ? 1 : 0;
  const std::uint32_t shared_table = shares_table(select, weights.format, tile) ? 1 : 0;
  if (tile.tier != vk::Tier::cooperative_matrix) {
    return words(abi::MatmulSpec{tile.lanes, tile.tile, tile.columns, tile.part_n, tile.part_m, bias, residual, weights.interleave,
                                 shared_table, scaled});
  }
  const vk::MatrixShape& shape = select.caps().cooperative_matrix;
  return words(abi::MatmulCoopmatSpec{tile.lanes, tile.tile, tile.columns, tile.part_n, tile.part_m, shape.m, shape.n, shape.k, bias,
                                      residual, weights.interleave, shared_table, scaled});
}

std::vector<Dispatch> tiled(const Selector& select, const Matrix& weights, Resource x, Resource y, std::uint32_t rows,
                            const MatvecFusion& fusion, const MatmulChoice& tile, const std::string& label) {
  if (fusion.norm || fusion.activation != Activation::none || fusion.softcap > 0.0f)
    fail(Code::internal, "{}: the tiled kernel neither normalises nor activates", label);
  std::vector<Dispatch> result;
  const std::uint32_t blocks = padded(weights.k) / 32;
  Resource staged = x;
  if (tile.tier != vk::Tier::base) {
    staged = {ResourceKind::half_rows};
    result.push_back(half_rows(select, x, staged, blocks, rows, label + ".half_rows"));
  }
  for (std::size_t part = 0; part < weights.parts.size(); ++part) {
    Dispatch d;
    d.kernel = matmul_kernel(weights.format, tile.tier);
    d.constants = tile_constants(select, tile, weights, fusion);
    d.subgroup = tile.subgroup;
    d.operands = matrix_operands(weights, part, staged, y, fusion);
    abi::MatvecPush push = matrix_push(weights, part, fusion);
    if (tile.tier != vk::Tier::base) push.x_stride = HALF_ROWS_WORDS(blocks) * 4;
    d.push = bytes(push);
    d.groups = {divide_up(weights.parts[part].rows, tile.tile), divide_up(rows, tile.columns), 1};
    d.label = part_label(label, weights, part);
    result.push_back(std::move(d));
  }
  return result;
}

Dispatch argmax_merge(const Selector& select, std::uint32_t partials, std::uint32_t rows, const std::string& label) {
  Dispatch merge;
  merge.kernel = KernelId::argmax_merge;
  merge.constants = words(abi::ArgmaxMergeSpec{select.tuning().lanes});
  merge.operands = {{{ResourceKind::argmax_partial}, Access::read}, {{ResourceKind::result}, Access::write}};
  merge.push = bytes(abi::ArgmaxMergePush{partials});
  merge.groups = {rows, 1, 1};
  merge.label = label + ".merge";
  return merge;
}

}  // namespace

std::vector<Dispatch> embed(const Selector& select, const Matrix& table, std::uint32_t rows, Resource out, float scale,
                            const std::string& label) {
  std::vector<Dispatch> result;
  const std::uint32_t blocks = padded(table.k) / 32;
  for (std::size_t part = 0; part < table.parts.size(); ++part) {
    Dispatch d;
    d.kernel = weight_format(table.format).embed;
    d.constants = words(abi::EmbedSpec{select.tuning().lanes, table.interleave});
    add_weights(d.operands, table, part);
    d.operands.push_back({{ResourceKind::state}, Access::read});
    // Split tables write some rows each: read_write keeps the parts in order.
    d.operands.push_back({out, table.parts.size() == 1 ? Access::write : Access::read_write});
    d.push = bytes(abi::EmbedPush{blocks, table.parts[part].first, table.parts[part].rows, padded(table.k), scale});
    d.groups = {divide_up(blocks, select.tuning().lanes), rows, 1};
    d.label = part_label(label, table, part);
    result.push_back(std::move(d));
  }
  return result;
}

std::vector<Dispatch> matvec(const Selector& select, const Matrix& weights, Resource x, Resource y, std::uint32_t rows,
                             const MatvecFusion& fusion, const std::string& label) {
  if (is_gated(fusion.activation) && weights.parts.size() != 1) fail(Code::internal, "{}: split weights cannot be gate and up", label);
  const MatvecChoice choice = select.matvec(weights.format, weights.k, rows);
  std::vector<Dispatch> result;
  for (std::size_t part = 0; part < weights.parts.size(); ++part) {
    result.push_back(skinny(select, weights, part, x, y, rows, fusion, choice, epilogue_of(fusion)));
    result.back().label = part_label(label, weights, part);
  }
  return result;
}

std::vector<Dispatch> expert_product(const Selector& select, const Matrix& stack, const ExpertRows& rows, Resource x, bool by_row,
                                     Resource y, const MatvecFusion& fusion, const std::string& label) {
  if (fusion.norm || fusion.residual || fusion.activation != Activation::none || fusion.softcap > 0.0f)
    fail(Code::internal, "{}: products of experts do nothing besides", label);
  // As many columns as rows want an expert where all are wanted alike; more in a verification, since rows of one text share experts. Which
  // rows share a workgroup changes no bit.
  const std::uint32_t wanted_alike = (rows.slots() + rows.experts - 1) / rows.experts;
  const std::uint32_t wanted_together = rows.rows <= STEP_VERIFY_ROWS ? std::max(rows.rows / 8, std::min(rows.rows, 2u)) : 1;
  const std::uint32_t columns = std::min(std::max(wanted_alike, wanted_together), std::uint32_t{STEP_VERIFY_ROWS});
  const MatvecChoice choice = select.matvec(stack.format, stack.k, columns);
  const std::uint32_t n = stack.n / rows.experts;
  std::vector<Dispatch> result;
  for (std::size_t part = 0; part < stack.parts.size(); ++part) {
    Dispatch d = skinny(select, stack, part, x, y, 1, fusion, choice, MATVEC_STORE);
    d.kernel = matvec_experts_kernel(stack.format, select.tuning());
    d.operands.push_back({{ResourceKind::expert_groups}, Access::read});
    const abi::MatvecPush base = matrix_push(stack, part, fusion);
    abi::MatvecExpertsPush push{};
    static_assert(offsetof(abi::MatvecExpertsPush, begin) == sizeof(base));
    std::memcpy(&push, &base, sizeof(base));
    push.n = n;
    push.y_stride = padded(fusion.y_width != 0 ? fusion.y_width : n);
    push.y_first = fusion.y_first;
    push.begin = stack.parts[part].first / n;
    push.end = push.begin + stack.parts[part].rows / n;
    push.row_slots = by_row ? rows.used : 1;
    push.list = EXPERTS_LIST(rows.experts);
    d.push = bytes(push);
    d.groups = {std::min(rows.experts, rows.slots()), divide_up(n, choice.lanes / choice.k_lanes * choice.rows), 1};
    d.label = part_label(label, stack, part);
    result.push_back(std::move(d));
  }
  return result;
}

std::vector<Dispatch> head_product(const Selector& select, const Matrix& stack, std::uint32_t heads, std::pair<Resource, HeadParts> x,
                                   std::pair<Resource, HeadParts> y, std::uint32_t rows, const std::string& label) {
  const MatvecChoice choice = select.matvec(stack.format, stack.k, rows);
  const std::uint32_t n = stack.n / heads;
  std::vector<Dispatch> result;
  for (std::size_t part = 0; part < stack.parts.size(); ++part) {
    const std::uint32_t first_head = stack.parts[part].first / n;
    Dispatch d = skinny(select, stack, part, x.first, y.first, rows, {}, choice, MATVEC_STORE);
    d.kernel = matvec_heads_kernel(stack.format, select.tuning());
    const abi::MatvecPush base = matrix_push(stack, part, {});
    abi::MatvecHeadsPush push{};
    static_assert(offsetof(abi::MatvecHeadsPush, x_first) == sizeof(base));
    std::memcpy(&push, &base, sizeof(base));
    push.n = n;
    push.x_stride = padded(x.second.width);
    push.x_first = x.second.first + first_head * x.second.step;
    push.x_step = x.second.step;
    push.y_stride = padded(y.second.width);
    push.y_first = y.second.first + first_head * y.second.step;
    push.y_step = y.second.step;
    d.push = bytes(push);
    d.groups = {divide_up(n, choice.lanes / choice.k_lanes * choice.rows), divide_up(rows, choice.columns), stack.parts[part].rows / n};
    d.label = part_label(label, stack, part);
    result.push_back(std::move(d));
  }
  return result;
}

std::vector<Dispatch> prompt_matmul(const Selector& select, const Matrix& weights, Resource x, Resource y, std::uint32_t rows,
                                    const MatvecFusion& fusion, const std::string& label) {
  return select.tiled() ? matmul(select, weights, x, y, rows, fusion, label) : matvec(select, weights, x, y, rows, fusion, label);
}

std::uint32_t argmax_partials(const Selector& select, std::uint32_t n, std::uint32_t k) {
  const MatvecChoice choice = select.argmax(k, 1);
  return divide_up(n, choice.lanes / choice.k_lanes * choice.rows);
}

std::vector<Dispatch> argmax(const Selector& select, const Matrix& weights, Resource x, std::uint32_t rows, const MatvecFusion& fusion,
                             const std::string& label) {
  MatvecChoice choice = select.argmax(weights.k, rows);
  choice.shared_table = shares_table(select, weights.format, choice);
  const std::uint32_t partials = argmax_partials(select, weights.n, weights.k), range = choice.lanes / choice.k_lanes * choice.rows;
  const Resource partial{ResourceKind::argmax_partial};
  std::vector<Dispatch> result;
  for (std::size_t part = 0; part < weights.parts.size(); ++part) {
    if (weights.parts[part].first % range != 0)
      fail(Code::internal, "{}: a part starts at row {}, within a range of {}", label, weights.parts[part].first, range);
    Dispatch d =
        skinny(select, weights, part, x, partial, rows, fusion, choice, fusion.softcap > 0.0f ? MATVEC_ARGMAX_CAPPED : MATVEC_ARGMAX);
    abi::MatvecPush push = matrix_push(weights, part, fusion);
    push.y_stride = partials;
    d.push = bytes(push);
    d.label = part_label(label, weights, part);
    result.push_back(std::move(d));
  }
  result.push_back(argmax_merge(select, partials, rows, label));
  return result;
}

std::vector<Dispatch> argmax_of_logits(const Selector& select, std::uint32_t n, std::uint32_t rows, const std::string& label) {
  const std::uint32_t ranges = divide_up(n, select.tuning().lanes * ARGMAX_LOGITS_EACH);
  Dispatch d;
  d.kernel = KernelId::argmax_logits;
  d.constants = words(abi::ArgmaxLogitsSpec{select.tuning().lanes});
  d.operands = {{{ResourceKind::logits}, Access::read}, {{ResourceKind::argmax_partial}, Access::write}};
  d.push = bytes(abi::ArgmaxLogitsPush{n, padded(n)});
  d.groups = {ranges, rows, 1};
  d.label = label + ".argmax";
  return {std::move(d), argmax_merge(select, ranges, rows, label)};
}

std::vector<Dispatch> matmul(const Selector& select, const Matrix& weights, Resource x, Resource y, std::uint32_t rows,
                             const MatvecFusion& fusion, const std::string& label) {
  return tiled(select, weights, x, y, rows, fusion, select.matmul(weights.format, weights.n, rows), label);
}

std::vector<Dispatch> matrix_product(const Selector& select, const Matrix& weights, Resource x, Resource y, std::uint32_t rows,
                                     const MatvecFusion& fusion, const std::string& label) {
  return tiled(select, weights, x, y, rows, fusion, select.matrix_tile(), label);
}

}  // namespace skipstone::kernels
