// Embedding look-up: the very floats that dequantising gives (lib/quant.glsl: at most one rounding each), and these times a scale.
#include <fmt/format.h>

#include "kernels/abi.h"
#include "selftest/cases.h"
#include "selftest/compare.h"
#include "selftest/data.h"

namespace skipstone::selftest {
namespace {

using kernels::padded;
using kernels::ResourceKind;

std::string check(Bench& bench, gguf::Type format, std::uint32_t vocabulary, std::uint32_t k, std::uint32_t rows, std::uint32_t parts,
                  float scale) {
  Random random(fmt::format("embed {} {} {} {}", suffix(format), k, rows, parts));
  const HostMatrix table(format, vocabulary, k, random);
  const kernels::Matrix placed = place(bench, table, parts, bench.select().interleave());
  const std::uint32_t bucket = kernels::bucket_for(rows), stride = padded(k);
  const kernels::Resource out{ResourceKind::residual};
  bench.reserve(out, std::size_t{bucket} * stride);
  bench.set_rows(7, rows);
  std::vector<std::uint32_t> tokens;
  for (std::uint32_t row = 0; row < bucket; ++row) {
    // First and last row of the table are always among them.
    const std::uint32_t token = row == 0 ? vocabulary - 1 : row == 1 ? 0 : random.below(vocabulary);
    tokens.push_back(token);
    bench.state().tokens[row] = token;
  }
  bench.run(kernels::embed(bench.select(), placed, bucket, out, scale, "embed"));
  const auto got = bench.get<float>(out, std::size_t{bucket} * stride);
  for (std::uint32_t row = 0; row < rows; ++row) {
    std::vector<float> wanted(stride, 0.0f);  // the padding must be zero: matrices read it
    std::copy_n(&table.weights[std::size_t{tokens[row]} * k], k, wanted.begin());
    for (float& value : wanted) value *= scale;
    const std::vector<double> exact(stride, 0.0);
    std::string difference = differs(fmt::format("row {} (token {})", row, tokens[row]),
                                     std::span(got).subspan(std::size_t{row} * stride, stride), wanted, exact);
    if (!difference.empty()) return difference;
  }
  return "";
}

void add(std::vector<Case>& cases, gguf::Type format, std::uint32_t k, std::uint32_t rows, std::uint32_t parts = 1, float scale = 1.0f) {
  constexpr std::uint32_t vocabulary = 67;
  const std::string name =
      fmt::format("embed {} V={} K={} rows={}{}{}", suffix(format), vocabulary, k, rows, parts > 1 ? fmt::format(" parts={}", parts) : "",
                  scale != 1.0f ? fmt::format(" scale={}", scale) : "");
  cases.push_back({"embed", name, [=](Bench& bench) { return check(bench, format, vocabulary, k, rows, parts, scale); }});
}

}  // namespace

std::vector<Case> embed_cases(const Scope& scope) {
  std::vector<Case> cases;
  for (const gguf::Type format : formats()) {
    add(cases, format, odd_row(format), 5);
    const Depth depth = depth_of(scope, format);
    if (depth == Depth::full || format == gguf::Type::q8_0) add(cases, format, odd_row(format), 3, 1, 27.7f);
    if (depth == Depth::quick) continue;
    add(cases, format, whole_blocks(format, 32), 1);
    add(cases, format, whole_blocks(format, 1056), 16);
    add(cases, format, whole_blocks(format, 96), STEP_MAX_ROWS);
    add(cases, format, whole_blocks(format, 96), 16, 3);
  }
  return cases;
}

}  // namespace skipstone::selftest
