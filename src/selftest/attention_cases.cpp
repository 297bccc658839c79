// Split attention and the merge of its chunks, each by itself: the other half is done in binary64 on the host, so that a failure names the
// kernel that is wrong.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "selftest/attention_data.h"
#include "selftest/cases.h"
#include "selftest/compare.h"
#include "selftest/rows.h"

namespace skipstone::selftest {
namespace {

using kernels::AttentionShape;
using kernels::padded;
using kernels::ResourceKind;

std::size_t record_words(const AttentionShape& s) { return s.head_dim + ATTENTION_PARTIAL_EXTRA; }

// The expected result of the merge for one row and head from the chunks of the keys that it sees: sum a_c exp(m_c - m) / sum s_c
// exp(m_c - m). A sink is one more exponential. `magnitude`: the same with |a_c|.
void merge_chunks(const AttentionShapeRows& work, const std::vector<float>& partial, std::uint32_t row, std::uint32_t head,
                  const std::vector<float>& sinks, std::span<float> out, std::span<double> magnitude, double& range) {
  const AttentionShape& s = work.shape;
  const std::uint32_t chunks = (work.keys_of(row) - 1) / s.chunk + 1, begin = work.first_of(row) / s.chunk;
  const float* first = &partial[(std::size_t{row} * s.heads + head) * s.max_chunks() * record_words(s)];
  double largest = static_cast<double>(first[begin * record_words(s) + s.head_dim]), least = largest;
  for (std::uint32_t c = begin + 1; c < chunks; ++c) {
    largest = std::max(largest, static_cast<double>(first[c * record_words(s) + s.head_dim]));
    least = std::min(least, static_cast<double>(first[c * record_words(s) + s.head_dim]));
  }
  double total = 0.0;
  if (!sinks.empty()) {
    const auto sink = static_cast<double>(sinks[head]);
    largest = std::max(largest, sink);
    least = std::min(least, sink);
    total = std::exp(sink - largest);
  }
  range = largest - least;
  std::vector<double> sums(s.head_dim), sizes(s.head_dim);
  for (std::uint32_t c = begin; c < chunks; ++c) {
    const float* record = first + c * record_words(s);
    const double factor = std::exp(static_cast<double>(record[s.head_dim]) - largest);
    total += static_cast<double>(record[s.head_dim + 1]) * factor;
    for (std::uint32_t d = 0; d < s.head_dim; ++d) {
      sums[d] += static_cast<double>(record[d]) * factor;
      sizes[d] += std::abs(static_cast<double>(record[d])) * factor;
    }
  }
  for (std::uint32_t d = 0; d < s.head_dim; ++d) {
    out[d] = static_cast<float>(sums[d] / total);
    magnitude[d] = sizes[d] / total;
  }
}

std::string check_split(Bench& bench, const AttentionShapeRows& work, const kernels::Selector& select) {
  const AttentionShape& s = work.shape;
  const AttentionData data(work, "attention " + work.text());
  const std::uint32_t bucket = kernels::bucket_for(work.rows);
  const std::size_t words = s.partial_bytes(bucket) / sizeof(float), row_words = words / bucket;
  data.put(bench, bucket);
  bench.reserve({ResourceKind::attention_partial}, words);
  bench.run(kernels::attention(select, s, work.layer(), bucket, "attention", work.keys()).front());

  const auto partial = bench.get<float>({ResourceKind::attention_partial}, words);
  for (std::uint32_t row = 0; row < work.rows; ++row) {
    std::vector<float> wanted, got(std::size_t{s.heads} * s.head_dim);
    std::vector<double> tolerance, magnitude(s.head_dim);
    data.expect(row, wanted, tolerance);
    double range = 0.0;
    for (std::uint32_t head = 0; head < s.heads; ++head) {
      merge_chunks(work, partial, row, head, data.sinks(), std::span(got).subspan(std::size_t{head} * s.head_dim, s.head_dim), magnitude,
                   range);
    }
    const std::string difference = differs(fmt::format("row {}", row), got, wanted, tolerance);
    if (!difference.empty()) return difference;
  }
  const auto raw = bench.get<std::uint32_t>({ResourceKind::attention_partial}, words);
  for (std::uint32_t row = 0; row < work.rows; ++row) {
    for (std::uint32_t head = 0; head < s.heads; ++head) {
      const std::size_t first = (std::size_t{row} * s.heads + head) * s.max_chunks() * record_words(s);
      const std::string difference = touched(fmt::format("chunks before the window of row {}", row),
                                             std::span(raw).subspan(first, work.first_of(row) / s.chunk * record_words(s)));
      if (!difference.empty()) return difference;
    }
  }
  return touched("partial results of padding rows", std::span(raw).subspan(work.rows * row_words));
}

// One dispatch that gives the result itself.
std::string check_serial(Bench& bench, const AttentionShapeRows& work) {
  const AttentionShape& s = work.shape;
  const AttentionData data(work, "attention " + work.text());
  const std::uint32_t bucket = kernels::bucket_for(work.rows), width = s.heads * s.head_dim;
  data.put(bench, bucket);
  bench.reserve({ResourceKind::attended}, std::size_t{bucket} * padded(width));
  bench.run(kernels::attention(bench.select(), s, work.layer(), bucket, "attention", work.keys()));
  const auto got = bench.get<float>({ResourceKind::attended}, std::size_t{bucket} * padded(width));
  for (std::uint32_t row = 0; row < work.rows; ++row) {
    std::vector<float> wanted;
    std::vector<double> tolerance;
    data.expect(row, wanted, tolerance);
    const std::string difference = differs(fmt::format("row {}", row), row_of(got, width, row), wanted, tolerance);
    if (!difference.empty()) return difference;
  }
  const auto raw = bench.get<std::uint32_t>({ResourceKind::attended}, std::size_t{bucket} * padded(width));
  return touched("padding rows", std::span(raw).subspan(std::size_t{work.rows} * padded(width)));
}

// The split kernels, also where a device's own choice is the serial one.
kernels::Selector splitting(const Bench& bench) {
  vk::Tuning tuning = bench.tuning();
  tuning.texels = false;
  return kernels::Selector(bench.caps(), tuning);
}

// The partial results that no chunk's workgroup writes: earlier passes have left values there, which may be NaN.
void forget_chunks(const AttentionShapeRows& work, std::vector<float>& partial) {
  const AttentionShape& s = work.shape;
  for (std::uint32_t row = 0; row < work.rows; ++row) {
    const std::uint32_t begin = work.first_of(row) / s.chunk, end = (work.keys_of(row) - 1) / s.chunk + 1;
    for (std::uint32_t i = 0; i < s.heads * s.max_chunks(); ++i) {
      const std::uint32_t chunk = i % s.max_chunks();
      const std::size_t record = std::size_t{row} * s.heads * s.max_chunks() + i;
      if (chunk < begin || chunk >= end) std::fill_n(&partial[record * record_words(s)], record_words(s), std::nanf(""));
    }
  }
}

std::string check_merge(Bench& bench, const AttentionShapeRows& work) {
  const AttentionShape& s = work.shape;
  Random random("attention_merge " + work.text());
  const std::uint32_t bucket = kernels::bucket_for(work.rows), width = s.heads * s.head_dim;
  std::vector<float> partial = random.floats(s.partial_bytes(bucket) / sizeof(float), -8.0f, 8.0f);
  for (std::size_t record = 0; record < partial.size() / record_words(s); ++record) {
    partial[record * record_words(s) + s.head_dim] = random.between(-20.0f, 20.0f);
    partial[record * record_words(s) + s.head_dim + 1] = random.between(1.0f, static_cast<float>(s.chunk));
  }
  forget_chunks(work, partial);
  const std::vector<float> sinks = make_sinks(work);
  put_sinks(bench, sinks);
  bench.put({ResourceKind::attention_partial}, partial);
  bench.reserve({ResourceKind::attended}, std::size_t{bucket} * padded(width));
  bench.set_rows(work.base, work.rows);
  if (work.window) bench.state().window = {work.window->sink, work.window->recent};
  put_tree(bench, work.parents);
  bench.run(kernels::attention(splitting(bench), s, work.layer(), bucket, "attention", work.keys()).back());

  const auto got = bench.get<float>({ResourceKind::attended}, std::size_t{bucket} * padded(width));
  for (std::uint32_t row = 0; row < work.rows; ++row) {
    std::vector<float> wanted(width);
    std::vector<double> tolerance(width);
    for (std::uint32_t head = 0; head < s.heads; ++head) {
      const std::size_t at = std::size_t{head} * s.head_dim;
      double range = 0.0;
      merge_chunks(work, partial, row, head, sinks, std::span(wanted).subspan(at, s.head_dim), std::span(tolerance).subspan(at, s.head_dim),
                   range);
      // exp: 3 + 2|x| units, in numerator and denominator; a rounding per chunk in both sums; the quotient.
      const double relative = (2 * (3 + 2 * range) + 2.0 * work.keys_of(row) / s.chunk + 8) * epsilon;
      for (std::uint32_t d = 0; d < s.head_dim; ++d) tolerance[at + d] = tolerance[at + d] * relative + smallest;
    }
    const std::string difference = differs(fmt::format("row {}", row), row_of(got, width, row), wanted, tolerance);
    if (!difference.empty()) return difference;
  }
  const auto raw = bench.get<std::uint32_t>({ResourceKind::attended}, std::size_t{bucket} * padded(width));
  return touched("padding rows", std::span(raw).subspan(std::size_t{work.rows} * padded(width)));
}

void add(std::vector<Case>& cases, const AttentionShapeRows& work, bool merge) {
  cases.push_back({"attention", "attention " + work.text(), [work](Bench& bench) {
                     const bool serial = bench.select().tuning().texels && work.shape.texel_aligned();
                     return serial ? check_serial(bench, work) : check_split(bench, work, bench.select());
                   }});
  if (merge)
    cases.push_back({"attention_merge", "attention_merge " + work.text(), [work](Bench& bench) { return check_merge(bench, work); }});
}

void add(std::vector<Case>& cases, const AttentionShape& shape, std::uint32_t base, std::uint32_t rows, bool merge) {
  add(cases, {shape, base, rows}, merge);
}

// The variant with storage buffers, on devices whose own choice is texel buffers.
void add_storage(std::vector<Case>& cases, const AttentionShapeRows& work) {
  cases.push_back({"attention", "attention " + work.text() + " storage buffers",
                   [work](Bench& bench) { return check_split(bench, work, splitting(bench)); }});
}

void add_storage(std::vector<Case>& cases, const AttentionShape& shape, std::uint32_t base, std::uint32_t rows) {
  add_storage(cases, {shape, base, rows});
}

// One KV head whose keys are its values, and as long as those of published models.
void add_latents(std::vector<Case>& cases, const Scope& scope) {
  AttentionShape shape{.heads = 5, .kv_heads = 1, .head_dim = 96, .rope_dim = 32, .context = 160, .latent_query = 64};
  add(cases, {shape, 60, 9, {}, branching(9)}, false);
  if (scope.tuning.texels) add_storage(cases, {shape, 60, 9});
  if (scope.depth == Depth::quick) return;
  shape.kv_format = {KvFormat::q8_0, KvFormat::f16};
  add(cases, {shape, 60, 9}, false);
  if (!scope.long_heads()) return;
  shape = {.heads = 16, .kv_heads = 1, .head_dim = 576, .rope_dim = 64, .context = 160, .latent_query = 192};
  for (const std::uint32_t rows : {1u, 8u}) {
    add(cases, {shape, 130, rows}, rows == 1);
    if (scope.tuning.texels) add_storage(cases, {shape, 130, rows});
  }
}

// Caches whose keys and values differ, and those of nibbles.
void add_formats(std::vector<Case>& cases, const Scope& scope, AttentionShape shape) {
  const auto add_format = [&](const KvFormats& formats, std::uint32_t head_dim) {
    shape.kv_format = formats;
    shape.head_dim = shape.rope_dim = head_dim;
    add(cases, {shape, 60, 9, {}, branching(9)}, false);
    if (scope.tuning.texels) add_storage(cases, {shape, 60, 9});
  };
  add_format({KvFormat::q4_0, KvFormat::q5_1}, 64);
  if (scope.depth == Depth::quick) return;
  add_format({KvFormat::q5_1, KvFormat::q4_0}, 96);
  add_format({KvFormat::q8_0, KvFormat::q4_0}, 32);
  add_format({KvFormat::f16, KvFormat::q5_1}, 64);
  add_format({KvFormat::q4_0, KvFormat::f32}, 128);
}

// Rows of a token tree, on both sides of a chunk's border, and some of the first chunk alone.
void add_trees(std::vector<Case>& cases, const Scope& scope, const AttentionShape& common) {
  add(cases, {common, 61, 9, {}, branching(9)}, true);
  if (scope.depth == Depth::quick) return;
  for (const KvFormat format : {KvFormat::q8_0, KvFormat::f32}) {
    AttentionShape s = common;
    s.kv_format = format;
    for (const std::uint32_t rows : {2u, 16u, 32u}) {
      add(cases, {s, 126, rows, {}, branching(rows)}, false);
      if (scope.tuning.texels) add_storage(cases, {s, 126, rows, {}, branching(rows)});
    }
  }
  add(cases, {common, 0, 32, {}, branching(32)}, true);
  std::vector<std::uint32_t> chain(31), star(32);  // the deepest and the widest
  for (std::uint32_t i = 1; i < 31; ++i) chain[i] = i - 1;
  add(cases, {common, 63, 31, {}, chain}, false);
  add(cases, {common, 64, 32, {}, star}, true);
}

// A layer's own window: the smallest, some that end within a chunk and on its border, one larger than the text; also of rows in trees and
// of a text of which only a part is seen. And scores that are scaled and capped.
void add_layers(std::vector<Case>& cases, const Scope& scope, AttentionShape common) {
  AttentionShape capped = common;
  capped.scale = 0.11f;
  capped.softcap = 2.5f;
  add(cases, {capped, 150, 9, {}, {}, 70}, true);
  add(cases, {capped, 61, 9, {}, branching(9), 3}, true);
  if (scope.depth == Depth::quick) return;
  for (const std::uint32_t window : {1u, 3u, 64u, 65u, 300u}) {
    add(cases, {common, 126, 5, {}, {}, window}, true);
    add(cases, {common, 60, 32, {}, branching(32), window}, true);
    if (scope.tuning.texels) add_storage(cases, {common, 126, 5, {}, {}, window});
  }
  add(cases, {capped, 0, 1, {}, {}, 1}, true);
  add(cases, {capped, 224, 32, {}, {}, 40}, true);
  add(cases, {capped, 150, 3, exec::KeyWindow{4, 80}, {}, 20}, true);  // the sinks are out of sight
  add(cases, {capped, 150, 3, exec::KeyWindow{4, 80}, {}, 82}, true);  // two of them are not
  for (const KvFormat format : {KvFormat::q8_0, KvFormat::f32}) {
    common.kv_format = capped.kv_format = format;
    add(cases, {common, 140, 16, {}, {}, 13}, false);
    add(cases, {capped, 140, 7, {}, {}, 0}, false);
    if (scope.tuning.texels) add_storage(cases, {capped, 140, 7, {}, {}, 75});
  }
  AttentionShape wide{.heads = 4, .kv_heads = 2, .head_dim = 256, .rope_dim = 256, .context = 150, .softcap = 50.0f};
  add(cases, {wide, 120, 5}, true);
  add(cases, {wide, 120, 5, {}, {}, 33}, true);
  if (scope.tuning.texels) add_storage(cases, {wide, 120, 5, {}, {}, 33});
  add(cases, {{.heads = 6, .kv_heads = 2, .head_dim = 20, .rope_dim = 20, .context = 100, .softcap = 1.0f}, 90, 10, {}, {}, 11}, true);
}

// A score of each head that has no value, beside the keys of a text, a tree and a window, of one chunk and of several.
void add_sinks(std::vector<Case>& cases, const Scope& scope, const AttentionShape& common) {
  const auto with_sinks = [](AttentionShapeRows work) {
    work.sinks = true;
    return work;
  };
  add(cases, with_sinks({common, 150, 9, {}, {}, 70}), true);
  add(cases, with_sinks({common, 61, 9, {}, branching(9)}), true);
  if (scope.depth == Depth::quick) return;
  add(cases, with_sinks({common, 0, 1}), true);
  add(cases, with_sinks({common, 63, 32}), true);
  add(cases, with_sinks({common, 60, 32, {}, branching(32), 3}), true);
  add(cases, with_sinks({common, 150, 3, exec::KeyWindow{4, 80}}), true);
  for (const KvFormats& formats : {KvFormats(KvFormat::q8_0), KvFormats(KvFormat::f32), KvFormats{KvFormat::q4_0, KvFormat::q5_1}}) {
    AttentionShape s = common;
    s.kv_format = formats;
    add(cases, with_sinks({s, 140, 7, {}, {}, 75}), false);
    if (scope.tuning.texels) add_storage(cases, with_sinks({s, 140, 7, {}, {}, 75}));
  }
  // The last chunk reaches past the context, and heads are not whole words of texels.
  add(cases, with_sinks({{.heads = 6, .kv_heads = 2, .head_dim = 20, .rope_dim = 20, .context = 100}, 90, 10}), true);
  add(cases, with_sinks({{.heads = 64, .kv_heads = 8, .head_dim = 64, .rope_dim = 64, .context = 300}, 280, 5, {}, {}, 128}), true);
}

}  // namespace

std::vector<Case> attention_cases(const Scope& scope) {
  std::vector<Case> cases;
  const AttentionShape common{.heads = 8, .kv_heads = 2, .head_dim = 64, .rope_dim = 64, .context = 256, .kv_format = KvFormat::f16};
  add(cases, common, 60, 9, true);  // rows on both sides of a chunk's border
  AttentionShape blocks = common;
  blocks.kv_format = KvFormat::q8_0;
  add(cases, blocks, 60, 9, false);
  add_formats(cases, scope, common);
  add(cases, {common, 150, 1, exec::KeyWindow{4, 80}}, true);  // two chunks
  add_trees(cases, scope, common);
  add_layers(cases, scope, common);
  add_sinks(cases, scope, common);
  if (scope.depth == Depth::quick) return cases;
  for (const std::uint32_t head_dim : {32u, 96u, 128u}) {
    AttentionShape s{.heads = 4, .kv_heads = 2, .head_dim = head_dim, .rope_dim = head_dim, .context = 147, .kv_format = KvFormat::q8_0};
    add(cases, s, 121, 16, false);
    if (scope.tuning.texels) add_storage(cases, s, 121, 16);
  }
  add(cases, common, 0, 1, true);
  add(cases, common, 63, 1, true);
  add(cases, common, 64, 1, true);
  add(cases, common, 240, 16, true);
  for (const bool half : {true, false}) {
    AttentionShape s = common;
    s.kv_format = half ? KvFormat::f16 : KvFormat::f32;
    s.kv_heads = 8;  // no grouping
    add(cases, s, 120, 3, false);
    s.heads = half ? 8 : 4, s.kv_heads = 1, s.head_dim = 8;  // all heads share a KV head
    add(cases, s, 126, 5, half);
  }
  add(cases, {.heads = 4, .kv_heads = 2, .head_dim = 128, .rope_dim = 128, .context = 144, .kv_format = KvFormat::f16}, 127, 2, true);
  AttentionShape wide{
      .heads = 32, .kv_heads = 2, .head_dim = 8, .rope_dim = 8, .context = 400, .chunk = 128};  // a group larger than a workgroup takes
  add(cases, wide, 250, 9, true);
  AttentionShape odd{.heads = 6, .kv_heads = 2, .head_dim = 20, .rope_dim = 20, .context = 100};  // the last chunk reaches past the context
  add(cases, odd, 90, 10, true);
  AttentionShape large{.heads = 2, .kv_heads = 1, .head_dim = 512, .rope_dim = 512, .context = 150, .scale = 1.0f / 32};
  if (scope.long_heads()) add(cases, large, 120, 1, true);
  add(cases, {common, 150, 1, exec::KeyWindow{0, 1}}, true);
  add(cases, {common, 60, 9, exec::KeyWindow{4, 60}}, true);  // the first rows see everything
  add(cases, {common, 240, 16, exec::KeyWindow{64, 64}}, true);
  add(cases, {blocks, 120, 5, exec::KeyWindow{3, 20}}, false);
  add_latents(cases, scope);
  if (scope.tuning.texels) {
    add_storage(cases, common, 60, 9);
    add_storage(cases, {common, 150, 3, exec::KeyWindow{4, 80}});
    add_storage(cases, {.heads = 8, .kv_heads = 1, .head_dim = 8, .rope_dim = 8, .context = 144, .kv_format = KvFormat::f32}, 40, 16);
  }
  return cases;
}

}  // namespace skipstone::selftest
