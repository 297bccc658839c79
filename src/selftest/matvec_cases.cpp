// The skinny kernel: all formats, K that are not whole workgroups, N that are not whole tiles, every bucket.
#include <fmt/format.h>

#include "selftest/cases.h"
#include "selftest/data.h"
#include "selftest/matrix_check.h"

namespace skipstone::selftest {
namespace {

using kernels::Activation;

void add(std::vector<Case>& cases, const MatrixShape& shape, Layout layout = Layout::own) {
  cases.push_back({"matvec", fmt::format("matvec {}{}", shape.text(), to_string(layout)),
                   [shape, layout](Bench& bench) { return check_matrix(bench, shape, selector_for(bench, layout), false); }});
}

// Operations that only few families have after a matrix: one of each, in one format.
void add_quick_epilogues(std::vector<Case>& cases) {
  const gguf::Type format = gguf::Type::q8_0;
  add(cases, {.format = format, .n = 100, .k = 160, .rows = 3, .bias = true, .residual = true, .scale = 0.37f});
  add(cases, {.format = format, .n = 100, .k = 160, .rows = 1, .norm = true, .activation = Activation::gated_gelu});
  add(cases, {.format = format, .n = 100, .k = 160, .rows = 1, .bias = true, .activation = Activation::gelu});
  add(cases, {.format = format, .n = 100, .k = 160, .rows = 1, .scale = 1.5f, .softcap = 5.0f});
}

void add_epilogues(std::vector<Case>& cases, const vk::Tuning& tuning) {
  for (const std::uint32_t rows : {2u, 12u, 17u}) {
    add(cases, {.format = gguf::Type::q4_0, .n = 77, .k = 352, .rows = rows, .norm = true, .activation = Activation::gated_gelu});
    add(cases, {.format = gguf::Type::q8_0, .n = 50, .k = 96, .rows = rows, .bias = true, .activation = Activation::gelu});
    add(cases, {.format = gguf::Type::f16, .n = 50, .k = 172, .rows = rows, .bias = true, .scale = 0.25f, .softcap = 3.0f});
  }
  add(cases, {.format = gguf::Type::q4_k, .n = 77, .k = 768, .rows = 1, .norm = true, .activation = Activation::gated_gelu});
  add(cases, {.format = gguf::Type::f32, .n = 1, .k = 32, .rows = 1, .activation = Activation::gelu});
  add(cases, {.format = gguf::Type::f32, .n = 77, .k = 96, .rows = 1, .parts = 3, .scale = 2.0f, .softcap = 30.0f});
  add(cases, {.format = gguf::Type::sparse_f16, .n = 77, .k = 352, .rows = 3, .residual = true, .scale = 0.22f});
  add(cases, {.format = gguf::Type::nvfp4, .n = 77, .k = 320, .rows = 3, .bias = true, .residual = true, .parts = 2, .factors = true});
  add(cases,
      {.format = gguf::Type::q8_0, .n = 77, .k = 352, .rows = 2, .norm = true, .activation = Activation::gated_silu, .factors = true});
  for (const Layout layout : other_layouts(tuning)) {
    add(cases, {.format = gguf::Type::q8_0, .n = 77, .k = 352, .rows = 1, .activation = Activation::gated_silu, .factors = true}, layout);
    add(cases, {.format = gguf::Type::q8_0, .n = 77, .k = 352, .rows = 3, .norm = true, .activation = Activation::gated_gelu}, layout);
    add(cases, {.format = gguf::Type::q8_0, .n = 77, .k = 352, .rows = 3, .activation = Activation::gelu}, layout);
    add(cases, {.format = gguf::Type::q8_0, .n = 77, .k = 352, .rows = 3, .bias = true, .scale = 0.37f, .softcap = 5.0f}, layout);
  }
}

}  // namespace

std::vector<Case> matvec_cases(const Scope& scope) {
  std::vector<Case> cases;
  for (const gguf::Type format : formats()) {
    const std::uint32_t odd_k = odd_row(format);
    const Depth depth = depth_of(scope, format);
    add(cases, {.format = format, .n = 100, .k = odd_k, .rows = 1});
    // Wide buckets take drivers long to compile: one format has them all, the others in the invariance cases.
    if (depth == Depth::full || format == gguf::Type::q8_0) {
      add(cases, {.format = format, .n = 100, .k = odd_k, .rows = 3, .bias = true, .residual = true});
    }
    if (format == gguf::Type::q8_0)
      add(cases, {.format = format, .n = 100, .k = odd_k, .rows = 2, .norm = true, .activation = Activation::gated_silu});
    if (depth == Depth::quick) continue;
    add(cases, {.format = format, .n = 1, .k = whole_blocks(format, 32), .rows = 1});
    add(cases, {.format = format, .n = 259, .k = 1024, .rows = 1});
    add(cases, {.format = format, .n = 77, .k = odd_k, .rows = 1, .parts = 3});
    add(cases, {.format = format, .n = 77, .k = odd_k, .rows = 3, .bias = true, .residual = true, .parts = 2});
  }
  add_quick_epilogues(cases);
  if (scope.depth == Depth::quick) return cases;
  for (const std::uint32_t rows : {2u, 3u, 7u, 9u, 16u, 32u, 64u}) add(cases, {.format = gguf::Type::q8_0, .n = 50, .k = 96, .rows = rows});
  add(cases, {.format = gguf::Type::q8_0, .n = 100, .k = 160, .rows = 5, .bias = true, .residual = true});
  for (const Layout layout : other_layouts(scope.tuning)) {
    for (const gguf::Type format : formats()) add(cases, {.format = format, .n = 100, .k = whole_blocks(format, 352), .rows = 1}, layout);
    add(cases, {.format = gguf::Type::q8_0, .n = 100, .k = 352, .rows = 4, .bias = true, .residual = true}, layout);
  }
  for (const std::uint32_t rows : {1u, 3u, 12u, 17u}) {
    add(cases, {.format = gguf::Type::q8_0, .n = 50, .k = 352, .rows = rows, .norm = true});
    add(cases, {.format = gguf::Type::q4_0, .n = 77, .k = 352, .rows = rows, .norm = true, .activation = Activation::gated_silu});
  }
  add(cases, {.format = gguf::Type::f16, .n = 100, .k = 172, .rows = 5, .bias = true, .residual = true, .norm = true});
  add(cases, {.format = gguf::Type::sparse_f16, .n = 77, .k = 352, .rows = 3, .norm = true, .activation = Activation::gated_silu});
  add(cases, {.format = gguf::Type::sparse_q8_0, .n = 77, .k = 320, .rows = 3, .bias = true, .residual = true, .norm = true});
  add_epilogues(cases, scope.tuning);
  for (const Layout layout : other_layouts(scope.tuning)) {
    add(cases, {.format = gguf::Type::q8_0, .n = 77, .k = 352, .rows = 3, .norm = true, .activation = Activation::gated_silu}, layout);
  }
  add(cases, {.format = gguf::Type::f32, .n = 50, .k = 96, .rows = 1, .bias = true});
  add(cases, {.format = gguf::Type::f32, .n = 50, .k = 96, .rows = 1, .residual = true});
  return cases;
}

}  // namespace skipstone::selftest
