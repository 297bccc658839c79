// Mixtures of experts, as Config::from reads them.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "base/status.h"
#include "edited_model.h"
#include "fixtures/failure.h"
#include "model/config.h"

namespace skipstone::experts {
namespace {

using model::Config;
using model::Experts;
using model::Gating;
using model::Role;
using tests::edited;
using tests::EditedModel;

TEST(ExpertsConfig, ReadsRoutersAndSizes) {
  const gguf::File file = edited("qwen3moe").open();
  const Config c = Config::from(file);
  EXPECT_EQ(c.layers[4].feedforward, model::Feedforward(Experts{.count = 6, .used = 2, .width = 32, .renormalised = true}));
  EXPECT_EQ(c.experts()->logits(), 6u);
  EXPECT_EQ(c.ffn(), 0u) << "no MLP and no shared expert";
  const model::ModelTensors tensors = model::find_tensors(file, c);
  EXPECT_EQ(tensors.layers[0][Role::expert_down].weight->shape, (std::array<std::uint64_t, 4>{32, 48, 6, 1}));
  EXPECT_EQ(tensors.layers[0][Role::router].weight->name, "blk.0.ffn_gate_inp.weight");
  EXPECT_FALSE(tensors.layers[0][Role::gate]);
  EXPECT_EQ(model::describe(c).front(),
            "all 5 layers global with 2 of 6 experts of 32, QK-norm, experts gated by SiLU, router by a softmax over all experts, "
            "renormalised");
}

TEST(ExpertsConfig, ReadsSharedExpertsWithTheirGate) {
  const gguf::File file = edited("qwen35moe").open();
  const Config c = Config::from(file);
  EXPECT_EQ(c.experts()->shared_width, 64u);
  EXPECT_EQ(c.experts()->logits(), 7u);
  EXPECT_TRUE(c.experts()->has_shared_gate());
  EXPECT_EQ(c.ffn(), 64u);
  EXPECT_EQ(c.prediction_layers.at(0).feedforward, c.layers[0].feedforward);
  EXPECT_EQ(model::find_tensors(file, c).layers[1][Role::shared_router].weight->name, "blk.1.ffn_gate_inp_shexp.weight");
  // Files may store the gate, one row, as a vector.
  EditedModel flat = edited("qwen35moe");
  flat.tensor("blk.0.ffn_gate_inp_shexp.weight", {48});
  EXPECT_EQ(Config::from(flat.open()).layers, c.layers);
}

TEST(ExpertsConfig, ReadsRatesByKeyHead) {
  const Config c = Config::from(edited("qwen3next").open());
  const auto& net = std::get<model::GatedDeltaNet>(c.layers[0].mixer);
  EXPECT_TRUE(net.fused_rates);
  EXPECT_FALSE(net.tiled_heads);
}

// GLM-4.5's files may lack the norms of Q and K, in all layers alike.
TEST(ExpertsConfig, GlmMayHaveNoNormsOfQAndK) {
  EditedModel model = edited("glm4moe");
  const Config whole = Config::from(model.open());
  EXPECT_EQ(whole.attention().qk_norm, model::QkNorm::head);
  EXPECT_EQ(whole.rope_dim, 8u);
  EXPECT_EQ(whole.experts()->gating, Gating::sigmoid);
  EXPECT_TRUE(whole.experts()->corrected && whole.experts()->renormalised);
  EXPECT_EQ(whole.experts()->scale, 1.5f);
  EXPECT_EQ(whole.experts()->shared_width, 64u);
  EXPECT_FALSE(whole.experts()->has_shared_gate());
  EXPECT_EQ(whole.prediction_layers.at(0).feedforward, whole.layers[0].feedforward);
  model.remove_tensor("blk.2.attn_q_norm.weight");
  tests::expect_refused(model, Code::bad_file, "'blk.2.attn_q_norm.weight' is missing");
  for (int block = 0; block < 6; ++block) {
    for (const char* norm : {".attn_q_norm.weight", ".attn_k_norm.weight"}) model.remove_tensor("blk." + std::to_string(block) + norm);
  }
  EXPECT_EQ(Config::from(model.open()).attention().qk_norm, model::QkNorm::none);
}

TEST(ExpertsConfig, LeadingLayersMayBeDense) {
  const Config c = Config::from(edited("lfm2moe").open());
  EXPECT_EQ(c.layers[0].feedforward, model::Feedforward(model::Mlp{.width = 64}));
  const auto& experts = std::get<Experts>(c.layers[1].feedforward);
  EXPECT_EQ(experts.gating, Gating::sigmoid);
  EXPECT_TRUE(experts.corrected && experts.renormalised);
  EXPECT_EQ(&experts, c.experts());
}

TEST(ExpertsConfig, KeysChangeTheFamilysRouter) {
  EditedModel model = edited("nemotron_h_moe");
  const Config c = Config::from(model.open());
  const Experts& experts = *c.experts();
  EXPECT_EQ(experts.activation, model::Activation::squared_relu);
  EXPECT_EQ(experts.scale, 2.5f);
  EXPECT_EQ(experts.groups, 2u);
  EXPECT_EQ(experts.groups_used, 1u);
  EXPECT_TRUE(experts.renormalised);
  model.set("nemotron_h_moe.expert_gating_func", std::uint32_t{1}).set("nemotron_h_moe.expert_weights_norm", false);
  model.set("nemotron_h_moe.expert_group_count", std::uint32_t{1}).set("nemotron_h_moe.expert_weights_scale", 0.0f);
  const Config changed = Config::from(model.open());
  EXPECT_EQ(changed.experts()->gating, Gating::softmax);
  EXPECT_EQ(changed.experts()->groups, 1u);
  EXPECT_EQ(changed.experts()->scale, 1.0f);
  EXPECT_FALSE(changed.experts()->renormalised);
}

TEST(ExpertsConfig, GraniteMayBeDenseOrHaveExperts) {
  EXPECT_EQ(Config::from(edited("granitehybrid").open()).experts(), nullptr);
  fixtures::TinyConfig tiny = fixtures::tiny_family("granitehybrid");
  tiny.experts = 4;
  EditedModel model(tiny);
  EXPECT_EQ(Config::from(model.open()).experts()->gating, Gating::softmax_of_chosen);
  // Its files have the width of experts as that of MLPs.
  model.remove("granitehybrid.expert_feed_forward_length").set("granitehybrid.feed_forward_length", std::uint32_t{32});
  EXPECT_EQ(Config::from(model.open()).experts()->width, 32u);
}

TEST(ExpertsConfig, Gemma4MayHaveExpertsWithNormsOfTheirOwn) {
  EXPECT_EQ(Config::from(edited("gemma4").open()).experts(), nullptr);
  const fixtures::TinyConfig tiny = fixtures::tiny_gemma4_with_experts();
  EditedModel model(tiny);
  model.tensor("blk.1.ffn_down_exps.scale", {6}).tensor("blk.1.ffn_up.scale", {1});
  const gguf::File file = model.open();
  const Config c = Config::from(file);
  EXPECT_EQ(c.layers[4].feedforward, model::Feedforward(Experts{.count = 6,
                                                                .used = 2,
                                                                .width = 32,
                                                                .shared_width = 64,
                                                                .renormalised = true,
                                                                .own_norms = true,
                                                                .fused_gate_up = true,
                                                                .activation = model::Activation::gated_gelu}));
  const model::Parameters layer = model::find_tensors(file, c).layers[1];
  EXPECT_EQ(layer[Role::router_norm].weight->name, "blk.1.ffn_gate_inp.scale");
  EXPECT_EQ(layer[Role::router].scale, nullptr);
  EXPECT_EQ(layer[Role::expert_gate_up].weight->shape, (std::array<std::uint64_t, 4>{48, 64, 6, 1}));
  EXPECT_EQ(layer[Role::expert_down].scale->name, "blk.1.ffn_down_exps.scale");
  EXPECT_EQ(layer[Role::shared_up].weight->name, "blk.1.ffn_up.weight");
  EXPECT_EQ(layer[Role::shared_up].scale->name, "blk.1.ffn_up.scale") << "the family's name of the matrix, too";
  EXPECT_NE(model::describe(c).front().find("experts gated by GELU, router, experts and shared expert with norms of their own, router by a "
                                            "softmax over all experts, renormalised"),
            std::string::npos)
      << model::describe(c).front();
  EditedModel several = EditedModel(tiny);
  several.set("gemma4.feed_forward_length",
              std::make_shared<const gguf::Array>(gguf::Array{std::vector<std::uint32_t>{64, 64, 64, 64, 96}}));
  tests::expect_refused(several, Code::unsupported, "differ in 'gemma4.feed_forward_length'");
}

// Not only Gemma 4's files may have gate and up in one stack.
TEST(ExpertsConfig, GateAndUpMayBeOneStack) {
  EditedModel model = edited("qwen3moe");
  for (int layer = 0; layer < 5; ++layer) {
    const std::string blk = "blk." + std::to_string(layer) + ".";
    model.remove_tensor(blk + "ffn_gate_exps.weight").remove_tensor(blk + "ffn_up_exps.weight");
    model.tensor(blk + "ffn_gate_up_exps.weight", {48, 64, 6});
  }
  const gguf::File file = model.open();
  const Config c = Config::from(file);
  EXPECT_TRUE(c.experts()->fused_gate_up);
  EXPECT_TRUE(model::find_tensors(file, c).layers[4][Role::expert_gate_up]);
  EditedModel without_gates = edited("nemotron_h_moe");
  without_gates.tensor("blk.0.ffn_gate_up_exps.weight", {48, 64, 6}).tensor("blk.1.ffn_gate_up_exps.weight", {48, 64, 6});
  tests::expect_refused(without_gates, Code::unsupported, "ffn_gate_up_exps.weight");
}

TEST(ExpertsConfig, ExpertsMayHaveBiases) {
  EditedModel model = edited("qwen3moe");
  model.tensor("blk.0.ffn_gate_exps.bias", {32, 6}).tensor("blk.0.ffn_up_exps.bias", {32, 6}).tensor("blk.0.ffn_down_exps.bias", {48, 6});
  const gguf::File file = model.tensor("blk.0.ffn_gate_inp.bias", {6}).open();
  EXPECT_EQ(model::find_tensors(file, Config::from(file)).layers[0][Role::expert_down].bias->shape[1], 6u);
}

struct Refusal {
  const char* name;
  std::function<void(EditedModel&)> edit;
  const char* says;  ///< part of the message
  Code code = Code::bad_file;
  const char* family = "qwen3moe";
};

class ExpertsConfigRefuses : public testing::TestWithParam<Refusal> {};

TEST_P(ExpertsConfigRefuses, WithASentence) {
  EditedModel model = edited(GetParam().family);
  GetParam().edit(model);
  tests::expect_refused(model, GetParam().code, GetParam().says);
}

std::function<void(EditedModel&)> key(const std::string& name, gguf::Value value) {
  return [=](EditedModel& model) { model.set(name, value); };
}
std::function<void(EditedModel&)> shaped(const std::string& tensor, const std::vector<std::uint64_t>& shape) {
  return [=](EditedModel& model) { model.tensor(tensor, shape); };
}

INSTANTIATE_TEST_SUITE_P(
    Files, ExpertsConfigRefuses,
    testing::Values(
        Refusal{"TooMany", key("qwen3moe.expert_count", std::uint32_t{2000}), "expected 0 to 1024"},
        Refusal{"NoneUsed", key("qwen3moe.expert_used_count", std::uint32_t{0}), "expected 1 to 6"},
        Refusal{"MoreUsedThanThereAre", key("qwen3moe.expert_used_count", std::uint32_t{7}), "expected 1 to 6"},
        Refusal{"UsedIsMissing", [](EditedModel& m) { m.remove("qwen3moe.expert_used_count"); }, "expert_used_count"},
        Refusal{"NoWidth", key("qwen3moe.expert_feed_forward_length", std::uint32_t{0}), "expected 1 to"},
        Refusal{"OddWidth", key("qwen3moe.expert_feed_forward_length", std::uint32_t{30}), "multiple of 4", Code::unsupported},
        Refusal{"OtherWidth", key("qwen3moe.expert_feed_forward_length", std::uint32_t{36}), "expected 48x36x6"},
        Refusal{"OtherCount", key("qwen3moe.expert_count", std::uint32_t{5}), "expected 48x5"},
        Refusal{"UnknownGating", key("qwen3moe.expert_gating_func", std::uint32_t{4}), "expected 0 to 3"},
        Refusal{"NegativeScale", key("qwen3moe.expert_weights_scale", -1.0f), "0 or more"},
        Refusal{"GroupsThatDoNotDivide", key("qwen3moe.expert_group_count", std::uint32_t{4}), "do not divide among 4 groups"},
        Refusal{"GroupsOfOne", key("qwen3moe.expert_group_count", std::uint32_t{6}), "are too few"},
        Refusal{"MoreGroupsUsed", key("qwen3moe.expert_group_used_count", std::uint32_t{9}), "expected 0 to 1"},
        Refusal{"HugeSharedExperts", key("qwen3moe.expert_shared_count", std::uint32_t{1} << 30), "expected 0 to"},
        Refusal{
            "WideSharedExperts",
            [](EditedModel& m) {
              m.set("qwen3moe.expert_shared_count", std::uint32_t{1} << 16).set("qwen3moe.expert_feed_forward_length", std::uint32_t{128});
            },
            "shared experts of 128 are wider"},
        Refusal{"AllDense", key("lfm2moe.leading_dense_block_count", std::uint32_t{9}), "expected 0 to 5", Code::bad_file, "lfm2moe"},
        Refusal{"NoCorrection", [](EditedModel& m) { m.remove_tensor("blk.1.exp_probs_b.bias"); }, "blk.1.exp_probs_b.bias", Code::bad_file,
                "lfm2moe"},
        Refusal{"UnknownCorrection", shaped("blk.1.exp_probs_b.bias", {6}), "blk.1.exp_probs_b.bias", Code::unsupported},
        Refusal{"NoRouter", [](EditedModel& m) { m.remove_tensor("blk.2.ffn_gate_inp.weight"); }, "blk.2.ffn_gate_inp.weight"},
        Refusal{"ExpertsApart", shaped("blk.0.ffn_up.0.weight", {48, 32}), "blk.0.ffn_up.0.weight", Code::unsupported},
        Refusal{"OneBias", shaped("blk.0.ffn_gate_exps.bias", {32, 6}), "some are there and some are not"},
        Refusal{"FlatBias", shaped("blk.0.ffn_down_exps.bias", {288}), "expected 48x6"},
        Refusal{"FlatStack", shaped("blk.0.ffn_up_exps.weight", {48, 192}), "expected 48x32x6"},
        Refusal{"UnknownFamily", key("lfm2.expert_count", std::uint32_t{8}), "mixture of experts", Code::unsupported, "lfm2"}),
    [](const auto& refusal) { return refusal.param.name; });

}  // namespace
}  // namespace skipstone::experts
