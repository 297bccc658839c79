// The choice of the largest logit: blocks by themselves, and the merge of made-up blocks by itself.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/abi.h"
#include "ref/operations.h"
#include "selftest/cases.h"
#include "selftest/compare.h"
#include "selftest/data.h"

namespace skipstone::selftest {
namespace {

using kernels::padded;
using kernels::ResourceKind;

constexpr std::uint32_t block_rows = 64;  // about as many as a partial result covers
constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr std::uint32_t no_index = 0xffffffffu;

// Logits with the hard cases: a tie within a block and across blocks, NaN and -inf in all places, a block of NaN alone.
std::vector<float> make_logits(Random& random, std::uint32_t vocabulary, std::uint32_t row) {
  std::vector<float> logits = random.floats(vocabulary, -8.0f, 8.0f);
  const auto scatter = [&](float value, std::uint32_t times) {
    for (std::uint32_t i = 0; i < times; ++i) logits[random.below(vocabulary)] = value;
  };
  switch (row % 5) {
    case 1:
      scatter(8.5f, 4);
      break;
    case 2:
      scatter(-infinity, vocabulary / 3), scatter(nan, vocabulary / 3);
      break;
    case 3:
      std::fill_n(logits.begin(), std::min<std::uint32_t>(vocabulary - 1, block_rows), nan);
      break;
    case 4:
      std::fill(logits.begin(), logits.end(), -2.5f);
      break;
    default:
      break;
  }
  return logits;
}

struct Wanted {
  std::uint32_t index = no_index;
  float largest = -infinity, second = -infinity;
  double sum = 0.0, units = 0.0;  // units: the sum's error bound, in epsilons, from exp's 3 + 2|x|
};

Wanted choose(std::span<const float> logits, std::uint32_t first) {
  Wanted w;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (std::isnan(logits[i])) continue;
    if (w.index == no_index || logits[i] > w.largest) {
      w.second = w.largest;
      w.largest = logits[i];
      w.index = first + static_cast<std::uint32_t>(i);
    } else {
      w.second = std::max(w.second, logits[i]);
    }
  }
  for (const float logit : logits) {
    if (std::isnan(logit) || logit == -infinity) continue;
    const double x = static_cast<double>(logit) - static_cast<double>(w.largest);
    w.sum += std::exp(x);
    w.units += std::exp(x) * (4 - 2 * x);
  }
  return w;
}

// An LM head whose outputs are the logits: they are the first weight of its rows, and x is (1, 0, 0, ...).
struct LmHead {
  std::vector<std::byte> bytes;
  gguf::Tensor tensor;
  explicit LmHead(std::span<const float> logits) {
    std::vector<float> weights(logits.size() * 32, 0.0f);
    for (std::size_t i = 0; i < logits.size(); ++i) weights[i * 32] = logits[i];
    const auto raw = std::as_bytes(std::span(weights));
    bytes.assign(raw.begin(), raw.end());
    tensor.name = "output.weight";
    tensor.dimensions = 2;
    tensor.shape = {32, logits.size(), 1, 1};
    tensor.data = bytes;
  }
};

std::string check_blocks(Bench& bench, std::uint32_t vocabulary, std::uint32_t rows, std::uint32_t kind) {
  Random random(fmt::format("argmax {} {} {}", vocabulary, rows, kind));
  const std::vector<float> logits = make_logits(random, vocabulary, kind);
  const LmHead head(logits);
  const kernels::Selector& select = bench.select();
  const kernels::Matrix placed = place(bench, head.tensor, 1, select.interleave());
  const std::uint32_t bucket = kernels::bucket_for(rows), blocks = kernels::argmax_partials(select, vocabulary, placed.k);
  const kernels::MatvecChoice choice = select.argmax(placed.k, 1);
  const std::uint32_t range = choice.lanes / choice.k_lanes * choice.rows;
  std::vector<float> x(std::size_t{bucket} * 32, 0.0f);
  for (std::size_t row = 0; row < bucket; ++row) x[row * 32] = 1.0f;
  bench.put({ResourceKind::normed}, x);
  bench.reserve({ResourceKind::argmax_partial}, std::size_t{bucket} * blocks * sizeof(abi::ArgmaxPartial) / 4);
  bench.reserve({ResourceKind::result}, bucket * sizeof(abi::RowResult) / 4);
  bench.run(kernels::argmax(select, placed, {ResourceKind::normed}, bucket, {}, "argmax"));

  const auto got = bench.get<abi::ArgmaxPartial>({ResourceKind::argmax_partial}, std::size_t{bucket} * blocks);
  for (std::uint32_t row = 0; row < rows; ++row) {
    for (std::uint32_t block = 0; block < blocks; ++block) {
      const std::uint32_t first = block * range, count = std::min<std::uint32_t>(range, vocabulary - first);
      const Wanted wanted = choose(std::span(logits).subspan(first, count), first);
      const abi::ArgmaxPartial& p = got[std::size_t{row} * blocks + block];
      const std::string where = fmt::format("row {}, block {}", row, block);
      if (p.index != wanted.index) return fmt::format("{}: got index {}, wanted {}", where, p.index, wanted.index);
      std::string difference = differs(where + ", largest", p.largest, static_cast<double>(wanted.largest), 0.0);
      if (difference.empty()) difference = differs(where + ", second", p.second, static_cast<double>(wanted.second), 0.0);
      // Terms are positive: besides exp only the steps and the joins round.
      if (difference.empty())
        difference = differs(where + ", sum", p.sum, wanted.sum, (wanted.units + (range + choice.lanes) * wanted.sum) * epsilon);
      if (!difference.empty()) return difference;
    }
    const Wanted all = choose(logits, 0);
    const abi::RowResult result = bench.get<abi::RowResult>({ResourceKind::result}, bucket)[row];
    if (result.token != all.index) return fmt::format("row {}: got token {}, wanted {}", row, result.token, all.index);
  }
  return "";
}

// The operations of an LM head on its logits: cap * tanh(scale * (logit + bias) / cap).
struct Finish {
  float scale = 1.0f, cap = 30.0f;
  bool bias = false;
};

struct Finished {
  std::vector<float> logits, before;  // before: with the bias alone
  double tolerance = 0.0;             // of any of them
};

Finished finish(const Finish& how, std::vector<float> logits, std::span<const float> bias) {
  Finished all;
  const double scale = static_cast<double>(how.scale), cap = static_cast<double>(how.cap);
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (how.bias) logits[i] += bias[i];
    const double scaled = scale * static_cast<double>(logits[i]);
    all.logits.push_back(static_cast<float>(cap * std::tanh(scaled / cap)));
    // The bias and the scale round, and so do the values stored here. NaN and -inf do not count.
    if (std::isfinite(scaled)) all.tolerance = std::max(all.tolerance, softcap_error(scaled, cap) + 3 * epsilon * std::abs(scaled));
  }
  all.before = std::move(logits);
  return all;
}

// The whole head: the token, its probability and margin. Logits within the tolerance of the largest may win as well, but of those that are
// equal the first.
std::string check_row(const abi::RowResult& got, const Finished& wanted) {
  const ref::Argmax choice = ref::argmax(wanted.logits);
  if (got.token >= wanted.logits.size()) return fmt::format("got token {}, wanted {}", got.token, choice.token);
  const auto equal = std::find(wanted.before.begin(), wanted.before.end(), wanted.before[got.token]) - wanted.before.begin();
  if (static_cast<std::uint32_t>(equal) != got.token) return fmt::format("got token {}, whose logit {} has as well", got.token, equal);
  const auto largest = static_cast<double>(wanted.logits[static_cast<std::size_t>(choice.token)]);
  std::string difference = differs("largest", wanted.logits[got.token], largest, 2 * wanted.tolerance);
  if (difference.empty()) difference = differs("logit", got.logit, largest, 2 * wanted.tolerance);
  if (difference.empty()) difference = differs("margin", got.margin, static_cast<double>(choice.margin), 4 * wanted.tolerance);
  if (!difference.empty()) return fmt::format("token {}, wanted {}: {}", got.token, choice.token, difference);
  // Each term's exponent is off by both logits; exp twice, in its block and in the merge; sums of positive terms.
  const Wanted all = choose(wanted.logits, 0);
  const double relative = 4 * wanted.tolerance + (2 * all.units / all.sum + static_cast<double>(wanted.logits.size()) + 8) * epsilon;
  return differs("probability", got.probability, static_cast<double>(choice.probability),
                 relative * static_cast<double>(choice.probability));
}

std::string check_finished(Bench& bench, std::uint32_t vocabulary, std::uint32_t rows, std::uint32_t kind, const Finish& how) {
  constexpr std::uint32_t bias_tensor = 1;
  Random random(fmt::format("argmax finished {} {} {}", vocabulary, rows, kind));
  const std::vector<float> logits = make_logits(random, vocabulary, kind), bias = random.floats(vocabulary, -2.0f, 2.0f);
  const LmHead head(logits);
  const kernels::Matrix placed = place(bench, head.tensor, 1, bench.select().interleave());
  const std::uint32_t bucket = kernels::bucket_for(rows);
  std::vector<float> x(std::size_t{bucket} * 32, 0.0f);
  for (std::size_t row = 0; row < bucket; ++row) x[row * 32] = 1.0f;
  bench.put({ResourceKind::normed}, x);
  kernels::MatvecFusion fusion;
  fusion.scale = how.scale;
  fusion.softcap = how.cap;
  if (how.bias) {
    bench.put({ResourceKind::weight, bias_tensor}, strided(bias, vocabulary));
    fusion.bias_tensor = bias_tensor;
  }
  const std::uint32_t blocks = kernels::argmax_partials(bench.select(), vocabulary, placed.k);
  bench.reserve({ResourceKind::argmax_partial}, std::size_t{bucket} * blocks * sizeof(abi::ArgmaxPartial) / 4);
  bench.reserve({ResourceKind::result}, bucket * sizeof(abi::RowResult) / 4);
  bench.run(kernels::argmax(bench.select(), placed, {ResourceKind::normed}, bucket, fusion, "argmax"));
  const auto got = bench.get<abi::RowResult>({ResourceKind::result}, bucket);
  const Finished wanted = finish(how, logits, bias);
  for (std::uint32_t row = 0; row < rows; ++row) {
    const std::string difference = check_row(got[row], wanted);
    if (!difference.empty()) return fmt::format("row {}: {}", row, difference);
  }
  return "";
}

// Blocks in any state: the winner twice, blocks without a number (at last none with one), blocks of -inf.
std::vector<abi::ArgmaxPartial> make_partials(Random& random, std::uint32_t blocks, std::uint32_t row) {
  std::vector<abi::ArgmaxPartial> partials(blocks);
  for (std::uint32_t block = 0; block < blocks; ++block) {
    abi::ArgmaxPartial& p = partials[block];
    p.index = block * block_rows + random.below(block_rows);
    p.largest = random.between(0.0f, 10.0f);
    p.second = p.largest - random.between(0.0f, 1.0f);
    p.sum = random.between(1.0f, 20.0f);
    if (row % 5 == 1 && block % 2 == 0) p.largest = 11.0f;
    if (row % 5 == 2 && block % 2 == 0) p = {no_index, -infinity, -infinity, 0.0f};
    if (row % 5 == 3 && block % 3 != 1) p = {block * block_rows + 3, -infinity, -infinity, 0.0f};
    if (row % 5 == 4) p = {no_index, -infinity, -infinity, 0.0f};
  }
  return partials;
}

std::string check_result(const abi::RowResult& got, std::span<const abi::ArgmaxPartial> partials) {
  abi::ArgmaxPartial best{no_index, -infinity, -infinity, 0.0f};
  for (const abi::ArgmaxPartial& p : partials) {
    if (p.index != no_index && (best.index == no_index || p.largest > best.largest)) best = p;
  }
  float second = best.second;
  double sum = 0.0, units = 0.0;
  for (const abi::ArgmaxPartial& p : partials) {
    if (p.index == no_index) continue;
    if (p.index != best.index) second = std::max(second, p.largest);
    if (p.largest == -infinity) continue;
    const double x = static_cast<double>(p.largest) - static_cast<double>(best.largest), term = static_cast<double>(p.sum) * std::exp(x);
    sum += term;
    units += term * (5 - 2 * x);
  }
  if (got.token != best.index) return fmt::format("got token {}, wanted {}", got.token, best.index);
  if (best.index == no_index) return "";  // the kernel promises only that there is no token
  std::string difference = differs("logit", got.logit, static_cast<double>(best.largest), 0.0);
  if (difference.empty()) difference = differs("margin", got.margin, static_cast<double>(best.largest - second), 0.0);
  if (difference.empty()) {
    const double relative = (units / sum + static_cast<double>(partials.size()) + 3) * epsilon;
    difference = differs("probability", got.probability, 1.0 / sum, relative / sum);
  }
  return difference;
}

std::string check_merge(Bench& bench, std::uint32_t vocabulary, std::uint32_t rows) {
  Random random(fmt::format("argmax_merge {} {}", vocabulary, rows));
  const kernels::Matrix head{.tensor = 0, .format = gguf::Type::f32, .n = vocabulary, .k = 32, .parts = {{0, vocabulary}}};
  const std::uint32_t bucket = kernels::bucket_for(rows), blocks = kernels::argmax_partials(bench.select(), head.n, head.k);
  std::vector<abi::ArgmaxPartial> partials;
  for (std::uint32_t row = 0; row < bucket; ++row) {
    const std::vector<abi::ArgmaxPartial> more = make_partials(random, blocks, blocks > 2 ? row : 0);
    partials.insert(partials.end(), more.begin(), more.end());
  }
  bench.put({ResourceKind::argmax_partial}, partials);
  bench.reserve({ResourceKind::result}, bucket * sizeof(abi::RowResult) / 4);
  bench.run(kernels::argmax(bench.select(), head, {ResourceKind::normed}, bucket, {}, "argmax").back());
  const auto got = bench.get<abi::RowResult>({ResourceKind::result}, bucket);
  for (std::uint32_t row = 0; row < rows; ++row) {
    const std::string difference = check_result(got[row], std::span(partials).subspan(std::size_t{row} * blocks, blocks));
    if (!difference.empty()) return fmt::format("row {}: {}", row, difference);
  }
  return "";
}

// Logits that a product wrote, every kind of them, and the merge of the results.
std::string check_written(Bench& bench, std::uint32_t vocabulary, std::uint32_t rows) {
  Random random(fmt::format("argmax of logits {} {}", vocabulary, rows));
  std::vector<std::vector<float>> logits;
  std::vector<float> written;
  for (std::uint32_t row = 0; row < rows; ++row) {
    logits.push_back(make_logits(random, vocabulary, row));
    const std::vector<float> padded_row = strided(logits.back(), vocabulary, nan);
    written.insert(written.end(), padded_row.begin(), padded_row.end());
  }
  bench.put({ResourceKind::logits}, written);
  bench.reserve({ResourceKind::argmax_partial}, std::size_t{rows} * (vocabulary / MATVEC_ARGMAX_ROWS + 1) * sizeof(abi::ArgmaxPartial) / 4);
  bench.reserve({ResourceKind::result}, rows * sizeof(abi::RowResult) / 4);
  bench.run(kernels::argmax_of_logits(bench.select(), vocabulary, rows, "output"));
  const auto got = bench.get<abi::RowResult>({ResourceKind::result}, rows);
  for (std::uint32_t row = 0; row < rows; ++row) {
    const Wanted wanted = choose(logits[row], 0);
    std::string difference = got[row].token == wanted.index ? "" : fmt::format("got token {}, wanted {}", got[row].token, wanted.index);
    if (difference.empty()) difference = differs("logit", got[row].logit, static_cast<double>(wanted.largest), 0.0);
    if (difference.empty()) difference = differs("margin", got[row].margin, static_cast<double>(wanted.largest - wanted.second), 0.0);
    // exp twice, in its range and in the merge; sums of positive terms.
    const double relative = (2 * wanted.units / wanted.sum + vocabulary + 8.0) * epsilon;
    if (difference.empty()) difference = differs("probability", got[row].probability, 1.0 / wanted.sum, relative / wanted.sum);
    if (!difference.empty()) return fmt::format("row {}: {}", row, difference);
  }
  return "";
}

void add(std::vector<Case>& cases, std::uint32_t vocabulary, std::uint32_t rows, std::uint32_t kinds) {
  const std::string shape = fmt::format("V={} rows={}", vocabulary, rows);
  for (std::uint32_t kind = 0; kind < kinds; ++kind) {
    cases.push_back({"matvec", fmt::format("argmax {} logits {}", shape, kind),
                     [=](Bench& bench) { return check_blocks(bench, vocabulary, rows, kind); }});
  }
  cases.push_back({"argmax_merge", "argmax_merge " + shape, [=](Bench& bench) { return check_merge(bench, vocabulary, rows); }});
}

void add(std::vector<Case>& cases, std::uint32_t vocabulary, std::uint32_t rows, std::uint32_t kind, const Finish& how) {
  const std::string name =
      fmt::format("argmax V={} rows={} logits {} scale={} cap={}{}", vocabulary, rows, kind, how.scale, how.cap, how.bias ? " bias" : "");
  cases.push_back({"matvec", name, [=](Bench& bench) { return check_finished(bench, vocabulary, rows, kind, how); }});
}

}  // namespace

std::vector<Case> argmax_cases(const Scope& scope) {
  std::vector<Case> cases;
  add(cases, 1500, 1, scope.depth == Depth::quick ? 3 : 5);
  for (const std::uint32_t vocabulary : {700u, 3001u}) {
    cases.push_back(
        {"argmax", fmt::format("argmax of logits V={}", vocabulary), [=](Bench& bench) { return check_written(bench, vocabulary, 5); }});
  }
  add(cases, 1500, 1, 2, {.scale = 0.7f, .cap = 4.0f, .bias = true});
  if (scope.depth == Depth::quick) return cases;
  add(cases, 1, 1, 1);
  add(cases, 64, 2, 5);
  add(cases, 65, 5, 5);
  add(cases, 3001, 16, 1);
  for (const std::uint32_t kind : {0u, 1u, 3u, 4u}) add(cases, 700, 5, kind, {.scale = 1.0f, .cap = 30.0f});
  add(cases, 700, 5, 0, {.scale = 1.3f, .cap = 6.0f, .bias = true});
  add(cases, 1, 1, 0, {.scale = 3.0f, .cap = 6.0f});
  return cases;
}

}  // namespace skipstone::selftest
