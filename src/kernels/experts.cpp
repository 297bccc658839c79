// Dispatches of mixtures of experts, but their products.
#include "kernels/abi.h"
#include "kernels/operations.h"

namespace skipstone::kernels {

using vk::Access;

static_assert(static_cast<std::uint32_t>(Gating::softmax) == ROUTER_SOFTMAX &&
              static_cast<std::uint32_t>(Gating::sigmoid) == ROUTER_SIGMOID &&
              static_cast<std::uint32_t>(Gating::softmax_of_chosen) == ROUTER_SOFTMAX_OF_CHOSEN);

Dispatch route(const Selector& select, const Router& router, const ExpertRows& rows, const std::string& label) {
  const Resource logits{ResourceKind::router_logits};
  Dispatch d;
  d.kernel = KernelId::router;
  d.constants = words(abi::RouterSpec{select.tuning().lanes, static_cast<std::uint32_t>(router.gating), router.renormalised ? 1u : 0u,
                                      router.correction ? 1u : 0u, router.groups});
  d.operands = {{logits, Access::read},
                {router.correction ? Resource{ResourceKind::weight, *router.correction} : logits, Access::read},
                {{ResourceKind::state}, Access::read},
                {{ResourceKind::expert_choices}, Access::write}};
  d.push = bytes(abi::RouterPush{rows.experts, rows.used, padded(router.logits), router.groups_used, router.scale});
  d.groups = {rows.rows, 1, 1};
  d.label = label;
  return d;
}

Dispatch group_experts(const Selector& select, const ExpertRows& rows, std::uint32_t layer, const std::string& label) {
  Dispatch d;
  d.kernel = KernelId::group_experts;
  d.constants = words(abi::GroupExpertsSpec{select.tuning().wide_lanes});
  d.operands = {{{ResourceKind::expert_choices}, Access::read},
                {{ResourceKind::expert_groups}, Access::write},
                {{ResourceKind::expert_use}, Access::write}};
  d.push = bytes(abi::GroupExpertsPush{rows.experts, rows.slots(), layer});
  d.label = label;
  return d;
}

Dispatch combine_experts(const Selector& select, const ExpertSum& sum, const ExpertRows& rows, Resource out, const std::string& label) {
  const std::uint32_t lanes = select.tuning().lanes;
  const Resource outputs{ResourceKind::expert_outputs};
  Dispatch d;
  d.kernel = KernelId::combine_experts;
  d.constants = words(abi::CombineExpertsSpec{lanes,
                                              !sum.shared        ? COMBINE_NO_SHARED
                                              : sum.shared_logit ? COMBINE_GATED_SHARED
                                                                 : COMBINE_SHARED,
                                              sum.residual ? 1u : 0u});
  d.operands = {{outputs, Access::read},
                {{ResourceKind::expert_choices}, Access::read},
                {sum.shared.value_or(outputs), Access::read},
                {sum.shared_logit ? Resource{ResourceKind::router_logits} : outputs, Access::read},
                {sum.residual.value_or(outputs), Access::read},
                {out, Access::write}};
  d.push = bytes(abi::CombineExpertsPush{sum.n, padded(sum.n), rows.used, sum.shared_logit.value_or(0), padded(sum.logits), sum.scale});
  d.groups = {(sum.n + lanes - 1) / lanes, rows.rows, 1};
  d.label = label;
  return d;
}

}  // namespace skipstone::kernels
