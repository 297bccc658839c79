#include "base/status.h"
#include "kernels/abi.h"
#include "kernels/operations.h"

namespace skipstone::kernels {
namespace {

using vk::Access;

constexpr std::uint32_t divide_up(std::uint32_t a, std::uint32_t b) { return (a + b - 1) / b; }

// Weights and scales of a part. Formats without scales bind the weights twice: every declared buffer must be bound.
void add_weights(std::vector<Operand>& operands, const Matrix& weights, std::size_t part) {
  const Resource quants{ResourceKind::weight, weights.tensor, static_cast<std::uint16_t>(part), 0};
  Resource scales = quants;
  if (has_scales(weights.format)) scales.plane = 1;
  operands.push_back({quants, Access::read});
  operands.push_back({scales, Access::read});
}

std::vector<Operand> matrix_operands(const Matrix& weights, std::size_t part, Resource x, Resource y, const MatvecEpilogue& epilogue) {
  std::vector<Operand> operands;
  add_weights(operands, weights, part);
  operands.push_back({x, Access::read});
  operands.push_back({y, Access::write});
  operands.push_back({epilogue.bias_tensor ? Resource{ResourceKind::weight, *epilogue.bias_tensor} : x, Access::read});
  operands.push_back({epilogue.residual.value_or(x), Access::read});
  return operands;
}

std::string part_label(const std::string& label, const Matrix& weights, std::size_t part) {
  return weights.parts.size() == 1 ? label : label + "." + std::to_string(part);
}

}  // namespace

bool has_scales(gguf::Type format) { return format == gguf::Type::q8_0 || format == gguf::Type::q4_0; }

std::vector<Dispatch> embed(const Selector& select, const Matrix& table, std::uint32_t rows, Resource out, const std::string& label) {
  std::vector<Dispatch> result;
  const std::uint32_t blocks = padded(table.k) / 32;
  for (std::size_t part = 0; part < table.parts.size(); ++part) {
    Dispatch d;
    d.kernel = select.embed(table.format);
    d.constants = words(abi::EmbedSpec{.LANES = select.lanes()});
    add_weights(d.operands, table, part);
    d.operands.push_back({{ResourceKind::state}, Access::read});
    // Split tables write some rows each: read_write keeps the parts in order.
    d.operands.push_back({out, table.parts.size() == 1 ? Access::write : Access::read_write});
    d.push = bytes(abi::EmbedPush{blocks, table.parts[part].first, table.parts[part].rows, padded(table.k)});
    d.groups = {divide_up(blocks, select.lanes()), rows, 1};
    d.label = part_label(label, table, part);
    result.push_back(std::move(d));
  }
  return result;
}

std::vector<Dispatch> matvec(const Selector& select, const Matrix& weights, Resource x, Resource y, std::uint32_t rows,
                             const MatvecEpilogue& epilogue, const std::string& label) {
  if (select.tiled(rows)) return matmul(select, weights, x, y, rows, epilogue, label);
  const MatvecChoice choice = select.matvec(rows);
  std::vector<Dispatch> result;
  for (std::size_t part = 0; part < weights.parts.size(); ++part) {
    Dispatch d;
    d.kernel = select.matvec_kernel(weights.format);
    d.constants = words(abi::MatvecSpec{choice.lanes, choice.k_lanes, choice.rows, choice.columns, epilogue.bias_tensor ? 1u : 0u,
                                        epilogue.residual ? 1u : 0u});
    d.operands = matrix_operands(weights, part, x, y, epilogue);
    d.push = bytes(
        abi::MatvecPush{weights.parts[part].rows, padded(weights.k) / 32, padded(weights.k), padded(weights.n), weights.parts[part].first});
    d.groups = {divide_up(weights.parts[part].rows, choice.lanes / choice.k_lanes * choice.rows), divide_up(rows, choice.columns), 1};
    d.label = part_label(label, weights, part);
    result.push_back(std::move(d));
  }
  return result;
}

std::vector<Dispatch> matmul(const Selector& select, const Matrix& weights, Resource x, Resource y, std::uint32_t rows,
                             const MatvecEpilogue& epilogue, const std::string& label) {
  const MatmulChoice tile = select.matmul(rows);
  if (rows % tile.tile_m != 0) fail(Code::internal, "{} rows are no multiple of the tile's {}", rows, tile.tile_m);
  std::vector<Dispatch> result;
  for (std::size_t part = 0; part < weights.parts.size(); ++part) {
    Dispatch d;
    d.kernel = select.matmul_kernel(weights.format);
    d.constants = words(abi::MatmulSpec{tile.lanes, tile.tile_n, tile.tile_m, tile.lane_n, tile.lane_m, epilogue.bias_tensor ? 1u : 0u,
                                        epilogue.residual ? 1u : 0u});
    d.operands = matrix_operands(weights, part, x, y, epilogue);
    d.push = bytes(
        abi::MatmulPush{weights.parts[part].rows, padded(weights.k) / 32, padded(weights.k), padded(weights.n), weights.parts[part].first});
    d.groups = {divide_up(weights.parts[part].rows, tile.tile_n), rows / tile.tile_m, 1};
    d.label = part_label(label, weights, part);
    result.push_back(std::move(d));
  }
  return result;
}

}  // namespace skipstone::kernels
