// Models with recurrent layers, as Config::from reads them.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "base/status.h"
#include "edited_model.h"
#include "model/config.h"

namespace skipstone::hybrids {
namespace {

using model::Config;
using model::Role;
using tests::EditedModel;

EditedModel edited(const std::string& family) { return EditedModel(fixtures::tiny_family(family)); }

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
  const gguf::File file = model.open();
  try {
    Config::from(file);
    ADD_FAILURE() << "was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), GetParam().code) << error.what();
    EXPECT_NE(std::string(error.what()).find(GetParam().says), std::string::npos) << error.what();
  }
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

}  // namespace
}  // namespace skipstone::hybrids
