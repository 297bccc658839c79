#include "kernels/abi.h"
#include "kernels/operations.h"

namespace skipstone::kernels {

using vk::Access;

Dispatch advance(std::uint32_t chunk, bool draft, bool keeps, const std::string& label) {
  Dispatch d;
  d.kernel = KernelId::advance;
  d.constants = words(abi::AdvanceSpec{1});
  d.operands = {{{ResourceKind::result}, Access::read},
                {{ResourceKind::state}, Access::read_write},
                {{ResourceKind::round}, Access::read_write},
                {{ResourceKind::round_result}, Access::write},
                {{ResourceKind::drafts}, Access::write}};
  d.push = bytes(abi::AdvancePush{chunk, draft ? 1u : 0u, keeps ? 1u : 0u});
  d.label = label;
  return d;
}

Dispatch accept(std::uint32_t rows, const std::string& label) {
  Dispatch d;
  d.kernel = KernelId::accept;
  d.constants = words(abi::AcceptSpec{1});
  d.operands = {{{ResourceKind::result}, Access::read},
                {{ResourceKind::round}, Access::read},
                {{ResourceKind::drafts}, Access::read},
                {{ResourceKind::round_result}, Access::read_write}};
  d.push = bytes(abi::AcceptPush{rows});
  d.label = label;
  return d;
}

}  // namespace skipstone::kernels
