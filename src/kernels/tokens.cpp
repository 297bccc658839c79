// What becomes of logits and drafted tokens: candidates for sampling, and the steps between the passes of a round in one submission.
#include "kernels/abi.h"
#include "kernels/operations.h"

namespace skipstone::kernels {

using vk::Access;

std::vector<Dispatch> candidates(const Selector& select, std::uint32_t n, std::uint32_t rows, const std::string& label) {
  const Resource logits{ResourceKind::logits}, requests{ResourceKind::candidate_requests}, groups{ResourceKind::candidate_groups};
  // Several lanes for a group where there are many: a row's groups alone would leave most of a GPU idle. CPU devices have few.
  const std::uint32_t lanes = select.tuning().wide_lanes, parts = lanes >= 64 ? 8 : 1;
  Dispatch scan;
  scan.kernel = KernelId::candidate_groups;
  scan.constants = words(abi::CandidateGroupsSpec{lanes, parts});
  scan.operands = {{logits, Access::read}, {requests, Access::read}, {groups, Access::write}};
  scan.push = bytes(abi::CandidateGroupsPush{n, padded(n)});
  scan.groups = {CANDIDATE_GROUPS / (lanes / parts), rows, 1};
  scan.label = label + ".groups";
  Dispatch choose;
  choose.kernel = KernelId::candidates;
  choose.constants = words(abi::CandidatesSpec{lanes});
  choose.operands = {{logits, Access::read}, {requests, Access::read}, {groups, Access::read}, {{ResourceKind::candidates}, Access::write}};
  choose.push = bytes(abi::CandidatesPush{n, padded(n)});
  choose.groups = {rows, 1, 1};
  choose.label = label;
  return {scan, choose};
}

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
