// What families do differently, as Config::from reads it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/status.h"
#include "edited_model.h"
#include "model/config.h"

namespace skipstone {
namespace {

using fixtures::TinyConfig;
using model::Config;
using model::Role;
using tests::EditedModel;
using tests::expect_refused;

TinyConfig family(const std::string& name) {
  TinyConfig tiny = fixtures::tiny_family(name);
  tiny.long_rope_above = name == "phi3" ? 64 : 0;
  return tiny;
}

TEST(Config, ReadsWhatFamiliesDoDifferently) {
  const Config qwen3 = Config::from(EditedModel(family("qwen3")).open());
  EXPECT_EQ(qwen3.attention().qk_norm, model::QkNorm::head);
  EXPECT_TRUE(qwen3.attention(3).rotates);
  EXPECT_EQ(qwen3.rope_pairs, model::RopePairs::halves);
  const Config smollm3 = Config::from(EditedModel(family("smollm3")).open());
  EXPECT_TRUE(smollm3.attention(2).rotates);
  EXPECT_FALSE(smollm3.attention(3).rotates);
  EXPECT_EQ(smollm3.rope_pairs, model::RopePairs::neighbours);
  const Config phi3 = Config::from(EditedModel(family("phi3")).open());
  EXPECT_EQ(phi3.factors_for(64).back(), 2.0f);
  EXPECT_EQ(phi3.factors_for(65).back(), 8.0f);
  EXPECT_EQ(phi3.rope_magnitude, 1.125f);
}

TEST(Config, ReadsParallelBlocks) {
  const gguf::File file = EditedModel(family("cohere2")).open();
  const Config cohere = Config::from(file);
  EXPECT_TRUE(cohere.layers.front().parallel);
  EXPECT_EQ(cohere.window(2), 12u);
  EXPECT_EQ(cohere.window(3), 0u);
  EXPECT_TRUE(cohere.attention(2).rotates);
  EXPECT_FALSE(cohere.attention(3).rotates);
  EXPECT_EQ(cohere.logit_scale, 0.25f);
  const model::Parameters layer = model::find_tensors(file, cohere).layers[1];
  EXPECT_TRUE(layer[Role::attention_norm]);
  EXPECT_FALSE(layer[Role::ffn_norm]);
  EXPECT_EQ(layer[Role::attention_norm].bias, nullptr);
  EXPECT_EQ(
      model::describe(cohere).front(),
      "layers 0-2 window 12, layer 3 global without RoPE, and so on every 4 layers up to 4, layer norms without a bias, attention and "
      "MLP in parallel, MLP gated by SiLU");
}

TEST(Config, FindsFusedTensorsAndNormsOfHeads) {
  const gguf::File phi3 = EditedModel(family("phi3")).open();
  const model::Parameters fused = model::find_tensors(phi3, Config::from(phi3)).layers[1];
  ASSERT_TRUE(fused[Role::qkv]);
  ASSERT_TRUE(fused[Role::gate_up]);
  EXPECT_EQ(fused[Role::gate_up].weight->rows(), 128u);
  EXPECT_FALSE(fused[Role::q]);
  const gguf::File qwen3 = EditedModel(family("qwen3")).open();
  const model::Parameters normed = model::find_tensors(qwen3, Config::from(qwen3)).layers[1];
  ASSERT_TRUE(normed[Role::q_norm]);
  EXPECT_EQ(normed[Role::k_norm].weight->name, "blk.1.attn_k_norm.weight");
}

TEST(Config, RefusesWhatIsNotAFamilys) {
  expect_refused(EditedModel(family("qwen3")).remove_tensor("blk.2.attn_k_norm.weight"), Code::bad_file,
                 "'blk.2.attn_k_norm.weight' is missing");
  expect_refused(EditedModel(family("qwen3")).tensor("blk.0.attn_q_norm.weight", {64}), Code::bad_file, "has shape 64, expected 16");
  expect_refused(EditedModel(family("phi3")).remove_tensor("blk.0.attn_qkv.weight"), Code::bad_file, "'blk.0.attn_qkv.weight' is missing");
  expect_refused(EditedModel(family("phi3")).tensor("blk.0.attn_q.weight", {48, 64}), Code::unsupported, "'blk.0.attn_q.weight'");
  expect_refused(EditedModel(family("phi3")).tensor("blk.0.ffn_up.weight", {48, 64}), Code::bad_file, "expected 48x128");
  expect_refused(EditedModel(family("phi3")).remove_tensor("rope_factors_short.weight"), Code::bad_file, "both or none");
  expect_refused(EditedModel(family("phi3")).remove("phi3.rope.scaling.original_context_length"), Code::bad_file,
                 "original_context_length");
  expect_refused(EditedModel(family("phi3")).tensor("rope_factors_long.weight", {4}), Code::bad_file, "has 4 factors, expected 8");
  expect_refused(EditedModel(family("phi3")).set("phi3.rope.scaling.attn_factor", -1.0f), Code::bad_file, "above 0");
  expect_refused(EditedModel(family("qwen2")).remove_tensor("blk.1.attn_k.bias"), Code::bad_file, "'blk.1.attn_k.bias' is missing");
  expect_refused(EditedModel(family("starcoder2")).remove_tensor("blk.1.ffn_norm.bias"), Code::bad_file,
                 "'blk.1.ffn_norm.bias' is missing");
  expect_refused(EditedModel(family("starcoder2")).remove("starcoder2.attention.layer_norm_epsilon"), Code::bad_file,
                 "attention.layer_norm_epsilon");
  expect_refused(EditedModel(family("olmo2")).tensor("blk.0.attn_q_norm.weight", {16}), Code::bad_file, "has shape 16, expected 64");
  expect_refused(EditedModel(family("olmo2")).tensor("blk.0.attn_norm.weight", {48}), Code::unsupported, "'blk.0.attn_norm.weight'");
  expect_refused(EditedModel(family("gemma2")).remove_tensor("blk.3.post_ffw_norm.weight"), Code::bad_file,
                 "'blk.3.post_ffw_norm.weight' is missing");
  expect_refused(EditedModel(family("gpt-oss")).remove_tensor("blk.2.attn_sinks.weight"), Code::bad_file,
                 "'blk.2.attn_sinks.weight' is missing");
  expect_refused(EditedModel(family("gpt-oss")).tensor("blk.2.attn_sinks.weight", {2}), Code::bad_file, "has shape 2, expected 4");
  expect_refused(EditedModel(family("qwen3")).tensor("blk.0.attn_sinks.weight", {4}), Code::unsupported, "'blk.0.attn_sinks.weight'");
  for (const char* bias : {"attn_k", "attn_output", "ffn_gate_inp", "ffn_gate_exps", "ffn_down_exps"}) {
    const std::string name = std::string("blk.1.") + bias + ".bias";
    expect_refused(EditedModel(family("gpt-oss")).remove_tensor(name), Code::bad_file, "'" + name + "' is missing");
  }
}

TEST(Config, RefusesContradictions) {
  const auto refused = [](const std::string& name, const std::string& key, const gguf::Value& value, const std::string& sentence) {
    try {
      Config::from(EditedModel(family(name)).set(name + "." + key, value).open());
      ADD_FAILURE() << name << " " << key;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::bad_file) << error.what();
      EXPECT_NE(std::string(error.what()).find(sentence), std::string::npos) << error.what();
    }
  };
  const auto pattern = [](std::size_t layers) {
    return gguf::Value(std::make_shared<const gguf::Array>(gguf::Array{std::vector<bool>(layers, true)}));
  };
  refused("gemma2", "attention.sliding_window", std::uint32_t{0}, "is 0, expected 1 to");
  refused("olmo2", "attention.sliding_window_pattern", pattern(5), "attention.sliding_window");
  refused("exaone4", "attention.sliding_window_pattern", pattern(4), "has 4 items, but the model has 5 layers");
  refused("gemma2", "attn_logit_softcapping", -5.0f, "is -5, expected a finite number above 0");
  refused("gemma3", "final_logit_softcapping", -1.0f, "is -1, expected a finite number, 0 or more");
  refused("granite", "residual_scale", 0.0f, "expected a finite number above 0");
  refused("granite", "logit_scale", std::numeric_limits<float>::quiet_NaN(), "expected a finite number above 0");
  refused("mistral3", "rope.scaling.original_context_length", std::uint32_t{0}, "is 0, expected 1 to");
  refused("mistral3", "rope.scaling.factor", -2.0f, "expected a finite number above 0");
  refused("mistral3", "attention.temperature_scale", -0.1f, "0 or more");
  refused("mistral3", "rope.freq_base", 1.0f, "YaRN needs a base above 1");
  refused("gpt-oss", "rope.scaling.yarn_beta_fast", 0.0f, "expected a finite number above 0");
  EXPECT_THROW(Config::from(EditedModel(family("gemma2")).remove("gemma2.attn_logit_softcapping").open()), Error);
  EXPECT_THROW(Config::from(EditedModel(family("gemma3")).remove("gemma3.attention.sliding_window").open()), Error);
  EXPECT_THROW(Config::from(EditedModel().set("llama.rope.scaling.type", std::string("yarn")).open()), Error);  // no factor
  EXPECT_THROW(Config::from(EditedModel(family("mistral3")).tensor("rope_freqs.weight", {8}).open()), Error);
  EXPECT_THROW(Config::from(EditedModel(family("mistral3")).set("mistral3.rope.dimension_count", std::uint32_t{8}).open()), Error);
}

std::string windows(const Config& config) {
  std::string text;
  for (std::uint32_t layer = 0; layer < config.layer_count(); ++layer) text += config.window(layer) == 0 ? 'f' : 'w';
  return text;
}

TEST(Config, ReadsWhichLayersHaveAWindow) {
  const Config mistral = Config::from(EditedModel().set("llama.attention.sliding_window", std::uint32_t{128}).open());
  EXPECT_EQ(windows(mistral), "wwww");
  EXPECT_EQ(mistral.attention(3).window, 128u);
  EXPECT_EQ(windows(Config::from(EditedModel().set("llama.attention.sliding_window", std::uint32_t{0}).open())), "ffff");
  EXPECT_EQ(windows(Config::from(EditedModel(family("gemma2")).open())), "wfwfw");
  EXPECT_EQ(windows(Config::from(EditedModel(family("gpt-oss")).open())), "wfwfw");
  TinyConfig seven = family("gemma3");
  seven.layers = 7;
  const Config gemma3 = Config::from(EditedModel(seven).open());
  EXPECT_EQ(windows(gemma3), "wwwwwfw");
  EXPECT_TRUE(gemma3.attention(0).local_rope);
  EXPECT_FALSE(gemma3.attention(5).local_rope);
  EXPECT_EQ(gemma3.local_rope_base, 500.0f);
  EXPECT_EQ(Config::from(EditedModel(seven).remove("gemma3.rope.freq_base_swa").open()).local_rope_base, 10000.0f);
  const Config exaone4 = Config::from(EditedModel(family("exaone4")).open());
  EXPECT_EQ(windows(exaone4), "wwwfw");
  EXPECT_TRUE(exaone4.attention(2).rotates);
  EXPECT_FALSE(exaone4.attention(3).rotates);
}

TEST(Config, TakesANumberForThePatternOfWindows) {
  TinyConfig tiny = family("olmo2");
  tiny.keys = {{"attention.sliding_window", std::uint32_t{12}}, {"attention.sliding_window_pattern", std::uint32_t{2}}};
  EXPECT_EQ(windows(Config::from(EditedModel(tiny).open())), "wfwfw");
  tiny.keys.back().value = std::uint32_t{0};
  EXPECT_EQ(windows(Config::from(EditedModel(tiny).open())), "wwwww");
}

// OLMo 3: positions of layers with a window are not scaled.
TEST(Config, ScalesLayersOfFullAttentionAlone) {
  TinyConfig tiny = family("olmo2");
  tiny.layers = 4;
  tiny.keys = {
      {"attention.sliding_window", std::uint32_t{12}},
      {"attention.sliding_window_pattern", std::make_shared<const gguf::Array>(gguf::Array{std::vector<bool>{true, true, true, false}})}};
  EXPECT_FALSE(Config::from(EditedModel(tiny).open()).attention(0).local_rope);
  tiny.keys.push_back({"rope.scaling.type", std::string("yarn")});
  tiny.keys.push_back({"rope.scaling.factor", 8.0f});
  tiny.keys.push_back({"rope.scaling.original_context_length", std::uint32_t{16}});
  const Config olmo3 = Config::from(EditedModel(tiny).open());
  EXPECT_TRUE(olmo3.attention(0).local_rope);
  EXPECT_FALSE(olmo3.attention(3).local_rope);
  EXPECT_EQ(olmo3.local_rope_base, olmo3.rope_base);
  EXPECT_EQ(olmo3.rope_factors.back(), 8.0f);
}

TEST(Config, ReadsHeadsOfLayersWithAWindow) {
  const Config c = Config::from(EditedModel(family("gemma4")).open());
  EXPECT_TRUE(c.windows_have_own_heads());
  const model::Attention &sliding = c.attention(0), &full = c.attention(2);
  EXPECT_EQ(sliding.window, 12u);
  EXPECT_EQ(sliding.head_dim, 16u);
  EXPECT_EQ(sliding.kv_heads, 2u);
  EXPECT_FALSE(sliding.keys_as_values);
  EXPECT_TRUE(sliding.local_rope);
  EXPECT_EQ(full.window, 0u);
  EXPECT_EQ(full.head_dim, 32u);
  EXPECT_EQ(full.kv_heads, 1u);
  EXPECT_TRUE(full.keys_as_values);
  EXPECT_EQ(full.scale, 1.0f);
  EXPECT_EQ(c.attention(3).kv_source, 1u);
  EXPECT_EQ(c.attention(4).kv_source, 2u);
  EXPECT_TRUE(c.has_readers(1, 5));
  EXPECT_FALSE(c.has_readers(1, 3)) << "the reader comes later";
  EXPECT_FALSE(c.has_readers(0, 5));
  EXPECT_EQ(c.rope_dim_of(full), 32u);
  EXPECT_EQ(c.rope_dim_of(sliding), 16u);
  EXPECT_EQ(c.q_width(), 128u);
  EXPECT_EQ(c.qkv_width(), 128u + 2 * 32u);
  EXPECT_EQ(c.token_input(), 32u);
  EXPECT_TRUE(c.has_window(0, 8)) << "also in a context below the window, since the heads are others";

  const auto counts = [](std::vector<std::uint32_t> all) { return std::make_shared<const gguf::Array>(gguf::Array{std::move(all)}); };
  expect_refused(EditedModel(family("gemma4")).set("gemma4.attention.shared_kv_layers", std::uint32_t{4}), Code::bad_file,
                 "Layer 2 has no keys and values of its own");
  expect_refused(EditedModel(family("gemma4")).set("gemma4.attention.head_count_kv", counts({2, 1, 1, 1, 1})), Code::unsupported,
                 "layers 0 and 1 differ");
  expect_refused(EditedModel(family("gemma4")).set("gemma4.attention.head_count_kv", counts({3, 3, 1, 3, 1})), Code::bad_file,
                 "do not divide among the 3 KV heads of layer 0");
  expect_refused(EditedModel(family("gemma4")).set("gemma4.embedding_length_per_layer_input", std::uint32_t{20}), Code::unsupported,
                 "needs a multiple of 32");
  expect_refused(EditedModel(family("gemma4")).remove_tensor("per_layer_proj_norm.weight"), Code::bad_file,
                 "'per_layer_proj_norm.weight' is missing");
}

TEST(Config, ReadsSinksBiasesAndTheNormBeforeExperts) {
  const gguf::File file = EditedModel(family("gpt-oss")).open();
  const Config config = Config::from(file);
  EXPECT_TRUE(config.attention().sinks);
  EXPECT_EQ(config.layers[1].norm_after, model::Norm::none);
  EXPECT_EQ(config.experts()->activation, model::Activation::clamped_silu);
  EXPECT_EQ(config.experts()->gating, model::Gating::softmax_of_chosen);
  EXPECT_FALSE(config.experts()->renormalised);
  const model::Parameters layer = model::find_tensors(file, config).layers[1];
  EXPECT_EQ(layer[Role::sinks].weight->name, "blk.1.attn_sinks.weight");
  EXPECT_EQ(layer[Role::sinks].weight->elements(), 4u);
  EXPECT_EQ(layer[Role::ffn_norm].weight->name, "blk.1.post_attention_norm.weight");
  EXPECT_EQ(layer[Role::expert_up].bias->shape[1], 6u);
  EXPECT_NE(layer[Role::o].bias, nullptr);
  EXPECT_EQ(model::describe(config).front(),
            "layer 0 window 12 with 2 of 6 experts of 32, layer 1 global with 2 of 6 experts of 32, and so on every 2 layers up to 4, "
            "a sink in the softmax of each head, experts gated by a clamped SiLU, router by a softmax over the chosen experts, biases of "
            "all matrices");
}

// YaRN divides frequencies between two pairs, which may be rounded outwards to whole ones. 16 dimensions, base 10000, original context 16:
// 2 turns at pair 0.21, a quarter of a turn at pair 2.02.
TEST(Config, RoundsThePairsOfYarnWhereTheFileSaysSo) {
  const auto factors = [](std::optional<bool> truncate) {
    EditedModel model(family("gpt-oss"));
    if (truncate) model.set("gpt-oss.rope.scaling.yarn_truncate", *truncate);
    return Config::from(model.open()).rope_factors;
  };
  const auto pair_of = [](double turns) { return 8.0 * std::log(16.0 / (turns * 2.0 * 3.14159265358979)) / std::log(10000.0); };
  const auto factor = [](double pair, double low, double high) {
    const double divided = std::clamp((pair - low) / (high - low), 0.0, 1.0);
    return 1.0 / (divided / 8.0 + 1.0 - divided);
  };
  const std::vector<float> exact = factors(false), rounded = factors(true);
  ASSERT_EQ(exact.size(), 8u);
  for (std::uint32_t pair = 0; pair < 8; ++pair) {
    EXPECT_NEAR(exact[pair], factor(pair, pair_of(2.0), pair_of(0.25)), 1e-5) << pair;
    EXPECT_NEAR(rounded[pair], factor(pair, 0.0, 3.0), 1e-5) << pair;
  }
  EXPECT_EQ(factors(std::nullopt), exact) << "files of gpt-oss may not say it";
}

TEST(Config, ReadsScalesAndSoftcaps) {
  const Config granite = Config::from(EditedModel(family("granite")).open());
  EXPECT_EQ(granite.embedding_scale, 3.0f);
  EXPECT_EQ(granite.residual_scale, 0.5f);
  EXPECT_EQ(granite.attention().scale, 0.125f);
  EXPECT_EQ(granite.logit_scale, 0.5f);  // logits are divided by the file's number
  const Config gemma2 = Config::from(EditedModel(family("gemma2")).open());
  EXPECT_EQ(gemma2.embedding_scale, std::sqrt(48.0f));
  EXPECT_EQ(gemma2.attention().softcap, 5.0f);
  EXPECT_EQ(gemma2.final_softcap, 8.0f);
  const Config mistral3 = Config::from(EditedModel(family("mistral3")).open());
  EXPECT_DOUBLE_EQ(mistral3.temperature_at(15), 1.0);
  EXPECT_NEAR(mistral3.temperature_at(33), 1.0 + 0.25 * std::log(3.0), 1e-7);
  // YaRN by hand: 16 dimensions, base 10000, original context 16: pairs turn 16 / (2 pi 10000^(i/8)) times; below 32 turns at pair 0
  // already.
  EXPECT_EQ(mistral3.rope_factors.size(), 8u);
  EXPECT_EQ(mistral3.rope_factors.front(), 1.0f);
  EXPECT_EQ(mistral3.rope_factors.back(), 8.0f);
  EXPECT_NEAR(mistral3.rope_magnitude, (1.0 + 0.1 * std::log(8.0)) / (1.0 + 0.05 * std::log(8.0)), 1e-6);
}

}  // namespace
}  // namespace skipstone
