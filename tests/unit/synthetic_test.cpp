// Synthetic models: shapes that configuration and tensors take, sizes that are those of the published ones.
#include "model/synthetic.h"

#include <gtest/gtest.h>

#include <cmath>
#include <iterator>
#include <string>
#include <vector>

#include "base/status.h"
#include "model/config.h"

namespace skipstone::model {
namespace {

std::string refusal(const std::string& specification) {
  try {
    synthetic_model(specification);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::invalid_argument);
    return error.what();
  }
  return "(nothing was thrown)";
}

TEST(Synthetic, EveryShapeAndTypeIsAModel) {
  for (const SyntheticShape& shape : synthetic_shapes()) {
    for (const gguf::Traits& traits : gguf::all_traits()) {
      if (!traits.runnable) continue;
      const gguf::File file = synthetic_model(shape, traits.type);
      EXPECT_FALSE(file.has_data());
      const Config config = Config::from(file);
      EXPECT_EQ(config.layer_count(), shape.layers) << shape.name;
      EXPECT_EQ(config.attention().kv_heads, shape.kv_heads);
      EXPECT_EQ(config.tied_embeddings, shape.tied);
      EXPECT_EQ(find_tensors(file, config).layers.size(), shape.layers);
      EXPECT_EQ(config.prediction_layers.size(), shape.prediction_layers);
    }
  }
}

TEST(Synthetic, SizesAreThePublishedOnes) {
  // Parameters as the papers and model cards have them. Qwen 3's 0.6B and Gemma 3's are the sums of those in the embedding and outside it
  // (of Gemma 3 the language model's alone), by the reports' tables. Qwen 3.5's and 3.6's are the checkpoints' without the encoder of
  // images.
  const std::pair<const char*, double> published[] = {
      {"llama-2-7b", 6.74e9},      {"llama-2-13b", 13.02e9},     {"llama-2-70b", 68.98e9},  {"llama-3.1-8b", 8.03e9},
      {"llama-3.2-1b", 1.24e9},    {"llama-3.2-3b", 3.21e9},     {"qwen2.5-7b", 7.61e9},    {"qwen3-0.6b", 0.596e9},
      {"qwen3-4b", 4.02e9},        {"qwen3-8b", 8.19e9},         {"gemma-2-2b", 2.61e9},    {"gemma-3-1b", 1.00e9},
      {"gemma-3-4b", 3.884e9},     {"gemma-3-12b", 11.771e9},    {"phi-4-mini", 3.84e9},    {"phi-4", 14.66e9},
      {"mistral-7b", 7.24e9},      {"mistral-small-3", 23.57e9}, {"granite-3-8b", 8.17e9},  {"smollm3-3b", 3.08e9},
      {"olmo2-7b", 7.30e9},        {"phi-3-mini", 3.82e9},       {"smollm2-135m", 134.5e6}, {"tinyllama-1.1b", 1.10e9},
      {"stories-260k", 260e3},     {"qwen3.5-9b", 9.19e9},       {"qwen3.6-27b", 27.30e9},  {"qwen3-30b-a3b", 30.53e9},
      {"qwen3.6-35b-a3b", 35.5e9}, {"gpt-oss-20b", 20.91e9}};
  for (const auto& [name, parameters] : published) {
    EXPECT_NEAR(static_cast<double>(model_size(synthetic_model(std::string(name) + ":f16")).parameters) / parameters, 1.0, 0.01) << name;
  }
  EXPECT_EQ(std::size(published), synthetic_shapes().size());
  const ModelSize size = model_size(synthetic_model("Llama-2-7B:Q4_0"));
  EXPECT_EQ(size.type, gguf::Type::q4_0);
  EXPECT_NEAR(static_cast<double>(size.bytes), 6.74e9 * 18 / 32, 0.01e9);
}

TEST(Synthetic, WhatSetsModelsApart) {
  const auto config_of = [](const char* name) { return Config::from(synthetic_model(std::string(name) + ":q4_0")); };
  Config config = config_of("gemma-3-4b");
  EXPECT_EQ(config.window(4), 1024u);
  EXPECT_EQ(config.window(5), 0u);
  EXPECT_TRUE(config.attention(4).local_rope);
  EXPECT_EQ(config.rope_scale, 8.0f);
  EXPECT_EQ(config.attention().head_dim, 256u);
  config = config_of("gemma-2-2b");
  EXPECT_EQ(config.final_softcap, 30.0f);
  EXPECT_EQ(config.window(0), 4096u);
  config = config_of("phi-4-mini");
  EXPECT_EQ(config.rope_dim, 96u);
  EXPECT_EQ(config.rope_original_context, 4096u);
  EXPECT_EQ(config.factors_for(8192).size(), 48u);
  // Its config.json's contexts, by LongRoPE's formula.
  EXPECT_NEAR(config.rope_magnitude, std::sqrt(1.0 + std::log(131072.0 / 4096.0) / std::log(4096.0)), 1e-6);
  config = config_of("llama-3.1-8b");
  EXPECT_EQ(config.rope_factors.front(), 1.0f);
  EXPECT_EQ(config.rope_factors.back(), 8.0f);
  EXPECT_EQ(config_of("granite-3-8b").logit_scale, 1.0f / 16.0f);
  EXPECT_EQ(config_of("mistral-7b").window(31), 4096u);
  EXPECT_FALSE(config_of("smollm3-3b").attention(3).rotates);
  const gguf::File qwen = synthetic_model("qwen2.5-7b:q4_0");
  EXPECT_EQ(qwen.find_tensor("blk.27.attn_k.bias")->elements(), 512u);
  EXPECT_EQ(qwen.find_tensor("blk.27.attn_output.bias"), nullptr);
  EXPECT_EQ(synthetic_model("olmo2-7b:q4_0").find_tensor("blk.0.attn_norm.weight"), nullptr);
  EXPECT_EQ(synthetic_model("phi-4:q4_0").find_tensor("blk.0.attn_qkv.weight")->rows(), 7680u);
}

// What `inspect` says of them.
TEST(Description, OfModels) {
  const auto lines = [](const char* name) { return describe(Config::from(synthetic_model(std::string(name) + ":q4_0"))); };
  using Lines = std::vector<std::string>;
  EXPECT_EQ(lines("llama-2-7b"), (Lines{"all 32 layers global, MLP gated by SiLU", "RoPE base 10000, pairs of neighbours"}));
  EXPECT_EQ(lines("mistral-7b")[0], "all 32 layers window 4096, MLP gated by SiLU");
  EXPECT_EQ(
      lines("gemma-3-1b"),
      (Lines{"layers 0-4 window 512, layer 5 global, and so on every 6 layers up to 25, QK-norm, post-norms, MLP gated by GELU",
             "RoPE base 1000000, base 10000 and no scaling in layers with a window, pairs half a head apart", "embeddings times 33.94"}));
  EXPECT_EQ(lines("gemma-2-2b"),
            (Lines{"layer 0 window 4096, layer 1 global, and so on every 2 layers up to 25, post-norms, MLP gated by GELU",
                   "RoPE base 10000, pairs half a head apart", "scores capped at 50, logits capped at 30, embeddings times 48"}));
  EXPECT_EQ(
      lines("phi-4-mini"),
      (Lines{
          "all 32 layers global, MLP gated by SiLU, Q, K and V in one matrix, gate and up in one matrix",
          "RoPE base 10000, 96 of a head's 128 dimensions, pairs half a head apart, frequencies divided by 1 to 48, by 1 to 48 in contexts "
          "of more than 4096 tokens, rotated dimensions times 1.19"}));
  EXPECT_EQ(lines("granite-3-8b")[2], "scores times 0.007812, embeddings times 12, what sublayers add times 0.22, logits times 0.0625");
  EXPECT_EQ(lines("smollm3-3b")[0], "layers 0-2 global, layer 3 global without RoPE, and so on every 4 layers up to 35, MLP gated by SiLU");
  EXPECT_EQ(lines("qwen2.5-7b")[0], "all 28 layers global, MLP gated by SiLU, biases of Q, K and V");
  EXPECT_EQ(lines("olmo2-7b")[0], "all 32 layers global, QK-norm over all heads at once, post-norms and no pre-norms, MLP gated by SiLU");
  EXPECT_EQ(
      lines("qwen3.5-9b"),
      (Lines{"layers 0-2 gated delta nets of 32 heads of 128x128, layer 3 global, and so on every 4 layers up to 31, QK-norm, MLP gated by "
             "SiLU, attention gated by a sigmoid",
             "RoPE base 10000000, 64 of a head's 256 dimensions, pairs half a head apart",
             "a head for multi-token prediction (--draft mtp)"}));
  const Config gemma = Config::from(synthetic_model("gemma-3-1b:q4_0"));
  const std::vector<LayerGroup> groups = layer_groups(gemma);
  ASSERT_EQ(groups.size(), 9u);
  EXPECT_EQ(groups[2].first, 6u);
  EXPECT_EQ(groups[2].last, 10u);
  EXPECT_EQ(groups[8].last, 25u);
}

TEST(Synthetic, RowsThatDoNotDivideAreF16) {
  const gguf::File file = synthetic_model("stories-260k:q8_0");
  EXPECT_EQ(file.find_tensor("blk.0.ffn_up.weight")->type, gguf::Type::q8_0);
  EXPECT_EQ(file.find_tensor("blk.0.ffn_down.weight")->type, gguf::Type::f16);  // rows of 172
}

TEST(Synthetic, FingerprintsDiffer) {
  EXPECT_EQ(synthetic_model("llama-2-7b:q4_0").fingerprint(), synthetic_model("LLAMA-2-7B:Q4_0").fingerprint());
  EXPECT_NE(synthetic_model("llama-2-7b:q4_0").fingerprint(), synthetic_model("llama-2-7b:q8_0").fingerprint());
  EXPECT_EQ(synthetic_model("llama-2-7b:q4_0").fingerprint().size(), 16u);
}

TEST(Synthetic, BadNames) {
  for (const char* bad : {"gpt-5:q4_0", "", ":q4_0", "llama-2-7b "}) EXPECT_NE(refusal(bad).find("smollm2-135m"), std::string::npos) << bad;
  for (const char* bad : {"llama-2-7b", "llama-2-7b:", "llama-2-7b:q9", "llama-2-7b:q8_1"}) {
    EXPECT_NE(refusal(bad).find("f32, f16, "), std::string::npos) << refusal(bad);
  }
}

}  // namespace
}  // namespace skipstone::model
