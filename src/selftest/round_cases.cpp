#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "selftest/cases.h"
#include "selftest/data.h"

namespace skipstone::selftest {
namespace {

using kernels::ResourceKind;

constexpr std::uint32_t no_token = 0xffffffffu, chunk = 64;
const kernels::Resource result{ResourceKind::result}, round_state{ResourceKind::round}, round_result{ResourceKind::round_result},
    drafts{ResourceKind::drafts};

/// A round that has some drafts already, and the pass after it.
struct Step {
  abi::RoundState before{};
  abi::RowResult chosen{};
  bool draft = true, keeps = false;
};

/// The host's computation: src/speculation/loop.cpp and exec::Executor.
struct Expected {
  abi::RoundState round{};
  abi::StepState state{};
  bool taken = false, verifies = false;
};

Expected expect(const Step& step, const abi::StepState& before) {
  Expected e{step.before, before, false, false};
  if (step.draft && e.round.conditions[ROUND_DRAFTING] != 0) {
    e.taken = step.chosen.token != no_token;
    if (e.taken) e.round.tokens[++e.round.drafted] = step.chosen.token;
    const bool goes_on = e.taken && e.round.drafted < e.round.most && step.chosen.probability >= e.round.least_probability;
    e.round.conditions[ROUND_DRAFTING] = goes_on ? 1 : 0;
  }
  e.verifies = !step.draft || (e.round.conditions[ROUND_DRAFTING] == 0 && !step.keeps);
  const std::uint32_t drafted = e.round.drafted, rows = e.verifies ? drafted + 1 : 1;
  e.state.bases[0] = e.round.base + (e.verifies ? 0 : drafted);
  e.state.rows = rows;
  e.state.kept = e.verifies ? 0 : drafted;
  std::uint32_t bucket = 2, word = 2;
  for (; bucket < rows; bucket *= 2) ++word;
  e.state.attention_groups = {(e.state.bases[0] + rows - 1) / chunk + 1, e.round.attention_groups[e.verifies ? word : ROUND_DRAFTING], rows};
  if (!e.verifies) {
    e.state.tokens[0] = e.round.tokens[drafted];
  } else {
    for (std::uint32_t row = 0; row < STEP_VERIFY_ROWS; ++row) e.state.tokens[row] = e.round.tokens[std::min(row, drafted)];
    e.round.conditions[word] = 1;
  }
  return e;
}

std::string check_advance(Bench& bench, const Step& step) {
  bench.put(result, std::vector<abi::RowResult>{step.chosen});
  bench.put(round_state, std::vector<abi::RoundState>{step.before});
  bench.reserve(drafts, STEP_VERIFY_ROWS * sizeof(abi::RowResult) / 4);
  bench.reserve(round_result, sizeof(abi::RoundResult) / 4);
  bench.state().attention_groups = {1, 99, 1};
  const Expected expected = expect(step, bench.state());
  bench.run(kernels::advance(chunk, step.draft, step.keeps, "advance"));

  const auto state = bench.get<abi::StepState>({ResourceKind::state}, 1).front();
  const auto round = bench.get<abi::RoundState>(round_state, 1).front();
  if (std::memcmp(&state, &expected.state, sizeof state) != 0) {
    return fmt::format("the next pass has {} rows at {}, kept row {}, first token {}; expected {} at {}, {}, {}", state.rows, state.bases[0],
                       state.kept, state.tokens[0], expected.state.rows, expected.state.bases[0], expected.state.kept,
                       expected.state.tokens[0]);
  }
  if (std::memcmp(&round, &expected.round, sizeof round) != 0) {
    return fmt::format("the round has {} drafts and continues: {}; expected {}, {}", round.drafted, round.conditions[ROUND_DRAFTING],
                       expected.round.drafted, expected.round.conditions[ROUND_DRAFTING]);
  }
  const auto words = bench.get<std::uint32_t>(drafts, STEP_VERIFY_ROWS * 4);
  const std::size_t place = std::size_t{step.before.drafted} * 4;
  if (expected.taken && std::memcmp(&words[place], &step.chosen, sizeof step.chosen) != 0) return "the draft was not handed on";
  const std::size_t after = place + (expected.taken ? 4 : 0);
  if (std::any_of(words.begin() + static_cast<std::ptrdiff_t>(after), words.end(), [](std::uint32_t w) { return w != Bench::untouched; }))
    return "something was written after the drafts";
  if (expected.verifies && bench.get<abi::RoundResult>(round_result, 1).front().drafted != round.drafted)
    return "the host is told another number of drafts";
  return "";
}

std::string check_accept(Bench& bench, std::uint32_t drafted, std::uint32_t same) {
  Random random(fmt::format("accept {} {}", drafted, same));
  std::vector<abi::RowResult> chosen(STEP_VERIFY_ROWS), proposed(STEP_VERIFY_ROWS);
  for (std::uint32_t i = 0; i < STEP_VERIFY_ROWS; ++i) {
    chosen[i].token = 100 + i;
    proposed[i].token = i == same ? 7 : 100 + i;  // the same again after the first difference, and after the drafts
  }
  abi::RoundState round{};
  round.drafted = drafted;
  bench.put(result, chosen);
  bench.put(drafts, proposed);
  bench.put(round_state, std::vector<abi::RoundState>{round});
  bench.reserve(round_result, sizeof(abi::RoundResult) / 4);
  bench.run(kernels::accept(STEP_VERIFY_ROWS, "accept"));
  const std::uint32_t got = bench.get<abi::RoundResult>(round_result, 1).front().accepted, expected = std::min(drafted, same);
  return got == expected ? "" : fmt::format("{} of {} drafts were accepted, expected {}", got, drafted, expected);
}

Step step_of(std::uint32_t base, std::uint32_t most, std::uint32_t drafted, float probability, float least) {
  Step step;
  step.before.base = base;
  for (std::uint32_t i = 0; i < ROUND_CONDITIONS; ++i) step.before.attention_groups[i] = 3 + i;  // by pass, as tuning may choose them
  step.before.most = most;
  step.before.drafted = drafted;
  step.before.least_probability = least;
  step.before.conditions[ROUND_DRAFTING] = 1;
  for (std::uint32_t i = 0; i <= drafted; ++i) step.before.tokens[i] = 40 + i;
  step.chosen = {9, probability, 0.5f, 3.0f};
  return step;
}

void add(std::vector<Case>& cases, const std::string& what, const Step& step) {
  cases.push_back({"advance",
                   fmt::format("advance base={} {} of {}, {}{}", step.before.base, step.before.drafted, step.before.most, what,
                               step.keeps ? ", keeps" : ""),
                   [=](Bench& bench) { return check_advance(bench, step); }});
}

void add_accept(std::vector<Case>& cases, std::uint32_t drafted, std::uint32_t same) {
  cases.push_back({"accept", fmt::format("accept {} drafts, {} the same", drafted, same),
                   [=](Bench& bench) { return check_accept(bench, drafted, same); }});
}

}  // namespace

std::vector<Case> round_cases(const Scope& scope) {
  std::vector<Case> cases;
  add_accept(cases, 5, 3);
  add(cases, "sure", step_of(63, 4, 1, 0.6f, 0.5f));
  add(cases, "unsure", step_of(63, 4, 1, 0.4f, 0.5f));
  if (scope.depth == Depth::quick) return cases;
  for (const bool keeps : {false, true}) {
    for (std::uint32_t drafted = 0; drafted + 1 < STEP_VERIFY_ROWS; ++drafted) {
      Step step = step_of(100 + 3 * drafted, drafted + 1, drafted, 1.0f, 0.0f);
      step.keeps = keeps;
      add(cases, "the last", step);
      step.before.most = STEP_VERIFY_ROWS - 1;
      step.chosen.probability = std::numeric_limits<float>::quiet_NaN();
      add(cases, "not sure of a number", step);
      step.chosen.probability = step.before.least_probability = 0.7f;
      add(cases, "just sure enough", step);
      step.chosen.token = no_token;
      add(cases, "no number", step);
      step.before.conditions[ROUND_DRAFTING] = 0;
      step.chosen.token = 9;
      add(cases, "stopped before", step);
      step.draft = false;
      add(cases, "after the kept row", step);
    }
  }
  for (const std::uint32_t drafted : {0u, 1u, STEP_VERIFY_ROWS - 1u}) {
    for (const std::uint32_t same : {0u, drafted, drafted + 1}) {
      if (drafted != 0 || same < 2) add_accept(cases, drafted, same);
    }
  }
  // Names are unique: some of the lists above meet.
  const auto last = std::unique(cases.begin(), cases.end(), [](const Case& a, const Case& b) { return a.name == b.name; });
  cases.erase(last, cases.end());
  return cases;
}

}  // namespace skipstone::selftest
