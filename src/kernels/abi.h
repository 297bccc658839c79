// The C++ side of shaders/abi: the same macros expanded to structs. Push constants and state are copied to the device byte by byte.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "abi/accept.h"
#include "abi/advance.h"
#include "abi/argmax_logits.h"
#include "abi/argmax_merge.h"
#include "abi/attention.h"
#include "abi/attention_merge.h"
#include "abi/attention_prefill.h"
#include "abi/attention_serial.h"
#include "abi/candidates.h"
#include "abi/combine_experts.h"
#include "abi/cosine.h"
#include "abi/cosine_sum.h"
#include "abi/embed.h"
#include "abi/experts.h"
#include "abi/gated_norm.h"
#include "abi/group_experts.h"
#include "abi/half_rows.h"
#include "abi/head_gate.h"
#include "abi/head_norm.h"
#include "abi/keep_rows.h"
#include "abi/kv_cache.h"
#include "abi/matmul.h"
#include "abi/matmul_coopmat.h"
#include "abi/matvec.h"
#include "abi/matvec_experts.h"
#include "abi/matvec_heads.h"
#include "abi/move_kv.h"
#include "abi/norm.h"
#include "abi/prediction_input.h"
#include "abi/random_fill.h"
#include "abi/recurrent_scan.h"
#include "abi/rms_norm.h"
#include "abi/rope_store.h"
#include "abi/router.h"
#include "abi/short_conv.h"
#include "abi/step_state.h"
#include "abi/store_record.h"
#include "abi/swiglu.h"
#include "abi/token_gate.h"
#include "abi/token_inputs.h"
// After step_state.h.
#include "abi/round.h"

namespace skipstone::abi {

using uint = std::uint32_t;

#define SK_FIELD(type, name) type name;
// NOLINTNEXTLINE(bugprone-macro-parentheses): a member's name, not an operand.
#define SK_ARRAY(type, name, length) std::array<type, static_cast<std::size_t>(length)> name;
#define SK_CONSTANT(id, name, fallback) std::uint32_t name = fallback;

#define SK_KERNEL_ABI(Name, MACRO) \
  struct Name##Push {              \
    MACRO##_PUSH(SK_FIELD)         \
  };                               \
  struct Name##Spec {              \
    MACRO##_SPEC(SK_CONSTANT)      \
  };

SK_KERNEL_ABI(Embed, EMBED)
SK_KERNEL_ABI(HeadNorm, HEAD_NORM)
SK_KERNEL_ABI(StoreRecord, STORE_RECORD)
SK_KERNEL_ABI(TokenInputs, TOKEN_INPUTS)
SK_KERNEL_ABI(TokenGate, TOKEN_GATE)
SK_KERNEL_ABI(PredictionInput, PREDICTION_INPUT)
SK_KERNEL_ABI(RmsNorm, RMS_NORM)
SK_KERNEL_ABI(Norm, NORM)
SK_KERNEL_ABI(Matvec, MATVEC)
SK_KERNEL_ABI(Matmul, MATMUL)
SK_KERNEL_ABI(MatmulCoopmat, MATMUL_COOPMAT)
SK_KERNEL_ABI(HalfRows, HALF_ROWS)
SK_KERNEL_ABI(RopeStore, ROPE_STORE)
SK_KERNEL_ABI(ShortConv, SHORT_CONV)
SK_KERNEL_ABI(RecurrentScan, RECURRENT_SCAN)
SK_KERNEL_ABI(GatedNorm, GATED_NORM)
SK_KERNEL_ABI(HeadGate, HEAD_GATE)
SK_KERNEL_ABI(Attention, ATTENTION)
SK_KERNEL_ABI(AttentionMerge, ATTENTION_MERGE)
SK_KERNEL_ABI(AttentionPrefill, ATTENTION_PREFILL)
SK_KERNEL_ABI(AttentionSerial, ATTENTION_SERIAL)
SK_KERNEL_ABI(Swiglu, SWIGLU)
SK_KERNEL_ABI(KeepRows, KEEP_ROWS)
SK_KERNEL_ABI(MoveKv, MOVE_KV)
SK_KERNEL_ABI(Cosine, COSINE)
SK_KERNEL_ABI(CosineSum, COSINE_SUM)
SK_KERNEL_ABI(ArgmaxLogits, ARGMAX_LOGITS)
SK_KERNEL_ABI(ArgmaxMerge, ARGMAX_MERGE)
SK_KERNEL_ABI(CandidateGroups, CANDIDATE_GROUPS)
SK_KERNEL_ABI(Candidates, CANDIDATES)
SK_KERNEL_ABI(Advance, ADVANCE)
SK_KERNEL_ABI(Accept, ACCEPT)
SK_KERNEL_ABI(RandomFill, RANDOM_FILL)
SK_KERNEL_ABI(Router, ROUTER)
SK_KERNEL_ABI(GroupExperts, GROUP_EXPERTS)
SK_KERNEL_ABI(MatvecExperts, MATVEC_EXPERTS)
SK_KERNEL_ABI(MatvecHeads, MATVEC_HEADS)
SK_KERNEL_ABI(CombineExperts, COMBINE_EXPERTS)

/// See shaders/abi/step_state.h.
struct StepState {
  STEP_STATE(SK_FIELD, SK_ARRAY)
};
/// See shaders/abi/experts.h.
struct ExpertUse {
  EXPERT_USE(SK_FIELD)
};
struct RowResult {
  ROW_RESULT(SK_FIELD)
};
/// See shaders/abi/round.h.
struct RoundState {
  ROUND_STATE(SK_FIELD, SK_ARRAY)
};
struct RoundResult {
  ROUND_RESULT(SK_FIELD, SK_ARRAY)
};
/// See shaders/abi/candidates.h.
struct CandidateRequest {
  CANDIDATE_REQUEST(SK_FIELD, SK_ARRAY)
};
struct CandidateGroup {
  CANDIDATE_GROUP(SK_FIELD)
};
struct CandidateResult {
  CANDIDATE_RESULT(SK_FIELD, SK_ARRAY)
};
struct ArgmaxPartial {
  ARGMAX_PARTIAL_FIELDS(SK_FIELD)
};

#undef SK_KERNEL_ABI
#undef SK_CONSTANT
#undef SK_ARRAY
#undef SK_FIELD

}  // namespace skipstone::abi
