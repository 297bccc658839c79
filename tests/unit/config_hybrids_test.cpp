// Models with recurrent layers, as Config::from reads them.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "base/status.h"
#include "edited_model.h"
#include "fixtures/failure.h"
#include "model/config.h"

namespace skipstone::hybrids {
namespace {

using model::Config;
using model::Role;
using tests::edited;
using tests::EditedModel;

TEST(HybridConfig, ReadsShortConvolutions) {
  const gguf::File file = edited("lfm2").open();
  const Config c = Config::from(file);
  EXPECT_EQ(c.layers[0].mixer, model::Mixer(model::ShortConv{3}));
  EXPECT_EQ(c.layers[1].mixer, c.layers[0].mixer);
  EXPECT_EQ(c.attention(2).kv_heads, 2u);
  EXPECT_EQ(&c.attention(), &c.attention(2));
  EXPECT_EQ(c.attention().qk_norm, model::QkNorm::head);
  EXPECT_EQ(c.rope_pairs, model::RopePairs::halves);
  const model::ModelTensors tensors = model::find_tensors(file, c);
  EXPECT_EQ(tensors.model[Role::output_norm].weight->name, "token_embd_norm.weight");
  EXPECT_EQ(tensors.layers[1][Role::shortconv_in].weight->rows(), 3u * c.width);
  EXPECT_FALSE(tensors.layers[2][Role::shortconv_in]);
  EXPECT_FALSE(tensors.layers[1][Role::q]);
}

TEST(HybridConfig, TakesOtherKernelsThanTheUsual) {
  for (const std::uint32_t kernel : {2u, 4u, 16u}) {
    EditedModel model = edited("lfm2");
    model.set("lfm2.shortconv.l_cache", kernel);
    for (const char* layer : {"blk.0", "blk.1", "blk.3"}) model.tensor(std::string(layer) + ".shortconv.conv.weight", {kernel, 48});
    EXPECT_EQ(Config::from(model.open()).layers[3].mixer, model::Mixer(model::ShortConv{kernel}));
  }
}

TEST(HybridConfig, ModelsOfAttentionAloneAreHybridsToo) {
  EditedModel model(fixtures::TinyConfig{.layers = 1, .architecture = "lfm2"});
  const Config c = Config::from(model.open());
  EXPECT_EQ(c.attention().heads, 4u);
  EXPECT_EQ(Config::from(model.set("lfm2.attention.head_count_kv", std::uint32_t{2}).open()).attention().kv_heads, 2u);
}

TEST(HybridConfig, ReadsGatedDeltaNets) {
  const gguf::File file = edited("qwen35").open();
  const Config c = Config::from(file);
  const model::GatedDeltaNet net{.key_heads = 2, .value_heads = 4, .key_dim = 16, .value_dim = 8, .kernel = 4, .tiled_heads = true};
  EXPECT_EQ(c.layer_count(), 5u);
  EXPECT_EQ(c.layers[3].mixer, model::Mixer(net));
  EXPECT_TRUE(c.attention().output_gate);
  EXPECT_EQ(c.rope_dim, 8u);
  const model::ModelTensors tensors = model::find_tensors(file, c);
  EXPECT_EQ(tensors.layers[2][Role::q].weight->rows(), 2u * c.attention().q_width());
  EXPECT_EQ(tensors.layers[2][Role::o].weight->row_length(), c.attention().q_width());
  EXPECT_EQ(tensors.layers[0][Role::ffn_norm].weight->name, "blk.0.post_attention_norm.weight");
  EXPECT_EQ(tensors.layers[0][Role::ssm_a].weight->name, "blk.0.ssm_a");
  EXPECT_EQ(tensors.layers[0][Role::ssm_dt].weight->name, "blk.0.ssm_dt.bias");
}

TEST(HybridConfig, KnowsHeadsForMultiTokenPrediction) {
  EditedModel model = edited("qwen35");
  const gguf::File file = model.open();
  const Config c = Config::from(file);
  ASSERT_EQ(c.prediction_layers.size(), 1u);
  EXPECT_TRUE(std::holds_alternative<model::Attention>(c.block(5).mixer));
  EXPECT_EQ(model::find_tensors(file, c).prediction_layers[0][Role::prediction_in].weight->row_length(), 2u * c.width);
  EXPECT_EQ(model::describe(c).back(), "a head for multi-token prediction (--draft mtp)");
  // Copies of the embedding and of the LM head.
  model.tensor("blk.5.nextn.embed_tokens.weight", {48, c.vocabulary}).tensor("blk.5.nextn.shared_head_head.weight", {48, c.vocabulary});
  EXPECT_EQ(Config::from(model.open()).prediction_layers.size(), 1u);
  fixtures::TinyConfig without = fixtures::tiny_family("qwen35");
  without.prediction_layers = 0;
  EditedModel stripped(without);
  const gguf::File rest = stripped.set("qwen35.block_count", std::uint32_t{6})
                              .set("qwen35.nextn_predict_layers", std::uint32_t{1})
                              .set_array("qwen35.attention.recurrent_layers", {1, 1, 0, 1, 0, 0})
                              .open();
  EXPECT_EQ(Config::from(rest).layer_count(), 5u);
  EXPECT_TRUE(Config::from(rest).prediction_layers.empty()) << "the file does not have it";
}

TEST(HybridConfig, CountsLayersWithAttentionWhereNoListNamesThem) {
  fixtures::TinyConfig tiny = fixtures::tiny_family("qwen35");
  tiny.layers = 6;
  EditedModel model(tiny);
  const Config listed = Config::from(model.open());
  model.remove("qwen35.attention.recurrent_layers").set("qwen35.full_attention_interval", std::uint32_t{3});
  EXPECT_EQ(Config::from(model.open()).layers, listed.layers);
  model.remove("qwen35.full_attention_interval").set_array("qwen35.attention.head_count_kv", {0, 0, 2, 0, 0, 2, 2});
  EXPECT_EQ(Config::from(model.open()).layers, listed.layers);
}

TEST(HybridConfig, ReadsMamba2) {
  const gguf::File granite = edited("granitehybrid").open();
  const Config c = Config::from(granite);
  const model::Mamba2 mamba{.heads = 4, .head_dim = 16, .groups = 2, .state_size = 8, .kernel = 4};
  EXPECT_EQ(c.layers[0].mixer, model::Mixer(mamba));
  EXPECT_FALSE(c.attention().rotates);
  EXPECT_EQ(c.attention().scale, 0.125f);
  EXPECT_EQ(model::find_tensors(granite, c).layers[0][Role::ssm_in].weight->rows(), 2u * 64 + 2 * 2 * 8 + 4);
  EditedModel rotating = edited("granitehybrid");
  EXPECT_TRUE(Config::from(rotating.set("granitehybrid.rope.scaling.finetuned", true).open()).attention().rotates);
  EXPECT_TRUE(Config::from(rotating.remove("granitehybrid.rope.scaling.finetuned").open()).attention().rotates);
  // Vectors of a number for each head, lying or standing.
  EditedModel standing = edited("granitehybrid");
  standing.tensor("blk.0.ssm_a", {1, 4}).tensor("blk.0.ssm_d", {1, 4});
  EXPECT_EQ(Config::from(standing.open()).layers, c.layers);
}

TEST(HybridConfig, ReadsBlocksOfOneSublayer) {
  const gguf::File file = edited("nemotron_h").set("nemotron_h.rope.dimension_count", std::uint32_t{7}).open();
  const Config c = Config::from(file);
  EXPECT_TRUE(std::holds_alternative<model::Mamba2>(c.layers[0].mixer));
  EXPECT_FALSE(c.layers[0].has_feedforward());
  EXPECT_FALSE(c.layers[1].has_mixer());
  EXPECT_EQ(std::get<model::Mlp>(c.layers[1].feedforward).activation, model::Activation::squared_relu);
  EXPECT_FALSE(c.attention(2).rotates);
  EXPECT_EQ(c.rope_dim, c.attention().head_dim) << "no layer reads it";
  const model::ModelTensors tensors = model::find_tensors(file, c);
  EXPECT_EQ(tensors.layers[1][Role::ffn_norm].weight->name, "blk.1.attn_norm.weight");
  EXPECT_FALSE(tensors.layers[1][Role::attention_norm]);
  EXPECT_FALSE(tensors.layers[1][Role::gate]);
}

struct Refusal {
  const char *name, *family;
  std::function<void(EditedModel&)> edit;
  Code code;
  const char* says;  ///< part of the message
};

class HybridConfigRefuses : public testing::TestWithParam<Refusal> {};

TEST_P(HybridConfigRefuses, WithASentence) {
  EditedModel model = edited(GetParam().family);
  GetParam().edit(model);
  tests::expect_refused(model, GetParam().code, GetParam().says);
}

Refusal set(const char* name, const char* family, const std::string& key, gguf::Value value, const char* says, Code code = Code::bad_file) {
  return {name, family, [=](EditedModel& m) { m.set(family + ("." + key), value); }, code, says};
}
Refusal remove(const char* name, const char* family, const char* key) {
  return {name, family, [=](EditedModel& m) { m.remove(family + (std::string(".") + key)); }, Code::bad_file, key};
}
Refusal array(const char* name, const char* family, const std::string& key, const std::vector<std::int32_t>& items, const char* says,
              Code code = Code::bad_file) {
  return {name, family, [=](EditedModel& m) { m.set_array(family + ("." + key), items); }, code, says};
}
Refusal drop(const char* name, const char* family, const char* tensor) {
  return {name, family, [=](EditedModel& m) { m.remove_tensor(tensor); }, Code::bad_file, tensor};
}
Refusal shaped(const char* name, const char* family, const char* tensor, const std::vector<std::uint64_t>& shape,
               Code code = Code::bad_file) {
  return {name, family, [=](EditedModel& m) { m.tensor(tensor, shape); }, code, tensor};
}

const auto refusal_name = [](const testing::TestParamInfo<Refusal>& refusal) { return refusal.param.name; };

INSTANTIATE_TEST_SUITE_P(
    ShortConv, HybridConfigRefuses,
    testing::Values(array("TooFewKinds", "lfm2", "attention.head_count_kv", {0, 0, 2, 0}, "has 4 items"),
                    array("NoAttention", "lfm2", "attention.head_count_kv", {0, 0, 0, 0, 0}, "None of the model's layers",
                          Code::unsupported),
                    array("HeadsDiffer", "lfm2", "attention.head_count_kv", {0, 0, 2, 0, 1}, "layers differ", Code::unsupported),
                    array("NegativeHeads", "lfm2", "attention.head_count_kv", {0, 0, 2, -1, 2}, "is -1 for layer 3"),
                    array("OtherKinds", "lfm2", "attention.head_count_kv", {0, 0, 2, 2, 2}, "blk.3.", Code::unsupported),
                    array("NoQueries", "lfm2", "attention.head_count", {4, 4, 0, 4, 4}, "is 0 for layer 2"),
                    remove("NoKernel", "lfm2", "shortconv.l_cache"),
                    set("KernelOfOne", "lfm2", "shortconv.l_cache", std::uint32_t{1}, "expected 2 to 16"),
                    set("HugeKernel", "lfm2", "shortconv.l_cache", std::uint32_t{1} << 30, "expected 2 to 16"),
                    set("OtherKernel", "lfm2", "shortconv.l_cache", std::uint32_t{4}, "has shape 3x48, expected 4x48"),
                    set("Experts", "lfm2", "expert_count", std::uint32_t{8}, "mixture of experts", Code::unsupported),
                    drop("NoTaps", "lfm2", "blk.0.shortconv.conv.weight"), drop("NoInput", "lfm2", "blk.1.shortconv.in_proj.weight"),
                    drop("NoFinalNorm", "lfm2", "token_embd_norm.weight"),
                    shaped("TapsLieDown", "lfm2", "blk.0.shortconv.conv.weight", {48, 3}),
                    shaped("NarrowInput", "lfm2", "blk.0.shortconv.in_proj.weight", {48, 96}),
                    shaped("BiasOfTaps", "lfm2", "blk.0.shortconv.conv.bias", {48}, Code::unsupported),
                    shaped("UsualFinalNorm", "lfm2", "output_norm.weight", {48}, Code::unsupported)),
    refusal_name);

INSTANTIATE_TEST_SUITE_P(
    States, HybridConfigRefuses,
    testing::Values(
        remove("NoHeads", "qwen35", "ssm.time_step_rank"), remove("NoStateSize", "nemotron_h", "ssm.state_size"),
        remove("NoKernel", "granitehybrid", "ssm.conv_kernel"), remove("NoWidth", "granitehybrid", "ssm.inner_size"),
        set("HeadsDoNotDivide", "qwen35", "ssm.time_step_rank", std::uint32_t{5}, "does not divide by"),
        set("GroupsDoNotDivide", "nemotron_h", "ssm.group_count", std::uint32_t{3}, "does not divide by"),
        set("NoGroups", "nemotron_h", "ssm.group_count", std::uint32_t{0}, "expected 1 to"),
        set("HugeState", "qwen35", "ssm.state_size", std::uint32_t{1} << 31, "expected 1 to 256"),
        set("OddState", "granitehybrid", "ssm.state_size", std::uint32_t{6}, "state size is 6", Code::unsupported),
        set("OddHead", "granitehybrid", "ssm.inner_size", std::uint32_t{40}, "is 10", Code::unsupported),
        set("HugeWidth", "granitehybrid", "ssm.inner_size", std::uint32_t{1} << 30, "expected 1 to"),
        set("HugeHead", "granitehybrid", "ssm.inner_size", std::uint32_t{4096}, "has 1024 dimensions", Code::unsupported),
        set("NegativeWidth", "granitehybrid", "ssm.inner_size", std::int32_t{-48}, "ssm.inner_size"),
        Refusal{"ProductOverflows", "nemotron_h",
                [](EditedModel& m) {
                  for (const char* key : {"time_step_rank", "group_count"})
                    m.set(std::string("nemotron_h.ssm.") + key, std::uint32_t{65536});
                  m.set("nemotron_h.ssm.inner_size", std::uint32_t{262144}).set("nemotron_h.ssm.state_size", std::uint32_t{256});
                },
                Code::bad_file, "a product of at most"},
        array("TooFewKinds", "qwen35", "attention.recurrent_layers", {1, 1, 0, 1}, "has 4 items, but the model has 6 layers"),
        array("KindsDisagree", "qwen35", "attention.head_count_kv", {0, 0, 2, 2, 2, 2}, "disagree on the kind of layer 3"),
        array("NoAttention", "qwen35", "attention.recurrent_layers", {1, 1, 1, 1, 1, 0}, "None of the model's layers", Code::unsupported),
        array("KindsOfOtherTensors", "qwen35", "attention.recurrent_layers", {1, 1, 1, 1, 0, 0}, "blk.2.", Code::unsupported),
        set("OnlyHeads", "qwen35", "nextn_predict_layers", std::uint32_t{6}, "expected 0 to 5"),
        set("MoreHeads", "qwen35", "nextn_predict_layers", std::uint32_t{2}, "blk.4.nextn.eh_proj.weight"),
        set("Experts", "granitehybrid", "expert_count", std::uint32_t{4}, "expert_used_count"),
        array("BothSublayers", "nemotron_h", "feed_forward_length", {0, 64, 64, 0, 0}, "Layer 2 has KV heads"),
        array("NoSublayerNamed", "nemotron_h", "feed_forward_length", {0, 0, 0, 0, 0}, "blk.1.", Code::unsupported),
        array("TooFewWidths", "nemotron_h", "feed_forward_length", {0, 64}, "has 2 items"),
        set("UsualEpsilon", "nemotron_h", "attention.layer_norm_epsilon", 0.0f, "layer_norm_epsilon"),
        drop("NoTapsBias", "granitehybrid", "blk.0.ssm_conv1d.bias"), drop("NoDecay", "qwen35", "blk.0.ssm_a"),
        drop("NoDtBias", "qwen35", "blk.0.ssm_dt.bias"), drop("NoHeadInput", "qwen35", "blk.5.nextn.eh_proj.weight"),
        drop("NoHeadAttention", "qwen35", "blk.5.attn_q.weight"),
        shaped("TapsBiasElsewhere", "qwen35", "blk.0.ssm_conv1d.bias", {96}, Code::unsupported),
        shaped("DecaysOfOtherHeads", "qwen35", "blk.0.ssm_a", {5}),
        shaped("DtWeight", "qwen35", "blk.0.ssm_dt.weight", {4}, Code::unsupported),
        shaped("NormOfOneGroup", "nemotron_h", "blk.0.ssm_norm.weight", {48}),
        shaped("QWithoutGate", "qwen35", "blk.2.attn_q.weight", {48, 64}),
        shaped("SkipOfDeltaNet", "qwen35", "blk.0.ssm_d", {4}, Code::unsupported),
        shaped("OneMatrixOfBetaAndAlpha", "qwen35", "blk.0.ssm_ba.weight", {48, 8}, Code::unsupported),
        shaped("SecondNorm", "nemotron_h", "blk.0.ffn_norm.weight", {48}, Code::unsupported)),
    refusal_name);

}  // namespace
}  // namespace skipstone::hybrids
