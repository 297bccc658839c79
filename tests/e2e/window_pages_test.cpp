// Layers with a window, and recurrent ones, give pages back that no row can see any more, and no text depends on it.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "engine/engine.h"
#include "engine/engine_state.h"
#include "fixtures/slow_device.h"
#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_model.h"
#include "gguf/gguf.h"
#include "gpu/test_device.h"
#include "ref/model.h"
#include "ref/operations.h"

namespace skipstone::engine {
namespace {

using Tokens = std::vector<text::Token>;

constexpr std::uint32_t context = 2048;
constexpr std::uint32_t most_pages = 11;  // 12 keys (3 records), a chunk, what a text may be rolled back (256), a pass (256), and a page
constexpr std::uint32_t pages_with_states = 9;  // the same with 128 positions since a state

Tokens random_text(std::size_t count, std::uint32_t seed) {
  Tokens all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = static_cast<text::Token>(3 + (i * 31 + seed * 17 + i * i * (seed + 1)) % 110);
  return all;
}

/// Every other layer of gemma2 sees 12 keys; of gemma3, all but every sixth one: none of five sees all. Three of five of lfm2 are
/// convolutions over three positions.
class WindowPages : public testing::TestWithParam<const char*> {
 protected:
  WindowPages() {
    fixtures::TinyConfig config = fixtures::tiny_family(GetParam());
    config.context = context;
    fixtures::write_tiny_model(config, file_);
  }

  std::shared_ptr<Engine> load(PrefixMode prefixes = PrefixMode::off) const {
    EngineOptions options;
    options.kernels = fixtures::TestDevice::get().kernels;
    options.model_path = file_;
    options.context = context;
    options.prefixes = prefixes;
    return Engine::load(options);
  }

  static std::unique_ptr<Session> open(const std::shared_ptr<Engine>& engine, const char* draft = "none") {
    SessionOptions options;
    options.draft = draft;
    options.ignore_end = true;
    return std::make_unique<Session>(engine, options);
  }

  static exec::MemoryKind releasing() {
    const std::string_view family = GetParam();
    return family == "lfm2" || family == "granitehybrid" ? exec::MemoryKind::recurrent : exec::MemoryKind::sliding;
  }
  static exec::KvPool::Use released(const std::shared_ptr<Engine>& engine) {
    return engine->state().passes->cache().pool(releasing()).use();
  }
  static exec::KvPool::Use whole(const std::shared_ptr<Engine>& engine) {
    return engine->state().passes->cache().pool(exec::MemoryKind::full).use();
  }

  fixtures::TemporaryDirectory directory_;
  std::string file_ = directory_.file("tiny.gguf");
};

TEST_P(WindowPages, GoBackAndTheReferenceSaysTheSame) {
  const auto engine = load();
  const Tokens prompt = random_text(fixtures::slow_device() ? 700 : 1500, 3);
  const auto session = open(engine);
  Tokens text = prompt;
  const Tokens out = session->generate(prompt, 40, {}).tokens;
  text.insert(text.end(), out.begin(), out.end() - 1);
  EXPECT_LE(released(engine).used, most_pages);
  const bool states = engine->state().passes->cache().has(exec::MemoryKind::states);
  EXPECT_EQ(released(engine).pages, states ? pages_with_states : most_pages) << "a text of any length has room in what was there at first";
  EXPECT_EQ(whole(engine).used, (text.size() + KV_PAGE - 1) / KV_PAGE);
  const ref::Model reference(gguf::File::open(file_), KvFormat::f16);
  ref::Sequence sequence = reference.new_sequence();
  const auto wanted =
      reference.forward(sequence, text, 0, exec::LayerPlan::full(engine->config().layer_count()), {.all_logits = false, .hidden = {}});
  const std::vector<float> logits = session->logits();
  ASSERT_EQ(logits.size(), wanted.logits.back().size());
  for (std::size_t i = 0; i < logits.size(); ++i) ASSERT_NEAR(logits[i], wanted.logits.back()[i], 2e-3) << i;
  EXPECT_EQ(out.back(), ref::argmax(wanted.logits.back()).token);
}

TEST_P(WindowPages, OfManyTextsAtOnceAndOfAllDraftersChangeNothing) {
  const auto engine = load();
  const std::vector<const char*> drafters = {"none", "suffix", "exit:auto", "recycle", "window:4,64", "auto"};
  const std::uint32_t length = fixtures::slow_device() ? 300 : 620, more = fixtures::slow_device() ? 30 : 90;
  std::vector<Tokens> alone, together(drafters.size());
  for (std::uint32_t i = 0; i < drafters.size(); ++i)
    alone.push_back(open(engine)->generate(random_text(length + 11 * i, i), more, {}).tokens);
  EXPECT_EQ(released(engine).used, 0u);
  {
    std::vector<std::jthread> threads;
    for (std::uint32_t i = 0; i < drafters.size(); ++i) {
      threads.emplace_back([&, i] { together[i] = open(engine, drafters[i])->generate(random_text(length + 11 * i, i), more, {}).tokens; });
    }
  }
  for (std::uint32_t i = 0; i < drafters.size(); ++i) EXPECT_EQ(together[i], alone[i]) << drafters[i];
  EXPECT_EQ(released(engine).used, 0u);
  EXPECT_LE(released(engine).pages, most_pages * drafters.size() * 3 / 2);
  EXPECT_EQ(engine->validation_messages(), 0u);
}

TEST_P(WindowPages, OfKnownBeginningsAreThereWhereATextGoesOn) {
  const auto without = load(), with = load(PrefixMode::exact);
  const Tokens beginning = random_text(500, 5);
  for (std::uint32_t i = 0; i < 3; ++i) {
    Tokens prompt = beginning;
    const Tokens rest = random_text(1 + 90 * i, 20 + i);
    prompt.insert(prompt.end(), rest.begin(), rest.end());
    const speculation::Outcome known = open(with)->generate(prompt, 20, {});
    EXPECT_EQ(known.tokens, open(without)->generate(prompt, 20, {}).tokens) << i;
    EXPECT_EQ(known.stats.cached_tokens, i > 0 ? 448u : 0u) << "seven whole pages of the beginning";
  }
  // Where another sequence took the pages of these layers, the prefix is read again, and the text is the same.
  auto& pool = with->state().passes->cache().pool(releasing());
  const std::uint32_t all = pool.use().pages;
  EXPECT_GT(with->state().caches.prefixes->use().pages[releasing()], 0u);
  {
    exec::PageTable others(pool);
    others.reserve(0, all * KV_PAGE);
    EXPECT_EQ(with->state().caches.prefixes->use().pages[releasing()], 0u);
    EXPECT_EQ(pool.use().pages, all) << "kept pages go before the pool grows";
  }
  EXPECT_GT(with->state().caches.prefixes->use().pages[exec::MemoryKind::full], 0u);
  for (const std::uint64_t found : {0u, 448u}) {
    const speculation::Outcome again = open(with)->generate(beginning, 20, {});
    EXPECT_EQ(again.tokens, open(without)->generate(beginning, 20, {}).tokens);
    EXPECT_EQ(again.stats.cached_tokens, found);
  }
}

TEST_P(WindowPages, OfARewoundTextComeFromItsCachedPrefix) {
  const auto without = load(), with = load(PrefixMode::exact);
  std::vector<Tokens> texts;
  for (const auto& engine : {without, with}) {
    const auto session = open(engine);
    Tokens& text = texts.emplace_back(session->generate(random_text(700, 9), 60, {}).tokens);
    session->rewind(400);
    const Tokens more = session->generate({5, 6}, 20, {}).tokens;
    text.insert(text.end(), more.begin(), more.end());
  }
  EXPECT_EQ(texts[1], texts[0]);
  const auto use = with->state().caches.prefixes->use();
  EXPECT_EQ(use.hits, 1u);
  EXPECT_EQ(use.tokens, releasing() == exec::MemoryKind::recurrent ? 256u : 320u) << "of 360 tokens";
}

// Of a recurrent model there may be a state where the prompt ends, and none before.
TEST_P(WindowPages, OfTheLastRowAreMadeAgain) {
  const auto engine = load();
  const Tokens text = random_text(1024, 3);
  const auto fresh = open(engine);
  fresh->prefill(text);
  const std::vector<float> wanted = fresh->logits();
  for (const std::uint32_t generated : {2u, 3u, 4u, 200u}) {
    const auto session = open(engine);
    session->generate(text, generated, {});
    session->rewind(generated);
    EXPECT_EQ(session->logits(), wanted) << generated;
    EXPECT_EQ(session->logits(), wanted) << generated << ", again";
  }
}

TEST_P(WindowPages, ThatAMeasurementNeedsAreMadeAgain) {
  const auto engine = load();
  const auto session = open(engine);
  EXPECT_GT(session->measure({.depth = 1000, .generate = 2}), 0.0);
  EXPECT_GT(session->measure({.depth = 200, .generate = 2}), 0.0);
  EXPECT_GT(session->measure({.depth = 1200, .rows = 4}), 0.0);
  EXPECT_GT(session->measure({.rows = 4}), 0.0);
  EXPECT_EQ(open(engine)->generate(random_text(300, 1), 5, {}).tokens, session->generate(random_text(300, 1), 5, {}).tokens);
}

INSTANTIATE_TEST_SUITE_P(Families, WindowPages, testing::Values("gemma2", "gemma3", "gemma4", "lfm2", "granitehybrid"));

}  // namespace
}  // namespace skipstone::engine
