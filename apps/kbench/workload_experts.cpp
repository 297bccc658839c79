// Workloads of mixtures of experts. What the rows of a pass choose is made up here, so that their overlap is known.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "kbench/workload_parts.h"
#include "kernels/abi.h"

namespace kbench {
namespace {

using namespace skipstone;
using kernels::ResourceKind;

kernels::ExpertRows rows_of(const Request& r) {
  const model::Experts experts = experts_of(r.sizes);
  return {experts.count, experts.used, r.rows};
}

/// The expert of each slot: a row takes those after the row before it, but for the overlap.
std::vector<std::uint32_t> chosen_of(const Request& r) {
  const kernels::ExpertRows rows = rows_of(r);
  const auto step = static_cast<std::uint32_t>(std::lround((1.0 - r.sizes.overlap) * rows.used));
  std::vector<std::uint32_t> chosen;
  for (std::uint32_t row = 0; row < rows.rows; ++row) {
    for (std::uint32_t i = 0; i < rows.used; ++i) chosen.push_back((row * step + i) % rows.experts);
  }
  return chosen;
}

std::vector<std::uint32_t> choices_of(const std::vector<std::uint32_t>& chosen) {
  std::vector<std::uint32_t> choices;
  for (const std::uint32_t expert : chosen) choices.insert(choices.end(), {expert, 0x3e800000u});  // a quarter
  return choices;
}

/// As group_experts.comp leaves them.
std::vector<std::uint32_t> groups_of(const kernels::ExpertRows& rows, const std::vector<std::uint32_t>& chosen) {
  std::vector<std::uint32_t> groups(EXPERTS_LIST(rows.experts));
  for (const std::uint32_t expert : std::set<std::uint32_t>(chosen.begin(), chosen.end())) {
    const std::size_t entry = 1 + std::size_t{3} * groups[0]++;
    groups[entry] = expert;
    groups[entry + 1] = static_cast<std::uint32_t>(groups.size() - EXPERTS_LIST(rows.experts));
    groups[entry + 2] = static_cast<std::uint32_t>(std::ranges::count(chosen, expert));
    for (std::uint32_t slot = 0; slot < chosen.size(); ++slot) {
      if (chosen[slot] == expert) groups.push_back(slot);
    }
  }
  return groups;
}

std::string text(const kernels::ExpertRows& rows) { return fmt::format("{} of {}", rows.used, rows.experts); }

}  // namespace

model::Experts experts_of(const Sizes& s) {
  return {
      .count = s.experts, .used = std::min(s.experts_used, s.experts), .width = s.expert_ffn, .shared_width = s.ffn, .renormalised = true};
}

Workload route(const Selector& select, const Request& r) {
  const kernels::ExpertRows rows = rows_of(r);
  const double logits = static_cast<double>(rows.rows) * rows.experts;
  return one(text(rows), kernels::route(select, {.renormalised = true, .logits = rows.experts}, rows, "router"),
             (logits + 2.0 * rows.slots()) * word, logits * (rows.used + 4.0));
}

Workload group_experts(const Selector& select, const Request& r) {
  const kernels::ExpertRows rows = rows_of(r);
  Workload work = one(text(rows), kernels::group_experts(select, rows, 0, "group_experts"),
                      (3.0 * rows.slots() + 3.0 * std::min(rows.slots(), rows.experts)) * word, 0);
  work.contents = {{{ResourceKind::expert_choices}, choices_of(chosen_of(r))}};
  return work;
}

/// Bytes of weights are those of the distinct experts, each once.
Workload experts(const Selector& select, const Request& r) {
  const kernels::ExpertRows rows = rows_of(r);
  const std::uint32_t n = r.sizes.expert_ffn, k = r.sizes.k;
  const kernels::Matrix stack = matrix_of(select, r.format, rows.experts * n, k, n);
  const std::vector<std::uint32_t> chosen = chosen_of(r);
  const std::size_t distinct = std::set<std::uint32_t>(chosen.begin(), chosen.end()).size();
  Workload work;
  work.shape = fmt::format("{}x{}, {}, {} distinct", n, k, text(rows), distinct);
  work.matrix = stack;
  work.round = [stack, rows, select](std::uint32_t tensor) {
    kernels::Matrix copy = stack;
    copy.tensor = tensor;
    return kernels::expert_product(select, copy, rows, matrix_input, true, matrix_output, {}, "experts");
  };
  work.bytes = static_cast<double>(distinct) * static_cast<double>(place_of(stack, first_matrix).bytes()) / rows.experts +
               (static_cast<double>(rows.rows) * k + static_cast<double>(rows.slots()) * n) * word;
  work.flops = 2.0 * rows.slots() * n * k;
  work.contents = {{{ResourceKind::expert_groups}, groups_of(rows, chosen)}};
  return work;
}

Workload combine_experts(const Selector& select, const Request& r) {
  const kernels::ExpertRows rows = rows_of(r);
  const double values = static_cast<double>(r.rows) * r.sizes.width;
  const kernels::ExpertSum sum{.n = r.sizes.width,
                               .shared = kernels::Resource{ResourceKind::shared_outputs},
                               .residual = kernels::Resource{ResourceKind::residual, 0},
                               .logits = rows.experts};
  return one(fmt::format("{}, {}", r.sizes.width, text(rows)),
             kernels::combine_experts(select, sum, rows, {ResourceKind::residual, 1}, "combine_experts"), values * (rows.used + 3.0) * word,
             values * (2.0 * rows.used + 2.0));
}

}  // namespace kbench
