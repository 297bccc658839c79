// The numerics contract for operations that depend on the positions of rows: rotation, the cache, attention.
#include <fmt/format.h>

#include <numeric>

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

constexpr std::uint32_t first_position = 57;  // rows are on both sides of a chunk's border

/// `local`: K rotates by the second of the two tables.
std::string check_rope_store(Bench& bench, Depth depth, std::uint32_t head_dim, const KvFormats& format, bool local) {
  const AttentionShape s{.heads = 4, .kv_heads = 2, .head_dim = head_dim, .rope_dim = head_dim, .context = 96, .kv_format = format};
  const std::uint32_t q_width = s.heads * s.head_dim;
  Random random("invariance rope_store");
  const std::vector<float> qkv = random.floats(std::size_t{invariance_items} * s.qkv_width(), -2.0f, 2.0f);
  bench.put({ResourceKind::rope_table}, make_rope_table(s));
  return compare_rows(
      bench, depth,
      [&](Bench& b, const std::vector<std::uint32_t>& order) {
        b.put({ResourceKind::qkv}, gather(qkv, s.qkv_width(), order));
        b.reserve({ResourceKind::q_rotated}, std::size_t{bucket_of(order)} * padded(q_width));
        for (const ResourceKind cache : {ResourceKind::k_cache, ResourceKind::v_cache}) b.reserve({cache}, s.cache(cache).bytes() / 4);
        b.set_rows(first_position + order.front(), static_cast<std::uint32_t>(order.size()));
        b.run(kernels::rope_store(b.select(), s, {.k_row = local ? s.context : 0}, bucket_of(order), "rope_store"));
        std::vector<Words> rows = read_rows(b, {ResourceKind::q_rotated}, order.size(), q_width, padded(q_width));
        for (const ResourceKind cache : {ResourceKind::k_cache, ResourceKind::v_cache}) {
          const Words all = b.get<std::uint32_t>({cache}, s.cache(cache).bytes() / 4);
          for (std::size_t row = 0; row < order.size(); ++row) {
            for (std::uint32_t head = 0; head < s.kv_heads; ++head)
              append_position(s.cache(cache), all, head, first_position + order[row], rows[row]);
          }
        }
        return rows;
      },
      true);
}

/// Queries of all items, whose keys and values are in the caches.
struct AttentionRows {
  AttentionShapeRows work;
  std::vector<float> q;
};

AttentionRows make_rows(Bench& bench, const AttentionShape& shape, std::uint32_t window, std::vector<std::uint32_t> parents) {
  AttentionRows rows{{shape, first_position, invariance_items, {}, std::move(parents), window}, {}};
  AttentionData(rows.work, "invariance attention").put(bench, STEP_VERIFY_ROWS);
  Random random("invariance attention queries");
  rows.q = random.floats(std::size_t{invariance_items} * shape.heads * shape.head_dim, -6.0f, 6.0f);
  return rows;
}

std::vector<Words> attend(Bench& bench, const AttentionRows& all, std::uint32_t base, const std::vector<std::uint32_t>& order,
                          kernels::Keys keys) {
  const AttentionShape& s = all.work.shape;
  const std::uint32_t rows = static_cast<std::uint32_t>(order.size()), bucket = bucket_of(order), width = s.heads * s.head_dim;
  bench.put({ResourceKind::q_rotated}, gather(all.q, width, order));
  bench.reserve({ResourceKind::attention_partial}, s.partial_bytes(bucket) / 4);
  bench.reserve({ResourceKind::attended}, std::size_t{bucket} * padded(width));
  bench.set_rows(base, rows);
  bench.state().attention_groups = {(base + rows - 1) / s.chunk + 1,
                                    s.heads / bench.select().attention(s.group(), s.head_dim, s.chunk, bucket).heads, rows};
  bench.run(kernels::attention(bench.select(), s, all.work.layer(), bucket, "attention", keys));
  return read_rows(bench, {ResourceKind::attended}, order.size(), width, padded(width));
}

std::string check_attention(Bench& bench, Depth depth, const AttentionShape& shape, std::uint32_t window) {
  const AttentionRows rows = make_rows(bench, shape, window, {});
  return compare_rows(
      bench, depth,
      [&](Bench& b, const std::vector<std::uint32_t>& order) {
        return attend(b, rows, first_position + order.front(), order, kernels::Keys::text);
      },
      true);
}

// A row of a tree gets the same result as alone after its ancestors, which then follow one after the other.
std::string check_tree(Bench& bench, Depth depth, const AttentionShape& shape, std::uint32_t window) {
  const AttentionRows rows = make_rows(bench, shape, window, branching(invariance_items));
  const ResourceKind caches[] = {ResourceKind::k_cache, ResourceKind::v_cache};
  std::vector<Words> alone, tree;
  for (const ResourceKind cache : caches) tree.push_back(bench.get<std::uint32_t>({cache}, shape.cache(cache).bytes() / 4));
  for (std::uint32_t row = 0; row < invariance_items; ++row) {
    const std::vector<std::uint32_t> path = path_to(rows.work.parents, row);
    for (std::size_t i = 0; i < tree.size(); ++i) {
      Words chain = tree[i];
      for (std::uint32_t at = 0; at < path.size(); ++at)
        copy_position(shape.cache(caches[i]), tree[i], first_position + path[at], chain, first_position + at);
      bench.put({caches[i]}, chain);
    }
    const auto base = first_position + static_cast<std::uint32_t>(path.size()) - 1;
    alone.push_back(attend(bench, rows, base, {row}, kernels::Keys::text).front());
  }
  for (std::size_t i = 0; i < tree.size(); ++i) bench.put({caches[i]}, tree[i]);
  for (const std::uint32_t count : row_counts(depth, invariance_items)) {
    std::vector<std::uint32_t> order(count);
    std::iota(order.begin(), order.end(), 0u);
    const std::vector<Words> together = attend(bench, rows, first_position, order, kernels::Keys::tree);
    for (std::uint32_t row = 0; row < count; ++row) {
      const std::string difference = bits_differ(fmt::format("row {} of {}", row, count), together[row], alone[row], "alone");
      if (!difference.empty()) return difference;
    }
  }
  return "";
}

void add(std::vector<Case>& cases, Depth depth, const AttentionShape& s, std::uint32_t window, bool tree) {
  const std::string name =
      fmt::format("invariance attention {} H={}/{} D={}{}{}{}", to_string(s.kv_format), s.heads, s.kv_heads, s.head_dim,
                  window > 0 ? fmt::format(" layer-window={}", window) : "", s.softcap > 0.0f ? " softcap" : "", tree ? " tree" : "");
  cases.push_back({"attention", name,
                   [=](Bench& bench) { return tree ? check_tree(bench, depth, s, window) : check_attention(bench, depth, s, window); }});
}

}  // namespace

std::vector<Case> position_invariance_cases(const Scope& scope) {
  const Depth depth = scope.depth;
  std::vector<Case> cases;
  const auto rope = [&](std::uint32_t head_dim, const KvFormats& format, bool local) {
    cases.push_back({"rope_store", fmt::format("invariance rope_store {}{}", to_string(format), local ? " K local" : ""),
                     [=](Bench& bench) { return check_rope_store(bench, depth, head_dim, format, local); }});
  };
  rope(16, KvFormat::f16, false);
  rope(16, KvFormat::f16, true);
  rope(96, KvFormat::q8_0, false);
  rope(96, {KvFormat::q5_1, KvFormat::q4_0}, false);
  AttentionShape s{.heads = 8, .kv_heads = 2, .head_dim = 64, .rope_dim = 64, .context = 96, .kv_format = KvFormat::f16};
  AttentionShape capped = s;
  capped.softcap = 2.5f;
  add(cases, depth, s, 0, false);
  add(cases, depth, capped, 23, false);
  add(cases, depth, capped, 23, true);
  s.kv_format = KvFormat::q8_0;
  add(cases, depth, s, 0, false);
  s.kv_format = {KvFormat::q5_1, KvFormat::q4_0};
  add(cases, depth, s, 0, false);
  if (depth == Depth::quick) return cases;
  for (const KvFormats& formats : {KvFormats{KvFormat::q4_0, KvFormat::q5_1}, KvFormats{KvFormat::q8_0}}) {
    s.kv_format = formats;
    add(cases, depth, s, 0, true);
  }
  for (const std::uint32_t window : {1u, 8u, 60u}) {
    add(cases, depth, s, window, false);
    add(cases, depth, s, window, true);
  }
  capped.head_dim = capped.rope_dim = 256;
  add(cases, depth, capped, 33, false);
  s.kv_format = KvFormat::f32;
  s.kv_heads = 8;
  add(cases, depth, s, 0, false);
  return cases;
}

}  // namespace skipstone::selftest
