// The products of chosen experts and the sums of their outputs: all formats, rows that share experts or not, stacks in parts, against the
// scalar reference; and that no output depends on the rows beside its own.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <set>

#include "ref/recurrent.h"
#include "selftest/cases.h"
#include "selftest/compare.h"
#include "selftest/data.h"
#include "selftest/matrix_check.h"

namespace skipstone::selftest {
namespace {

using kernels::padded;
using kernels::Resource;
using kernels::ResourceKind;

constexpr std::uint32_t bias_tensor = 1, factors_tensor = 2;
constexpr std::uint32_t used_layer = 3;  // in expert_use
constexpr std::size_t use_words = 2 * (used_layer + 1);

struct Shape {
  gguf::Type format = gguf::Type::f32;
  std::uint32_t experts = 0, used = 0;
  std::uint32_t n = 0, k = 0, rows = 1;
  bool by_row = true;  ///< a row of x for each row, not for each slot
  bool bias = false, factors = false;
  std::uint32_t parts = 1;
  std::string text() const {
    return fmt::format("{} {} of {} N={} K={} rows={}{}{}{}{}", suffix(format), used, experts, n, k, rows, by_row ? "" : " by slot",
                       bias ? " bias" : "", factors ? " factors" : "", parts > 1 ? fmt::format(" parts={}", parts) : "");
  }
};

struct Operands {
  std::vector<float> x, bias, factors;
  std::vector<std::uint32_t> choices;  ///< the expert of each slot
};

/// `used` experts of each row; many rows choose the first ones.
std::vector<std::uint32_t> choose(const Shape& shape, Random& random) {
  std::vector<std::uint32_t> choices;
  for (std::uint32_t row = 0; row < shape.rows; ++row) {
    std::vector<std::uint32_t> order = random.permutation(shape.experts);
    if (random.below(3) == 0) std::ranges::sort(order);
    choices.insert(choices.end(), order.begin(), order.begin() + shape.used);
  }
  return choices;
}

/// The words of the groups that the slots of a pass become; slots of padding rows follow those of `chosen`.
std::size_t put_choices(Bench& bench, const kernels::ExpertRows& at, const std::vector<std::uint32_t>& chosen) {
  std::vector<std::uint32_t> choices;
  for (std::uint32_t slot = 0; slot < at.slots(); ++slot) {
    choices.push_back(slot < chosen.size() ? chosen[slot] : EXPERTS_NONE);
    choices.push_back(0);
  }
  bench.put({ResourceKind::expert_choices}, choices);
  const std::size_t words = EXPERTS_LIST(at.experts) + at.slots();
  bench.reserve({ResourceKind::expert_groups}, words);
  bench.reserve({ResourceKind::expert_use}, use_words);
  return words;
}

/// The rows of a pass, by the slots of those that are real.
kernels::ExpertRows rows_of(const Shape& shape, std::size_t slots) {
  return {shape.experts, shape.used, kernels::bucket_for(static_cast<std::uint32_t>(slots) / shape.used)};
}

/// The outputs of a pass over some rows, by slot.
std::vector<std::uint32_t> multiply(Bench& bench, const kernels::Selector& select, const Shape& shape, const kernels::Matrix& stack,
                                    const Operands& operands) {
  const kernels::ExpertRows at = rows_of(shape, operands.choices.size());
  const std::uint32_t bucket = at.rows;
  put_choices(bench, at, operands.choices);
  std::vector<float> x = strided(operands.x, shape.k);
  x.resize(std::size_t{shape.by_row ? bucket : at.slots()} * padded(shape.k), 1.0f);
  const Resource in{ResourceKind::normed}, out{ResourceKind::scratch};
  bench.put(in, x);
  const std::size_t words = std::size_t{at.slots()} * padded(shape.n);
  bench.reserve(out, words);
  kernels::MatvecFusion fusion;
  if (shape.bias) fusion.bias_tensor = bias_tensor;
  std::vector<kernels::Dispatch> dispatches{kernels::group_experts(select, at, used_layer, "group_experts")};
  for (kernels::Dispatch& d : kernels::expert_product(select, stack, at, in, shape.by_row, out, fusion, "experts")) {
    dispatches.push_back(std::move(d));
  }
  bench.about(dispatches.back().kernel);
  bench.run(dispatches);
  return bench.get<std::uint32_t>(out, words);
}

/// Each expert that has slots once, in order, and its slots in any order.
std::string check_groups(Bench& bench, const Shape& shape) {
  Random random("group_experts " + shape.text());
  const std::vector<std::uint32_t> choices = choose(shape, random);
  const kernels::ExpertRows rows = rows_of(shape, choices.size());
  const std::size_t words = put_choices(bench, rows, choices);
  bench.run(kernels::group_experts(bench.select(), rows, used_layer, "group_experts"));
  auto groups = bench.get<std::uint32_t>({ResourceKind::expert_groups}, words);
  const std::set<std::uint32_t> distinct(choices.begin(), choices.end());
  if (groups[0] != distinct.size()) return fmt::format("{} experts have rows, not {}", distinct.size(), groups[0]);
  auto use = bench.get<std::uint32_t>({ResourceKind::expert_use}, use_words);
  const std::array<std::uint32_t, 2> wanted{static_cast<std::uint32_t>(distinct.size()), static_cast<std::uint32_t>(choices.size())};
  const std::span<std::uint32_t> own = std::span(use).subspan(std::size_t{2} * used_layer, 2);
  if (!std::ranges::equal(own, wanted))
    return fmt::format("used are {} experts in {} slots, not {} in {}", wanted[0], wanted[1], own[0], own[1]);
  if (const std::string others = touched("use of other layers", std::span(use).first(std::size_t{2} * used_layer)); !others.empty())
    return others;
  std::size_t entry = 1, at = EXPERTS_LIST(shape.experts);
  std::uint32_t first = 0;
  for (const std::uint32_t expert : distinct) {
    std::vector<std::uint32_t> slots;
    for (std::uint32_t slot = 0; slot < choices.size(); ++slot) {
      if (choices[slot] == expert) slots.push_back(slot);
    }
    const auto count = static_cast<std::uint32_t>(slots.size());
    if (groups[entry] != expert || groups[entry + 1] != first || groups[entry + 2] != count)
      return fmt::format("the group of expert {}", expert);
    const std::span<std::uint32_t> listed = std::span(groups).subspan(at, count);
    std::ranges::sort(listed);
    if (!std::ranges::equal(listed, slots)) return fmt::format("the slots of expert {}", expert);
    at += count;
    entry += 3, first += count;
  }
  return "";
}

std::string check_slot(const Shape& shape, const HostMatrix& matrix, const Operands& operands, std::uint32_t slot,
                       std::span<const float> got) {
  const std::uint32_t expert = operands.choices[slot];
  const std::span<const float> x = std::span(operands.x).subspan(std::size_t{shape.by_row ? slot / shape.used : slot} * shape.k, shape.k);
  std::vector<float> wanted(shape.n);
  std::vector<double> tolerance(shape.n);
  for (std::uint32_t i = 0; i < shape.n; ++i) {
    const std::size_t row = std::size_t{expert} * shape.n + i;
    double sum = 0.0, bound = 0.0;
    for (std::uint32_t j = 0; j < shape.k; ++j) {
      const double product = static_cast<double>(matrix.weights[row * shape.k + j]) * static_cast<double>(x[j]);
      sum += product, bound += std::abs(product);
    }
    if (shape.factors) sum *= static_cast<double>(operands.factors[row]), bound *= std::abs(static_cast<double>(operands.factors[row]));
    if (shape.bias) sum += static_cast<double>(operands.bias[row]), bound += std::abs(static_cast<double>(operands.bias[row]));
    wanted[i] = static_cast<float>(sum);
    tolerance[i] = (shape.k + 72.0) * epsilon * bound + smallest;
  }
  return differs(fmt::format("slot {} (expert {})", slot, expert), got, wanted, tolerance);
}

std::string check_products(Bench& bench, const Shape& shape, const kernels::Selector& select) {
  Random random("experts " + shape.text());
  const HostMatrix matrix(shape.format, shape.experts * shape.n, shape.k, random);
  kernels::Matrix stack = place(bench, matrix, shape.parts, select.interleave(), 0, shape.n);
  Operands operands;
  operands.choices = choose(shape, random);
  operands.x = random.floats(std::size_t{shape.by_row ? shape.rows : shape.rows * shape.used} * shape.k, -2.0f, 2.0f);
  if (shape.bias) {
    operands.bias = random.floats(std::size_t{shape.experts} * shape.n, -3.0f, 3.0f);
    bench.put({ResourceKind::weight, bias_tensor}, operands.bias);
  }
  if (shape.factors) {
    operands.factors = random.floats(std::size_t{shape.experts} * shape.n, -2.0f, 2.0f);
    bench.put({ResourceKind::weight, factors_tensor}, operands.factors);
    stack.factors = factors_tensor;
  }
  const std::vector<std::uint32_t> together = multiply(bench, select, shape, stack, operands);
  std::string difference;
  const std::size_t stride = padded(shape.n), slots = operands.choices.size();
  const auto floats = [](std::span<const std::uint32_t> words) {
    std::vector<float> values;
    for (const std::uint32_t word : words) values.push_back(std::bit_cast<float>(word));
    return values;
  };
  for (std::uint32_t slot = 0; difference.empty() && slot < slots; ++slot) {
    const std::span<const std::uint32_t> own = std::span(together).subspan(slot * stride, stride);
    difference = check_slot(shape, matrix, operands, slot, floats(own.first(shape.n)));
    if (difference.empty()) difference = touched("padding", own.subspan(shape.n));
  }
  if (difference.empty()) difference = touched("slots of padding rows", std::span(together).subspan(slots * stride));
  const std::size_t x_row = std::size_t{shape.by_row ? 1 : shape.used} * shape.k, y_row = shape.used * stride;
  for (std::uint32_t row = 0; difference.empty() && row<shape.rows; row += shape.rows> 40 ? 17 : 1) {
    const auto part = [row](const auto& all, std::size_t length) {
      const auto begin = all.begin() + static_cast<std::ptrdiff_t>(row * length);
      return std::vector(begin, begin + static_cast<std::ptrdiff_t>(length));
    };
    const Operands alone{.x = part(operands.x, x_row), .bias = {}, .factors = {}, .choices = part(operands.choices, shape.used)};
    difference = bits_differ(fmt::format("row {}", row), part(together, y_row), multiply(bench, select, shape, stack, alone), "alone");
  }
  return difference;
}

struct SumShape {
  std::uint32_t used = 0, n = 0, rows = 1;
  bool shared = false, gated = false, residual = false;
  float scale = 1.0f;
};

std::string check_sum(Bench& bench, const SumShape& shape) {
  constexpr std::uint32_t experts = 7;
  Random random(fmt::format("combine {} {} {}", shape.used, shape.n, shape.rows));
  const std::uint32_t bucket = kernels::bucket_for(shape.rows);
  const std::size_t slots = std::size_t{bucket} * shape.used;
  const std::vector<float> outputs = random.floats(slots * shape.n, -2.0f, 2.0f), weights = random.floats(slots, 0.0f, 1.0f),
                           shared = random.floats(std::size_t{bucket} * shape.n, -2.0f, 2.0f),
                           residual = random.floats(std::size_t{bucket} * shape.n, -2.0f, 2.0f),
                           logits = random.floats(std::size_t{bucket} * (experts + 1), -9.0f, 9.0f);
  std::vector<std::uint32_t> choices;
  for (const float weight : weights) choices.insert(choices.end(), {random.below(experts), std::bit_cast<std::uint32_t>(weight)});
  if (choices.empty()) choices.resize(2);
  const Resource out{ResourceKind::scratch};
  bench.put({ResourceKind::expert_outputs}, slots == 0 ? std::vector<float>(4) : strided(outputs, shape.n));
  bench.put({ResourceKind::expert_choices}, choices);
  bench.put({ResourceKind::shared_outputs}, strided(shared, shape.n));
  bench.put({ResourceKind::residual}, strided(residual, shape.n));
  bench.put({ResourceKind::router_logits}, strided(logits, experts + 1));
  bench.reserve(out, std::size_t{bucket} * padded(shape.n));
  kernels::ExpertSum sum{.n = shape.n, .logits = experts + 1, .scale = shape.scale};
  if (shape.shared) sum.shared = Resource{ResourceKind::shared_outputs};
  if (shape.gated) sum.shared_logit = experts;
  if (shape.residual) sum.residual = Resource{ResourceKind::residual};
  bench.run(kernels::combine_experts(bench.select(), sum, {experts, shape.used, bucket}, out, "combine_experts"));
  const auto got = bench.get<float>(out, std::size_t{bucket} * padded(shape.n));
  const auto words = bench.get<std::uint32_t>(out, std::size_t{bucket} * padded(shape.n));
  for (std::uint32_t row = 0; row < shape.rows; ++row) {
    std::vector<float> wanted(shape.n);
    std::vector<double> tolerance(shape.n);
    for (std::uint32_t i = 0; i < shape.n; ++i) {
      double value = 0.0, bound = 0.0;
      const auto add = [&](double term) { value += term, bound += std::abs(term); };
      for (std::size_t slot = std::size_t{row} * shape.used; slot < (std::size_t{row} + 1) * shape.used; ++slot) {
        add(static_cast<double>(weights[slot]) * static_cast<double>(outputs[slot * shape.n + i]));
      }
      const std::size_t at = std::size_t{row} * shape.n + i;
      const double gate = shape.gated ? ref::sigmoid(static_cast<double>(logits[row * (experts + 1) + experts])) : 1.0;
      if (shape.shared) add(gate * static_cast<double>(shared[at]));
      value *= static_cast<double>(shape.scale), bound *= static_cast<double>(shape.scale);
      if (shape.residual) add(static_cast<double>(residual[at]));
      wanted[i] = static_cast<float>(value);
      tolerance[i] = (shape.used + 32.0) * epsilon * bound + smallest;
    }
    std::string difference = row_differs(got, words, shape.n, row, wanted, tolerance);
    if (!difference.empty()) return difference;
  }
  return "";
}

void add(std::vector<Case>& cases, const Shape& shape, Layout layout = Layout::own) {
  cases.push_back({"experts", fmt::format("experts {}{}", shape.text(), to_string(layout)),
                   [shape, layout](Bench& bench) { return check_products(bench, shape, selector_for(bench, layout)); }});
}

void add_sums(std::vector<Case>& cases, const Scope& scope) {
  const auto add_sum = [&](const SumShape& shape) {
    cases.push_back({"combine_experts",
                     fmt::format("combine_experts used={} N={} rows={}{}{}{}", shape.used, shape.n, shape.rows,
                                 shape.shared ? " shared" : "", shape.gated ? " gated" : "", shape.residual ? " residual" : ""),
                     [shape](Bench& bench) { return check_sum(bench, shape); }});
  };
  add_sum({.used = 8, .n = 100, .rows = 3, .shared = true, .gated = true, .residual = true});
  if (scope.depth == Depth::quick) return;
  add_sum({.used = 2, .n = 172, .rows = 12, .residual = true, .scale = 0.22f});
  add_sum({.used = 3, .n = 32, .rows = 1});
  add_sum({.used = 0, .n = 96, .rows = 5, .shared = true, .residual = true});
  add_sum({.used = 10, .n = 64, .rows = 200, .shared = true});
}

}  // namespace

std::vector<Case> experts_cases(const Scope& scope) {
  std::vector<Case> cases;
  for (const gguf::Type format : formats()) {
    const std::uint32_t k = odd_row(format);
    const Depth depth = depth_of(scope, format);
    if (depth == Depth::full || format == gguf::Type::q8_0)
      add(cases, {.format = format, .experts = 5, .used = 2, .n = 100, .k = k, .rows = 3});
    if (depth == Depth::quick) continue;
    add(cases, {.format = format, .experts = 4, .used = 2, .n = 44, .k = k, .rows = 12, .by_row = false, .parts = 2});
  }
  const auto add_groups = [&](std::uint32_t experts, std::uint32_t used, std::uint32_t rows) {
    const Shape shape{.experts = experts, .used = used, .rows = rows};
    cases.push_back({"group_experts", fmt::format("group_experts {} of {} rows={}", used, experts, rows),
                     [shape](Bench& bench) { return check_groups(bench, shape); }});
  };
  add_groups(128, 8, 3);
  if (scope.depth == Depth::full) {
    for (const std::uint32_t rows : {1u, 32u, 200u}) add_groups(1024, 32, rows);
    add_groups(1, 1, 7);
  }
  add_sums(cases, scope);
  if (scope.depth == Depth::quick) return cases;
  const gguf::Type format = gguf::Type::q8_0;
  add(cases, {.format = format, .experts = 5, .used = 2, .n = 77, .k = 96, .rows = 7, .bias = true, .factors = true, .parts = 3});
  add(cases, {.format = format, .experts = 3, .used = 3, .n = 50, .k = 96, .rows = 32, .by_row = false, .bias = true});
  add(cases, {.format = format, .experts = 4, .used = 2, .n = 50, .k = 96, .rows = 200});
  add(cases, {.format = format, .experts = 1, .used = 1, .n = 50, .k = 96, .rows = 17});
  add(cases, {.format = gguf::Type::f32, .experts = 128, .used = 8, .n = 4, .k = 32, .rows = 16});
  for (const Layout layout : other_layouts(scope.tuning)) {
    for (const gguf::Type each : {format, gguf::Type::f16, gguf::Type::q4_k, gguf::Type::iq3_s, gguf::Type::mxfp4}) {
      add(cases, {.format = each, .experts = 5, .used = 2, .n = 100, .k = whole_blocks(each, 352), .rows = 4}, layout);
    }
    add(cases, {.format = format, .experts = 4, .used = 2, .n = 77, .k = 352, .rows = 9, .by_row = false, .bias = true, .parts = 2},
        layout);
  }
  return cases;
}

}  // namespace skipstone::selftest
