// The tiled kernel, also on devices whose prefill does not take it: all formats, every tile, rows that fill several.
#include "selftest/cases.h"
#include "selftest/data.h"
#include "selftest/matrix_check.h"

namespace skipstone::selftest {
namespace {

void add(std::vector<Case>& cases, const MatrixShape& shape) {
  cases.push_back({"matmul", "matmul " + shape.text(), [shape](Bench& bench) { return check_matrix(bench, shape, bench.select(), true); }});
}

}  // namespace

std::vector<Case> matmul_cases(const Scope& scope) {
  std::vector<Case> cases;
  for (const gguf::Type format : formats()) {
    const std::uint32_t odd_k = gguf::traits(format).block == 1 ? 76 : whole_blocks(format, 96);
    // 32 rows take the 32 x 32 tile; 50 outputs leave the second one ragged.
    add(cases, {.format = format, .n = 50, .k = odd_k, .rows = 32});
    if (scope.depth == Depth::full)
      add(cases, {.format = format, .n = 50, .k = odd_k, .rows = 32, .bias = true, .residual = true, .parts = 2});
  }
  if (scope.depth == Depth::quick) return cases;
  for (const gguf::Type format : {gguf::Type::f16, gguf::Type::q8_0}) {
    add(cases, {.format = format, .n = 35, .k = 96, .rows = 16});    // the 16 x 16 tile
    add(cases, {.format = format, .n = 50, .k = 96, .rows = 25});    // a bucket that is not full
    add(cases, {.format = format, .n = 130, .k = 192, .rows = 64});  // the largest tile that the device can hold
    add(cases, {.format = format, .n = 70, .k = 96, .rows = 128});
  }
  return cases;
}

}  // namespace skipstone::selftest
