#include <fmt/format.h>

#include "selftest/cases.h"
#include "selftest/data.h"

namespace skipstone::selftest {
namespace {

using kernels::ResourceKind;

/// The expected words of one cache: position base + i of every head gets those of base + path[i], in each plane of words.
std::vector<std::uint32_t> moved(std::vector<std::uint32_t> words, const kernels::KvLayout& layout, std::uint32_t base,
                                 const std::vector<std::uint32_t>& path) {
  const std::size_t head = layout.head_bytes() / 4, codes = layout.code_bytes() / 4, scales = layout.scale_bytes() / 4;
  const std::vector<std::uint32_t> before = words;
  for (std::size_t h = 0; h < layout.kv_heads; ++h) {
    for (std::size_t i = 0; i < path.size(); ++i) {
      const std::size_t to = base + i, from = base + path[i];
      for (std::size_t w = 0; w < codes; ++w) words[h * head + to * codes + w] = before[h * head + from * codes + w];
      const std::size_t plane = h * head + layout.slots * codes;
      for (std::size_t w = 0; w < scales; ++w) words[plane + to * scales + w] = before[plane + from * scales + w];
    }
  }
  return words;
}

// Words are moved, so nothing but the same bits will do; and nothing else may change.
std::string check(Bench& bench, const kernels::AttentionShape& shape, std::uint32_t base, const std::vector<std::uint32_t>& path) {
  Random random(fmt::format("move_kv {} {}", shape.head_dim, base));
  const kernels::Resource k{ResourceKind::k_cache, 0}, v{ResourceKind::v_cache, 0};
  const kernels::KvLayout k_layout = shape.cache(k.kind), v_layout = shape.cache(v.kind);
  std::vector<std::uint32_t> k_words(k_layout.bytes() / 4), v_words(v_layout.bytes() / 4);
  for (std::vector<std::uint32_t>* words : {&k_words, &v_words}) {
    for (std::uint32_t& word : *words) word = random.below(1u << 30);
  }
  bench.put(k, k_words);
  bench.put(v, v_words);
  bench.set_rows(base, static_cast<std::uint32_t>(path.size()));
  std::copy(path.begin(), path.end(), bench.state().depths.begin());
  bench.run(kernels::move_kv(bench.select(), shape, 0, "move_kv"));
  if (bench.get<std::uint32_t>(k, k_words.size()) != moved(k_words, k_layout, base, path)) return "K is not where it has to be";
  if (bench.get<std::uint32_t>(v, v_words.size()) != moved(v_words, v_layout, base, path)) return "V is not where it has to be";
  return "";
}

void add(std::vector<Case>& cases, const KvFormats& format, std::uint32_t head_dim, std::uint32_t base,
         const std::vector<std::uint32_t>& path) {
  kernels::AttentionShape shape;
  shape.heads = shape.kv_heads = 3;
  shape.head_dim = shape.rope_dim = head_dim;
  shape.context = 96;
  shape.kv_format = format;
  cases.push_back({"move_kv", fmt::format("move_kv {} D={} at {}, {} rows", to_string(format), head_dim, base, path.size()),
                   [=](Bench& bench) { return check(bench, shape, base, path); }});
}

}  // namespace

std::vector<Case> move_kv_cases(const Scope& scope) {
  std::vector<Case> cases;
  add(cases, KvFormat::f16, 64, 10, {0, 2, 3, 7, 31});
  if (scope.depth == Depth::quick) return cases;
  add(cases, KvFormat::f32, 80, 0, {0, 3});
  add(cases, KvFormat::q8_0, 96, 33, {0, 1, 4, 5, 6, 20});
  add(cases, KvFormat::q8_0, 32, 64, {0, 31});
  add(cases, KvFormat::q4_0, 96, 33, {0, 1, 4, 5, 6, 20});
  add(cases, {KvFormat::q8_0, KvFormat::q5_1}, 64, 20, {0, 2, 9});
  add(cases, {KvFormat::f16, KvFormat::q4_0}, 32, 20, {0, 2, 9});
  add(cases, {KvFormat::q4_0, KvFormat::f32}, 64, 20, {0, 2, 9});
  return cases;
}

}  // namespace skipstone::selftest
