// Multi-head latent attention, as Config::from reads it.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "base/status.h"
#include "edited_model.h"
#include "model/config.h"

namespace skipstone::latents {
namespace {

using model::Attention;
using model::Config;
using model::Latents;
using model::Role;
using tests::edited;
using tests::EditedModel;
using tests::expect_refused;

TEST(LatentsConfig, ReadsSizesAndTensors) {
  const gguf::File file = edited("deepseek2").open();
  const Config c = Config::from(file);
  const Attention& attention = c.attention();
  EXPECT_EQ(attention.latents, (Latents{.width = 64, .query = 32, .key_dim = 32, .value_dim = 16}));
  EXPECT_EQ(attention.kv_heads, 1u);
  EXPECT_EQ(attention.head_dim, 96u);
  EXPECT_EQ(c.rope_dim, 32u);
  EXPECT_EQ(attention.q_rows(), 4u * 64u);
  EXPECT_EQ(attention.output_width(), 4u * 16u);
  const model::ModelTensors tensors = model::find_tensors(file, c);
  EXPECT_EQ(tensors.layers[1][Role::k_b].weight->shape, (std::array<std::uint64_t, 4>{32, 64, 4, 1}));
  EXPECT_EQ(tensors.layers[1][Role::v_b].weight->shape, (std::array<std::uint64_t, 4>{64, 16, 4, 1}));
  EXPECT_EQ(tensors.layers[1][Role::k_norm].weight->name, "blk.1.attn_kv_a_norm.weight");
  EXPECT_EQ(tensors.layers[1][Role::o].weight->row_length(), 64u);
  EXPECT_FALSE(tensors.layers[1][Role::q]);
  EXPECT_EQ(tensors.prediction_layers.size(), 1u);
  EXPECT_NE(model::describe(c).front().find("keys and values of 4 heads by a latent vector of 64, of queries 32"), std::string::npos);
}

// The scale of scores has YaRN's factor twice, and cosines keep theirs.
TEST(LatentsConfig, ScalesScores) {
  EditedModel model = edited("deepseek2");
  const Config c = Config::from(model.open());
  const double gain = 1.0 + 0.1 * std::log(8.0);
  EXPECT_NEAR(c.attention().scale, gain * gain / 8.0, 1e-6);
  EXPECT_EQ(c.rope_magnitude, 1.0f);
  EXPECT_FALSE(c.rope_factors.empty());
  EXPECT_EQ(std::get<Attention>(c.prediction_layers[0].mixer), c.attention());
  model.remove("deepseek2.rope.scaling.type");
  EXPECT_NEAR(Config::from(model.open()).attention().scale, 0.125, 1e-7);
}

/// As older files have it.
EditedModel fused() {
  EditedModel model = edited("deepseek2");
  for (std::uint32_t layer = 0; layer < 6; ++layer) {
    const std::string prefix = "blk." + std::to_string(layer) + ".attn_";
    model.remove_tensor(prefix + "k_b.weight").remove_tensor(prefix + "v_b.weight");
    model.tensor(prefix + "kv_b.weight", {64, 4 * (32 + 16)});
  }
  model.remove("deepseek2.attention.key_length_mla").remove("deepseek2.attention.value_length_mla");
  return model.set("deepseek2.attention.key_length", std::uint32_t{64})
      .set("deepseek2.attention.value_length", std::uint32_t{16})
      .set("deepseek2.attention.head_count_kv", std::uint32_t{4});
}

TEST(LatentsConfig, OlderFilesHaveOneMatrix) {
  const gguf::File file = fused().open();
  const Config c = Config::from(file);
  EXPECT_EQ(c.attention().latents, (Latents{.width = 64, .query = 32, .key_dim = 32, .value_dim = 16, .fused = true}));
  EXPECT_EQ(c.attention().kv_heads, 1u);
  const model::ModelTensors tensors = model::find_tensors(file, c);
  EXPECT_EQ(tensors.layers[0][Role::kv_b].weight->rows(), 192u);
  EXPECT_FALSE(tensors.layers[0][Role::k_b]);
  EXPECT_FALSE(tensors.layers[0][Role::v_b]);
}

TEST(LatentsConfig, SoftmaxesHaveNoCorrection) {
  EditedModel model = edited("deepseek2");
  EXPECT_TRUE(Config::from(model.open()).experts()->corrected);
  model.remove("deepseek2.expert_gating_func");
  expect_refused(model, Code::unsupported, "exp_probs_b");
  for (std::uint32_t layer = 0; layer < 6; ++layer) model.remove_tensor("blk." + std::to_string(layer) + ".exp_probs_b.bias");
  const Config c = Config::from(model.open());
  EXPECT_EQ(c.experts()->gating, model::Gating::softmax);
  EXPECT_FALSE(c.experts()->corrected);
}

TEST(LatentsConfig, RefusesSizesThatCannotBe) {
  const auto refused = [](const char* key, std::uint32_t value, Code code, const char* says) {
    SCOPED_TRACE(key);
    EditedModel model = edited("deepseek2");
    expect_refused(model.set(std::string("deepseek2.") + key, value), code, says);
  };
  refused("attention.kv_lora_rank", 0, Code::bad_file, "expected 1 to 640");
  refused("attention.kv_lora_rank", 60, Code::bad_file, "expected");  // of other tensors
  refused("attention.kv_lora_rank", 620, Code::unsupported, "runs up to 640");
  refused("attention.q_lora_rank", 0, Code::unsupported, "attn_q_a");
  refused("attention.key_length_mla", 32, Code::bad_file, "must be more than");
  refused("attention.value_length_mla", 0, Code::bad_file, "expected 1 to 512");
  refused("rope.dimension_count", 0, Code::bad_file, "expected 2 to 512");
  EditedModel narrow = edited("deepseek2");
  narrow.set("deepseek2.rope.dimension_count", std::uint32_t{8}).set("deepseek2.attention.kv_lora_rank", std::uint32_t{36});
  expect_refused(narrow, Code::unsupported, "28 less than whole blocks of 32");
  EditedModel missing = edited("deepseek2");
  expect_refused(missing.remove("deepseek2.attention.kv_lora_rank"), Code::bad_file, "attention.kv_lora_rank");
}

}  // namespace
}  // namespace skipstone::latents
