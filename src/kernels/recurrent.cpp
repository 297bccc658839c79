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
