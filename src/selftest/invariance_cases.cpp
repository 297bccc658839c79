// The numerics contract: a row's result is the same bits however many rows the pass has and whatever its place among them. Here: operations
// that depend on a row's numbers alone.
#include <fmt/format.h>

#include "selftest/cases.h"
#include "selftest/data.h"
#include "selftest/matrix_check.h"
#include "selftest/rows.h"

namespace skipstone::selftest {
namespace {

using kernels::Activation;
using kernels::padded;
using kernels::ResourceKind;

std::string check_matvec(Bench& bench, Depth depth, gguf::Type format, const kernels::Selector& select, std::uint32_t most) {
  const std::uint32_t n = 70, k = gguf::traits(format).block == 1 ? 332 : whole_blocks(format, 352);
  Random random("invariance matvec " + suffix(format));
  const HostMatrix matrix(format, n, k, random);
  const kernels::Matrix placed = place(bench, matrix, 1, select.interleave());
  const std::vector<float> x = random.floats(std::size_t{invariance_items} * k, -2.0f, 2.0f);
  const auto run = [&](Bench& b, const std::vector<std::uint32_t>& order) {
    const kernels::Resource in{ResourceKind::normed}, out{ResourceKind::scratch};
    b.put(in, gather(x, k, order));
    b.reserve(out, std::size_t{bucket_of(order)} * padded(n));
    b.run(kernels::matvec(select, placed, in, out, bucket_of(order), {}, "matvec"));
    return read_rows(b, out, order.size(), n, padded(n));
  };
  return compare_rows(bench, depth, run, false, most);
}

std::string check_rms_norm(Bench& bench, Depth depth) {
  const std::uint32_t n = 332;
  Random random("invariance rms_norm");
  const std::vector<float> x = random.floats(std::size_t{invariance_items} * n, -2.0f, 2.0f);
  bench.put({ResourceKind::weight, 0}, strided(random.floats(n, -2.0f, 2.0f), n));
  return compare_rows(
      bench, depth,
      [&](Bench& b, const std::vector<std::uint32_t>& order) {
        const kernels::Resource in{ResourceKind::residual}, out{ResourceKind::normed};
        b.put(in, gather(x, n, order));
        b.reserve(out, std::size_t{bucket_of(order)} * padded(n));
        b.run(kernels::rms_norm(b.select(), in, 0, out, n, bucket_of(order), 1e-5f, false, "rms_norm"));
        return read_rows(b, out, order.size(), n, padded(n));
      },
      false);
}

std::string check_norm(Bench& bench, Depth depth, bool centred) {
  const std::uint32_t n = 333;
  Random random("invariance norm");
  const std::vector<float> x = random.floats(std::size_t{invariance_items} * n, -2.0f, 3.0f),
                           residual = random.floats(x.size(), -2.0f, 2.0f);
  bench.put({ResourceKind::weight, 0}, strided(random.floats(n, -2.0f, 2.0f), n));
  bench.put({ResourceKind::weight, 1}, strided(random.floats(n, -2.0f, 2.0f), n));
  kernels::Norm norm{
      .x = {ResourceKind::scratch}, .out = {ResourceKind::normed}, .weight = 0, .bias = {}, .n = n, .epsilon = 1e-5f, .scale = 0.22f};
  if (centred) norm.bias = 1;
  norm.residual = kernels::Resource{ResourceKind::residual};
  return compare_rows(
      bench, depth,
      [&](Bench& b, const std::vector<std::uint32_t>& order) {
        b.put(norm.x, gather(x, n, order));
        b.put(*norm.residual, gather(residual, n, order));
        b.reserve(norm.out, std::size_t{bucket_of(order)} * padded(n));
        b.run(kernels::norm(b.select(), norm, bucket_of(order), "norm"));
        return read_rows(b, norm.out, order.size(), n, padded(n));
      },
      false);
}

/// `whole`: all of Q and all of K are a part each.
std::string check_head_norm(Bench& bench, Depth depth, bool whole) {
  const std::uint32_t heads = 3, kv_heads = 1, dim = 72, width = (heads + 2 * kv_heads) * dim;
  kernels::HeadNorm norm{0, 1, heads, kv_heads, dim, dim, padded(width), 1e-6f};
  if (whole) norm.q_parts = norm.k_parts = 1, norm.q_length = heads * dim;
  Random random("invariance head_norm");
  const std::vector<float> x = random.floats(std::size_t{invariance_items} * width, -2.0f, 2.0f);
  bench.put({ResourceKind::weight, 0}, strided(random.floats(norm.q_length, -2.0f, 2.0f), norm.q_length));
  bench.put({ResourceKind::weight, 1}, strided(random.floats(norm.k_length, -2.0f, 2.0f), norm.k_length));
  return compare_rows(
      bench, depth,
      [&](Bench& b, const std::vector<std::uint32_t>& order) {
        b.put({ResourceKind::qkv}, gather(x, width, order));
        b.run(kernels::head_norm(b.select(), norm, bucket_of(order), "head_norm"));
        return read_rows(b, {ResourceKind::qkv}, order.size(), width, padded(width));
      },
      false);
}

constexpr std::uint32_t norm_tensor = 1, bias_tensor = 2;

/// The operations fused with a multiplication in the cases below: the norm before it, and one after it.
kernels::MatvecFusion fusion_of(Activation activation) {
  kernels::MatvecFusion fusion;
  fusion.norm = kernels::MatvecNorm{norm_tensor, 1e-5f};
  fusion.activation = activation;
  return fusion;
}

/// A bias, a scale, and GELU or a softcap after them.
kernels::MatvecFusion bent(Activation activation, float softcap) {
  kernels::MatvecFusion fusion = fusion_of(activation);
  fusion.bias_tensor = bias_tensor;
  fusion.scale = 0.7f;
  fusion.softcap = softcap;
  return fusion;
}

// All operations fused into the skinny kernels: the norm before, and those after.
std::string check_fused(Bench& bench, Depth depth, gguf::Type format, const kernels::MatvecFusion& fusion, std::uint32_t most) {
  const std::uint32_t n = 70, k = whole_blocks(format, 352);
  const kernels::Selector& select = bench.select();
  Random random("invariance fused");
  const HostMatrix matrix(format, kernels::is_gated(fusion.activation) ? 2 * n : n, k, random);
  const kernels::Matrix placed = place(bench, matrix, 1, select.interleave());
  const std::vector<float> x = random.floats(std::size_t{invariance_items} * k, -2.0f, 2.0f);
  bench.put({ResourceKind::weight, norm_tensor}, strided(random.floats(k, -2.0f, 2.0f), k));
  bench.put({ResourceKind::weight, bias_tensor}, strided(random.floats(n, -2.0f, 2.0f), n));
  const auto run = [&](Bench& b, const std::vector<std::uint32_t>& order) {
    const kernels::Resource in{ResourceKind::residual}, out{ResourceKind::activated};
    b.put(in, gather(x, k, order));
    b.reserve(out, std::size_t{bucket_of(order)} * padded(n));
    b.run(kernels::matvec(select, placed, in, out, bucket_of(order), fusion, "matvec"));
    return read_rows(b, out, order.size(), n, padded(n));
  };
  return compare_rows(bench, depth, run, false, most);
}

std::string check_swiglu(Bench& bench, Depth depth, Activation activation) {
  const std::uint32_t n = 172;
  Random random("invariance swiglu");
  const std::vector<float> gate_up = random.floats(std::size_t{invariance_items} * 2 * n, -20.0f, 20.0f);
  return compare_rows(
      bench, depth,
      [&](Bench& b, const std::vector<std::uint32_t>& order) {
        b.put({ResourceKind::gate_up}, gather(gate_up, 2 * n, order));
        b.reserve({ResourceKind::activated}, std::size_t{bucket_of(order)} * padded(n));
        b.run(kernels::activate(b.select(), activation, n, bucket_of(order), "swiglu"));
        return read_rows(b, {ResourceKind::activated}, order.size(), n, padded(n));
      },
      false);
}

std::string check_argmax(Bench& bench, Depth depth, const kernels::MatvecFusion& fusion) {
  const std::uint32_t vocabulary = 700, k = 64;
  Random random("invariance argmax");
  const HostMatrix matrix(gguf::Type::q8_0, vocabulary, k, random);
  const kernels::Matrix placed = place(bench, matrix, 1, bench.select().interleave());
  const std::vector<float> x = random.floats(std::size_t{invariance_items} * k, -2.0f, 2.0f);
  bench.put({ResourceKind::weight, norm_tensor}, strided(random.floats(k, -2.0f, 2.0f), k));
  bench.put({ResourceKind::weight, bias_tensor}, strided(random.floats(vocabulary, -2.0f, 2.0f), vocabulary));
  return compare_rows(
      bench, depth,
      [&](Bench& b, const std::vector<std::uint32_t>& order) {
        const std::uint32_t bucket = bucket_of(order);
        constexpr std::size_t words = sizeof(abi::RowResult) / 4;
        b.put({ResourceKind::residual}, gather(x, k, order));
        b.reserve({ResourceKind::argmax_partial},
                  std::size_t{bucket} * kernels::argmax_partials(b.select(), vocabulary, k) * sizeof(abi::ArgmaxPartial) / 4);
        b.reserve({ResourceKind::result}, bucket * words);
        b.run(kernels::argmax(b.select(), placed, {ResourceKind::residual}, bucket, fusion, "argmax"));
        return read_rows(b, {ResourceKind::result}, order.size(), words, words);
      },
      false);
}

// CPU drivers take seconds to compile a wide bucket: in quick, operations of few families are left to the kernels' own cases.
void add_fused(std::vector<Case>& cases, Depth depth) {
  const auto add = [&](const char* name, gguf::Type format, const kernels::MatvecFusion& fusion) {
    cases.push_back({"matvec", fmt::format("invariance {} {}", name, suffix(format)),
                     [=](Bench& bench) { return check_fused(bench, depth, format, fusion, STEP_VERIFY_ROWS); }});
  };
  add("norm, matvec, swiglu", gguf::Type::q8_0, fusion_of(Activation::gated_silu));
  if (depth == Depth::quick) return;
  add("norm, matvec, swiglu", gguf::Type::sparse_f16, fusion_of(Activation::gated_silu));
  add("norm, matvec, geglu", gguf::Type::q8_0, fusion_of(Activation::gated_gelu));
  add("norm, matvec, bias, scale, gelu", gguf::Type::q8_0, bent(Activation::gelu, 0.0f));
  add("norm, matvec, bias, scale, softcap", gguf::Type::q8_0, bent(Activation::none, 5.0f));
  cases.push_back({"argmax", "invariance argmax bias, scale, softcap",
                   [=](Bench& bench) { return check_argmax(bench, depth, bent(Activation::none, 5.0f)); }});
}

}  // namespace

std::vector<Case> invariance_cases(const Scope& scope) {
  const Depth depth = scope.depth;
  std::vector<Case> cases;
  // CPU drivers take seconds to compile a wide bucket: there one dense format has them all, and the sparse ones, unless asked for.
  const bool own_layout_is_gpus = scope.tuning.matvec_k_lanes == scope.tuning.lanes;
  for (const gguf::Type format : formats()) {
    if (depth_of(scope, format) == Depth::quick && format != gguf::Type::q8_0) continue;
    const bool all = scope.all_rows || own_layout_is_gpus || format == gguf::Type::q8_0 || gguf::is_sparse(format);
    const std::uint32_t most = all ? STEP_VERIFY_ROWS : 4;
    cases.push_back({"matvec", "invariance matvec " + suffix(format),
                     [=](Bench& bench) { return check_matvec(bench, depth, format, bench.select(), most); }});
  }
  if (depth == Depth::full && !own_layout_is_gpus) {
    cases.push_back({"matvec", "invariance matvec q8_0 lanes share K", [=](Bench& bench) {
                       vk::Tuning tuning = bench.tuning();
                       tuning.matvec_k_lanes = tuning.lanes;
                       tuning.matvec_row_lanes = 1;
                       return check_matvec(bench, depth, gguf::Type::q8_0, kernels::Selector(bench.caps(), tuning), 4);
                     }});
  }
  for (const gguf::Type format : formats()) {
    const bool wanted = depth_of(scope, format) == Depth::full || format == gguf::Type::q8_0;
    if (!wanted || format == gguf::Type::f32 || scope.tier != vk::Tier::cooperative_matrix) continue;
    cases.push_back({"matmul", "invariance matrix columns " + suffix(format),
                     [=](Bench& bench) { return check_matrix_columns(bench, format, depth == Depth::quick ? 16 : STEP_VERIFY_ROWS); }});
  }
  add_fused(cases, depth);
  cases.push_back({"head_norm", "invariance head_norm", [=](Bench& bench) { return check_head_norm(bench, depth, false); }});
  cases.push_back({"head_norm", "invariance head_norm whole", [=](Bench& bench) { return check_head_norm(bench, depth, true); }});
  cases.push_back({"rms_norm", "invariance rms_norm", [=](Bench& bench) { return check_rms_norm(bench, depth); }});
  cases.push_back({"norm", "invariance norm bias", [=](Bench& bench) { return check_norm(bench, depth, true); }});
  cases.push_back({"norm", "invariance norm", [=](Bench& bench) { return check_norm(bench, depth, false); }});
  cases.push_back({"swiglu", "invariance swiglu", [=](Bench& bench) { return check_swiglu(bench, depth, Activation::gated_silu); }});
  cases.push_back(
      {"swiglu", "invariance swiglu gelu gate", [=](Bench& bench) { return check_swiglu(bench, depth, Activation::gated_gelu); }});
  cases.push_back({"argmax", "invariance argmax", [=](Bench& bench) { return check_argmax(bench, depth, fusion_of(Activation::none)); }});
  return cases;
}

}  // namespace skipstone::selftest
