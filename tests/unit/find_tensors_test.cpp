// Which tensor of a file has which role.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "edited_model.h"
#include "model/config.h"

namespace skipstone {
namespace {

using fixtures::TinyConfig;
using model::Config;
using model::Role;
using tests::EditedModel;

TEST(FindTensors, FindsAllOfThem) {
  TinyConfig tiny;
  tiny.tied = false;
  tiny.biases = true;
  EditedModel edited(tiny);
  edited.tensor("output.bias", {fixtures::tiny_vocabulary_size()});
  edited.tensor("blk.1.ffn_gate.bias", {128}, {}, gguf::Type::f16).tensor("blk.1.ffn_up.bias", {128}).tensor("blk.1.ffn_down.bias", {64});
  const gguf::File file = edited.open();
  const model::ModelTensors t = model::find_tensors(file, Config::from(file));
  EXPECT_EQ(t.model[Role::embedding].weight->name, "token_embd.weight");
  EXPECT_EQ(t.model[Role::output].weight->name, "output.weight");
  EXPECT_EQ(t.model[Role::output_norm].weight->name, "output_norm.weight");
  EXPECT_EQ(t.model[Role::output].bias->name, "output.bias");
  ASSERT_EQ(t.layers.size(), 4u);
  const model::Parameters& l = t.layers[1];
  const std::vector<std::pair<const gguf::Tensor*, const char*>> expected{{l[Role::attention_norm].weight, "attn_norm.weight"},
                                                                          {l[Role::q].weight, "attn_q.weight"},
                                                                          {l[Role::k].weight, "attn_k.weight"},
                                                                          {l[Role::v].weight, "attn_v.weight"},
                                                                          {l[Role::o].weight, "attn_output.weight"},
                                                                          {l[Role::q].bias, "attn_q.bias"},
                                                                          {l[Role::k].bias, "attn_k.bias"},
                                                                          {l[Role::v].bias, "attn_v.bias"},
                                                                          {l[Role::o].bias, "attn_output.bias"},
                                                                          {l[Role::gate].weight, "ffn_gate.weight"},
                                                                          {l[Role::up].weight, "ffn_up.weight"},
                                                                          {l[Role::down].weight, "ffn_down.weight"},
                                                                          {l[Role::gate].bias, "ffn_gate.bias"},
                                                                          {l[Role::up].bias, "ffn_up.bias"},
                                                                          {l[Role::down].bias, "ffn_down.bias"}};
  for (const auto& [tensor, name] : expected) {
    ASSERT_NE(tensor, nullptr) << name;
    EXPECT_EQ(tensor->name, std::string("blk.1.") + name);
  }
  EXPECT_EQ(t.layers[0][Role::gate].bias, nullptr);
}

TEST(FindTensors, MatricesMayHaveFactors) {
  EditedModel edited;
  edited.tensor("blk.1.attn_q.scale", {1}, {0.5f}).tensor("blk.1.attn_q.input_scale", {1}).tensor("blk.1.ffn_down.scale", {1}, {2.0f});
  edited.tensor("output.scale", {1}, {3.0f});  // also where the embedding is the output
  const gguf::File file = edited.open();
  const model::ModelTensors t = model::find_tensors(file, Config::from(file));
  ASSERT_NE(t.layers[1][Role::q].scale, nullptr);
  EXPECT_EQ(t.layers[1][Role::q].scale->name, "blk.1.attn_q.scale");
  EXPECT_EQ(t.layers[1][Role::down].scale->name, "blk.1.ffn_down.scale");
  EXPECT_EQ(t.layers[0][Role::q].scale, nullptr);
  EXPECT_EQ(t.model[Role::output].scale->name, "output.scale");
  EXPECT_EQ(t.model[Role::output].weight, t.model[Role::embedding].weight);
}

TEST(FindTensors, TiedEmbeddingsAreTheOutput) {
  const gguf::File file = EditedModel().open();
  const model::ModelTensors t = model::find_tensors(file, Config::from(file));
  EXPECT_EQ(t.model[Role::output].weight, t.model[Role::embedding].weight);
  EXPECT_EQ(t.model[Role::output].bias, nullptr);
}

}  // namespace
}  // namespace skipstone
