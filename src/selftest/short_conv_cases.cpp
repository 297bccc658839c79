#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "selftest/cases.h"
#include "selftest/compare.h"
#include "selftest/data.h"
#include "selftest/rows.h"

namespace skipstone::selftest {
namespace {

using kernels::padded;
using kernels::ResourceKind;

constexpr std::uint32_t slots = 192;  // three pages
constexpr kernels::Resource records_of_layer{ResourceKind::records, 1};

struct Shape {
  std::uint32_t channels = 0, kernel = 0;
  std::uint32_t base = 0, rows = 0;
  std::vector<std::uint32_t> parents = {};  ///< empty: rows follow each other
  std::uint32_t computed = 0;               ///< rows of the tree or chain that an earlier pass computed; their records are in the cache

  kernels::ShortConv conv() const { return {.records = {.layer = 1, .width = channels}, .kernel = kernel, .taps = 2}; }
};

/// B, C, x of the rows of a text or tree, the taps, and records of the positions before the rows.
struct Data {
  std::vector<float> b, c, x, taps, earlier;

  Data(const Shape& s, std::uint32_t rows) {
    Random random(fmt::format("short_conv {} {} {}", s.channels, s.kernel, s.base));
    const std::size_t all = std::size_t{rows} * s.channels;
    b = random.floats(all, -3.0f, 3.0f);
    c = random.floats(all, -3.0f, 3.0f);
    x = random.floats(all, -3.0f, 3.0f);
    taps = random.floats(std::size_t{s.channels} * s.kernel, -2.0f, 2.0f);
    earlier = random.floats(std::size_t{s.base} * s.channels, -9.0f, 9.0f);
  }
  float record(const Shape& s, std::uint32_t row, std::uint32_t channel) const {
    const std::size_t at = std::size_t{row} * s.channels + channel;
    return b[at] * x[at];
  }
};

/// The cache before the pass: records up to `base` + `computed`, and NaN, which must not spread, after them.
std::vector<float> cache_of(const Shape& s, const Data& data) {
  std::vector<float> cache(std::size_t{slots} * s.channels, std::nanf(""));
  std::ranges::copy(data.earlier, cache.begin());
  for (std::uint32_t row = 0; row < s.computed; ++row) {
    for (std::uint32_t channel = 0; channel < s.channels; ++channel)
      cache[std::size_t{s.base + row} * s.channels + channel] = data.record(s, row, channel);
  }
  return cache;
}

/// Runs the rows from `computed` on; all are in `data`.
void run_pass(Bench& bench, const Shape& s, const Data& data, const std::vector<float>& cache) {
  std::vector<std::uint32_t> order(s.rows);
  std::iota(order.begin(), order.end(), s.computed);
  const std::uint32_t bucket = kernels::bucket_for(s.rows);
  bench.put({ResourceKind::qkv}, gather(joined_rows(data.b.size() / s.channels, {&data.b, &data.c, &data.x}), 3 * s.channels, order));
  bench.put({ResourceKind::weight, 2}, data.taps);
  bench.put(records_of_layer, cache);
  bench.reserve({ResourceKind::recurrent}, std::size_t{bucket} * padded(s.channels));
  bench.set_rows(s.base, s.rows);
  bench.state().first_rows[0] = 0u - s.computed;
  if (!s.parents.empty()) {
    put_tree(bench, s.parents);
    for (std::size_t row = 0; row < s.rows; ++row) {
      bench.state().depths[row] = bench.state().depths[row + s.computed];
      std::copy_n(&bench.state().paths[(row + s.computed) * STEP_PATH_WORDS], STEP_PATH_WORDS, &bench.state().paths[row * STEP_PATH_WORDS]);
    }
  }
  bench.run(kernels::short_conv(bench.select(), s.conv(), bucket, "short_conv", !s.parents.empty()));
  bench.state().first_rows[0] = 0;
}

std::string check(Bench& bench, const Shape& s) {
  const Data data(s, s.computed + s.rows);
  std::vector<float> cache = cache_of(s, data);
  run_pass(bench, s, data, cache);
  const auto words = bench.get<std::uint32_t>({ResourceKind::recurrent}, std::size_t{kernels::bucket_for(s.rows)} * padded(s.channels));
  const auto got = bench.get<float>({ResourceKind::recurrent}, words.size());
  for (std::uint32_t row = 0; row < s.rows; ++row) {
    const std::vector<std::uint32_t> path = path_to(s.parents, s.computed + row);
    const auto position = s.base + static_cast<std::uint32_t>(path.size()) - 1;
    std::vector<float> wanted(s.channels);
    std::vector<double> tolerance(s.channels);
    for (std::uint32_t channel = 0; channel < s.channels; ++channel) {
      double sum = 0.0, size = 0.0;
      for (std::uint32_t tap = 0; tap < s.kernel; ++tap) {
        const std::uint32_t back = s.kernel - 1 - tap;
        if (back > position) continue;
        const std::uint32_t at = position - back;
        const float record =
            at < s.base ? data.earlier[std::size_t{at} * s.channels + channel] : data.record(s, path[at - s.base], channel);
        const double product = static_cast<double>(data.taps[std::size_t{channel} * s.kernel + tap]) * static_cast<double>(record);
        sum += product;
        size += std::abs(product);
      }
      const auto gate = static_cast<double>(data.c[std::size_t{s.computed + row} * s.channels + channel]);
      wanted[channel] = static_cast<float>(gate * sum);
      tolerance[channel] = (s.kernel + 2) * epsilon * std::abs(gate) * size + smallest;
    }
    if (std::string difference = row_differs(got, words, s.channels, row, wanted, tolerance); !difference.empty()) return difference;
    for (std::uint32_t channel = 0; channel < s.channels; ++channel)
      cache[std::size_t{s.base + s.computed + row} * s.channels + channel] = data.record(s, s.computed + row, channel);
  }
  std::string difference = bits_differ("records", bench.get<float>(records_of_layer, cache.size()), cache, "wanted");
  if (difference.empty()) {
    difference = touched("outputs of padding rows", std::span(words).subspan(std::size_t{s.rows} * padded(s.channels)));
  }
  return difference;
}

/// The outputs of the rows of a pass.
std::vector<Words> outputs(const Bench& bench, const Shape& s) {
  return read_rows(bench, {ResourceKind::recurrent}, s.rows, s.channels, padded(s.channels));
}

/// Every row of a pass over a chain, or a tree, has the bits of a pass over it alone, after its ancestors.
std::string check_invariance(Bench& bench, Depth depth, const Shape& shape) {
  const Data data(shape, invariance_items);
  std::vector<Words> wanted;
  for (std::uint32_t row = 0; row < invariance_items; ++row) {
    const std::vector<std::uint32_t> path = path_to(shape.parents, row);
    Shape chain = shape;
    chain.parents.clear();
    Data own(chain, 1);
    own.taps = data.taps;
    own.earlier = data.earlier;
    for (std::vector<float>* part : {&own.b, &own.c, &own.x}) part->clear();
    for (const std::uint32_t at : path) {
      const auto append = [&](std::vector<float>& to, const std::vector<float>& from) {
        to.insert(to.end(), from.begin() + std::ptrdiff_t{at} * shape.channels, from.begin() + std::ptrdiff_t{at + 1} * shape.channels);
      };
      append(own.b, data.b);
      append(own.c, data.c);
      append(own.x, data.x);
    }
    chain.computed = static_cast<std::uint32_t>(path.size()) - 1;
    chain.rows = 1;
    run_pass(bench, chain, own, cache_of(chain, own));
    wanted.push_back(outputs(bench, chain).front());
  }
  for (const std::uint32_t count : row_counts(depth, invariance_items)) {
    for (const std::uint32_t computed : {0u, 1u, count / 2}) {
      if (computed >= count) continue;
      Shape together = shape;
      together.computed = computed;
      together.rows = count - computed;
      run_pass(bench, together, data, cache_of(together, data));
      const std::vector<Words> got = outputs(bench, together);
      for (std::uint32_t row = 0; row < together.rows; ++row) {
        std::string difference =
            bits_differ(fmt::format("row {} of {} after {}", row, together.rows, computed), got[row], wanted[computed + row], "alone");
        if (!difference.empty()) return difference;
      }
    }
  }
  return "";
}

/// Rows of several sequences in one pass, one of which has rows of the tree in the cache, have the bits of a pass of their own.
std::string check_sequences(Bench& bench, const Shape& shape) {
  struct Part {
    std::uint32_t base, computed, rows, page;
  };
  const std::vector<Part> parts{{shape.base, 0, 3, 0}, {0, 0, 2, 2}, {5, 2, 2, 1}};
  std::vector<Words> wanted;
  std::vector<float> all_b, all_c, all_x, cache(std::size_t{slots} * shape.channels, std::nanf(""));
  std::vector<float> taps;
  std::uint32_t rows = 0;
  abi::StepState together = bench.state();
  for (std::uint32_t i = 0; i < parts.size(); ++i) {
    const Part& part = parts[i];
    Shape own = shape;
    own.base = part.base;
    own.computed = part.computed;
    own.rows = part.rows;
    Data data(own, part.computed + part.rows);
    if (i == 0) taps = data.taps;
    data.taps = taps;
    const std::vector<float> own_cache = cache_of(own, data);
    run_pass(bench, own, data, own_cache);
    std::ranges::move(outputs(bench, own), std::back_inserter(wanted));
    const std::ptrdiff_t used = std::ptrdiff_t{part.base + part.computed} * shape.channels;
    std::copy(own_cache.begin(), own_cache.begin() + used, cache.begin() + std::ptrdiff_t{part.page} * KV_PAGE * shape.channels);
    const auto append = [&](std::vector<float>& to, const std::vector<float>& from) {
      to.insert(to.end(), from.begin() + std::ptrdiff_t{part.computed} * shape.channels, from.end());
    };
    append(all_b, data.b);
    append(all_c, data.c);
    append(all_x, data.x);
    together.bases[i] = part.base;
    together.first_rows[i] = rows - part.computed;
    together.tables[i] = part.page;  // pages are in order, so a table that begins at an entry is the text of the pages from there on
    std::fill_n(together.sequences.begin() + rows, part.rows, i);
    rows += part.rows;
  }
  together.rows = rows;
  const std::uint32_t bucket = kernels::bucket_for(rows);
  std::vector<std::uint32_t> order(rows);
  std::iota(order.begin(), order.end(), 0u);
  bench.put({ResourceKind::qkv}, gather(joined_rows(rows, {&all_b, &all_c, &all_x}), 3 * shape.channels, order));
  bench.put({ResourceKind::weight, 2}, taps);
  bench.put(records_of_layer, cache);
  bench.reserve({ResourceKind::recurrent}, std::size_t{bucket} * padded(shape.channels));
  const abi::StepState before = bench.state();
  bench.state() = together;
  bench.run(kernels::short_conv(bench.select(), shape.conv(), bucket, "short_conv"));
  bench.state() = before;
  const std::vector<Words> got = read_rows(bench, {ResourceKind::recurrent}, rows, shape.channels, padded(shape.channels));
  for (std::uint32_t row = 0; row < rows; ++row) {
    std::string difference = bits_differ(fmt::format("row {} of three sequences", row), got[row], wanted[row], "alone");
    if (!difference.empty()) return difference;
  }
  return "";
}

// Words are moved, so nothing but the same bits will do; and nothing else may change.
std::string check_move(Bench& bench, std::uint32_t width, std::uint32_t base, const std::vector<std::uint32_t>& path) {
  Random random(fmt::format("move_records {} {}", width, base));
  std::vector<std::uint32_t> words(std::size_t{slots} * width);
  for (std::uint32_t& word : words) word = random.below(1u << 30);
  bench.put(records_of_layer, words);
  bench.set_rows(base, static_cast<std::uint32_t>(path.size()));
  std::ranges::copy(path, bench.state().depths.begin());
  bench.run(kernels::move_records(bench.select(), {.layer = 1, .width = width}, "move_records"));
  std::vector<std::uint32_t> wanted = words;
  for (std::size_t i = 0; i < path.size(); ++i)
    std::copy_n(&words[std::size_t{base + path[i]} * width], width, &wanted[(base + i) * width]);
  return bits_differ("records", bench.get<std::uint32_t>(records_of_layer, words.size()), wanted, "wanted");
}

}  // namespace

std::vector<Case> short_conv_cases(const Scope& scope) {
  std::vector<Case> cases;
  const auto name = [](const Shape& s) {
    return fmt::format("C={} K={} base={}{}", s.channels, s.kernel, s.base, s.parents.empty() ? "" : " tree");
  };
  const auto add = [&](const Shape& s) {
    cases.push_back({"short_conv", fmt::format("short_conv {} rows={} computed={}", name(s), s.rows, s.computed),
                     [s](Bench& bench) { return check(bench, s); }});
  };
  const auto invariance = [&](const Shape& s) {
    cases.push_back({"short_conv", fmt::format("invariance short_conv {}", name(s)),
                     [s, depth = scope.depth](Bench& bench) { return check_invariance(bench, depth, s); }});
  };
  const auto move = [&](std::uint32_t width, std::uint32_t base, const std::vector<std::uint32_t>& path) {
    cases.push_back({"move_kv", fmt::format("move_kv records W={} at {}, {} rows", width, base, path.size()),
                     [=](Bench& bench) { return check_move(bench, width, base, path); }});
  };
  add({.channels = 72, .kernel = 3, .base = 62, .rows = 5});
  add({.channels = 40, .kernel = 4, .base = 60, .rows = 9, .parents = branching(16), .computed = 3});
  invariance({.channels = 40, .kernel = 3, .base = 57});
  invariance({.channels = 40, .kernel = 3, .base = 57, .parents = branching(invariance_items)});
  cases.push_back({"short_conv", "invariance short_conv sequences",
                   [](Bench& bench) { return check_sequences(bench, {.channels = 40, .kernel = 3, .base = 57}); }});
  move(72, 62, {0, 2, 3, 7, 31});
  if (scope.depth == Depth::quick) return cases;
  add({.channels = 1, .kernel = 2, .base = 0, .rows = 1});
  add({.channels = 301, .kernel = 3, .base = 0, .rows = 7});
  add({.channels = 33, .kernel = 16, .base = 3, .rows = 32});
  add({.channels = 64, .kernel = 3, .base = 1, .rows = 150});
  add({.channels = 64, .kernel = 5, .base = 1, .rows = 32, .parents = branching(32)});
  invariance({.channels = 33, .kernel = 6, .base = 1});
  invariance({.channels = 33, .kernel = 6, .base = 1, .parents = branching(invariance_items)});
  move(33, 0, {0, 3});
  return cases;
}

}  // namespace skipstone::selftest
