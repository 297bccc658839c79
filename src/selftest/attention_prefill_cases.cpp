#include <fmt/format.h>

#include "selftest/attention_data.h"
#include "selftest/cases.h"
#include "selftest/compare.h"

namespace skipstone::selftest {
namespace {

using kernels::AttentionShape;
using kernels::padded;
using kernels::ResourceKind;

std::string check(Bench& bench, const AttentionShapeRows& work, const kernels::Selector& select) {
  const AttentionShape& s = work.shape;
  const AttentionData data(work, "attention_prefill " + work.text());
  const std::uint32_t bucket = kernels::bucket_for(work.rows), width = s.heads * s.head_dim;
  data.put(bench, bucket);
  bench.reserve({ResourceKind::attended}, std::size_t{bucket} * padded(width));
  bench.run(kernels::attention_prefill(select, s, work.layer(), bucket, "attention_prefill"));
  const auto got = bench.get<float>({ResourceKind::attended}, std::size_t{bucket} * padded(width));
  std::vector<float> wanted;
  std::vector<double> tolerance;
  for (std::uint32_t row = 0; row < work.rows; ++row) {
    data.expect(row, wanted, tolerance);
    const std::string difference = differs(fmt::format("row {}", row), row_of(got, width, row), wanted, tolerance);
    if (!difference.empty()) return difference;
  }
  const auto raw = bench.get<std::uint32_t>({ResourceKind::attended}, std::size_t{bucket} * padded(width));
  return touched("padding rows", std::span(raw).subspan(std::size_t{work.rows} * padded(width)));
}

void add(std::vector<Case>& cases, const AttentionShapeRows& work) {
  cases.push_back(
      {"attention_prefill", "attention_prefill " + work.text(), [work](Bench& bench) { return check(bench, work, bench.select()); }});
}

void add(std::vector<Case>& cases, const AttentionShape& shape, std::uint32_t base, std::uint32_t rows, std::uint32_t window = 0) {
  add(cases, {shape, base, rows, {}, {}, window});
}

// The variant with storage buffers, on devices whose own choice is texel buffers.
void add_storage(std::vector<Case>& cases, const AttentionShapeRows& work) {
  cases.push_back({"attention_prefill", "attention_prefill " + work.text() + " storage buffers", [work](Bench& bench) {
                     vk::Tuning tuning = bench.tuning();
                     tuning.texels = false;
                     return check(bench, work, kernels::Selector(bench.caps(), tuning));
                   }});
}

void add_storage(std::vector<Case>& cases, const AttentionShape& shape, std::uint32_t base, std::uint32_t rows, std::uint32_t window = 0) {
  add_storage(cases, {shape, base, rows, {}, {}, window});
}

// Several lanes to a query, as GPUs have them for large heads only.
void add_split(std::vector<Case>& cases, const AttentionShapeRows& work, std::uint32_t dimensions) {
  const std::string name = fmt::format("attention_prefill {} {} dimensions a lane", work.text(), dimensions);
  cases.push_back({"attention_prefill", name, [work, dimensions](Bench& bench) {
                     vk::Tuning tuning = bench.tuning();
                     tuning.texels = false;
                     tuning.attention_sums = dimensions;
                     return check(bench, work, kernels::Selector(bench.caps(), tuning));
                   }});
}

void add_split(std::vector<Case>& cases, const AttentionShape& shape, std::uint32_t base, std::uint32_t rows, std::uint32_t dimensions) {
  add_split(cases, {shape, base, rows}, dimensions);
}

// Layers with a window, scores that are scaled and capped, heads of 256.
void add_layers(std::vector<Case>& cases, const Scope& scope, AttentionShape shape) {
  shape.scale = 0.11f;
  shape.softcap = 2.5f;
  add(cases, shape, 5, 20, 7);
  if (scope.depth == Depth::quick) return;
  for (const std::uint32_t window : {1u, 3u, 40u, 500u}) {
    add(cases, shape, 50, 70, window);
    if (scope.tuning.texels) add_storage(cases, shape, 50, 70, window);
  }
  add(cases, shape, 0, 33, 0);
  shape.kv_format = KvFormat::q8_0;
  add(cases, shape, 77, 33, 20);
  add(cases, {.heads = 2, .kv_heads = 1, .head_dim = 256, .rope_dim = 256, .context = 96, .softcap = 50.0f}, 40, 33, 17);
}

// A score of each head that has no value.
void add_sinks(std::vector<Case>& cases, const Scope& scope, const AttentionShape& shape) {
  AttentionShapeRows work{.shape = shape, .base = 5, .rows = 20, .layer_window = 7, .sinks = true};
  add(cases, work);
  if (scope.depth == Depth::quick) return;
  for (const std::uint32_t window : {0u, 40u}) {
    work.base = 50, work.rows = 70, work.layer_window = window;
    add(cases, work);
    if (scope.tuning.texels) add_storage(cases, work);
    add_split(cases, work, 32);
  }
  work.shape.kv_format = KvFormat::q8_0;
  add(cases, work);
}

}  // namespace

std::vector<Case> attention_prefill_cases(const Scope& scope) {
  std::vector<Case> cases;
  const AttentionShape common{.heads = 4, .kv_heads = 2, .head_dim = 64, .rope_dim = 64, .context = 160, .kv_format = KvFormat::f16};
  add(cases, common, 0, 20);
  AttentionShape blocks = common;
  blocks.kv_format = KvFormat::q8_0;
  add(cases, blocks, 5, 20);
  add_split(cases, common, 5, 20, 32);
  blocks.kv_format = {KvFormat::q4_0, KvFormat::q5_1};
  add(cases, blocks, 5, 20);
  add_layers(cases, scope, common);
  add_sinks(cases, scope, common);
  if (scope.depth == Depth::quick) return cases;
  for (const KvFormats& formats : {KvFormats{KvFormat::q5_1, KvFormat::q4_0}, KvFormats{KvFormat::f32, KvFormat::q4_0}}) {
    blocks.kv_format = formats;
    add(cases, blocks, 40, 33);
    if (scope.tuning.texels) add_storage(cases, blocks, 40, 33);
  }
  blocks.kv_format = KvFormat::q8_0;
  for (const std::uint32_t head_dim : {32u, 96u}) {
    blocks.head_dim = blocks.rope_dim = head_dim, blocks.context = 75;
    add(cases, blocks, 40, 33);
    if (scope.tuning.texels) add_storage(cases, blocks, 40, 33);
  }
  add(cases, common, 0, 64);
  add(cases, common, 77, 33);
  add(cases, common, 32, 128);
  AttentionShape s = common;
  s.kv_format = KvFormat::f32;
  s.kv_heads = 4;
  add(cases, s, 50, 20);
  if (scope.long_heads())
    add(cases, {.heads = 2, .kv_heads = 1, .head_dim = 512, .rope_dim = 512, .context = 96, .scale = 1.0f / 32}, 40, 33, 17);
  for (const std::uint32_t head_dim : {8u, 128u})
    add(cases, {.heads = 8, .kv_heads = 1, .head_dim = head_dim, .rope_dim = head_dim, .context = 96}, 40, 17);
  AttentionShape latents{.heads = 3, .kv_heads = 1, .head_dim = 96, .rope_dim = 32, .context = 160, .latent_query = 64};
  add(cases, latents, 40, 33);
  latents.head_dim = 576, latents.rope_dim = 64;  // as published models have them
  if (scope.long_heads()) {
    add(cases, latents, 40, 20);
    add_split(cases, latents, 40, 20, 64);
  }
  add_split(cases, common, 32, 70, 16);
  add_split(cases, blocks, 40, 33, 24);
  if (scope.tuning.texels) {
    add_storage(cases, common, 32, 70);
    add_storage(cases, {.heads = 8, .kv_heads = 1, .head_dim = 8, .rope_dim = 8, .context = 144, .kv_format = KvFormat::f32}, 40, 17);
  }
  return cases;
}

}  // namespace skipstone::selftest
