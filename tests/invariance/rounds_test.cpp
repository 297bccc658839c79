// A round in one submission gives the bits of the same round stepped by the host: drafts, choices, and the cache of what is committed.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/philox.h"
#include "device_model.h"

namespace skipstone::fixtures {
namespace {

struct Outcome {
  std::vector<abi::RowResult> drafts, verified;
  std::uint32_t accepted = 0;
};

Outcome step_by_step(exec::Executor& sequence, const exec::LayerPlan& full, const exec::RoundSpec& round) {
  Outcome out;
  Tokens rows{round.pending};
  while (out.drafts.size() < round.most) {
    const auto offset = static_cast<std::uint32_t>(out.drafts.size());
    sequence.run({.layers = round.draft}, {.tokens = std::span(&rows.back(), 1), .base = round.base + offset});
    const abi::RowResult draft = sequence.result(0);
    if (static_cast<std::int32_t>(draft.token) < 0) break;
    out.drafts.push_back(draft);
    rows.push_back(static_cast<std::int32_t>(draft.token));
    if (!(draft.probability >= round.least_probability)) break;
  }
  const auto count = static_cast<std::uint32_t>(rows.size());
  sequence.run({.layers = full, .bucket = kernels::bucket_for(count)}, {.tokens = rows, .base = round.base});
  for (std::uint32_t row = 0; row < count; ++row) out.verified.push_back(sequence.result(row));
  while (out.accepted < out.drafts.size() && out.drafts[out.accepted].token == out.verified[out.accepted].token) ++out.accepted;
  return out;
}

Outcome at_once(exec::Executor& sequence, const exec::RoundSpec& round) {
  sequence.run(round);
  Outcome out;
  out.drafts.assign(sequence.results().drafts.begin(), sequence.results().drafts.end());
  for (std::uint32_t row = 0; row <= out.drafts.size(); ++row) out.verified.push_back(sequence.result(row));
  out.accepted = sequence.results().round.accepted;
  return out;
}

bool same_bits(const std::vector<abi::RowResult>& a, const std::vector<abi::RowResult>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(abi::RowResult)) == 0;
}

class RoundsByCache : public ::testing::TestWithParam<KvFormats> {};

TEST_P(RoundsByCache, InOneSubmissionGiveTheBitsOfRoundsByStep) {
  if (left_to_sweep(GetParam())) GTEST_SKIP() << fixtures::left_to_the_sweep;
  TinyConfig tiny;
  if (GetParam().have_blocks()) tiny.head_dim = kv_block;
  tiny.layers = 3;
  tiny.type = gguf::Type::q8_0;
  tiny.context = 140;
  DeviceModel model(tiny, GetParam());
  const auto host = model.sequence(), device = model.sequence();
  const exec::LayerPlan plans[] = {model.layers("layers:0-1"), model.layers("attn:2;mlp:2"), model.layers("attn:0;mlp:1"),
                                   model.layers("layers:0")};
  std::uint32_t counter = 0, stopped = 0, accepted = 0, rounds = 0;
  const auto random = [&](std::uint32_t limit) { return philox({counter++, 0, 0, 0}, {11, 12})[0] % limit; };
  exec::RoundSpec round;
  round.pending = model.tokens(1, 5).front();
  // Every length comes up, then random ones, until the context is full.
  while (round.base + 1 < tiny.context) {
    const std::uint32_t room = tiny.context - 1 - round.base;
    round.most = std::min(room, rounds < 15 ? rounds + 1 : 1 + random(STEP_VERIFY_ROWS - 1));
    round.draft = plans[random(4)];
    round.kept_layers = random(2) == 0 ? 0 : round.draft.whole_prefix();
    const float steps[] = {0.0f, 0.004f, 0.01f, 1.0f};
    round.least_probability = steps[random(4)];
    const Outcome expected = step_by_step(*host, model.layers(), round), got = at_once(*device, round);
    SCOPED_TRACE("round " + std::to_string(rounds) + ": " + std::to_string(round.most) + " drafts at most, " +
                 std::to_string(expected.drafts.size()) + " made, position " + std::to_string(round.base) + ", kept " +
                 std::to_string(round.kept_layers));
    ASSERT_TRUE(same_bits(got.drafts, expected.drafts)) << got.drafts.size() << " drafts";
    ASSERT_TRUE(same_bits(got.verified, expected.verified));
    ASSERT_EQ(got.accepted, expected.accepted);
    stopped += expected.drafts.size() < round.most ? 1 : 0;
    accepted += expected.accepted;
    ++rounds;
    round.base += expected.accepted + 1;
    round.pending = static_cast<std::int32_t>(expected.verified[expected.accepted].token);
    // Random weights repeat themselves: another token now and then keeps the text moving.
    if (random(3) == 0) round.pending = static_cast<std::int32_t>(random(model.config().vocabulary));
    for (std::uint32_t layer = 0; layer < model.config().layer_count(); ++layer)
      ASSERT_EQ(model.kv(*host, layer, round.base), model.kv(*device, layer, round.base)) << "layer " << layer;
  }
  EXPECT_GT(rounds, 20u);
  EXPECT_GT(stopped, 3u);
  EXPECT_GT(accepted, 3u);
  EXPECT_EQ(TestDevice::get().messages(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Formats, RoundsByCache,
                         ::testing::Values(KvFormats{KvFormat::f16}, KvFormats{KvFormat::q8_0}, KvFormats{KvFormat::q8_0, KvFormat::q4_0}),
                         [](const auto& formats) { return name_of(formats.param); });

TEST(Rounds, ThatDoNotFitAreRefused) {
  TinyConfig tiny;
  tiny.context = 64;
  DeviceModel model(tiny, KvFormat::f16);
  const auto sequence = model.sequence();
  exec::RoundSpec round;
  round.draft = model.layers("layers:0");
  for (const auto& [base, most] : {std::pair{0u, 0u}, {0u, std::uint32_t{STEP_VERIFY_ROWS}}, {60u, 4u}}) {
    round.base = base;
    round.most = most;
    EXPECT_THROW(sequence->run(round), Error) << base << " " << most;
  }
  round.base = 60;
  round.most = 3;
  EXPECT_NO_THROW(sequence->run(round));
  round.pending = -1;
  EXPECT_THROW(sequence->run(round), Error);
  const std::int32_t token = 1;
  EXPECT_THROW(sequence->run({.layers = round.draft, .step = exec::RoundStep::draft}, {.tokens = {&token, 1}}), Error);
}

}  // namespace
}  // namespace skipstone::fixtures
