// The skinny kernel: all formats, K that are not whole workgroups, N that are not whole tiles, every bucket.
#include <fmt/format.h>

#include "kernels/kernel_table.h"
#include "selftest/cases.h"
#include "selftest/data.h"
#include "selftest/matrix_check.h"

namespace skipstone::selftest {
namespace {

// How lanes are laid out is a device's choice; every device can be tested with every layout.
enum class Layout {
  own,        // the device's
  shared_k,   // lanes share a row's K, as on GPUs
  row_lanes,  // a row per lane, as on CPUs
  mixed,      // two lanes per row
};

const char* to_string(Layout layout) {
  switch (layout) {
    case Layout::own:
      return "";
    case Layout::shared_k:
      return " shared-K";
    case Layout::row_lanes:
      return " row-lanes";
    case Layout::mixed:
      return " mixed";
  }
  return "?";
}

kernels::Selector selector_for(const Bench& bench, Layout layout) {
  vk::Tuning tuning = bench.tuning();
  tuning.tiled_prefill = false;
  if (layout != Layout::own) {
    tuning.matvec_k_lanes = layout == Layout::shared_k ? tuning.lanes : layout == Layout::mixed ? 2 : 1;
    tuning.matvec_row_lanes = tuning.lanes / tuning.matvec_k_lanes;
  }
  return kernels::Selector(bench.caps(), tuning);
}

void add(std::vector<Case>& cases, const MatrixShape& shape, Layout layout = Layout::own) {
  const std::string kernel = "matvec_" + suffix(shape.format);
  cases.push_back({kernel, fmt::format("matvec {}{}", shape.text(), to_string(layout)),
                   [shape, layout](Bench& bench) { return check_matrix(bench, shape, selector_for(bench, layout), false); }});
}

}  // namespace

std::vector<Case> matvec_cases(Depth depth) {
  std::vector<Case> cases;
  for (const gguf::Type format : formats) {
    const bool blocks = gguf::traits(format).block > 1;
    const std::uint32_t odd_k = blocks ? 160 : 172;  // an odd number of blocks; floats end within one
    add(cases, {.format = format, .n = 100, .k = odd_k, .rows = 1});
    // Wide buckets take drivers long to compile: the quick run has them for one format only, in the invariance cases.
    add(cases, {.format = format, .n = 100, .k = odd_k, .rows = depth == Depth::quick ? 3u : 5u, .bias = true, .residual = true});
    if (depth == Depth::quick) continue;
    add(cases, {.format = format, .n = 1, .k = 32, .rows = 1});
    add(cases, {.format = format, .n = 259, .k = 1024, .rows = 1});
    add(cases, {.format = format, .n = 77, .k = odd_k, .rows = 1, .parts = 3});
    add(cases, {.format = format, .n = 77, .k = odd_k, .rows = 5, .bias = true, .residual = true, .parts = 2});
  }
  if (depth == Depth::quick) return cases;
  for (const gguf::Type format : {gguf::Type::f16, gguf::Type::q8_0}) {
    for (const std::uint32_t rows : {2u, 3u, 7u, 9u, 16u, 32u, 64u}) add(cases, {.format = format, .n = 50, .k = 96, .rows = rows});
    for (const Layout layout : {Layout::shared_k, Layout::row_lanes, Layout::mixed}) {
      for (const std::uint32_t rows : {1u, 4u}) add(cases, {.format = format, .n = 100, .k = 352, .rows = rows}, layout);
    }
  }
  add(cases, {.format = gguf::Type::f32, .n = 50, .k = 96, .rows = 1, .bias = true});
  add(cases, {.format = gguf::Type::f32, .n = 50, .k = 96, .rows = 1, .residual = true});
  return cases;
}

}  // namespace skipstone::selftest
