// Attention whose heads have gates: what of Q, K and V is elsewhere in qkv, and the gates themselves.
#include <fmt/format.h>

#include <cmath>

#include "ref/recurrent.h"
#include "selftest/attention_data.h"
#include "selftest/cases.h"
#include "selftest/compare.h"
#include "selftest/data.h"
#include "selftest/rows.h"

namespace skipstone::selftest {
namespace {

using kernels::AttentionShape;
using kernels::padded;
using kernels::ResourceKind;

std::string check_gate(Bench& bench, const AttentionShape& shape, std::uint32_t rows) {
  const std::uint32_t width = shape.heads * shape.head_dim, bucket = kernels::bucket_for(rows), dim = shape.head_dim;
  Random random(fmt::format("head_gate {} {}", width, rows));
  const std::vector<float> qkv = random.floats(std::size_t{bucket} * shape.qkv_width(), -9.0f, 9.0f),
                           attended = random.floats(std::size_t{bucket} * width, -4.0f, 4.0f);
  bench.put({ResourceKind::qkv}, strided(qkv, shape.qkv_width()));
  bench.put({ResourceKind::attended}, strided(attended, width));
  bench.run(kernels::head_gate(bench.select(), shape, bucket, "head_gate"));
  const auto got = bench.get<float>({ResourceKind::attended}, std::size_t{bucket} * padded(width));
  for (std::uint32_t row = 0; row < bucket; ++row) {
    std::vector<float> wanted(width);
    std::vector<double> tolerance(width);
    for (std::uint32_t i = 0; i < width; ++i) {
      const std::size_t gate = std::size_t{row} * shape.qkv_width() + (std::size_t{2} * (i / dim) + 1) * dim + i % dim;
      const double exact = static_cast<double>(attended[std::size_t{row} * width + i]) * ref::sigmoid(static_cast<double>(qkv[gate]));
      wanted[i] = static_cast<float>(exact);
      tolerance[i] = 32 * epsilon * std::abs(exact) + smallest;
    }
    if (std::string difference = differs("row", row_of(got, width, row), wanted, tolerance); !difference.empty()) return difference;
  }
  return "";
}

/// Q, K and V as norm, rotation and store leave them. `gated`: qkv has gates, which change no bit of them.
std::vector<Words> stored(Bench& bench, AttentionShape shape, bool gated, std::uint32_t rows) {
  shape.output_gate = gated;
  const std::uint32_t width = shape.heads * shape.head_dim, dim = shape.head_dim, bucket = kernels::bucket_for(rows);
  Random random(fmt::format("gated qkv {}", width));
  std::vector<float> qkv;
  for (std::uint32_t row = 0; row < bucket; ++row) {
    for (std::uint32_t head = 0; head < shape.heads + 2 * shape.kv_heads; ++head) {
      const std::vector<float> own = random.floats(dim, -2.0f, 2.0f), gate = random.floats(dim, 50.0f, 99.0f);
      qkv.insert(qkv.end(), own.begin(), own.end());
      if (gated && head < shape.heads) qkv.insert(qkv.end(), gate.begin(), gate.end());
    }
  }
  for (const std::uint32_t tensor : {1u, 2u}) bench.put({ResourceKind::weight, tensor}, random.floats(dim, 0.5f, 2.0f));
  bench.put({ResourceKind::qkv}, strided(qkv, shape.qkv_width()));
  bench.put({ResourceKind::rope_table}, make_rope_table(shape));
  bench.reserve({ResourceKind::q_rotated}, std::size_t{bucket} * padded(width));
  for (const ResourceKind cache : {ResourceKind::k_cache, ResourceKind::v_cache}) bench.reserve({cache}, shape.cache(cache).bytes() / 4);
  bench.set_rows(3, rows);
  bench.run(kernels::head_norm(bench.select(),
                               {.q_weight = 1,
                                .k_weight = 2,
                                .q_parts = shape.heads,
                                .k_parts = shape.kv_heads,
                                .q_length = dim,
                                .k_length = dim,
                                .stride = padded(shape.qkv_width()),
                                .epsilon = 1e-6f,
                                .q_step = shape.q_step()},
                               bucket, "head_norm"));
  bench.run(kernels::rope_store(bench.select(), shape, {}, bucket, "rope_store"));
  std::vector<Words> all = read_rows(bench, {ResourceKind::q_rotated}, rows, width, padded(width));
  for (const ResourceKind cache : {ResourceKind::k_cache, ResourceKind::v_cache})
    all.push_back(bench.get<std::uint32_t>({cache}, shape.cache(cache).bytes() / 4));
  return all;
}

std::string check_stored(Bench& bench, const AttentionShape& shape, std::uint32_t rows) {
  const std::vector<Words> plain = stored(bench, shape, false, rows), gated = stored(bench, shape, true, rows);
  for (std::size_t i = 0; i < plain.size(); ++i) {
    std::string difference = bits_differ(i < rows    ? fmt::format("Q of row {}", i)
                                         : i == rows ? "K"
                                                     : "V",
                                         gated[i], plain[i], "without gates");
    if (!difference.empty()) return difference;
  }
  return "";
}

}  // namespace

std::vector<Case> head_gate_cases(const Scope& scope) {
  std::vector<Case> cases;
  const auto add = [&](std::uint32_t head_dim, KvFormat format, bool halves, std::uint32_t rows) {
    const AttentionShape shape{.heads = 6,
                               .kv_heads = 2,
                               .head_dim = head_dim,
                               .rope_dim = head_dim / 2,
                               .context = 96,
                               .kv_format = format,
                               .rope_halves = halves,
                               .output_gate = true};
    const std::string name = fmt::format("{} D={} rows={}{}", to_string(format), head_dim, rows, halves ? " halves" : "");
    cases.push_back({"head_gate", "head_gate " + name, [=](Bench& bench) { return check_gate(bench, shape, rows); }});
    cases.push_back({"rope_store", "rope_store gates " + name, [=](Bench& bench) { return check_stored(bench, shape, rows); }});
  };
  add(32, KvFormat::f16, true, 5);
  if (scope.depth == Depth::quick) return cases;
  add(96, KvFormat::q8_0, true, 3);
  add(16, KvFormat::f32, false, 17);
  return cases;
}

}  // namespace skipstone::selftest
