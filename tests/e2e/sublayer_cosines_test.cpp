// Cosines of whole prompts: what a drafter measures of the same prompt, what the oracle says, and measured anew without a trace in the
// cache.
#include "engine/sublayer_cosines.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "base/status.h"
#include "engine/device_sequence.h"
#include "engine/engine_state.h"
#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_model.h"
#include "gpu/test_device.h"
#include "ref/model.h"

namespace skipstone::engine {
namespace {

using text::Token;

constexpr std::uint32_t layers = 5, context = 200;

class Cosines : public testing::Test {
 protected:
  void SetUp() override {
    fixtures::TinyConfig config;
    config.layers = layers;
    config.tied = false;  // a text that does not repeat one token
    fixtures::write_tiny_model(config, path());
    EngineOptions options;
    options.kernels = fixtures::TestDevice::get().kernels;
    options.model_path = path();
    options.context = context;
    options.kv = KvType::f16;
    engine_ = Engine::load(options);
  }
  void TearDown() override { EXPECT_EQ(engine_->validation_messages(), 0u); }

  std::string path() const { return folder_.file("tiny.gguf"); }
  std::vector<Token> tokens(std::uint32_t count) const {
    std::vector<Token> all(count);
    for (std::uint32_t i = 0; i < count; ++i) all[i] = static_cast<Token>((i * i * 7 + i + 11) % engine_->config().vocabulary);
    return all;
  }

  fixtures::TemporaryDirectory folder_;
  std::shared_ptr<Engine> engine_;
};

double mean(const std::vector<float>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

TEST_F(Cosines, AreThoseOfTheDrafterAndOfTheOracle) {
  // Prompts in one pass, in a bucket of 64 and a rest, and one that does not fit.
  const std::vector<std::vector<Token>> prompts = {tokens(7), tokens(75), tokens(context + 1)};
  std::vector<double> progress;
  const SublayerCosines cosines = measure_cosines(*engine_, prompts, [&](const std::string& stage, double done) {
    EXPECT_EQ(stage, "measuring cosines");
    progress.push_back(done);
  });
  EXPECT_EQ(progress, (std::vector<double>{0, 1.0 / 3, 2.0 / 3}));
  EXPECT_EQ(cosines.left_out, 1u);
  EXPECT_EQ(cosines.tokens, 82u);
  ASSERT_EQ(cosines.attention.size(), 2u);
  ASSERT_EQ(cosines.mlp.size(), 2u);
  ASSERT_EQ(cosines.reading.size(), 2u);
  const ref::Model oracle(gguf::File::open(path()), KvFormat::f16);
  for (std::size_t i = 0; i < 2; ++i) {
    SessionOptions how;
    how.draft = "asd";
    Session session(engine_, how);
    session.generate(prompts[i], 1, {});
    EXPECT_EQ(cosines.attention[i], session.attention_cosine()) << "to the bit";
    ref::Sequence sequence = oracle.new_sequence();
    const ref::Result wanted = oracle.forward(sequence, prompts[i], 0, exec::LayerPlan::full(layers));
    ASSERT_EQ(cosines.mlp[i].size(), layers);
    for (std::uint32_t layer = 0; layer < layers; ++layer) {
      EXPECT_NEAR(cosines.attention[i][layer], mean(wanted.attention_cosine[layer]), 1e-4) << "layer " << layer;
      EXPECT_NEAR(cosines.mlp[i][layer], mean(wanted.mlp_cosine[layer]), 1e-4) << "layer " << layer;
      EXPECT_GT(std::abs(cosines.mlp[i][layer] - cosines.attention[i][layer]), 1e-4f) << "the oracle could not tell them apart";
    }
    EXPECT_GT(cosines.reading[i].plain, 0.0);
    EXPECT_GT(cosines.reading[i].attention, 0.0);
    EXPECT_GT(cosines.reading[i].all, 0.0);
  }
}

TEST_F(Cosines, RefusesWhatCannotBeMeasured) {
  const auto refusal = [&](const std::vector<std::vector<Token>>& prompts) -> std::string {
    try {
      measure_cosines(*engine_, prompts, {});
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::invalid_argument);
      return error.what();
    }
    return {};
  };
  EXPECT_EQ(refusal({tokens(201)}), "there is no prompt to measure cosines of: 1 of 1 are longer than the context of 200 tokens");
  EXPECT_EQ(refusal({}), "there is no prompt to measure cosines of: 0 of 0 are longer than the context of 200 tokens");
  EXPECT_EQ(refusal({tokens(3), {}}), "prompt 2 has no token to measure cosines of");
}

TEST_F(Cosines, AnewOverTheNewestTokensAndTheCacheKeepsItsBits) {
  const std::vector<Token> prompt = tokens(20);
  exec::Executor passes(*engine_->state().passes);
  DeviceSequence sequence(passes, engine_->config());
  speculation::SkipSetProbe& probe = *sequence.extensions().skip_sets;
  std::vector<Token> text = prompt;
  text.push_back(sequence.prefill(prompt, false).first.token);
  speculation::Verified verified;
  const auto step = [&] {
    sequence.verify(speculation::TokenTree(text.back()), 0, verified);
    sequence.commit(std::array<std::uint32_t, 1>{0});
    text.push_back(verified.choices.front().token);
  };
  for (int i = 0; i < 40; ++i) step();
  const auto cache = [&] {
    std::vector<std::vector<std::byte>> bytes;
    exec::KvBytes kv(passes.pages().cache().buffers(), passes.pages().lists(), sequence.committed());
    for (std::uint32_t layer = 0; layer < layers; ++layer) kv.read(layer, bytes.emplace_back(kv.layer_bytes(layer)));
    return bytes;
  };
  const auto before = cache();
  const ref::Model oracle(gguf::File::open(path()), KvFormat::f16);
  ref::Sequence read = oracle.new_sequence();
  const ref::Result wanted = oracle.forward(read, std::span(text).first(60), 0, exec::LayerPlan::full(layers));
  for (const std::uint32_t count : {1u, 5u, 32u}) {
    const std::vector<float> cosine = probe.attention_cosine(count);
    ASSERT_EQ(cosine.size(), layers);
    for (std::uint32_t layer = 0; layer < layers; ++layer) {
      const std::vector<float>& rows = wanted.attention_cosine[layer];
      EXPECT_NEAR(cosine[layer], mean({rows.end() - count, rows.end()}), 2e-4) << count << " tokens, layer " << layer;
    }
    EXPECT_TRUE(cache() == before) << count;
    EXPECT_EQ(sequence.committed(), 60u);
  }
  EXPECT_THROW(probe.attention_cosine(0), Error);
  EXPECT_THROW(probe.attention_cosine(33), Error);
  step();
  const std::vector<Token> straight = [&] {
    Session session(engine_, {});
    return session.generate(prompt, 42, {}).tokens;
  }();
  EXPECT_EQ(std::vector<Token>(text.begin() + 20, text.end()), straight);
}

TEST_F(Cosines, RefreshFollowsTheText) {
  SessionOptions how;
  Session plain(engine_, how);
  const std::vector<Token> expected = plain.generate(tokens(60), 120, {}).tokens;
  // From the middle of what this text measures, so that a change of the text crosses the threshold.
  const SublayerCosines measured = measure_cosines(*engine_, {tokens(60)}, {});
  const Spread spread = spread_of({measured.attention[0].begin(), measured.attention[0].end()});
  const std::string draft = "asd:rule1=0,rule2=0,gamma=0,adaptive=0,k=3,c=" + std::to_string(spread.median);
  how.draft = draft;
  Session fixed(engine_, how);
  const speculation::Outcome once = fixed.generate(tokens(60), 120, {});
  EXPECT_EQ(once.tokens, expected);
  EXPECT_EQ(once.stats.refreshes, 0u);
  EXPECT_EQ(once.stats.refresh_seconds, 0.0);
  how.draft = draft + ",refresh=10";
  Session refreshed(engine_, how);
  const speculation::Outcome anew = refreshed.generate(tokens(60), 120, {});
  EXPECT_EQ(anew.tokens, expected);
  EXPECT_GE(anew.stats.refreshes, 8u);  // every ten tokens or up to a round of four later
  EXPECT_LE(anew.stats.refreshes, 11u);
  EXPECT_GE(anew.stats.refreshed_sets, 1u);
  EXPECT_GT(anew.stats.refresh_seconds, 0.0);
  EXPECT_GE(anew.stats.host_seconds(), 0.0);
}

TEST(Spread, OfOddAndEvenNumbersOfValuesByHand) {
  const Spread odd = spread_of({0.9, -0.5, 0.2});
  EXPECT_EQ(odd.least, -0.5);
  EXPECT_EQ(odd.most, 0.9);
  EXPECT_EQ(odd.median, 0.2);
  EXPECT_NEAR(odd.mean, 0.2, 1e-15);
  const Spread even = spread_of({4, 1, 3, 8});
  EXPECT_EQ(even.median, 3.5);
  EXPECT_EQ(even.mean, 4);
  const Spread holes = spread_of({std::nan(""), 7, INFINITY});
  EXPECT_EQ(holes.least, 7);
  EXPECT_EQ(holes.median, 7);
  EXPECT_EQ(holes.mean, 7);
  EXPECT_EQ(spread_of({}).most, 0);
}

}  // namespace
}  // namespace skipstone::engine
