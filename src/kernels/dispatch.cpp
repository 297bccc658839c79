#include "kernels/dispatch.h"

#include <fmt/format.h>

namespace skipstone::kernels {
namespace {

const char* name_of(ResourceKind kind) {
  switch (kind) {
    case ResourceKind::weight:
      return "weight";
    case ResourceKind::k_cache:
      return "k_cache";
    case ResourceKind::v_cache:
      return "v_cache";
    case ResourceKind::residual:
      return "residual";
    case ResourceKind::kept:
      return "kept";
    case ResourceKind::normed:
      return "normed";
    case ResourceKind::qkv:
      return "qkv";
    case ResourceKind::q_rotated:
      return "q_rotated";
    case ResourceKind::attended:
      return "attended";
    case ResourceKind::gate_up:
      return "gate_up";
    case ResourceKind::activated:
      return "activated";
    case ResourceKind::half_rows:
      return "half_rows";
    case ResourceKind::attention_partial:
      return "attention_partial";
    case ResourceKind::logits:
      return "logits";
    case ResourceKind::argmax_partial:
      return "argmax_partial";
    case ResourceKind::result:
      return "result";
    case ResourceKind::candidate_requests:
      return "candidate_requests";
    case ResourceKind::candidate_groups:
      return "candidate_groups";
    case ResourceKind::candidates:
      return "candidates";
    case ResourceKind::cosines:
      return "cosines";
    case ResourceKind::cosine_total:
      return "cosine_total";
    case ResourceKind::rope_table:
      return "rope_table";
    case ResourceKind::state:
      return "state";
    case ResourceKind::round:
      return "round";
    case ResourceKind::round_result:
      return "round_result";
    case ResourceKind::drafts:
      return "drafts";
    case ResourceKind::scratch:
      return "scratch";
  }
  return "?";
}

bool indexed(ResourceKind kind) {
  return kind == ResourceKind::weight || kind == ResourceKind::k_cache || kind == ResourceKind::v_cache || kind == ResourceKind::residual ||
         kind == ResourceKind::scratch;
}

}  // namespace

std::string to_string(const Resource& resource) {
  std::string text = name_of(resource.kind);
  if (indexed(resource.kind)) text += fmt::format("[{}]", resource.index);
  if (resource.part != 0) text += fmt::format(".part{}", resource.part);
  if (resource.plane != 0) text += ".scales";
  return text;
}

}  // namespace skipstone::kernels
