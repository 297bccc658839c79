#include "selftest/selftest.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "base/env.h"
#include "kernels/kernel_table.h"
#include "selftest/bench.h"
#include "selftest/cases.h"

namespace skipstone::selftest {

std::vector<Case> all_cases(const Scope& scope) {
  std::vector<Case> all;
  for (const auto family : {embed_cases,
                            matvec_cases,
                            matmul_cases,
                            rms_norm_cases,
                            norm_cases,
                            head_norm_cases,
                            rope_store_cases,
                            attention_cases,
                            attention_prefill_cases,
                            short_conv_cases,
                            recurrent_scan_cases,
                            router_cases,
                            experts_cases,
                            head_product_cases,
                            head_gate_cases,
                            swiglu_cases,
                            keep_rows_cases,
                            prediction_cases,
                            token_input_cases,
                            move_kv_cases,
                            cosine_cases,
                            argmax_cases,
                            candidates_cases,
                            round_cases,
                            random_fill_cases,
                            invariance_cases,
                            position_invariance_cases}) {
    std::vector<Case> cases = family(scope);
    std::move(cases.begin(), cases.end(), std::back_inserter(all));
  }
  return all;
}

std::vector<Result> run(const std::shared_ptr<vk::Device>& device, Depth depth, const std::function<void(const Result&)>& progress) {
  return run(device, scope_of(*device, depth), progress, {});
}

Depth depth_of(const Scope& scope, gguf::Type format) {
  // Floats, codes with a scale, with a minimum and fifth bits, a codebook, super-blocks with minima and without, grids, scales of a byte,
  // two bits, pairs of four.
  using gguf::Type;
  constexpr std::array sampled = {Type::f16,   Type::q8_0,  Type::q5_1,  Type::iq4_nl, Type::q4_k,       Type::q6_k,
                                  Type::iq3_s, Type::iq1_m, Type::nvfp4, Type::tq2_0,  Type::sparse_q8_0};
  return scope.sample && std::ranges::find(sampled, format) == sampled.end() ? Depth::quick : scope.depth;
}

Scope scope_of(const vk::Device& device, Depth depth) {
  return {.depth = depth, .tuning = device.tuning(), .tier = std::min(device.caps().tier(), kernels::built_tier())};
}

std::vector<Result> run(const std::shared_ptr<vk::Device>& device, const Scope& scope, const std::function<void(const Result&)>& progress,
                        const std::function<void(kernels::Library&)>& prepare) {
  // Replaced kernels stay out of the cache on disk, whose name says which kernels it holds.
  kernels::Library library(device, prepare ? "" : env::cache_directory());
  if (prepare) prepare(library);
  std::vector<Result> results;
  for (const Case& item : all_cases(scope)) {
    Result result{item.operation, item.name, false, ""};
    Bench bench(device, library);
    try {
      result.detail = item.check(bench);
      result.passed = result.detail.empty();
    } catch (const Error& error) {
      if (error.code() == Code::device_lost) throw;
      result.detail = error.what();
    }
    if (const auto kernel = bench.kernel()) result.kernel = kernels::info(*kernel).name;
    if (progress) progress(result);
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace skipstone::selftest
