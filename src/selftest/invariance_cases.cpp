// The numerics contract: a row's result is the same bits however many rows the pass has and wherever among them it stands.
#include <fmt/format.h>

#include <algorithm>

#include "selftest/attention_data.h"
#include "selftest/cases.h"
#include "selftest/compare.h"
#include "selftest/data.h"

namespace skipstone::selftest {
namespace {

using kernels::AttentionShape;
using kernels::padded;
using kernels::ResourceKind;
using Words = std::vector<std::uint32_t>;

constexpr std::uint32_t items = STEP_VERIFY_ROWS;  // rows that exist; a pass takes some of them

/// Runs a pass over the listed items, one per row, in this order; gives each row's result.
using RunRows = std::function<std::vector<Words>(Bench&, const std::vector<std::uint32_t>&)>;

std::vector<std::uint32_t> row_counts(Depth depth, std::uint32_t most) {
  if (depth == Depth::quick) return {2, 5, 16};
  // More than two columns of workgroups are like two.
  std::vector<std::uint32_t> counts;
  for (std::uint32_t rows = 1; rows <= most; ++rows) counts.push_back(rows);
  return counts;
}

std::string compare_rows(Bench& bench, Depth depth, const RunRows& run, bool consecutive, std::uint32_t most = STEP_VERIFY_ROWS) {
  std::vector<Words> alone;
  for (std::uint32_t item = 0; item < items; ++item) alone.push_back(run(bench, {item}).front());
  Random random("invariance");
  for (const std::uint32_t rows : row_counts(depth, most)) {
    // Rows that depend on their position stand in order, from a random first one; others in any order.
    std::vector<std::uint32_t> order = random.permutation(items);
    if (consecutive) {
      const std::uint32_t first = random.below(items - rows + 1);
      for (std::uint32_t i = 0; i < rows; ++i) order[i] = first + i;
    }
    order.resize(rows);
    const std::vector<Words> together = run(bench, order);
    for (std::uint32_t row = 0; row < rows; ++row) {
      const std::string difference = bits_differ(fmt::format("row {} of {}", row, rows), together[row], alone[order[row]], "alone");
      if (!difference.empty()) return difference;
    }
  }
  return "";
}

/// The listed rows of `all` (rows of n) as a bucket's buffer; padding rows are NaN, which must not spread.
std::vector<float> gather(const std::vector<float>& all, std::uint32_t n, const std::vector<std::uint32_t>& order) {
  const std::uint32_t bucket = kernels::bucket_for(static_cast<std::uint32_t>(order.size()));
  std::vector<float> out(std::size_t{bucket} * padded(n), std::numeric_limits<float>::quiet_NaN());
  for (std::size_t row = 0; row < order.size(); ++row) {
    float* to = &out[row * padded(n)];
    std::fill_n(to, padded(n), 0.0f);
    std::copy_n(&all[std::size_t{order[row]} * n], n, to);
  }
  return out;
}

std::vector<Words> read_rows(const Bench& bench, const kernels::Resource& resource, std::size_t rows, std::size_t words,
                             std::size_t stride) {
  const Words all = bench.get<std::uint32_t>(resource, rows * stride);
  std::vector<Words> out;
  for (std::size_t row = 0; row < rows; ++row) {
    const auto from = all.begin() + static_cast<std::ptrdiff_t>(row * stride);
    out.emplace_back(from, from + static_cast<std::ptrdiff_t>(words));
  }
  return out;
}

std::uint32_t bucket_of(const std::vector<std::uint32_t>& order) { return kernels::bucket_for(static_cast<std::uint32_t>(order.size())); }

std::string check_matvec(Bench& bench, Depth depth, gguf::Type format, const kernels::Selector& select, std::uint32_t most) {
  const std::uint32_t n = 70, k = gguf::traits(format).block == 1 ? 332 : whole_blocks(format, 352);
  Random random("invariance matvec " + suffix(format));
  const HostMatrix matrix(format, n, k, random);
  const kernels::Matrix placed = place(bench, matrix, 1, select.interleave());
  const std::vector<float> x = random.floats(std::size_t{items} * k, -2.0f, 2.0f);
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
  const std::vector<float> x = random.floats(std::size_t{items} * n, -2.0f, 2.0f);
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

std::string check_head_norm(Bench& bench, Depth depth) {
  const std::uint32_t heads = 3, kv_heads = 1, dim = 72, width = (heads + 2 * kv_heads) * dim;
  Random random("invariance head_norm");
  const std::vector<float> x = random.floats(std::size_t{items} * width, -2.0f, 2.0f);
  bench.put({ResourceKind::weight, 0}, strided(random.floats(dim, -2.0f, 2.0f), dim));
  bench.put({ResourceKind::weight, 1}, strided(random.floats(dim, -2.0f, 2.0f), dim));
  return compare_rows(
      bench, depth,
      [&](Bench& b, const std::vector<std::uint32_t>& order) {
        b.put({ResourceKind::qkv}, gather(x, width, order));
        b.run(kernels::head_norm(b.select(), {0, 1, heads, kv_heads, dim, dim, padded(width), 1e-6f}, bucket_of(order), "head_norm"));
        return read_rows(b, {ResourceKind::qkv}, order.size(), width, padded(width));
      },
      false);
}

// Everything that the skinny kernels do besides: the norm before, silu(gate) * up behind.
std::string check_fused(Bench& bench, Depth depth, gguf::Type format, const kernels::Selector& select, std::uint32_t most) {
  const std::uint32_t n = 70, k = whole_blocks(format, 352);
  Random random("invariance fused");
  const HostMatrix matrix(format, 2 * n, k, random);
  const kernels::Matrix placed = place(bench, matrix, 1, select.interleave());
  const std::vector<float> x = random.floats(std::size_t{items} * k, -2.0f, 2.0f);
  bench.put({ResourceKind::weight, 1}, strided(random.floats(k, -2.0f, 2.0f), k));
  const auto run = [&](Bench& b, const std::vector<std::uint32_t>& order) {
    const kernels::Resource in{ResourceKind::residual}, out{ResourceKind::activated};
    b.put(in, gather(x, k, order));
    b.reserve(out, std::size_t{bucket_of(order)} * padded(n));
    b.run(kernels::matvec(select, placed, in, out, bucket_of(order),
                          {.norm = kernels::MatvecNorm{1, 1e-5f}, .activation = kernels::Activation::gated_silu}, "matvec"));
    return read_rows(b, out, order.size(), n, padded(n));
  };
  return compare_rows(bench, depth, run, false, most);
}

std::string check_swiglu(Bench& bench, Depth depth) {
  const std::uint32_t n = 172;
  Random random("invariance swiglu");
  const std::vector<float> gate_up = random.floats(std::size_t{items} * 2 * n, -20.0f, 20.0f);
  return compare_rows(
      bench, depth,
      [&](Bench& b, const std::vector<std::uint32_t>& order) {
        b.put({ResourceKind::gate_up}, gather(gate_up, 2 * n, order));
        b.reserve({ResourceKind::activated}, std::size_t{bucket_of(order)} * padded(n));
        b.run(kernels::activate(b.select(), kernels::Activation::gated_silu, n, bucket_of(order), "swiglu"));
        return read_rows(b, {ResourceKind::activated}, order.size(), n, padded(n));
      },
      false);
}

std::string check_argmax(Bench& bench, Depth depth) {
  const std::uint32_t vocabulary = 700, k = 64;
  Random random("invariance argmax");
  const HostMatrix matrix(gguf::Type::q8_0, vocabulary, k, random);
  const kernels::Matrix placed = place(bench, matrix, 1, bench.select().interleave());
  const std::vector<float> x = random.floats(std::size_t{items} * k, -2.0f, 2.0f);
  bench.put({ResourceKind::weight, 1}, strided(random.floats(k, -2.0f, 2.0f), k));
  return compare_rows(
      bench, depth,
      [&](Bench& b, const std::vector<std::uint32_t>& order) {
        const std::uint32_t bucket = bucket_of(order);
        constexpr std::size_t words = sizeof(abi::RowResult) / 4;
        b.put({ResourceKind::residual}, gather(x, k, order));
        b.reserve({ResourceKind::argmax_partial},
                  std::size_t{bucket} * kernels::argmax_partials(b.select(), vocabulary) * sizeof(abi::ArgmaxPartial) / 4);
        b.reserve({ResourceKind::result}, bucket * words);
        b.run(kernels::argmax(b.select(), placed, {ResourceKind::residual}, bucket, {.norm = kernels::MatvecNorm{1, 1e-5f}}, "argmax"));
        return read_rows(b, {ResourceKind::result}, order.size(), words, words);
      },
      false);
}

constexpr std::uint32_t first_position = 57;  // rows stand on both sides of a chunk's border

std::string check_rope_store(Bench& bench, Depth depth, std::uint32_t head_dim, KvFormat format) {
  const AttentionShape s{.heads = 4, .kv_heads = 2, .head_dim = head_dim, .rope_dim = head_dim, .context = 96, .kv_format = format};
  const std::uint32_t q_width = s.heads * s.head_dim;
  Random random("invariance rope_store");
  const std::vector<float> qkv = random.floats(std::size_t{items} * s.qkv_width(), -2.0f, 2.0f);
  bench.put({ResourceKind::rope_table}, make_rope_table(s));
  return compare_rows(
      bench, depth,
      [&](Bench& b, const std::vector<std::uint32_t>& order) {
        b.put({ResourceKind::qkv}, gather(qkv, s.qkv_width(), order));
        b.reserve({ResourceKind::q_rotated}, std::size_t{bucket_of(order)} * padded(q_width));
        for (const ResourceKind cache : {ResourceKind::k_cache, ResourceKind::v_cache}) b.reserve({cache}, s.kv_bytes() / 4);
        b.set_rows(first_position + order.front(), static_cast<std::uint32_t>(order.size()));
        b.run(kernels::rope_store(b.select(), s, {}, bucket_of(order), "rope_store"));
        std::vector<Words> rows = read_rows(b, {ResourceKind::q_rotated}, order.size(), q_width, padded(q_width));
        for (const ResourceKind cache : {ResourceKind::k_cache, ResourceKind::v_cache}) {
          const Words all = b.get<std::uint32_t>({cache}, s.kv_bytes() / 4);
          for (std::size_t row = 0; row < order.size(); ++row) {
            for (std::uint32_t head = 0; head < s.kv_heads; ++head) append_position(s, all, head, first_position + order[row], rows[row]);
          }
        }
        return rows;
      },
      true);
}

std::string check_attention(Bench& bench, Depth depth, std::uint32_t kv_heads, KvFormat format) {
  const AttentionShape s{.heads = 8, .kv_heads = kv_heads, .head_dim = 64, .rope_dim = 64, .context = 96, .kv_format = format};
  const std::uint32_t width = s.heads * s.head_dim;
  const AttentionData data({s, first_position, items}, "invariance attention");
  Random random("invariance attention queries");
  const std::vector<float> q = random.floats(std::size_t{items} * width, -6.0f, 6.0f);
  data.put(bench, STEP_VERIFY_ROWS);  // the caches
  return compare_rows(
      bench, depth,
      [&](Bench& b, const std::vector<std::uint32_t>& order) {
        const auto rows = static_cast<std::uint32_t>(order.size());
        const std::uint32_t base = first_position + order.front(), bucket = bucket_of(order);
        b.put({ResourceKind::q_rotated}, gather(q, width, order));
        b.reserve({ResourceKind::attention_partial}, s.partial_bytes(bucket) / 4);
        b.reserve({ResourceKind::attended}, std::size_t{bucket} * padded(width));
        b.set_rows(base, rows);
        b.state().attention_groups = {(base + rows - 1) / s.chunk + 1,
                                      s.heads / b.select().attention(s.group(), s.head_dim, s.chunk, bucket).heads, rows};
        b.run(kernels::attention(b.select(), s, {}, bucket, "attention"));
        return read_rows(b, {ResourceKind::attended}, order.size(), width, padded(width));
      },
      true);
}

}  // namespace

std::vector<Case> invariance_cases(const Scope& scope) {
  const Depth depth = scope.depth;
  std::vector<Case> cases;
  // CPU drivers take seconds to compile a wide bucket: there one dense format has them all, and the sparse ones, unless asked for.
  const bool own_layout_is_gpus = scope.tuning.matvec_k_lanes == scope.tuning.lanes;
  for (const gguf::Type format : formats()) {
    if (depth == Depth::quick && format != gguf::Type::q8_0) continue;
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
  cases.push_back({"matvec", "invariance norm, matvec, swiglu",
                   [=](Bench& bench) { return check_fused(bench, depth, gguf::Type::q8_0, bench.select(), STEP_VERIFY_ROWS); }});
  if (depth == Depth::full) {
    cases.push_back({"matvec", "invariance norm, matvec, swiglu sparse_f16",
                     [=](Bench& bench) { return check_fused(bench, depth, gguf::Type::sparse_f16, bench.select(), STEP_VERIFY_ROWS); }});
  }
  cases.push_back({"head_norm", "invariance head_norm", [=](Bench& bench) { return check_head_norm(bench, depth); }});
  cases.push_back({"rms_norm", "invariance rms_norm", [=](Bench& bench) { return check_rms_norm(bench, depth); }});
  cases.push_back({"rope_store", "invariance rope_store", [=](Bench& bench) { return check_rope_store(bench, depth, 16, KvFormat::f16); }});
  cases.push_back(
      {"rope_store", "invariance rope_store q8_0", [=](Bench& bench) { return check_rope_store(bench, depth, 96, KvFormat::q8_0); }});
  cases.push_back(
      {"attention", "invariance attention f16 H=8/2", [=](Bench& bench) { return check_attention(bench, depth, 2, KvFormat::f16); }});
  cases.push_back(
      {"attention", "invariance attention q8_0 H=8/2", [=](Bench& bench) { return check_attention(bench, depth, 2, KvFormat::q8_0); }});
  if (depth == Depth::full) {
    cases.push_back(
        {"attention", "invariance attention f32 H=8/8", [=](Bench& bench) { return check_attention(bench, depth, 8, KvFormat::f32); }});
  }
  cases.push_back({"swiglu", "invariance swiglu", [=](Bench& bench) { return check_swiglu(bench, depth); }});
  cases.push_back({"argmax", "invariance argmax", [=](Bench& bench) { return check_argmax(bench, depth); }});
  return cases;
}

}  // namespace skipstone::selftest
