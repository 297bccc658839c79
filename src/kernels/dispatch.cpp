#include "kernels/dispatch.h"

#include <fmt/format.h>

#include <iterator>

namespace skipstone::kernels {
namespace {

/// By kind.
constexpr const char* names[] = {"weight",
                                 "k_cache",
                                 "v_cache",
                                 "records",
                                 "states",
                                 "residual",
                                 "kept",
                                 "normed",
                                 "qkv",
                                 "query_latents",
                                 "q_rotated",
                                 "attended",
                                 "head_outputs",
                                 "recurrent",
                                 "gate_up",
                                 "activated",
                                 "router_logits",
                                 "expert_choices",
                                 "expert_groups",
                                 "expert_latent",
                                 "expert_gate_up",
                                 "expert_activated",
                                 "expert_outputs",
                                 "shared_outputs",
                                 "token_inputs",
                                 "half_rows",
                                 "attention_partial",
                                 "logits",
                                 "argmax_partial",
                                 "result",
                                 "candidate_requests",
                                 "candidate_groups",
                                 "candidates",
                                 "cosines",
                                 "cosine_total",
                                 "expert_use",
                                 "rope_table",
                                 "state",
                                 "round",
                                 "round_result",
                                 "drafts",
                                 "logits_readback",
                                 "rows_in",
                                 "rows_out",
                                 "scratch"};
static_assert(std::size(names) == resource_kinds);

bool indexed(ResourceKind kind) {
  switch (kind) {
    case ResourceKind::weight:
    case ResourceKind::k_cache:
    case ResourceKind::v_cache:
    case ResourceKind::records:
    case ResourceKind::states:
    case ResourceKind::residual:
    case ResourceKind::scratch:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::string to_string(const Resource& resource) {
  std::string text = names[static_cast<std::size_t>(resource.kind)];
  if (indexed(resource.kind)) text += fmt::format("[{}]", resource.index);
  if (resource.part != 0) text += fmt::format(".part{}", resource.part);
  if (resource.plane != 0) text += ".scales";
  return text;
}

}  // namespace skipstone::kernels
