#include "contract.h"

#include <fmt/format.h>

#include <cstddef>
#include <functional>

#include "base/status.h"
#include "kernels/abi.h"

namespace skipstone::abi_test {
namespace {

// Types as the shading language names them.
template <typename T>
std::string type_name;
template <>
std::string type_name<std::uint32_t> = "uint";
template <>
std::string type_name<float> = "float";

using uint = std::uint32_t;

#define FIELD(type, name) Member{#name, type_name<type>, static_cast<std::uint32_t>(offsetof(Struct, name))},
#define ARRAY(type, name, length) \
  Member{#name, type_name<type> + "[" + std::to_string(length) + "]", static_cast<std::uint32_t>(offsetof(Struct, name))},
#define CONSTANT(id, name, fallback) Constant{id, #name, fallback},
#define CONSTANT_OFFSET(id, name, fallback) static_cast<std::uint32_t>(offsetof(Struct, name)),

#define CONTRACT(abi_name, Name, MACRO)                     \
  {                                                         \
    abi_name, [] {                                          \
      Contract c;                                           \
      {                                                     \
        using Struct = abi::Name##Push;                     \
        c.push = {MACRO##_PUSH(FIELD)};                     \
        c.push_bytes = sizeof(Struct);                      \
      }                                                     \
      using Struct = abi::Name##Spec;                       \
      c.constants = {MACRO##_SPEC(CONSTANT)};               \
      c.constant_offsets = {MACRO##_SPEC(CONSTANT_OFFSET)}; \
      c.constant_bytes = sizeof(Struct);                    \
      c.buffers = MACRO##_BUFFERS;                          \
      return c;                                             \
    }                                                       \
  }

const std::map<std::string_view, std::function<Contract()>> contracts = {
    CONTRACT("embed", Embed, EMBED),
    CONTRACT("rms_norm", RmsNorm, RMS_NORM),
    CONTRACT("norm", Norm, NORM),
    CONTRACT("head_norm", HeadNorm, HEAD_NORM),
    CONTRACT("matvec", Matvec, MATVEC),
    CONTRACT("matmul", Matmul, MATMUL),
    CONTRACT("matmul_coopmat", MatmulCoopmat, MATMUL_COOPMAT),
    CONTRACT("half_rows", HalfRows, HALF_ROWS),
    CONTRACT("rope_store", RopeStore, ROPE_STORE),
    CONTRACT("short_conv", ShortConv, SHORT_CONV),
    CONTRACT("recurrent_scan", RecurrentScan, RECURRENT_SCAN),
    CONTRACT("gated_norm", GatedNorm, GATED_NORM),
    CONTRACT("head_gate", HeadGate, HEAD_GATE),
    CONTRACT("attention", Attention, ATTENTION),
    CONTRACT("attention_merge", AttentionMerge, ATTENTION_MERGE),
    CONTRACT("attention_prefill", AttentionPrefill, ATTENTION_PREFILL),
    CONTRACT("attention_serial", AttentionSerial, ATTENTION_SERIAL),
    CONTRACT("swiglu", Swiglu, SWIGLU),
    CONTRACT("move_kv", MoveKv, MOVE_KV),
    CONTRACT("keep_rows", KeepRows, KEEP_ROWS),
    CONTRACT("store_record", StoreRecord, STORE_RECORD),
    CONTRACT("token_inputs", TokenInputs, TOKEN_INPUTS),
    CONTRACT("token_gate", TokenGate, TOKEN_GATE),
    CONTRACT("prediction_input", PredictionInput, PREDICTION_INPUT),
    CONTRACT("cosine", Cosine, COSINE),
    CONTRACT("cosine_sum", CosineSum, COSINE_SUM),
    CONTRACT("argmax_logits", ArgmaxLogits, ARGMAX_LOGITS),
    CONTRACT("argmax_merge", ArgmaxMerge, ARGMAX_MERGE),
    CONTRACT("candidate_groups", CandidateGroups, CANDIDATE_GROUPS),
    CONTRACT("candidates", Candidates, CANDIDATES),
    CONTRACT("advance", Advance, ADVANCE),
    CONTRACT("accept", Accept, ACCEPT),
    CONTRACT("random_fill", RandomFill, RANDOM_FILL),
    CONTRACT("router", Router, ROUTER),
    CONTRACT("group_experts", GroupExperts, GROUP_EXPERTS),
    CONTRACT("matvec_experts", MatvecExperts, MATVEC_EXPERTS),
    CONTRACT("matvec_heads", MatvecHeads, MATVEC_HEADS),
    CONTRACT("combine_experts", CombineExperts, COMBINE_EXPERTS),
};

std::string text(const Member& m) { return fmt::format("{} {} at {}", m.type, m.name, m.offset); }
std::string text(const Constant& c) { return fmt::format("{} (id {}, {} where not set)", c.name, c.id, c.fallback); }

template <typename T>
std::string lists_differ(std::string_view what, const std::vector<T>& kernel, const std::vector<T>& host) {
  for (std::size_t i = 0; i < std::max(kernel.size(), host.size()); ++i) {
    const std::string in_kernel = i < kernel.size() ? text(kernel[i]) : "nothing", on_host = i < host.size() ? text(host[i]) : "nothing";
    if (in_kernel != on_host) return fmt::format("{} {}: the kernel has {}, the host {}", what, i, in_kernel, on_host);
  }
  return "";
}

std::string bindings_differ(const kernels::KernelInfo& kernel, const Reflection& reflection, const Contract& contract) {
  if (kernel.buffers != contract.buffers) return fmt::format("the table says {} buffers, the header {}", kernel.buffers, contract.buffers);
  if (reflection.bindings.size() != contract.buffers)
    return fmt::format("the kernel declares {} buffers of {}", reflection.bindings.size(), contract.buffers);
  for (const auto& [binding, texels] : reflection.bindings) {
    if (binding >= contract.buffers) return fmt::format("binding {} is beyond the {} buffers", binding, contract.buffers);
    if (texels != ((kernel.texel_buffers >> binding & 1u) != 0))
      return fmt::format("binding {}: kernel and table differ about texels", binding);
  }
  return "";
}

std::string constants_differ(const kernels::KernelInfo& kernel, const Reflection& reflection, const Contract& contract) {
  if (kernel.constants != contract.constants.size() || contract.constant_bytes != 4 * contract.constants.size()) {
    return fmt::format("the table says {} constants, the header {}", kernel.constants, contract.constants.size());
  }
  for (std::size_t i = 0; i < contract.constants.size(); ++i) {
    // The host hands over its structure as constants 0, 1, ... in order.
    if (contract.constants[i].id != i || contract.constant_offsets[i] != 4 * i)
      return fmt::format("constant {} is out of order", contract.constants[i].name);
  }
  return lists_differ("constant", reflection.constants, contract.constants);
}

}  // namespace

Contract contract_of(std::string_view abi) {
  const auto found = contracts.find(abi);
  if (found == contracts.end()) fail(Code::not_found, "the test knows no contract '{}'; add it to the table", abi);
  return found->second();
}

std::map<std::string, std::vector<Member>> shared_blocks() {
  std::map<std::string, std::vector<Member>> blocks;
  {
    using Struct = abi::StepState;
    blocks["State"] = {STEP_STATE(FIELD, ARRAY)};
  }
  {
    using Struct = abi::RowResult;
    blocks["RowResult"] = {ROW_RESULT(FIELD)};
  }
  {
    using Struct = abi::RoundState;
    blocks["Round"] = {ROUND_STATE(FIELD, ARRAY)};
  }
  {
    using Struct = abi::RoundResult;
    blocks["RoundResult"] = {ROUND_RESULT(FIELD, ARRAY)};
  }
  {
    using Struct = abi::CandidateRequest;
    blocks["CandidateRequest"] = {CANDIDATE_REQUEST(FIELD, ARRAY)};
  }
  {
    using Struct = abi::CandidateGroup;
    blocks["CandidateGroup"] = {CANDIDATE_GROUP(FIELD)};
  }
  {
    using Struct = abi::CandidateResult;
    blocks["CandidateResult"] = {CANDIDATE_RESULT(FIELD, ARRAY)};
  }
  using Struct = abi::ArgmaxPartial;
  blocks["Partial"] = {ARGMAX_PARTIAL_FIELDS(FIELD)};
  return blocks;
}

std::string drift(const kernels::KernelInfo& kernel, const Reflection& reflection, const Contract& contract,
                  const std::map<std::string, std::vector<Member>>& blocks) {
  if (kernel.push_bytes != contract.push_bytes)
    return fmt::format("the table says {} bytes of push constants, the header {}", kernel.push_bytes, contract.push_bytes);
  std::string difference = lists_differ("push constant", reflection.push, contract.push);
  if (difference.empty()) difference = constants_differ(kernel, reflection, contract);
  if (difference.empty()) difference = bindings_differ(kernel, reflection, contract);
  if (difference.empty() && reflection.local_size_x_id != 0u) difference = "the workgroup's size is not constant 0";
  if (difference.empty() && !reflection.one_dimensional) difference = "the workgroup has more than one dimension";
  for (const auto& [name, members] : blocks) {
    const auto found = reflection.blocks.find(name);
    if (!difference.empty() || found == reflection.blocks.end()) continue;
    std::vector<Member> shader = found->second;
    if (shader.back().type == "?") shader.pop_back();  // an array without an end: of such structures, or after one
    if (!shader.empty()) difference = lists_differ(name + " member", shader, members);
  }
  return difference;
}

}  // namespace skipstone::abi_test
