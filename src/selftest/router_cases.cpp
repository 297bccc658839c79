// The choice of experts: all kinds of routers, with ties, infinities and NaN, against the reference; and that rows choose alone.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "ref/operations.h"
#include "selftest/cases.h"
#include "selftest/compare.h"
#include "selftest/data.h"

namespace skipstone::selftest {
namespace {

using kernels::padded;
using kernels::ResourceKind;

constexpr std::uint32_t correction_tensor = 1;

struct Shape {
  model::Experts experts;
  std::uint32_t rows = 1;
  std::string text() const {
    constexpr const char* names[] = {"softmax", "sigmoid", "softmax of chosen"};
    return fmt::format("{} {} of {}{}{}{}{} rows={}", names[static_cast<std::size_t>(experts.gating)], experts.used, experts.count,
                       experts.groups > 1 ? fmt::format(" groups={}/{}", experts.groups_used, experts.groups) : "",
                       experts.corrected ? " corrected" : "", experts.renormalised ? " renormalised" : "",
                       experts.shared_gate ? " shared" : "", rows);
  }
};

/// Rows of logits. Without groups they are multiples of 1/4, of which many are equal; the sums of groups that should differ may not, so
/// with groups all are different.
std::vector<float> logits_of(const Shape& shape, Random& random) {
  const std::uint32_t width = shape.experts.logits();
  std::vector<float> logits = random.floats(std::size_t{shape.rows} * width, -6.0f, 6.0f);
  for (float& logit : logits) logit = std::round(4.0f * logit) / 4.0f;
  for (std::uint32_t row = 0; row < shape.rows && shape.experts.groups > 1; ++row) {
    const std::vector<std::uint32_t> order = random.permutation(width);
    for (std::uint32_t e = 0; e < width; ++e) {
      logits[row * width + e] = 12.0f * (static_cast<float>(order[e]) + random.between(0.0f, 0.3f)) / static_cast<float>(width) - 6.0f;
    }
  }
  if (shape.rows > 2) {  // a row without numbers chooses too, and one with some
    std::fill_n(logits.begin(), width, std::numeric_limits<float>::quiet_NaN());
    logits[width] = std::numeric_limits<float>::quiet_NaN();
    logits[width + 1] = -std::numeric_limits<float>::infinity();
  }
  return logits;
}

/// Two words of each slot.
std::vector<std::uint32_t> route(Bench& bench, const Shape& shape, const std::vector<float>& logits) {
  const model::Experts& experts = shape.experts;
  const auto rows = static_cast<std::uint32_t>(logits.size() / experts.logits()), bucket = kernels::bucket_for(rows);
  std::vector<float> placed = strided(logits, experts.logits());
  placed.resize(std::size_t{bucket} * padded(experts.logits()), 99.0f);
  bench.put({ResourceKind::router_logits}, placed);
  bench.reserve({ResourceKind::expert_choices}, std::uint64_t{2} * bucket * experts.used);
  bench.set_rows(0, rows);
  bench.run(kernels::route(bench.select(),
                           {.gating = static_cast<kernels::Gating>(experts.gating),
                            .renormalised = experts.renormalised,
                            .correction = experts.corrected ? std::optional(correction_tensor) : std::nullopt,
                            .groups = experts.groups,
                            .groups_used = experts.groups_used,
                            .logits = experts.logits(),
                            .scale = experts.scale},
                           {experts.count, experts.used, bucket}, "route"));
  return bench.get<std::uint32_t>({ResourceKind::expert_choices}, std::size_t{2} * bucket * experts.used);
}

std::string check_row(const model::Experts& experts, std::span<const float> logits, std::span<const float> correction,
                      std::span<const std::uint32_t> got) {
  const std::vector<ref::ChosenExpert> wanted = ref::choose_experts(experts, logits, correction);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (got[2 * i] != wanted[i].expert) return fmt::format("choice {}: expert {}, expected {}", i, got[2 * i], wanted[i].expert);
    const auto weight = std::bit_cast<float>(got[2 * i + 1]);
    if (std::isnan(wanted[i].weight) && std::isnan(weight)) continue;
    // An exponential of up to 24 has some 50 units of error, and each of the sum's.
    const double tolerance = 256 * epsilon * std::abs(static_cast<double>(wanted[i].weight)) + smallest;
    std::string difference = differs(fmt::format("weight {}", i), weight, static_cast<double>(wanted[i].weight), tolerance);
    if (!difference.empty()) return difference;
  }
  return "";
}

std::string check(Bench& bench, const Shape& shape) {
  Random random("router " + shape.text());
  const model::Experts& experts = shape.experts;
  const std::size_t width = experts.logits(), words = std::size_t{2} * experts.used;
  const std::vector<float> logits = logits_of(shape, random);
  std::vector<float> correction;
  if (experts.corrected) {  // so large that no two scores become nearly equal by it
    for (std::uint32_t e = 0; e < experts.count; ++e) correction.push_back(4.0f * static_cast<float>(random.below(2)));
    bench.put({ResourceKind::weight, correction_tensor}, strided(correction, experts.count));
  }
  const std::vector<std::uint32_t> together = route(bench, shape, logits);
  for (std::uint32_t row = 0; row < shape.rows; ++row) {
    const std::span<const float> own = std::span(logits).subspan(row * width, width);
    const std::span<const std::uint32_t> got = std::span(together).subspan(row * words, words);
    std::string difference = check_row(experts, own.first(experts.count), correction, got);
    if (!difference.empty()) return fmt::format("row {}: {}", row, difference);
    const std::vector<std::uint32_t> alone = route(bench, shape, {own.begin(), own.end()});
    difference = bits_differ(fmt::format("row {}", row), got, std::span(alone).first(words), "alone");
    if (!difference.empty()) return difference;
  }
  for (std::size_t slot = std::size_t{shape.rows} * experts.used; slot < together.size() / 2; ++slot) {
    if (together[2 * slot] != EXPERTS_NONE) return fmt::format("slot {} of a padding row has expert {}", slot, together[2 * slot]);
  }
  return "";
}

}  // namespace

std::vector<Case> router_cases(const Scope& scope) {
  std::vector<Case> cases;
  const auto add = [&](const model::Experts& experts, std::uint32_t rows) {
    const Shape shape{experts, rows};
    cases.push_back({"router", "router " + shape.text(), [shape](Bench& bench) { return check(bench, shape); }});
  };
  using model::Experts;
  using model::Gating;
  add({.count = 128, .used = 8, .renormalised = true}, 5);
  add({.count = 32, .used = 4, .gating = Gating::sigmoid, .corrected = true, .renormalised = true, .scale = 2.5f}, 3);
  if (scope.depth == Depth::quick) return cases;
  add({.count = 6, .used = 2, .gating = Gating::softmax_of_chosen}, 12);
  add({.count = 64, .used = 6}, 32);
  add({.count = 1, .used = 1}, 1);
  add({.count = 1024, .used = 32, .gating = Gating::sigmoid, .scale = 0.5f}, 3);
  add({.count = 5, .used = 5, .shared_width = 4, .renormalised = true, .shared_gate = true}, 7);
  add({.count = 512, .used = 10, .shared_width = 4, .renormalised = true, .shared_gate = true}, 200);
  add({.count = 256, .used = 8, .groups = 8, .groups_used = 4, .gating = Gating::sigmoid, .corrected = true, .renormalised = true}, 9);
  add({.count = 6, .used = 2, .groups = 2, .groups_used = 1, .gating = Gating::sigmoid}, 5);
  return cases;
}

}  // namespace skipstone::selftest
