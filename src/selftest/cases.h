// The cases of the self-test by family, and a run that a test can interfere with. `selftest.h` is what programs use.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/library.h"
#include "selftest/selftest.h"

namespace skipstone::selftest {

class Bench;

/// One kernel on one shape.
struct Case {
  std::string kernel;                        ///< as in the shader table
  std::string name;                          ///< kernel or "invariance ...", then the shape; unique
  std::function<std::string(Bench&)> check;  ///< "" where the device agrees, else what differs; throws Error where it cannot run
};

/// The cases of each operation. Every one has cases in both depths.
std::vector<Case> embed_cases(Depth depth);
std::vector<Case> matvec_cases(Depth depth);
std::vector<Case> matmul_cases(Depth depth);
std::vector<Case> rms_norm_cases(Depth depth);
std::vector<Case> rope_store_cases(Depth depth);
std::vector<Case> attention_cases(Depth depth);  ///< attention and attention_merge
std::vector<Case> attention_prefill_cases(Depth depth);
std::vector<Case> swiglu_cases(Depth depth);
std::vector<Case> cosine_cases(Depth depth);  ///< cosine and cosine_sum
std::vector<Case> argmax_cases(Depth depth);  ///< argmax and argmax_merge
/// Passes of 1..16 rows give every row the bits that it gets alone, wherever it stands (the numerics contract).
std::vector<Case> invariance_cases(Depth depth);

/// All of them, in this order.
std::vector<Case> all_cases(Depth depth);

/// As run() of selftest.h; `prepare` may change the kernels (kernels::Library::replace) before the first case.
std::vector<Result> run(std::shared_ptr<vk::Device> device, Depth depth, const std::function<void(const Result&)>& progress,
                        const std::function<void(kernels::Library&)>& prepare);

}  // namespace skipstone::selftest
