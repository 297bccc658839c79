// What skip sets are scored on: a block of rows is what drafts, one after the other, would have been, to the bit.
#include "engine/skip_texts.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_model.h"
#include "gpu/test_device.h"

namespace skipstone::engine {
namespace {

using exec::LayerPlan;
using speculation::search::Drafted;
using speculation::search::Trace;
using text::Token;

std::shared_ptr<Engine> load(const fixtures::TemporaryDirectory& folder) {
  fixtures::TinyConfig config;
  config.layers = 5;
  const std::string path = folder.file("tiny.gguf");
  fixtures::write_tiny_model(config, path);
  EngineOptions options;
  options.kernels = fixtures::TestDevice::get().kernels;
  options.model_path = path;
  options.context = 128;
  return Engine::load(options);
}

/// Drafts of `plan` from position `prompt + at` on, fed with the text's own tokens, one row each.
Trace drafts_one_by_one(Engine& engine, const std::vector<Token>& prompt, const std::vector<Token>& text, std::uint32_t at,
                        const LayerPlan& plan) {
  exec::Executor passes(*engine.state().passes);
  DeviceSequence sequence(passes, engine.config());
  sequence.prefill(prompt, false);
  speculation::Verified out;
  for (std::uint32_t i = 0; i < at; ++i) {
    sequence.verify(speculation::TokenTree(text[i]), 0, out);
    sequence.commit(std::array<std::uint32_t, 1>{0});
  }
  Trace trace;
  for (std::uint32_t i = 0; i < SkipTexts::block; ++i) {
    const speculation::Choice draft = sequence.draft(speculation::LayerPass(plan, false), text[at + i], i);
    trace.push_back({draft.token == text[at + i + 1], draft.probability});
  }
  return trace;
}

TEST(SkipTexts, ScoreWhatDraftsWouldHaveBeen) {
  const fixtures::TemporaryDirectory folder;
  const auto engine = load(folder);
  const std::vector<std::vector<Token>> prompts = {engine->tokenizer().encode("the quick brown fox", true, false),
                                                   engine->tokenizer().encode("jumps over a lazy dog", true, false)};
  constexpr std::uint32_t tokens = 24;
  SkipTexts texts(*engine);
  std::vector<std::vector<Token>> continuations;
  for (const auto& prompt : prompts) {
    ASSERT_TRUE(texts.add(prompt, tokens + 3)) << "a rest of three makes no block";
    Session session(engine, {});
    continuations.push_back(session.generate(prompt, tokens + 1, {}).tokens);
    ASSERT_EQ(continuations.back().size(), tokens + 1) << "the text ends early";
  }
  EXPECT_EQ(texts.rows(), 2 * tokens);
  ASSERT_EQ(texts.attention_cosine().size(), 5u);
  std::size_t right = 0;
  std::vector<std::vector<Trace>> all;
  for (const char* set : {"attn:1,3;mlp:2", "mlp:0-4", "attn:4;mlp:3,4"}) {
    const LayerPlan plan = LayerPlan::parse(set, 5);
    const std::vector<Trace> traces = texts.score(plan, [] {});
    ASSERT_EQ(traces.size(), 2u);
    for (std::size_t text = 0; text < 2; ++text) {
      ASSERT_EQ(traces[text].size(), tokens);
      for (std::uint32_t at = 0; at < tokens; at += SkipTexts::block) {
        const Trace expected = drafts_one_by_one(*engine, prompts[text], continuations[text], at, plan);
        for (std::uint32_t i = 0; i < SkipTexts::block; ++i) {
          const Drafted& drafted = traces[text][at + i];
          EXPECT_EQ(drafted.agrees, expected[i].agrees) << set << ", row " << at + i;
          EXPECT_EQ(drafted.probability, expected[i].probability) << set << ", row " << at + i;
          right += drafted.agrees ? 1 : 0;
        }
      }
    }
    all.push_back(traces);
  }
  EXPECT_GT(right, 0u);
  // Nothing of one set's run is left for the next.
  const std::vector<Trace> again = texts.score(LayerPlan::parse("attn:1,3;mlp:2", 5), [] {});
  for (std::size_t text = 0; text < 2; ++text) {
    for (std::uint32_t i = 0; i < tokens; ++i) EXPECT_EQ(again[text][i].probability, all[0][text][i].probability);
  }
}

}  // namespace
}  // namespace skipstone::engine
