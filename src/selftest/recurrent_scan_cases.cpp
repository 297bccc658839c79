#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ref/operations.h"
#include "ref/recurrent.h"
#include "selftest/cases.h"
#include "selftest/compare.h"
#include "selftest/data.h"
#include "selftest/rows.h"

namespace skipstone::selftest {
namespace {

using kernels::padded;
using kernels::ResourceKind;
using kernels::ScanExtent;

constexpr std::uint32_t slots = 192;  // positions of records: three pages
constexpr std::uint32_t scans = 200;  // of the page table's entries those of the sequences' slots
constexpr std::uint32_t source = 2, target = 1, all_slots = 3;
constexpr kernels::Resource records_of_layer{ResourceKind::records, 1}, states_of_layer{ResourceKind::states, 1};

/// Sizes of a layer. Its rows are gates, then a record: q, k, v of the delta rule, v, k, q of Mamba-2, then the numbers of its heads.
struct Layer {
  bool delta = true;
  std::uint32_t heads = 0, key_heads = 0, key_dim = 0, value_dim = 0, kernel = 0;
  bool tiled = true;

  std::uint32_t width() const { return heads * value_dim; }
  std::uint32_t channels() const { return 2 * key_heads * key_dim + width(); }
  std::uint32_t record() const { return channels() + (delta ? 2 : 1) * heads; }
  std::uint32_t slot() const { return kernels::state_floats(heads, key_dim, value_dim); }
  std::uint32_t key_head(std::uint32_t head) const { return tiled ? head % key_heads : head / (heads / key_heads); }
  kernels::RecurrentScan scan() const {
    const std::uint32_t keys = key_heads * key_dim;
    kernels::RecurrentScan s{.records = {.layer = 1, .width = record()},
                             .delta = delta,
                             .heads = heads,
                             .key_heads = key_heads,
                             .key_dim = key_dim,
                             .value_dim = value_dim,
                             .tiled_heads = tiled,
                             .kernel = kernel,
                             .input = width() + record(),
                             .record_first = width(),
                             .q = delta ? 0 : width() + keys,
                             .k = delta ? keys : width(),
                             .v = delta ? 2 * keys : 0,
                             .rates = channels(),
                             .taps = 2,
                             .dt_bias = 3,
                             .decay_rate = 4,
                             .scans = scans};
    if (!delta) s.taps_bias = 5, s.skip = 6;
    return s;
  }
  std::string text() const {
    return fmt::format("{} H={}/{} {}x{} K={}{}", delta ? "delta" : "mamba", heads, key_heads, key_dim, value_dim, kernel,
                       tiled ? "" : " neighbours");
  }
};

/// Records of a text, and what the layer's vectors hold.
struct Data {
  std::vector<float> records, gates, state, taps, taps_bias, dt_bias, decay_rate, skip;

  Data(const Layer& l, std::uint32_t positions, bool zero) {
    Random random(l.text());
    taps = random.floats(std::size_t{l.channels()} * l.kernel, -0.6f, 0.6f);
    taps_bias = random.floats(l.channels(), -0.5f, 0.5f);
    dt_bias = random.floats(l.heads, -2.0f, 1.0f);
    decay_rate = random.floats(l.heads, -2.0f, -0.01f);
    skip = random.floats(l.heads, -1.0f, 1.0f);
    state = random.floats(l.slot(), -1.0f, 1.0f);
    if (zero) std::ranges::fill(state, 0.0f);
    records = random.floats(std::size_t{positions} * l.record(), -3.0f, 3.0f);
    gates = random.floats(std::size_t{positions} * l.width(), -3.0f, 3.0f);
  }
};

/// The reference: states of the heads as the device lays them out.
class Oracle {
 public:
  Oracle(const Layer& layer, const Data& data) : layer_(layer), data_(data), state_(data.state) {}

  /// Advances by the record `path.back()`; `path`: the records of the text up to it. Gives the row of outputs.
  std::vector<float> step(std::span<const std::uint32_t> path) {
    const Layer& l = layer_;
    const kernels::RecurrentScan scan = l.scan();
    std::vector<float> channels(l.channels()), out(l.width());
    const auto record = [&](std::uint32_t position) {
      return std::span(data_.records).subspan(std::size_t{path[position]} * l.record(), l.record());
    };
    const auto position = static_cast<std::uint32_t>(path.size()) - 1;
    ref::causal_convolution(data_.taps, l.delta ? std::span<const float>{} : std::span<const float>(data_.taps_bias), position, record,
                            channels);
    for (float& c : channels) c = static_cast<float>(ref::silu(static_cast<double>(c)));
    if (l.delta) {
      for (std::uint32_t h = 0; h < 2 * l.key_heads; ++h) {
        ref::l2_normalise(std::span(channels).subspan(std::size_t{h} * l.key_dim, l.key_dim),
                          h < l.key_heads ? 1.0 / std::sqrt(static_cast<double>(l.key_dim)) : 1.0);
      }
    }
    const std::span<const float> own = record(position);
    for (std::uint32_t h = 0; h < l.heads; ++h) {
      const auto part = [&](std::uint32_t first) {
        return std::span<const float>(channels).subspan(first + l.key_head(h) * l.key_dim, l.key_dim);
      };
      const double dt =
          ref::softplus(static_cast<double>(own[scan.rates + (l.delta ? l.heads : 0) + h]) + static_cast<double>(data_.dt_bias[h]));
      const double decay = std::exp(static_cast<double>(data_.decay_rate[h]) * dt);
      const std::span<const float> value = std::span<const float>(channels).subspan(scan.v + h * l.value_dim, l.value_dim);
      const std::span<float> result = std::span(out).subspan(std::size_t{h} * l.value_dim, l.value_dim);
      std::vector<float> s(std::size_t{l.key_dim} * l.value_dim);
      for (std::uint32_t i = 0; i < l.key_dim; ++i) {
        for (std::uint32_t j = 0; j < l.value_dim; ++j)
          s[l.delta ? std::size_t{i} * l.value_dim + j : std::size_t{j} * l.key_dim + i] = state_[place(h, i, j)];
      }
      if (l.delta) {
        ref::delta_step(s, {part(scan.q), part(scan.k), value, decay, ref::sigmoid(static_cast<double>(own[scan.rates + h]))}, result);
      } else {
        ref::mamba_step(s, {value, part(scan.k), part(scan.q), decay, dt, static_cast<double>(data_.skip[h])}, result);
      }
      for (std::uint32_t i = 0; i < l.key_dim; ++i) {
        for (std::uint32_t j = 0; j < l.value_dim; ++j)
          state_[place(h, i, j)] = s[l.delta ? std::size_t{i} * l.value_dim + j : std::size_t{j} * l.key_dim + i];
      }
    }
    return out;
  }
  const std::vector<float>& state() const { return state_; }

 private:
  std::size_t place(std::uint32_t head, std::uint32_t i, std::uint32_t j) const {
    return ((std::size_t{head} * layer_.key_dim / 4 + i / 4) * layer_.value_dim + j) * 4 + i % 4;
  }
  const Layer& layer_;
  const Data& data_;
  std::vector<float> state_;
};

/// A pass over a text whose record at position i is that of Data at `text[i]`.
struct Pass {
  std::uint32_t from = 0, base = 0, computed = 0, rows = 0;  ///< from: the position of the state that is read
  ScanExtent extent = ScanExtent::rows;
  std::vector<std::uint32_t> parents = {};
  bool zero = false;  ///< the state that is read is of zeros
  std::uint32_t end() const { return base + computed + rows; }
};

/// Runs it; positions are places in the cache, in trees as well.
void run_pass(Bench& bench, const Layer& l, const Data& data, const Pass& pass, std::span<const std::uint32_t> text) {
  const std::uint32_t bucket = kernels::bucket_for(pass.rows);
  std::vector<float> cache(std::size_t{slots} * l.record(), std::nanf("")), records, gates;
  for (std::uint32_t at = 0; at < pass.end(); ++at) {
    const auto record = data.records.begin() + std::ptrdiff_t{text[at]} * l.record();
    const auto gate = data.gates.begin() + std::ptrdiff_t{text[at]} * l.width();
    if (at >= pass.base + pass.computed) {
      records.insert(records.end(), record, record + l.record());
      gates.insert(gates.end(), gate, gate + l.width());
    } else {
      std::copy_n(record, l.record(), cache.begin() + std::ptrdiff_t{at} * l.record());
    }
  }
  std::vector<std::uint32_t> order(pass.rows);
  std::iota(order.begin(), order.end(), 0u);
  bench.put({ResourceKind::qkv}, gather(joined_rows(pass.rows, {&gates, &records}), l.width() + l.record(), order));
  bench.put(records_of_layer, cache);
  std::vector<float> states(std::size_t{all_slots} * l.slot(), std::nanf(""));
  std::ranges::copy(data.state, states.begin() + std::ptrdiff_t{source} * l.slot());
  bench.put(states_of_layer, states);
  const std::vector<float>* const vectors[] = {&data.taps, &data.dt_bias, &data.decay_rate, &data.taps_bias, &data.skip};
  for (std::uint32_t i = 0; i < std::size(vectors); ++i) bench.put({ResourceKind::weight, 2 + i}, *vectors[i]);
  bench.reserve({ResourceKind::recurrent}, std::size_t{bucket} * padded(l.width()));
  bench.set_rows(pass.base, pass.rows);
  abi::StepState& state = bench.state();
  state.first_rows[0] = 0u - pass.computed;
  if (!pass.parents.empty()) {
    put_tree(bench, pass.parents);
    for (std::size_t row = 0; row < pass.rows; ++row) {
      state.depths[row] = state.depths[row + pass.computed];
      std::copy_n(&state.paths[(row + pass.computed) * STEP_PATH_WORDS], STEP_PATH_WORDS, &state.paths[row * STEP_PATH_WORDS]);
    }
  }
  std::fill(state.sequences.begin() + pass.rows, state.sequences.end(), 0u);
  auto* entries = reinterpret_cast<std::uint32_t*>(&state + 1) + scans;
  entries[SCAN_SOURCE] = pass.zero ? SCAN_NONE : source;
  entries[SCAN_POSITION] = pass.from;
  entries[SCAN_TARGET] = target;
  bench.run(kernels::recurrent_scan(bench.select(), l.scan(), pass.extent, bucket, "recurrent_scan", !pass.parents.empty()));
  state.first_rows[0] = 0;
}

std::vector<Words> outputs(const Bench& bench, const Layer& l, const Pass& pass) {
  return read_rows(bench, {ResourceKind::recurrent}, pass.rows, l.width(), padded(l.width()));
}

Words state_of(const Bench& bench, const Layer& l) {
  const Words all = bench.get<std::uint32_t>(states_of_layer, std::size_t{all_slots} * l.slot());
  const auto first = all.begin() + std::ptrdiff_t{target} * l.slot();
  return {first, first + std::ptrdiff_t{l.heads} * l.key_dim * l.value_dim};
}

std::vector<std::uint32_t> straight(std::uint32_t count) {
  std::vector<std::uint32_t> text(count);
  std::iota(text.begin(), text.end(), 0u);
  return text;
}

/// The records on the path of row `row` of the pass, from the text's begin on.
std::vector<std::uint32_t> records_to(const Pass& pass, std::uint32_t row) {
  std::vector<std::uint32_t> path = straight(pass.base);
  for (const std::uint32_t at : path_to(pass.parents, row)) path.push_back(pass.base + at);
  return path;
}

std::vector<double> tolerances(std::span<const float> wanted) {
  float largest = 0.0f;
  for (const float w : wanted) largest = std::max(largest, std::abs(w));
  return std::vector<double>(wanted.size(), 3e-5 * static_cast<double>(largest) + smallest);
}

std::string check(Bench& bench, const Layer& l, const Pass& pass) {
  const Data data(l, pass.end(), pass.zero);
  run_pass(bench, l, data, pass, straight(pass.end()));
  const auto words = bench.get<std::uint32_t>({ResourceKind::recurrent}, std::size_t{kernels::bucket_for(pass.rows)} * padded(l.width()));
  const auto got = bench.get<float>({ResourceKind::recurrent}, words.size());
  std::vector<float> written;
  for (std::uint32_t row = 0; row < pass.rows; ++row) {
    const std::vector<std::uint32_t> path = records_to(pass, pass.computed + row);
    Oracle oracle(l, data);
    std::vector<float> wanted;
    for (std::size_t at = pass.from; at < path.size(); ++at) {
      if (at == pass.base) written = oracle.state();
      wanted = oracle.step(std::span(path).first(at + 1));
    }
    if (pass.extent == ScanExtent::prompt) written = oracle.state();
    if (pass.extent == ScanExtent::advance || pass.extent == ScanExtent::store) continue;
    if (std::string difference = row_differs(got, words, l.width(), row, wanted, tolerances(wanted)); !difference.empty())
      return difference;
  }
  written.resize(std::size_t{l.heads} * l.key_dim * l.value_dim);
  const auto states = bench.get<float>(states_of_layer, std::size_t{all_slots} * l.slot());
  std::string difference =
      differs("the state", std::span(states).subspan(std::size_t{target} * l.slot(), written.size()), written, tolerances(written));
  if (difference.empty()) {
    difference =
        bits_differ("the state that was read", std::span(states).subspan(std::size_t{source} * l.slot(), l.slot()), data.state, "before");
  }
  if (!difference.empty() || pass.extent == ScanExtent::advance) return difference;
  return bits_differ("records",
                     std::span<const float>(bench.get<float>(records_of_layer, data.records.size()))
                         .subspan(std::size_t{pass.base + pass.computed} * l.record()),
                     std::span(data.records).subspan(std::size_t{pass.base + pass.computed} * l.record()), "wanted");
}

/// Rows of passes of any length, of trees, and rows whose ancestors are replayed have the bits of a pass that is run for them alone, and so
/// have the states.
std::string check_invariance(Bench& bench, Depth depth, const Layer& l, std::vector<std::uint32_t> parents) {
  constexpr std::uint32_t base = 61;
  const Pass all{.from = base - 2, .base = base, .rows = invariance_items, .parents = std::move(parents)};
  const Data data(l, base + invariance_items, false);
  std::vector<Words> wanted;
  Words state;
  for (std::uint32_t row = 0; row < invariance_items; ++row) {
    const std::vector<std::uint32_t> path = records_to(all, row);
    // Replayed up to the row itself.
    const Pass alone{.from = all.from, .base = static_cast<std::uint32_t>(path.size()) - 1, .rows = 1};
    run_pass(bench, l, data, alone, path);
    wanted.push_back(outputs(bench, l, alone).front());
    if (row == 0) state = state_of(bench, l);
  }
  for (const std::uint32_t count : row_counts(depth, invariance_items)) {
    for (const std::uint32_t computed : {0u, count / 2}) {
      Pass together = all;
      together.computed = computed;
      together.rows = count - computed;
      if (together.rows == 0 || (computed > 0 && depth == Depth::full && count % 5 != 0)) continue;
      run_pass(bench, l, data, together, straight(together.end()));
      const std::vector<Words> got = outputs(bench, l, together);
      for (std::uint32_t row = 0; row < together.rows; ++row) {
        std::string difference =
            bits_differ(fmt::format("row {} of {} after {}", row, together.rows, computed), got[row], wanted[computed + row], "alone");
        if (!difference.empty()) return difference;
      }
      std::string difference = bits_differ("the state", state_of(bench, l), state, "after a pass of one row");
      if (!difference.empty()) return difference;
    }
  }
  return "";
}

std::string check_norm(Bench& bench, bool gate_first, std::uint32_t part, std::uint32_t parts, std::uint32_t rows) {
  const std::uint32_t width = part * parts, input = width + 24, bucket = kernels::bucket_for(rows);
  Random random(fmt::format("gated_norm {} {}", part, rows));
  const std::vector<float> x = random.floats(std::size_t{bucket} * width, -4.0f, 4.0f),
                           in = random.floats(std::size_t{bucket} * input, -4.0f, 4.0f),
                           weight = random.floats(gate_first ? width : part, -2.0f, 2.0f);
  bench.put({ResourceKind::recurrent}, strided(x, width));
  bench.put({ResourceKind::qkv}, strided(in, input));
  bench.put({ResourceKind::weight, 2}, weight);
  constexpr float norm_epsilon = 1e-5f;
  bench.run(kernels::gated_norm(
      bench.select(), {.gate_first = gate_first, .part = part, .width = width, .input = input, .weight = 2, .epsilon = norm_epsilon},
      bucket, "gated_norm"));
  const auto got = bench.get<float>({ResourceKind::recurrent}, std::size_t{bucket} * padded(width));
  for (std::uint32_t row = 0; row < rows; ++row) {
    std::vector<float> wanted(width);
    std::vector<double> tolerance(width);
    for (std::uint32_t p = 0; p < parts; ++p) {
      std::vector<double> values(part), gates(part);
      double squares = 0.0;
      for (std::uint32_t i = 0; i < part; ++i) {
        gates[i] = ref::silu(static_cast<double>(in[std::size_t{row} * input + std::size_t{p} * part + i]));
        values[i] = static_cast<double>(x[std::size_t{row} * width + std::size_t{p} * part + i]) * (gate_first ? gates[i] : 1.0);
        squares += values[i] * values[i];
      }
      const double scale = 1.0 / std::sqrt(squares / part + static_cast<double>(norm_epsilon));
      for (std::uint32_t i = 0; i < part; ++i) {
        const double w = static_cast<double>(weight[gate_first ? p * part + i : i]);
        wanted[p * part + i] = static_cast<float>(values[i] * scale * w * (gate_first ? 1.0 : gates[i]));
        tolerance[p * part + i] = (part + 16) * epsilon * std::abs(static_cast<double>(wanted[p * part + i])) + smallest;
      }
    }
    if (std::string difference = differs("row", row_of(got, width, row), wanted, tolerance); !difference.empty()) return difference;
  }
  return "";
}

}  // namespace

std::vector<Case> recurrent_scan_cases(const Scope& scope) {
  std::vector<Case> cases;
  const auto add = [&](const Layer& l, const Pass& p) {
    const char* extent = p.extent == ScanExtent::prompt    ? " prompt"
                         : p.extent == ScanExtent::advance ? " advance"
                         : p.extent == ScanExtent::store   ? " store"
                                                           : "";
    cases.push_back({"recurrent_scan",
                     fmt::format("recurrent_scan {} from={} base={} rows={} computed={}{}{}", l.text(), p.from, p.base, p.rows, p.computed,
                                 extent, p.parents.empty() ? "" : " tree"),
                     [=](Bench& bench) { return check(bench, l, p); }});
  };
  const auto invariance = [&](const Layer& l, bool tree) {
    cases.push_back({"recurrent_scan", fmt::format("invariance recurrent_scan {}{}", l.text(), tree ? " tree" : ""),
                     [=, depth = scope.depth](Bench& bench) {
                       return check_invariance(bench, depth, l, tree ? branching(invariance_items) : std::vector<std::uint32_t>{});
                     }});
  };
  const auto norm = [&](bool gate_first, std::uint32_t part, std::uint32_t parts, std::uint32_t rows) {
    cases.push_back({"gated_norm", fmt::format("gated_norm {}x{} rows={}{}", parts, part, rows, gate_first ? " gate first" : ""),
                     [=](Bench& bench) { return check_norm(bench, gate_first, part, parts, rows); }});
  };
  const Layer delta{.heads = 4, .key_heads = 2, .key_dim = 16, .value_dim = 40, .kernel = 4};
  const Layer mamba{.delta = false, .heads = 4, .key_heads = 2, .key_dim = 8, .value_dim = 12, .kernel = 4, .tiled = false};
  for (const Layer& l : {delta, mamba}) {
    add(l, {.from = 60, .base = 63, .rows = 5});
    add(l, {.from = 4, .base = 7, .rows = 9, .extent = ScanExtent::prompt});
    add(l, {.from = 58, .base = 62, .computed = 3, .rows = 6, .parents = branching(9)});
    add(l, {.from = 58, .base = 62, .rows = 1, .extent = ScanExtent::advance});
    add(l, {.from = 58, .base = 62, .rows = 3, .extent = ScanExtent::store});
    invariance(l, false);
    invariance(l, true);
  }
  norm(false, 40, 4, 3);
  norm(true, 24, 2, 3);
  if (scope.depth == Depth::quick) return cases;
  add({.heads = 6, .key_heads = 2, .key_dim = 128, .value_dim = 128, .kernel = 4, .tiled = false}, {.from = 5, .base = 9, .rows = 3});
  add({.heads = 6, .key_heads = 2, .key_dim = 128, .value_dim = 128, .kernel = 4},
      {.from = 5, .base = 9, .rows = 3, .parents = branching(3)});
  add({.delta = false, .heads = 3, .key_heads = 1, .key_dim = 128, .value_dim = 64, .kernel = 4, .tiled = false},
      {.from = 5, .base = 9, .rows = 4});
  add({.heads = 1, .key_heads = 1, .key_dim = 4, .value_dim = 1, .kernel = 2}, {.rows = 3, .zero = true});
  add(delta, {.rows = 100, .extent = ScanExtent::prompt, .zero = true});
  add(delta, {.from = 0, .base = 70, .rows = 32, .zero = true});
  invariance({.heads = 2, .key_heads = 2, .key_dim = 64, .value_dim = 33, .kernel = 3}, true);
  norm(false, 128, 3, 17);
  norm(true, 333, 1, 1);
  return cases;
}

}  // namespace skipstone::selftest
