// The cases of the self-test by family, and a run that a test can interfere with. Programs use `selftest.h`.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gguf/traits.h"
#include "kernels/library.h"
#include "selftest/selftest.h"

namespace skipstone::selftest {

class Bench;

/// One operation on one shape. Which kernel does it is the selector's choice; results name the one that ran first.
struct Case {
  std::string operation;                     ///< "matvec", "rms_norm", ...
  std::string name;                          ///< operation or "invariance ...", then the shape; unique
  std::function<std::string(Bench&)> check;  ///< "" where the device agrees, else what differs; throws Error where it cannot run
};

/// How much is tested, and on what: the layouts of lanes and buffers that a device can do beside its own are tested at full depth.
struct Scope {
  Depth depth = Depth::quick;
  vk::Tuning tuning;
  vk::Tier tier = vk::Tier::base;  ///< the highest that device and build have
  /// At full depth: one weight format of each kind of layout has all cases, the others have those of quick and one of each layout of lanes.
  bool sample = false;
  bool all_rows = false;  ///< every weight format with 1 to 32 rows, also on CPU devices, whose drivers take minutes to compile that
  /// Attention of heads of 512 numbers and more: lavapipe, which reads texels, takes minutes to compile it.
  bool long_heads() const { return !tuning.texels || all_rows; }
};

/// The cases of each operation. Every one has cases in both depths.
std::vector<Case> embed_cases(const Scope& scope);
std::vector<Case> matvec_cases(const Scope& scope);
std::vector<Case> matmul_cases(const Scope& scope);
std::vector<Case> rms_norm_cases(const Scope& scope);
std::vector<Case> norm_cases(const Scope& scope);
std::vector<Case> head_norm_cases(const Scope& scope);
std::vector<Case> rope_store_cases(const Scope& scope);
std::vector<Case> attention_cases(const Scope& scope);  ///< attention and attention_merge
std::vector<Case> attention_prefill_cases(const Scope& scope);
std::vector<Case> short_conv_cases(const Scope& scope);      ///< short_conv and move_records, with the numerics contract
std::vector<Case> recurrent_scan_cases(const Scope& scope);  ///< and gated_norm, with the numerics contract
std::vector<Case> router_cases(const Scope& scope);          ///< with the numerics contract
std::vector<Case> experts_cases(const Scope& scope);  ///< group_experts, products of stacks and combine_experts, with the numerics contract
std::vector<Case> head_product_cases(const Scope& scope);  ///< with the numerics contract
std::vector<Case> head_gate_cases(const Scope& scope);     ///< and Q, K and V beside gates
std::vector<Case> swiglu_cases(const Scope& scope);
std::vector<Case> keep_rows_cases(const Scope& scope);
std::vector<Case> prediction_cases(const Scope& scope);
std::vector<Case> token_input_cases(const Scope& scope);  ///< token_inputs and token_gate
std::vector<Case> move_kv_cases(const Scope& scope);
std::vector<Case> cosine_cases(const Scope& scope);      ///< cosine and cosine_sum
std::vector<Case> argmax_cases(const Scope& scope);      ///< argmax and argmax_merge
std::vector<Case> candidates_cases(const Scope& scope);  ///< candidate_groups and candidates
std::vector<Case> round_cases(const Scope& scope);       ///< advance and accept
std::vector<Case> random_fill_cases(const Scope& scope);
/// Passes of 1..16 rows give every row the bits that it gets alone, whatever its place (the numerics contract).
std::vector<Case> invariance_cases(const Scope& scope);
std::vector<Case> position_invariance_cases(const Scope& scope);  ///< of operations that depend on rows' positions

/// All of them, in this order.
std::vector<Case> all_cases(const Scope& scope);

/// The depth at which a weight format has its cases.
Depth depth_of(const Scope& scope, gguf::Type format);

/// All that the device's own layouts and tiers need at a depth.
Scope scope_of(const vk::Device& device, Depth depth);
/// As run() of selftest.h; `prepare` may change the kernels (kernels::Library::replace) before the first case.
std::vector<Result> run(const std::shared_ptr<vk::Device>& device, const Scope& scope, const std::function<void(const Result&)>& progress,
                        const std::function<void(kernels::Library&)>& prepare);

}  // namespace skipstone::selftest
