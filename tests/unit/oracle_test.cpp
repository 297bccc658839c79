// The oracle against a second implementation, against itself cut up differently, and against real models run by other programs.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "base/half.h"
#include "base/status.h"
#include "edited_model.h"
#include "naive_llama.h"
#include "ref/model.h"
#include "ref/operations.h"

namespace skipstone {
namespace {

using exec::LayerPlan;
using fixtures::TinyConfig;
using tests::EditedModel;
using Tokens = std::vector<std::int32_t>;

const Tokens text{1, 270, 262, 300, 71, 265, 262, 330, 280, 99, 271, 264};

ref::Result run(const ref::Model& model, const Tokens& tokens, const LayerPlan& plan) {
  ref::Sequence sequence = model.new_sequence();
  return model.forward(sequence, tokens, 0, plan);
}
ref::Result run(const gguf::File& file, const Tokens& tokens, const KvFormats& kv_format = KvFormat::f32) {
  const ref::Model model(file, kv_format);
  return run(model, tokens, LayerPlan::full(model.config().layer_count()));
}

void expect_like_naive(const gguf::File& file) {
  const tests::NaiveLlama::Result naive = tests::NaiveLlama(file).run(text);
  const ref::Result oracle = run(file, text);
  ASSERT_EQ(oracle.attention_cosine.size(), naive.attention_cosine.size());
  ASSERT_EQ(oracle.mlp_cosine.size(), naive.mlp_cosine.size());
  for (std::size_t layer = 0; layer < naive.mlp_cosine.size(); ++layer) {
    ASSERT_EQ(oracle.mlp_cosine[layer].size(), text.size());
    for (std::size_t r = 0; r < text.size(); ++r) {
      ASSERT_NEAR(oracle.attention_cosine[layer][r], naive.attention_cosine[layer][r], 2e-6) << "layer " << layer << " row " << r;
      ASSERT_NEAR(oracle.mlp_cosine[layer][r], naive.mlp_cosine[layer][r], 2e-6) << "layer " << layer << " row " << r;
    }
  }
  const auto& expected = naive.logits;
  const auto& actual = oracle.logits;
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t r = 0; r < expected.size(); ++r) {
    ASSERT_EQ(actual[r].size(), expected[r].size());
    for (std::size_t i = 0; i < expected[r].size(); ++i) ASSERT_NEAR(actual[r][i], expected[r][i], 2e-5) << "row " << r << " logit " << i;
  }
}

TEST(Oracle, AgreesWithTheNaiveModel) { expect_like_naive(EditedModel().open()); }

TEST(Oracle, AgreesOnHeadsThatShareKeys) {
  for (const std::uint32_t kv_heads : {1u, 4u, 8u}) {
    TinyConfig tiny;
    tiny.heads = 8;
    tiny.kv_heads = kv_heads;
    tiny.head_dim = 12;  // heads * head_dim is not the width
    expect_like_naive(EditedModel(tiny).open());
  }
}

TEST(Oracle, AgreesOnBiases) {
  TinyConfig tiny;
  tiny.biases = true;
  tiny.layers = 2;
  const std::uint64_t vocab = fixtures::tiny_vocabulary_size();
  EditedModel edited(tiny);
  const auto ramp = [](std::size_t size) {
    std::vector<float> values(size);
    for (std::size_t i = 0; i < size; ++i) values[i] = 0.3f * std::sin(static_cast<float>(3 * i));
    return values;
  };
  for (const char* block : {"blk.0.", "blk.1."}) {
    edited.tensor(std::string(block) + "ffn_gate.bias", {128}, ramp(128)).tensor(std::string(block) + "ffn_up.bias", {128}, ramp(128));
    edited.tensor(std::string(block) + "ffn_down.bias", {64}, ramp(64), gguf::Type::f16);
  }
  expect_like_naive(edited.tensor("output.bias", {vocab}, ramp(vocab)).open());
}

TEST(Oracle, AgreesOnRotaryVariants) {
  TinyConfig tiny;
  tiny.rope_freqs = true;
  tiny.rope_base = 500.0f;
  tiny.tied = false;
  expect_like_naive(EditedModel(tiny).open());
  expect_like_naive(EditedModel(tiny).set("llama.rope.scaling.type", std::string("linear")).set("llama.rope.scaling.factor", 2.5f).open());
  expect_like_naive(EditedModel().set("llama.rope.dimension_count", std::uint32_t{12}).open());
}

TEST(Oracle, AgreesOnEveryWritableType) {
  for (const gguf::Traits& traits : gguf::all_traits()) {
    if (!traits.writable()) continue;
    SCOPED_TRACE(std::string(traits.name));
    TinyConfig tiny;
    tiny.type = traits.type;
    tiny.dim = 256;  // whole blocks of every type
    tiny.ffn = 256;
    tiny.layers = 1;
    expect_like_naive(EditedModel(tiny).open());
  }
}

TEST(Oracle, ChunksGiveTheBitsOfOneCall) {
  for (const KvFormats& kv_format : {KvFormats{KvFormat::f32}, KvFormats{KvFormat::f16}, KvFormats{KvFormat::q8_0, KvFormat::q4_0}}) {
    TinyConfig tiny;
    tiny.head_dim = 32;
    const ref::Model model(EditedModel(tiny).open(), kv_format);
    const LayerPlan plan = LayerPlan::full(model.config().layer_count());
    const ref::Result whole = run(model, text, plan);
    for (const std::size_t chunk : {1u, 5u}) {
      ref::Sequence sequence = model.new_sequence();
      for (std::size_t first = 0; first < text.size(); first += chunk) {
        const auto part = std::span(text).subspan(first, std::min(chunk, text.size() - first));
        const ref::Result result = model.forward(sequence, part, static_cast<std::uint32_t>(first), plan);
        for (std::size_t r = 0; r < part.size(); ++r) {
          EXPECT_EQ(result.logits[r], whole.logits[first + r]);
          EXPECT_EQ(result.hidden[r], whole.hidden[first + r]);
          for (std::size_t l = 0; l < 4; ++l) EXPECT_EQ(result.attention_cosine[l][r], whole.attention_cosine[l][first + r]);
        }
      }
    }
  }
}

TEST(Oracle, DraftsAndRollbackLeaveNoTrace) {
  const ref::Model model(EditedModel().open(), KvFormat::f16);
  const LayerPlan full = LayerPlan::full(4), draft = LayerPlan::parse("attn:1;mlp:2", 4);
  const ref::Result whole = run(model, text, full);
  ref::Sequence sequence = model.new_sequence();
  model.forward(sequence, std::span(text).first(6), 0, full);
  const Tokens wrong{5, 6, 7};
  for (std::uint32_t i = 0; i < 3; ++i) model.forward(sequence, std::span(wrong).subspan(i, 1), 6 + i, draft);
  model.forward(sequence, wrong, 6, full);  // a verification whose drafts are all rejected
  const ref::Result rest = model.forward(sequence, std::span(text).subspan(6), 6, full);
  for (std::size_t r = 0; r < rest.logits.size(); ++r) EXPECT_EQ(rest.logits[r], whole.logits[6 + r]);
}

TEST(Oracle, SkippedSublayersAreOnesThatAddNothing) {
  const std::string plan = "attn:1,3;mlp:0,3";
  const auto skipped = run(ref::Model(EditedModel().open(), KvFormat::f32), text, LayerPlan::parse(plan, 4));
  EditedModel silent;
  for (const char* name : {"blk.1.attn_output.weight", "blk.3.attn_output.weight"}) silent.tensor(name, {64, 64});
  for (const char* name : {"blk.0.ffn_down.weight", "blk.3.ffn_down.weight"}) silent.tensor(name, {128, 64});
  const auto expected = run(silent.open(), text);
  EXPECT_EQ(skipped.logits, expected.logits);
  EXPECT_EQ(skipped.hidden, expected.hidden);
  EXPECT_TRUE(skipped.mlp_cosine[0].empty());
  EXPECT_EQ(skipped.mlp_cosine[2], expected.mlp_cosine[2]);
  EXPECT_TRUE(skipped.attention_cosine[1].empty());
  EXPECT_TRUE(skipped.attention_cosine[3].empty());
  EXPECT_EQ(skipped.attention_cosine[0], expected.attention_cosine[0]);
  EXPECT_EQ(skipped.attention_cosine[2], expected.attention_cosine[2]);
  EXPECT_NE(skipped.logits, run(EditedModel().open(), text).logits);
}

TEST(Oracle, SkippedAttentionStoresNothing) {
  const ref::Model model(EditedModel().open(), KvFormat::f32);
  ref::Sequence sequence = model.new_sequence();
  model.forward(sequence, text, 0, LayerPlan::parse("attn:2", 4));
  EXPECT_TRUE(sequence.keys[2].empty());
  EXPECT_TRUE(sequence.values[2].empty());
  EXPECT_EQ(sequence.keys[1].size(), text.size() * model.config().attention().kv_width());
}

TEST(Oracle, AnEarlyExitIsAShorterModel) {
  LayerPlan early = LayerPlan::full(4);
  early.end = 2;
  const auto exited = run(ref::Model(EditedModel().open(), KvFormat::f32), text, early);
  EXPECT_EQ(exited.logits, run(EditedModel().keep_layers(2).open(), text).logits);
}

TEST(Oracle, LateLayersContinueFromTheHiddenState) {
  const ref::Model model(EditedModel().open(), KvFormat::f16);
  LayerPlan early = LayerPlan::full(4), late = early;
  early.end = late.begin = 3;
  ref::Sequence sequence = model.new_sequence();
  std::vector<float> hidden;
  for (const auto& row : model.forward(sequence, text, 0, early).hidden) hidden.insert(hidden.end(), row.begin(), row.end());
  ref::Options options;
  options.hidden = hidden;
  const auto result = model.forward(sequence, text, 0, late, options);
  EXPECT_EQ(result.logits, run(model, text, LayerPlan::full(4)).logits);
}

TEST(Oracle, LastLogitsAlone) {
  const ref::Model model(EditedModel().open(), KvFormat::f32);
  ref::Sequence sequence = model.new_sequence();
  ref::Options options;
  options.all_logits = false;
  const auto result = model.forward(sequence, text, 0, LayerPlan::full(4), options);
  ASSERT_EQ(result.logits.size(), 1u);
  EXPECT_EQ(result.logits[0], run(model, text, LayerPlan::full(4)).logits.back());
}

TEST(Oracle, HalfCacheRoundsKeysAndValues) {
  const gguf::File file = EditedModel().open();
  const ref::Model half(file, KvFormat::f16), full(file, KvFormat::f32);
  ref::Sequence rounded = half.new_sequence(), exact = full.new_sequence();
  half.forward(rounded, text, 0, LayerPlan::full(4));
  full.forward(exact, text, 0, LayerPlan::full(4));
  for (std::size_t i = 0; i < exact.keys[0].size(); ++i) {  // layer 0 has seen no cache yet
    EXPECT_EQ(rounded.keys[0][i], half_to_float(float_to_half(exact.keys[0][i])));
    EXPECT_EQ(rounded.values[0][i], half_to_float(float_to_half(exact.values[0][i])));
  }
  EXPECT_NE(rounded.keys[0], exact.keys[0]);
}

TEST(Oracle, QuantisedCacheRoundsKeysAndValues) {
  TinyConfig tiny;
  tiny.head_dim = 32;
  const gguf::File file = EditedModel(tiny).open();
  const ref::Model full(file, KvFormat::f32);
  for (const KvFormats& formats : {KvFormats{KvFormat::q8_0}, KvFormats{KvFormat::q4_0, KvFormat::q5_1}}) {
    const ref::Model blocks(file, formats);
    ref::Sequence rounded = blocks.new_sequence(), exact = full.new_sequence();
    blocks.forward(rounded, text, 0, LayerPlan::full(4));
    full.forward(exact, text, 0, LayerPlan::full(4));
    EXPECT_NE(exact.keys[0], rounded.keys[0]);
    EXPECT_NE(exact.values[0], rounded.values[0]);
    ref::round_kv(formats.k, exact.keys[0]);  // layer 0 has seen no cache yet
    ref::round_kv(formats.v, exact.values[0]);
    EXPECT_EQ(exact.keys[0], rounded.keys[0]);
    EXPECT_EQ(exact.values[0], rounded.values[0]);
  }
  const KvFormats refused[] = {KvFormat::q8_0, {KvFormat::f16, KvFormat::q4_0}};
  for (const KvFormats& formats : refused) EXPECT_THROW(ref::Model(EditedModel().open(), formats), Error);  // heads of 16
}

TEST(Oracle, RefusesWhatCannotBe) {
  const ref::Model model(EditedModel().open(), KvFormat::f32);
  const LayerPlan full = LayerPlan::full(4);
  ref::Sequence sequence = model.new_sequence();
  const Tokens outside{static_cast<std::int32_t>(model.config().vocabulary)};
  EXPECT_THROW(model.forward(sequence, {}, 0, full), Error);
  EXPECT_THROW(model.forward(sequence, outside, 0, full), Error);
  EXPECT_THROW(model.forward(sequence, Tokens{-1}, 0, full), Error);
  EXPECT_THROW(model.forward(sequence, Tokens{1}, 1, full), Error);  // nothing is stored at position 0
  EXPECT_THROW(model.forward(sequence, Tokens{1}, 0, LayerPlan::full(5)), Error);
  const std::vector<float> short_hidden(3);
  ref::Options options;
  options.hidden = short_hidden;
  EXPECT_THROW(model.forward(sequence, Tokens{1}, 0, full, options), Error);
}

}  // namespace
}  // namespace skipstone
