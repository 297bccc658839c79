// Cached prefixes of prompts are not read again, and no text depends on it; a prompt that is cancelled between its passes.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/engine_state.h"
#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_model.h"
#include "gpu/test_device.h"

namespace skipstone::engine {
namespace {

using Tokens = std::vector<text::Token>;

class Prefixes : public testing::Test {
 protected:
  Prefixes() {
    fixtures::TinyConfig config;
    config.layers = 2;
    config.dim = config.ffn = 64;
    config.heads = 2;
    config.kv_heads = 1;
    config.context = 1024;
    fixtures::write_tiny_model(config, file_);
  }

  std::shared_ptr<Engine> load(PrefixMode mode, std::uint32_t pool_tokens = 0) const {
    EngineOptions options;
    options.kernels = fixtures::TestDevice::get().kernels;
    options.model_path = file_;
    options.prefixes = mode;
    options.pool_tokens = pool_tokens;
    return Engine::load(options);
  }

  static Tokens tokens(std::size_t count, std::uint32_t seed) {
    Tokens all(count);
    for (std::size_t i = 0; i < count; ++i) all[i] = static_cast<text::Token>(3 + (i * 31 + seed * 17 + i * i * seed) % 110);
    return all;
  }

  static Tokens joined(Tokens first, const Tokens& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
  }

  static speculation::Outcome generate(const std::shared_ptr<Engine>& engine, const Tokens& prompt, float temperature = 0) {
    SessionOptions options;
    options.sampling.temperature = temperature;
    options.sampling.seed = 3;
    return Session(engine, options).generate(prompt, 20, {});
  }

  static std::vector<float> logits(const std::shared_ptr<Engine>& engine, const Tokens& prompt) {
    Session session(engine, {});
    session.prefill(prompt);
    return session.logits();
  }

  fixtures::TemporaryDirectory directory_;
  std::string file_ = directory_.file("tiny.gguf");
};

TEST_F(Prefixes, ChangeNoBitAndReadNothingTwice) {
  const auto without = load(PrefixMode::off), with = load(PrefixMode::exact);
  const Tokens beginning = tokens(300, 1);  // four whole pages and a part
  for (std::uint32_t i = 0; i < 4; ++i) {
    const Tokens prompt = joined(beginning, tokens(1 + 70 * i, 5 + i));
    for (const float temperature : {0.0f, 0.9f}) {
      const speculation::Outcome alone = generate(without, prompt, temperature), known = generate(with, prompt, temperature);
      EXPECT_EQ(known.tokens, alone.tokens) << i;
      EXPECT_EQ(alone.stats.cached_tokens, 0u);
      EXPECT_EQ(known.stats.prompt_tokens, prompt.size());
      EXPECT_GE(known.stats.cached_tokens, i > 0 || temperature > 0 ? 256u : 0u) << i;
      EXPECT_LT(known.stats.cached_tokens, prompt.size()) << "the last token is always read: the first choice comes from it";
    }
    EXPECT_EQ(logits(with, prompt), logits(without, prompt)) << i;
  }
  const auto use = with->state().caches.prefixes->use();
  EXPECT_GT(use.hits, 8u);
  EXPECT_EQ(with->state().passes->cache().pool(exec::MemoryKind::full).use().used, use.pages[exec::MemoryKind::full])
      << "sessions that are gone have given their pages back";
}

TEST_F(Prefixes, OfContinuationsAreKeptByTheFastModeAlone) {
  const Tokens prompt = tokens(100, 2);
  for (const PrefixMode mode : {PrefixMode::off, PrefixMode::exact, PrefixMode::fast}) {
    const auto engine = load(mode);
    Session first(engine, {});
    const Tokens answer = first.generate(prompt, 60, {}).tokens;
    ASSERT_EQ(answer.size(), 60u);
    const speculation::Outcome next = generate(engine, joined(joined(prompt, answer), tokens(9, 4)));
    const std::uint64_t expected = mode == PrefixMode::off ? 0 : mode == PrefixMode::exact ? 64 : 128;
    EXPECT_EQ(next.stats.cached_tokens, expected);
  }
}

TEST_F(Prefixes, GoLeastRecentlyUsedFirstBeforeThePoolGrows) {
  const auto engine = load(PrefixMode::exact);
  const auto& pool = engine->state().passes->cache().pool(exec::MemoryKind::full);
  const std::uint32_t pages = pool.use().pages;  // 16: one context
  // Three whole pages each stay, and five are in use while a text is made: the last one takes a page of the first.
  for (std::uint32_t i = 0; i < 5; ++i) generate(engine, tokens(250, 10 + i));
  EXPECT_EQ(engine->state().caches.prefixes->use().pages[exec::MemoryKind::full], 14u);
  EXPECT_GT(generate(engine, tokens(250, 10)).stats.cached_tokens, 0u);  // the oldest is the latest now
  generate(engine, tokens(250, 20));                                     // takes pages of the second
  EXPECT_EQ(pool.use().pages, pages) << "nothing had to grow";
  EXPECT_GT(generate(engine, tokens(250, 10)).stats.cached_tokens, 0u);
  EXPECT_LT(generate(engine, tokens(250, 11)).stats.cached_tokens, 192u);
  generate(engine, tokens(1000, 30));
  EXPECT_EQ(pool.use().pages, pages);
}

TEST_F(Prefixes, OfPagesThatSomebodyUsesStay) {
  const auto engine = load(PrefixMode::exact);
  const Tokens prompt = tokens(700, 7);
  Session holder(engine, {});
  holder.prefill(prompt);
  const std::vector<float> before = holder.logits();
  generate(engine, tokens(900, 8));  // 15 pages; the holder has 11 of 16: the pool grows, and the holder's stay
  EXPECT_EQ(holder.logits(), before);
  EXPECT_EQ(logits(load(PrefixMode::off), prompt), before);
}

TEST_F(Prefixes, PromptsAreCancelledBetweenPassesAndGoOn) {
  const auto engine = load(PrefixMode::off);
  const Tokens prompt = tokens(900, 9);
  const speculation::Outcome whole = generate(engine, prompt);
  Session session(engine, {});
  int asked = 0;
  session.cancel_when([&] { return ++asked == 3; });
  const speculation::Outcome part = session.generate(prompt, 20, {});
  EXPECT_EQ(part.stop, speculation::StopReason::cancelled);
  EXPECT_TRUE(part.tokens.empty());
  EXPECT_EQ(asked, 3);
  EXPECT_EQ(session.history(), prompt);
  session.cancel_when({});
  const speculation::Outcome rest = session.generate({}, 20, {});
  EXPECT_EQ(rest.tokens, whole.tokens);
  EXPECT_EQ(rest.stats.prompt_tokens, 900u - 512u);
}

}  // namespace
}  // namespace skipstone::engine
