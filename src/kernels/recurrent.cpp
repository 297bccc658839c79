// Dispatches of recurrent layers.
#include "kernels/abi.h"
#include "kernels/operations.h"

namespace skipstone::kernels {

using vk::Access;

Dispatch short_conv(const Selector& select, const ShortConv& conv, std::uint32_t rows, const std::string& label, bool tree) {
  const std::uint32_t lanes = select.tuning().lanes, channels = conv.records.width;
  const std::uint32_t rounds = select.tuning().texels ? 8 : 1;  // as rope_store
  Dispatch d;
  d.kernel = KernelId::short_conv;
  d.constants = words(abi::ShortConvSpec{lanes, conv.kernel, tree ? std::uint32_t{KEYS_TREE} : std::uint32_t{KEYS_TEXT}, rounds});
  d.operands = {{{ResourceKind::qkv}, Access::read},
                {{ResourceKind::weight, conv.taps}, Access::read},
                {{ResourceKind::state}, Access::read},
                {{ResourceKind::recurrent}, Access::write},
                {{ResourceKind::records, conv.records.layer}, Access::read_write}};
  d.push = bytes(abi::ShortConvPush{channels, padded(3 * channels), padded(channels), conv.records.tables});
  d.groups = {(channels + lanes * rounds - 1) / (lanes * rounds), rows, 1};
  d.label = label;
  return d;
}

namespace {

static_assert(static_cast<std::uint32_t>(ScanExtent::rows) == SCAN_ROWS && static_cast<std::uint32_t>(ScanExtent::prompt) == SCAN_PROMPT &&
              static_cast<std::uint32_t>(ScanExtent::advance) == SCAN_ADVANCE &&
              static_cast<std::uint32_t>(ScanExtent::draft) == SCAN_DRAFT && static_cast<std::uint32_t>(ScanExtent::store) == SCAN_STORE);

/// Columns of a workgroup, which no bit depends on: as many as shared memory holds twice, beside keys and queries.
std::uint32_t scan_columns(const Selector& select, const RecurrentScan& scan) {
  const std::uint32_t lanes = select.tuning().lanes, others = 8 * scan.key_dim + 4 * lanes;
  std::uint32_t columns = 32;
  while (columns > 1 && (columns / 2 >= scan.value_dim || 8 * scan.key_dim * columns + others > select.caps().max_shared_bytes))
    columns /= 2;
  return columns;
}

}  // namespace

Dispatch recurrent_scan(const Selector& select, const RecurrentScan& scan, ScanExtent extent, std::uint32_t rows, const std::string& label,
                        bool tree) {
  const std::uint32_t columns = scan_columns(select, scan), group = scan.tiled_heads ? 0 : scan.heads / scan.key_heads;
  Dispatch d;
  d.kernel = KernelId::recurrent_scan;
  d.constants = words(abi::RecurrentScanSpec{select.tuning().lanes, scan.delta ? SCAN_DELTA : SCAN_MAMBA, scan.key_dim, scan.value_dim,
                                             columns, scan.kernel, tree ? KEYS_TREE : KEYS_TEXT, static_cast<std::uint32_t>(extent)});
  const auto weight = [](std::uint32_t tensor) { return Operand{{ResourceKind::weight, tensor}, Access::read}; };
  d.operands = {{{ResourceKind::qkv}, Access::read},
                {{ResourceKind::state}, Access::read},
                {{ResourceKind::records, scan.records.layer}, Access::read_write},
                {{ResourceKind::states, scan.records.layer}, Access::read_write},
                weight(scan.taps),
                weight(scan.taps_bias.value_or(scan.taps)),
                weight(scan.dt_bias),
                weight(scan.decay_rate),
                weight(scan.skip.value_or(scan.taps)),
                {{ResourceKind::recurrent}, Access::write}};
  d.push = bytes(abi::RecurrentScanPush{scan.heads, scan.key_heads, group, padded(scan.input), padded(scan.width()), scan.record_first,
                                        scan.records.width, scan.q, scan.k, scan.v, scan.rates,
                                        state_floats(scan.heads, scan.key_dim, scan.value_dim), scan.records.tables, scan.scans});
  d.groups = {(scan.value_dim + columns - 1) / columns, scan.heads, extent == ScanExtent::prompt ? 1 : rows};
  d.label = label;
  return d;
}

Dispatch gated_norm(const Selector& select, const GatedNorm& norm, std::uint32_t rows, const std::string& label) {
  Dispatch d;
  d.kernel = KernelId::gated_norm;
  d.constants = words(abi::GatedNormSpec{select.tuning().lanes, norm.gate_first ? 1u : 0u});
  d.operands = {{{ResourceKind::recurrent}, Access::read_write},
                {{ResourceKind::qkv}, Access::read},
                {{ResourceKind::weight, norm.weight}, Access::read}};
  d.push = bytes(abi::GatedNormPush{norm.part, padded(norm.width), padded(norm.input), norm.epsilon});
  d.groups = {norm.width / norm.part, rows, 1};
  d.label = label;
  return d;
}

// A record is like the K of one head in a cache without V.
Dispatch move_records(const Selector& select, const Records& records, const std::string& label) {
  const std::uint32_t lanes = select.tuning().lanes;
  Dispatch d;
  d.kernel = KernelId::move_kv;
  d.constants = words(abi::MoveKvSpec{lanes});
  d.operands = {{{ResourceKind::records, records.layer}, Access::read_write},
                {{ResourceKind::records, records.layer}, Access::read_write},
                {{ResourceKind::state}, Access::read}};
  d.push = bytes(abi::MoveKvPush{0, 0, 0, 0, records.width, 0, records.tables});
  d.groups = {(records.width + lanes - 1) / lanes, 1, 1};
  d.label = label;
  return d;
}

}  // namespace skipstone::kernels
