// Rotation, and the contents of the KV cache: to the bit, because everything that is decoded afterwards reads it.
#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <limits>

#include "ref/operations.h"
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

struct Shape {
  AttentionShape attention;
  std::uint32_t base = 0, rows = 1;
  std::vector<std::uint32_t> parents = {};  // of a tree's rows; empty: they follow each other
  bool rotates = true;
  bool k_local = false, q_local = false;  // rotated by the second of the two adjacent tables
};

// The kernel's arithmetic: two products and their difference or sum, each rounded once.
std::vector<float> rotated(std::span<const float> heads, const AttentionShape& shape, const std::vector<float>& table,
                           std::uint32_t table_row) {
  std::vector<float> out(heads.begin(), heads.end());
  const std::uint32_t pairs = shape.rope_dim / 2;
  for (std::size_t head = 0; head < heads.size(); head += shape.head_dim) {
    for (std::uint32_t i = 0; i < pairs; ++i) {
      const std::size_t first = head + (shape.rope_halves ? i : 2 * i), second = head + (shape.rope_halves ? i + pairs : 2 * i + 1);
      const std::size_t at = (std::size_t{table_row} * pairs + i) * 2;
      const float cosine = table[at], sine = table[at + 1];
      out[first] = heads[first] * cosine - heads[second] * sine;
      out[second] = heads[second] * cosine + heads[first] * sine;
    }
  }
  return out;
}

// Halves that are hard to round: ties to even both ways, denormals, the largest, overflow, both zeros.
constexpr float special[] = {
    1.0f + 0x1p-11f, 1.0f + 3 * 0x1p-11f, -1.0f - 0x1p-11f, 2049.0f,  2051.0f,  1e-6f, -3e-7f, 0x1p-25f, 3 * 0x1p-25f, 0x1p-24f,
    0x1.ffcp-15f,    0x1.ffep-15f,        65504.0f,         65519.0f, 65520.0f, -1e6f, 0.0f,   -0.0f,    0x1p-14f,     0x1p-26f};

// Blocks that are hard to quantise, as far as there is room after the first: ties of quants, at scale 1 and at a scale that is a denormal
// half; a scale rounded down so far that quants pass 127; nothing but zeros; values too small for any scale; an infinity; a NaN. Ties of
// four bits, with the largest magnitude of either sign and of both; of five bits; and scales rounded down for these; one value throughout;
// zeros of both signs; a least value that rounds up; one past all halves; a range past all floats.
void put_hard_blocks(std::vector<float>& values) {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::function<float(float)> makers[] = {[](float i) { return i == 0 ? 127.0f : i - 15.5f; },
                                                [](float i) { return (i == 0 ? -127.0f : i - 15.5f) * 0x1p-24f; },
                                                [](float i) { return (i - 16.0f) * (11 * 0x1p-24f); },
                                                [](float i) { return i == 3 ? -0.0f : 0.0f; },
                                                [](float i) { return i * 0x1p-28f; },
                                                [=](float i) { return i == 9 ? -infinity : i; },
                                                [](float i) { return i == 30 ? std::nanf("") : i; },
                                                [](float i) { return i == 5 ? -8.0f : i / 2 - 7.5f; },
                                                [](float i) { return i == 5 ? 8.0f : i / 2 - 7.5f; },
                                                [](float i) { return i < 2 ? 8.0f - 16.0f * i : i / 2 - 7.5f; },
                                                [](float i) { return (i == 0 ? -8.0f : i / 2 - 7.5f) * 0x1p-24f; },
                                                [](float i) { return (i - 20.0f) * (0.59f * 0x1p-24f); },
                                                [](float i) { return i < 2 ? 31.0f * i : i - 1.5f; },
                                                [](float i) { return (i < 2 ? 31.0f * i : i - 1.5f) * 0x1p-24f + 1.0f; },
                                                [](float i) { return (i - 3.0f) * 0x1.7p-24f; },
                                                [](float) { return -2.75f; },
                                                [](float i) { return i == 3   ? 0.0f
                                                                     : i == 4 ? -0.0f
                                                                              : i / 64; },
                                                [](float i) { return 2049.0f + i / 32; },
                                                [](float i) { return -70000.0f - i; },
                                                [](float i) { return i == 7 ? 3e38f : -3e38f; }};
  for (std::size_t block = 1; block <= std::size(makers) && (block + 1) * kv_block <= values.size(); ++block) {
    for (std::size_t i = 0; i < kv_block; ++i) values[block * kv_block + i] = makers[block - 1](static_cast<float>(i));
  }
}

// The oracle rotates in binary64; the device uses a table rounded to binary32 and rounds three times: 4 units of |a| + |b|.
std::string compare_with_oracle(const AttentionShape& shape, bool local, std::uint32_t position, std::span<const float> before,
                                std::span<const float> got) {
  std::vector<float> wanted(before.begin(), before.end());
  ref::rope(wanted, shape.head_dim, position, rope_config(shape), local);
  std::vector<double> tolerance(wanted.size());
  const std::uint32_t pairs = shape.rope_dim / 2;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const auto d = static_cast<std::uint32_t>(i % shape.head_dim);
    if (d >= shape.rope_dim) continue;  // exact
    const std::size_t partner = shape.rope_halves ? (d < pairs ? i + pairs : i - pairs) : i ^ 1u;
    tolerance[i] = 4 * epsilon * (std::abs(static_cast<double>(before[i])) + std::abs(static_cast<double>(before[partner])));
  }
  return differs("q at position " + std::to_string(position), got, wanted, tolerance);
}

std::string check(Bench& bench, const Shape& shape, const kernels::Selector& select) {
  const AttentionShape& a = shape.attention;
  Random random(fmt::format("rope_store {} {} {} {}", a.heads, a.head_dim, shape.base, shape.rows));
  const std::uint32_t bucket = kernels::bucket_for(shape.rows), q_width = a.heads * a.head_dim, kv_width = a.kv_heads * a.head_dim;
  const std::vector<float> q = random.floats(std::size_t{bucket} * q_width, -4.0f, 4.0f),
                           k = random.floats(std::size_t{bucket} * kv_width, -4.0f, 4.0f);
  std::vector<float> v = random.floats(std::size_t{bucket} * kv_width, -4.0f, 4.0f);
  std::copy_n(special, std::min(std::size(special), v.size()), v.begin());
  if (traits(a.kv_format.v).has_blocks()) put_hard_blocks(v);
  const std::vector<float> table = make_rope_table(a);
  if (a.queries_alone) {
    bench.put({ResourceKind::qkv}, strided(q, a.qkv_width()));
  } else {
    bench.put({ResourceKind::qkv}, strided(joined_rows(bucket, {&q, &k, &v}), a.qkv_width()));
  }
  bench.put({ResourceKind::rope_table}, table);
  bench.reserve({ResourceKind::q_rotated}, std::size_t{bucket} * padded(q_width));
  const kernels::KvLayout k_layout = a.cache(ResourceKind::k_cache), v_layout = a.cache(ResourceKind::v_cache);
  bench.reserve({ResourceKind::k_cache, 1}, k_layout.bytes() / 4);
  bench.reserve({ResourceKind::v_cache, 1}, v_layout.bytes() / 4);
  bench.set_rows(shape.base, shape.rows);
  put_tree(bench, shape.parents);
  const std::uint32_t k_row = shape.k_local ? a.context : 0, q_row = shape.q_local ? a.context : 0;
  bench.run(kernels::rope_store(select, a, {.index = 1, .rotates = shape.rotates, .k_row = k_row, .q_row = q_row}, bucket, "rope_store",
                                !shape.parents.empty()));

  const auto q_words = bench.get<std::uint32_t>({ResourceKind::q_rotated}, std::size_t{bucket} * padded(q_width));
  const auto q_got = bench.get<float>({ResourceKind::q_rotated}, q_words.size());
  AttentionShape turning = a;
  if (!shape.rotates) turning.rope_dim = 0;
  std::vector<float> k_stored;
  for (std::uint32_t row = 0; row < shape.rows; ++row) {
    const std::span<const float> before = std::span(q).subspan(std::size_t{row} * q_width, q_width);
    const std::uint32_t position = shape.base + static_cast<std::uint32_t>(path_to(shape.parents, row).size()) - 1;
    std::string difference = compare_with_oracle(turning, shape.q_local, position, before, row_of(q_got, q_width, row));
    if (!difference.empty()) return difference;
    const std::vector<float> turned =
        rotated(std::span(k).subspan(std::size_t{row} * kv_width, kv_width), turning, table, k_row + position);
    k_stored.insert(k_stored.end(), turned.begin(), turned.end());
  }
  if (a.queries_alone) {
    const auto stored = bench.get<std::uint32_t>({ResourceKind::k_cache, 1}, k_layout.bytes() / 4);
    const std::string written = touched("the cache of another layer", stored);
    return written.empty() ? touched("q of padding rows", std::span(q_words).subspan(std::size_t{shape.rows} * padded(q_width))) : written;
  }
  std::string difference = bits_differ("K cache", bench.get<std::uint32_t>({ResourceKind::k_cache, 1}, k_layout.bytes() / 4),
                                       kv_words(k_layout, shape.base, k_stored), "wanted");
  if (difference.empty()) {
    difference = bits_differ("V cache", bench.get<std::uint32_t>({ResourceKind::v_cache, 1}, v_layout.bytes() / 4),
                             kv_words(v_layout, shape.base, std::span(v).first(k_stored.size())), "wanted");
  }
  if (difference.empty()) difference = touched("q of padding rows", std::span(q_words).subspan(std::size_t{shape.rows} * padded(q_width)));
  return difference;
}

// With latents: of each head of Q the dimensions that rotate, which are the last ones, and one key, whose last ones do.
std::string check_latents(Bench& bench, const Shape& shape) {
  const AttentionShape& a = shape.attention;
  Random random(fmt::format("rope_store latents {} {} {}", a.heads, a.head_dim, shape.rows));
  const std::uint32_t bucket = kernels::bucket_for(shape.rows), q_width = a.heads * a.latent_query, still = a.head_dim - a.rope_dim;
  const std::vector<float> q = random.floats(std::size_t{bucket} * q_width, -4.0f, 4.0f), table = make_rope_table(a);
  std::vector<float> k = random.floats(std::size_t{bucket} * a.head_dim, -4.0f, 4.0f);
  std::copy_n(special, std::min<std::size_t>(std::size(special), still), k.begin());
  if (traits(a.kv_format.k).has_blocks()) put_hard_blocks(k);
  const std::size_t q_stride = padded(a.heads * a.head_dim);
  const kernels::KvLayout layout = a.cache(ResourceKind::k_cache);
  bench.put({ResourceKind::qkv}, strided(joined_rows(bucket, {&k, &q}), a.qkv_width()));
  bench.put({ResourceKind::rope_table}, table);
  bench.reserve({ResourceKind::q_rotated}, bucket * q_stride);
  bench.reserve({ResourceKind::k_cache, 1}, layout.bytes() / 4);
  bench.set_rows(shape.base, shape.rows);
  put_tree(bench, shape.parents);
  bench.run(kernels::rope_store(bench.select(), a, {.index = 1}, bucket, "rope_store", !shape.parents.empty()));

  AttentionShape turning = a;
  turning.head_dim = a.rope_dim;
  const auto q_words = bench.get<std::uint32_t>({ResourceKind::q_rotated}, bucket * q_stride);
  const auto q_got = bench.get<float>({ResourceKind::q_rotated}, q_words.size());
  std::vector<float> stored;
  for (std::uint32_t row = 0; row < shape.rows; ++row) {
    const std::uint32_t position = shape.base + static_cast<std::uint32_t>(path_to(shape.parents, row).size()) - 1;
    for (std::uint32_t head = 0; head < a.heads; ++head) {
      const std::size_t at = row * q_stride + std::size_t{head} * a.head_dim;
      std::string difference = touched("q that does not rotate", std::span(q_words).subspan(at, still));
      const auto before = std::span(q).subspan((std::size_t{row} * a.heads + head + 1) * a.latent_query - a.rope_dim, a.rope_dim);
      if (difference.empty())
        difference = compare_with_oracle(turning, false, position, before, std::span(q_got).subspan(at + still, a.rope_dim));
      if (!difference.empty()) return difference;
    }
    const std::span<const float> key = std::span(k).subspan(std::size_t{row} * a.head_dim, a.head_dim);
    const std::vector<float> turned = rotated(key.subspan(still), turning, table, position);
    stored.insert(stored.end(), key.begin(), key.begin() + still);
    stored.insert(stored.end(), turned.begin(), turned.end());
  }
  std::string difference = bits_differ("K cache", bench.get<std::uint32_t>({ResourceKind::k_cache, 1}, layout.bytes() / 4),
                                       kv_words(layout, shape.base, stored), "wanted");
  if (difference.empty()) difference = touched("q of padding rows", std::span(q_words).subspan(shape.rows * q_stride));
  return difference;
}

void add_latents(std::vector<Case>& cases, Depth depth) {
  const auto add_shape = [&](const Shape& shape) {
    const AttentionShape& a = shape.attention;
    cases.push_back({"rope_store",
                     fmt::format("rope_store {} latents H={} D={} rope={} base={} rows={}{}", to_string(a.kv_format), a.heads, a.head_dim,
                                 a.rope_dim, shape.base, shape.rows, shape.parents.empty() ? "" : " tree"),
                     [shape](Bench& bench) { return check_latents(bench, shape); }});
  };
  AttentionShape a{.heads = 3, .kv_heads = 1, .head_dim = 96, .rope_dim = 32, .context = 75, .latent_query = 48};
  add_shape({a, 60, 5});
  for (const KvFormat format : {KvFormat::q8_0, KvFormat::q5_1, KvFormat::f32}) {
    a.kv_format = format;
    add_shape({a, 30, 9, branching(9)});
    if (depth == Depth::full) add_shape({a, 11, 33});
  }
  if (depth == Depth::quick) return;
  a = {.heads = 5, .kv_heads = 1, .head_dim = 576, .rope_dim = 64, .context = 40, .latent_query = 192};
  add_shape({a, 20, 2});
  a = {.heads = 2, .kv_heads = 1, .head_dim = 48, .rope_dim = 16, .context = 40, .latent_query = 36};  // padded strides
  add_shape({a, 20, 3});
}

void add(std::vector<Case>& cases, const Shape& shape, bool texels) {
  const AttentionShape& a = shape.attention;
  const std::string name =
      fmt::format("rope_store {} {} H={}/{} D={} rope={} base={} rows={}{}{}{}{}", to_string(a.kv_format),
                  a.rope_halves ? "halves" : "neighbours", a.heads, a.kv_heads, a.head_dim, a.rope_dim, shape.base, shape.rows,
                  shape.parents.empty() ? "" : " tree", shape.rotates ? "" : " still", shape.k_local ? " K local" : "",
                  shape.q_local     ? " Q local"
                  : a.queries_alone ? " Q alone"
                                    : "");
  cases.push_back({"rope_store", name, [shape](Bench& bench) { return check(bench, shape, bench.select()); }});
  if (!texels) return;
  cases.push_back({"rope_store", name + " storage buffers", [shape](Bench& bench) {
                     vk::Tuning tuning = bench.tuning();
                     tuning.texels = false;
                     return check(bench, shape, kernels::Selector(bench.caps(), tuning));
                   }});
}

// Caches of blocks: heads of one to four of them, whose scales fill words or leave them half empty, and contexts that are no multiple of 4.
void add_blocks(std::vector<Case>& cases, Depth depth, bool texels) {
  for (const std::uint32_t head_dim : {64u, 32u, 96u, 128u}) {
    AttentionShape a{.heads = 4, .kv_heads = 2, .head_dim = head_dim, .rope_dim = head_dim, .context = 75, .kv_format = KvFormat::q8_0};
    a.rope_halves = head_dim != 64;
    add(cases, {a, 60, 5}, texels);
    if (depth == Depth::quick) return;
    add(cases, {a, 30, 32, branching(32)}, texels);
    add(cases, {a, 30, 4, {}, false}, texels);
    add(cases, {a, 30, 4, {}, true, true, false}, texels);
    if (head_dim == 128) a.rope_dim = 48;  // a block rotates in part
    add(cases, {a, 0, 1}, texels);
    add(cases, {a, 11, 64}, texels);
  }
}

// Formats of keys and values that differ, and formats that differ in what a word of scales holds.
void add_formats(std::vector<Case>& cases, Depth depth, bool texels) {
  const KvFormats quick[] = {KvFormat::q4_0, KvFormat::q5_1, {KvFormat::f16, KvFormat::q5_1}};
  const KvFormats mixed[] = {{KvFormat::q8_0, KvFormat::q4_0}, {KvFormat::q4_0, KvFormat::f32}, {KvFormat::f32, KvFormat::f16}};
  const auto add_format = [&](const KvFormats& formats, std::uint32_t head_dim) {
    AttentionShape a{.heads = 4, .kv_heads = 2, .head_dim = head_dim, .rope_dim = head_dim, .context = 75, .kv_format = formats};
    a.rope_halves = head_dim != 64;
    add(cases, {a, 30, 12}, texels);
    if (depth == Depth::full && head_dim == 96) add(cases, {a, 30, 32, branching(32)}, texels);
  };
  for (const KvFormats& formats : quick) add_format(formats, 64);
  if (depth == Depth::quick) return;
  for (const KvFormats& formats : quick) add_format(formats, 96);
  add_format(KvFormat::q4_0, 32);
  add_format(KvFormat::q5_1, 32);
  for (const KvFormats& formats : mixed) add_format(formats, 96);
}

}  // namespace

std::vector<Case> rope_store_cases(const Scope& scope) {
  std::vector<Case> cases;
  const bool texels = scope.tuning.texels && scope.depth == Depth::full;
  AttentionShape alone{.heads = 4, .kv_heads = 2, .head_dim = 64, .rope_dim = 64, .context = 75, .kv_format = KvFormat::f16};
  alone.rope_halves = alone.queries_alone = true;
  add(cases, {alone, 60, 5}, texels);
  for (const KvFormat format : {KvFormat::f16, KvFormat::f32}) {
    for (const bool halves : {false, true}) {
      if (scope.depth == Depth::quick && (format == KvFormat::f16) == halves) continue;
      AttentionShape a{
          .heads = 4, .kv_heads = 2, .head_dim = 16, .rope_dim = 16, .context = 96, .kv_format = format, .rope_halves = halves};
      add(cases, {a, 60, 5}, texels);
      add(cases, {a, 60, 9, branching(9)}, texels);
      add(cases, {a, 60, 3, {}, false}, texels);
      add(cases, {a, 60, 5, branching(5), true, true, false}, texels);
      if (scope.depth == Depth::quick) continue;
      add(cases, {a, 0, 1}, texels);
      add(cases, {a, 32, 64}, texels);
      add(cases, {a, 32, 33, {}, true, false, true}, texels);
      add(cases, {a, 31, 7, {}, true, true, true}, texels);
      a.rope_dim = 8;  // the rest of a head does not rotate
      add(cases, {a, 7, 3}, texels);
      a = {.heads = 3,
           .kv_heads = 3,
           .head_dim = 24,
           .rope_dim = 24,
           .context = 40,
           .kv_format = format,
           .rope_halves = halves};  // padded strides
      add(cases, {a, 24, 16}, texels);
    }
  }
  add_latents(cases, scope.depth);
  add_blocks(cases, scope.depth, texels);
  add_formats(cases, scope.depth, texels);
  return cases;
}

}  // namespace skipstone::selftest
