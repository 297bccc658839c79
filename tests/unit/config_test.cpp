#include "model/config.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/status.h"
#include "edited_model.h"

namespace skipstone {
namespace {

using fixtures::TinyConfig;
using model::Config;
using model::Role;
using tests::EditedModel;

TEST(Config, ReadsAModel) {
  TinyConfig tiny;
  tiny.layers = 3;
  tiny.tied = false;
  tiny.rope_base = 500000.0f;
  tiny.context = 512;
  const gguf::File file = EditedModel(tiny).set("skipstone.exit_layer", std::uint32_t{2}).open();
  const Config c = Config::from(file);
  EXPECT_EQ(c.architecture, "llama");
  EXPECT_EQ(c.name, "tiny");
  EXPECT_EQ(c.layers, 3u);
  EXPECT_EQ(c.width, 64u);
  EXPECT_EQ(c.heads, 4u);
  EXPECT_EQ(c.kv_heads, 2u);
  EXPECT_EQ(c.head_dim, 16u);
  EXPECT_EQ(c.q_width(), 64u);
  EXPECT_EQ(c.kv_width(), 32u);
  EXPECT_EQ(c.group(), 2u);
  EXPECT_EQ(c.ffn, 128u);
  EXPECT_EQ(c.vocabulary, fixtures::tiny_vocabulary_size());
  EXPECT_EQ(c.context_trained, 512u);
  EXPECT_EQ(c.rope_dim, 16u);
  EXPECT_EQ(c.rope_base, 500000.0f);
  EXPECT_EQ(c.rope_scale, 1.0f);
  EXPECT_EQ(c.rope_pairs, model::RopePairs::neighbours);
  EXPECT_TRUE(c.rope_factors.empty());
  EXPECT_EQ(c.norm_epsilon, 1e-5f);
  EXPECT_FALSE(c.tied_embeddings);
  EXPECT_EQ(c.exit_layer, 2u);
}

TEST(Config, FillsInWhatAFileMayLeaveOut) {
  EditedModel edited;
  for (const char* key : {"llama.attention.key_length", "llama.attention.value_length", "llama.rope.dimension_count",
                          "llama.rope.freq_base", "llama.vocab_size", "general.name"}) {
    edited.remove(key);
  }
  const Config c = Config::from(edited.open());
  EXPECT_EQ(c.head_dim, 16u);
  EXPECT_EQ(c.rope_dim, 16u);
  EXPECT_EQ(c.rope_base, 10000.0f);
  EXPECT_EQ(c.vocabulary, fixtures::tiny_vocabulary_size());
  EXPECT_TRUE(c.name.empty());
  EXPECT_TRUE(c.tied_embeddings);
  EXPECT_EQ(c.exit_layer, 0u);

  TinyConfig tiny;
  tiny.kv_heads = tiny.heads;
  EXPECT_EQ(Config::from(EditedModel(tiny).remove("llama.attention.head_count_kv").open()).kv_heads, tiny.heads);
  EXPECT_EQ(Config::from(EditedModel().remove("tokenizer.ggml.tokens").open()).vocabulary, fixtures::tiny_vocabulary_size());
}

TEST(Config, TakesArraysWhoseLayersAgree) {
  const Config c = Config::from(EditedModel()
                                    .set_array("llama.attention.head_count", {4, 4, 4, 4})
                                    .set_array("llama.attention.head_count_kv", {2, 2, 2, 2})
                                    .set_array("llama.feed_forward_length", {128, 128, 128, 128})
                                    .open());
  EXPECT_EQ(c.heads, 4u);
  EXPECT_EQ(c.kv_heads, 2u);
  EXPECT_EQ(c.ffn, 128u);
}

TEST(Config, ReadsPositionScaling) {
  const auto scale = [](const std::string& kind, const char* key) {
    EditedModel edited;
    if (!kind.empty()) edited.set("llama.rope.scaling.type", kind);
    return Config::from(edited.set(key, 4.0f).open()).rope_scale;
  };
  EXPECT_EQ(scale("linear", "llama.rope.scaling.factor"), 4.0f);
  EXPECT_EQ(scale("", "llama.rope.scaling.factor"), 4.0f);
  EXPECT_EQ(scale("", "llama.rope.scale_linear"), 4.0f);
  EXPECT_EQ(scale("none", "llama.rope.scaling.factor"), 1.0f);
}

TEST(Config, ReadsRopeFactors) {
  TinyConfig tiny;
  tiny.rope_freqs = true;
  const Config c = Config::from(EditedModel(tiny).open());
  ASSERT_EQ(c.rope_factors.size(), c.rope_dim / 2);
  EXPECT_EQ(c.rope_factors.front(), 1.0f);
  EXPECT_EQ(c.rope_factors.back(), 8.0f);
}

TinyConfig family(const std::string& name) {
  TinyConfig tiny = fixtures::tiny_family(name);
  tiny.long_rope_above = name == "phi3" ? 64 : 0;
  return tiny;
}

TEST(Config, ReadsWhatFamiliesDoDifferently) {
  const Config qwen3 = Config::from(EditedModel(family("qwen3")).open());
  EXPECT_EQ(qwen3.layer(0).qk_norm, model::QkNorm::head);
  EXPECT_TRUE(qwen3.layer(3).rotates);
  EXPECT_EQ(qwen3.rope_pairs, model::RopePairs::halves);
  const Config smollm3 = Config::from(EditedModel(family("smollm3")).open());
  EXPECT_TRUE(smollm3.layer(2).rotates);
  EXPECT_FALSE(smollm3.layer(3).rotates);
  EXPECT_EQ(smollm3.rope_pairs, model::RopePairs::neighbours);
  const Config phi3 = Config::from(EditedModel(family("phi3")).open());
  EXPECT_EQ(phi3.factors_for(64).back(), 2.0f);
  EXPECT_EQ(phi3.factors_for(65).back(), 8.0f);
  EXPECT_EQ(phi3.rope_magnitude, 1.125f);
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
  const auto refused = [](EditedModel&& model, Code code, const std::string& sentence) {
    try {
      Config::from(model.open());
      ADD_FAILURE() << sentence;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << error.what();
      EXPECT_NE(std::string(error.what()).find(sentence), std::string::npos) << error.what();
    }
  };
  refused(std::move(EditedModel(family("qwen3")).remove_tensor("blk.2.attn_k_norm.weight")), Code::bad_file,
          "'blk.2.attn_k_norm.weight' is missing");
  refused(std::move(EditedModel(family("qwen3")).tensor("blk.0.attn_q_norm.weight", {64})), Code::bad_file, "has shape 64, expected 16");
  refused(std::move(EditedModel(family("phi3")).remove_tensor("blk.0.attn_qkv.weight")), Code::bad_file,
          "'blk.0.attn_qkv.weight' is missing");
  refused(std::move(EditedModel(family("phi3")).tensor("blk.0.attn_q.weight", {48, 64})), Code::unsupported, "'blk.0.attn_q.weight'");
  refused(std::move(EditedModel(family("phi3")).tensor("blk.0.ffn_up.weight", {48, 64})), Code::bad_file, "expected 48x128");
  refused(std::move(EditedModel(family("phi3")).remove_tensor("rope_factors_short.weight")), Code::bad_file, "both or none");
  refused(std::move(EditedModel(family("phi3")).remove("phi3.rope.scaling.original_context_length")), Code::bad_file,
          "original_context_length");
  refused(std::move(EditedModel(family("phi3")).tensor("rope_factors_long.weight", {4})), Code::bad_file, "has 4 factors, expected 8");
  refused(std::move(EditedModel(family("phi3")).set("phi3.rope.scaling.attn_factor", -1.0f)), Code::bad_file, "above 0");
  refused(std::move(EditedModel(family("qwen2")).remove_tensor("blk.1.attn_k.bias")), Code::bad_file, "'blk.1.attn_k.bias' is missing");
  refused(std::move(EditedModel(family("starcoder2")).remove_tensor("blk.1.ffn_norm.bias")), Code::bad_file,
          "'blk.1.ffn_norm.bias' is missing");
  refused(std::move(EditedModel(family("starcoder2")).remove("starcoder2.attention.layer_norm_epsilon")), Code::bad_file,
          "attention.layer_norm_epsilon");
  refused(std::move(EditedModel(family("olmo2")).tensor("blk.0.attn_q_norm.weight", {16})), Code::bad_file, "has shape 16, expected 64");
  refused(std::move(EditedModel(family("olmo2")).tensor("blk.0.attn_norm.weight", {48})), Code::unsupported, "'blk.0.attn_norm.weight'");
  refused(std::move(EditedModel(family("gemma2")).remove_tensor("blk.3.post_ffw_norm.weight")), Code::bad_file,
          "'blk.3.post_ffw_norm.weight' is missing");
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
  EXPECT_THROW(Config::from(EditedModel(family("gemma2")).remove("gemma2.attn_logit_softcapping").open()), Error);
  EXPECT_THROW(Config::from(EditedModel(family("gemma3")).remove("gemma3.attention.sliding_window").open()), Error);
  EXPECT_THROW(Config::from(EditedModel().set("llama.rope.scaling.type", std::string("yarn")).open()), Error);  // no factor
  EXPECT_THROW(Config::from(EditedModel(family("mistral3")).tensor("rope_freqs.weight", {8}).open()), Error);
  EXPECT_THROW(Config::from(EditedModel(family("mistral3")).set("mistral3.rope.dimension_count", std::uint32_t{8}).open()), Error);
}

std::string windows(const Config& config) {
  std::string text;
  for (std::uint32_t layer = 0; layer < config.layers; ++layer) text += config.layer(layer).window == 0 ? 'f' : 'w';
  return text;
}

TEST(Config, ReadsWhichLayersHaveAWindow) {
  const Config mistral = Config::from(EditedModel().set("llama.attention.sliding_window", std::uint32_t{128}).open());
  EXPECT_EQ(windows(mistral), "wwww");
  EXPECT_EQ(mistral.layer(3).window, 128u);
  EXPECT_EQ(windows(Config::from(EditedModel().set("llama.attention.sliding_window", std::uint32_t{0}).open())), "ffff");
  EXPECT_EQ(windows(Config::from(EditedModel(family("gemma2")).open())), "wfwfw");
  TinyConfig seven = family("gemma3");
  seven.layers = 7;
  const Config gemma3 = Config::from(EditedModel(seven).open());
  EXPECT_EQ(windows(gemma3), "wwwwwfw");
  EXPECT_TRUE(gemma3.layer(0).local_rope);
  EXPECT_FALSE(gemma3.layer(5).local_rope);
  EXPECT_EQ(gemma3.local_rope_base, 500.0f);
  EXPECT_EQ(Config::from(EditedModel(seven).remove("gemma3.rope.freq_base_swa").open()).local_rope_base, 10000.0f);
  const Config exaone4 = Config::from(EditedModel(family("exaone4")).open());
  EXPECT_EQ(windows(exaone4), "wwwfw");
  EXPECT_TRUE(exaone4.layer(2).rotates);
  EXPECT_FALSE(exaone4.layer(3).rotates);
}

// OLMo 3: positions of layers with a window are not scaled.
TEST(Config, ScalesLayersOfFullAttentionAlone) {
  TinyConfig tiny = family("olmo2");
  tiny.layers = 4;
  tiny.keys = {
      {"attention.sliding_window", std::uint32_t{12}},
      {"attention.sliding_window_pattern", std::make_shared<const gguf::Array>(gguf::Array{std::vector<bool>{true, true, true, false}})}};
  EXPECT_FALSE(Config::from(EditedModel(tiny).open()).layer(0).local_rope);
  tiny.keys.push_back({"rope.scaling.type", std::string("yarn")});
  tiny.keys.push_back({"rope.scaling.factor", 8.0f});
  tiny.keys.push_back({"rope.scaling.original_context_length", std::uint32_t{16}});
  const Config olmo3 = Config::from(EditedModel(tiny).open());
  EXPECT_TRUE(olmo3.layer(0).local_rope);
  EXPECT_FALSE(olmo3.layer(3).local_rope);
  EXPECT_EQ(olmo3.local_rope_base, olmo3.rope_base);
  EXPECT_EQ(olmo3.rope_factors.back(), 8.0f);
}

TEST(Config, ReadsScalesAndSoftcaps) {
  const Config granite = Config::from(EditedModel(family("granite")).open());
  EXPECT_EQ(granite.embedding_scale, 3.0f);
  EXPECT_EQ(granite.residual_scale, 0.5f);
  EXPECT_EQ(granite.attention_scale, 0.125f);
  EXPECT_EQ(granite.logit_scale, 0.5f);  // logits are divided by the file's number
  const Config gemma2 = Config::from(EditedModel(family("gemma2")).open());
  EXPECT_EQ(gemma2.embedding_scale, std::sqrt(48.0f));
  EXPECT_EQ(gemma2.attention_softcap, 5.0f);
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

TEST(Config, IgnoresNeutralValuesOfOtherFeatures) {
  EXPECT_NO_THROW(Config::from(EditedModel()
                                   .set("llama.logit_scale", 1.0f)
                                   .set("llama.attention.scale", 0.25f)
                                   .set("llama.expert_count", std::uint32_t{0})
                                   .set("llama.attention.sliding_window", std::uint32_t{4096})
                                   .set("llama.attention.causal", true)
                                   .open()));
}

TEST(Config, CountsTensorsThatAreNotUsed) {
  std::vector<std::string> messages;
  log::set_level(log::Level::info);
  log::set_sink([&](log::Level level, std::string_view text) {
    if (level == log::Level::info) messages.emplace_back(text);
  });
  Config::from(EditedModel().open());
  EXPECT_TRUE(messages.empty());
  Config::from(EditedModel().tensor("blk.0.attn_rot_embd.weight", {8}).open());  // frequencies that early converters stored
  log::set_sink({});
  log::set_level(log::Level::warning);
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_NE(messages[0].find("1 of the file's"), std::string::npos) << messages[0];
}

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

TEST(FindTensors, TiedEmbeddingsAreTheOutput) {
  const gguf::File file = EditedModel().open();
  const model::ModelTensors t = model::find_tensors(file, Config::from(file));
  EXPECT_EQ(t.model[Role::output].weight, t.model[Role::embedding].weight);
  EXPECT_EQ(t.model[Role::output].bias, nullptr);
}

/// A change to a good file, and the error that it must give.
struct Refusal {
  const char* name;
  std::function<void(EditedModel&)> edit;
  Code code;
  const char* says;  // part of the message
};

std::string refusal_name(const testing::TestParamInfo<Refusal>& refusal) { return refusal.param.name; }

class ConfigRefuses : public testing::TestWithParam<Refusal> {};

TEST_P(ConfigRefuses, WithASentence) {
  EditedModel edited;
  GetParam().edit(edited);
  const gguf::File file = edited.open();
  try {
    Config::from(file);
    ADD_FAILURE() << "was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), GetParam().code) << error.what();
    EXPECT_NE(std::string(error.what()).find(GetParam().says), std::string::npos) << error.what();
  }
}

Refusal set(const char* name, const char* key, gguf::Value value, Code code = Code::bad_file) {
  return {name, [=](EditedModel& m) { m.set(key, value); }, code, key};
}
Refusal remove(const char* name, const char* key) {
  return {name, [=](EditedModel& m) { m.remove(key); }, Code::bad_file, key};
}
Refusal array(const char* name, const char* key, const std::vector<std::int32_t>& items, Code code) {
  return {name, [=](EditedModel& m) { m.set_array(key, items); }, code, key};
}
Refusal drop(const char* name, const char* tensor) {
  return {name, [=](EditedModel& m) { m.remove_tensor(tensor); }, Code::bad_file, tensor};
}
Refusal shaped(const char* name, const char* tensor, const std::vector<std::uint64_t>& shape, Code code = Code::bad_file,
               gguf::Type type = gguf::Type::f32, const std::vector<float>& values = {}) {
  return {name, [=](EditedModel& m) { m.tensor(tensor, shape, values, type); }, code, tensor};
}

constexpr auto iq2_xxs = static_cast<gguf::Type>(16);
const float infinite = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
const std::uint64_t vocab = fixtures::tiny_vocabulary_size();

INSTANTIATE_TEST_SUITE_P(
    Metadata, ConfigRefuses,
    testing::Values(
        remove("NoArchitecture", "general.architecture"),
        Refusal{"OtherArchitecture", [](EditedModel& m) { m.set("general.architecture", std::string("mamba")); }, Code::unsupported,
                "runs: llama"},
        remove("NoLayers", "llama.block_count"), remove("NoContext", "llama.context_length"), remove("NoWidth", "llama.embedding_length"),
        remove("NoFfn", "llama.feed_forward_length"), remove("NoHeads", "llama.attention.head_count"),
        remove("NoEpsilon", "llama.attention.layer_norm_rms_epsilon"), set("ZeroLayers", "llama.block_count", std::uint32_t{0}),
        set("TooManyLayers", "llama.block_count", std::uint32_t{257}), set("NegativeLayers", "llama.block_count", std::int32_t{-4}),
        set("LayersAsText", "llama.block_count", std::string("four")), set("HugeWidth", "llama.embedding_length", std::uint64_t{1} << 40),
        set("ZeroContext", "llama.context_length", std::uint32_t{0}), set("ZeroFfn", "llama.feed_forward_length", std::uint32_t{0}),
        set("ZeroHeads", "llama.attention.head_count", std::uint32_t{0}),
        set("ZeroKvHeads", "llama.attention.head_count_kv", std::uint32_t{0}),
        set("HeadsDoNotDivide", "llama.attention.head_count_kv", std::uint32_t{3}),
        Refusal{"WidthDoesNotDivide",
                [](EditedModel& m) { m.set("llama.embedding_length", std::uint32_t{66}).remove("llama.attention.key_length"); },
                Code::bad_file, "llama.attention.key_length"},
        set("HugeHead", "llama.attention.key_length", std::uint32_t{260}),
        Refusal{"HugeHeadByDefault",
                [](EditedModel& m) {
                  m.remove("llama.attention.key_length")
                      .remove("llama.attention.value_length")
                      .set("llama.embedding_length", std::uint32_t{2048});
                },
                Code::unsupported, "512 dimensions"},
        set("KeysUnlikeValues", "llama.attention.value_length", std::uint32_t{32}, Code::unsupported),
        Refusal{"OddHead",
                [](EditedModel& m) {
                  m.set("llama.attention.key_length", std::uint32_t{18}).set("llama.attention.value_length", std::uint32_t{18});
                },
                Code::unsupported, "head dimension is 18"},
        Refusal{"OddWidth", [](EditedModel& m) { m.set("llama.embedding_length", std::uint32_t{66}); }, Code::unsupported,
                "embedding length is 66"},
        Refusal{"OddFfn", [](EditedModel& m) { m.set("llama.feed_forward_length", std::uint32_t{130}); }, Code::unsupported,
                "feed-forward length is 130"},
        set("EpsilonNan", "llama.attention.layer_norm_rms_epsilon", nan),
        set("EpsilonZero", "llama.attention.layer_norm_rms_epsilon", 0.0f),
        array("LayersDiffer", "llama.attention.head_count_kv", {2, 2, 1, 2}, Code::unsupported),
        array("ArrayTooShort", "llama.attention.head_count", {4, 4, 4}, Code::bad_file),
        array("ArrayOfZeros", "llama.feed_forward_length", {0, 0, 0, 0}, Code::bad_file),
        array("ArrayOfNegatives", "llama.feed_forward_length", {-8, -8, -8, -8}, Code::bad_file),
        set("ExitBeyondTheEnd", "skipstone.exit_layer", std::uint32_t{4})),
    refusal_name);

INSTANTIATE_TEST_SUITE_P(
    Features, ConfigRefuses,
    testing::Values(set("OddRope", "llama.rope.dimension_count", std::uint32_t{7}),
                    set("WideRope", "llama.rope.dimension_count", std::uint32_t{18}), set("BaseInfinite", "llama.rope.freq_base", infinite),
                    set("BaseNegative", "llama.rope.freq_base", -1.0f), set("BaseTooLarge", "llama.rope.freq_base", 1e300),
                    set("ScaleZero", "llama.rope.scaling.factor", 0.0f),
                    set("Dynamic", "llama.rope.scaling.type", std::string("dynamic"), Code::unsupported),
                    set("LongRope", "llama.rope.scaling.type", std::string("longrope"), Code::unsupported),
                    set("Experts", "llama.expert_count", std::uint32_t{8}, Code::unsupported),
                    set("NotCausal", "llama.attention.causal", false, Code::unsupported),
                    set("ClampedQkv", "llama.attention.clamp_kqv", 8.0f, Code::unsupported),
                    set("Alibi", "llama.attention.max_alibi_bias", 8.0f, Code::unsupported),
                    set("AttentionScale", "llama.attention.scale", 0.5f, Code::unsupported),
                    set("AttentionTemperature", "llama.attention.temperature_scale", 0.1f, Code::unsupported),
                    set("AttentionSoftcap", "llama.attn_logit_softcapping", 50.0f, Code::unsupported),
                    set("LogitSoftcap", "llama.final_logit_softcapping", 30.0f, Code::unsupported),
                    set("LogitScale", "llama.logit_scale", 0.25f, Code::unsupported),
                    set("ResidualScale", "llama.residual_scale", 0.25f, Code::unsupported),
                    set("EmbeddingScale", "llama.embedding_scale", 12.0f, Code::unsupported),
                    set("RopeAttentionFactor", "llama.rope.scaling.attn_factor", nan, Code::unsupported),
                    shaped("RopeFactorsCount", "rope_freqs.weight", {16}),
                    shaped("RopeFactorsType", "rope_freqs.weight", {8}, Code::unsupported, gguf::Type::bf16),
                    shaped("RopeFactorZero", "rope_freqs.weight", {8}),
                    shaped("RopeFactorNan", "rope_freqs.weight", {8}, Code::bad_file, gguf::Type::f32, std::vector<float>(8, nan))),
    refusal_name);

INSTANTIATE_TEST_SUITE_P(
    Tensors, ConfigRefuses,
    testing::Values(drop("NoEmbedding", "token_embd.weight"), drop("NoOutputNorm", "output_norm.weight"),
                    drop("NoQ", "blk.0.attn_q.weight"), drop("NoNorm", "blk.2.ffn_norm.weight"), drop("NoDown", "blk.3.ffn_down.weight"),
                    shaped("EmbeddingRows", "token_embd.weight", {64, 100}), shaped("EmbeddingWidth", "token_embd.weight", {32, vocab}),
                    set("VocabularySize", "llama.vocab_size", std::uint32_t{1000}), shaped("OutputRows", "output.weight", {64, vocab - 1}),
                    shaped("OutputBiasLength", "output.bias", {vocab + 1}), shaped("TransposedK", "blk.1.attn_k.weight", {32, 64}),
                    shaped("WholeHeadsOfK", "blk.1.attn_k.weight", {64, 64}), shaped("NormLength", "blk.0.attn_norm.weight", {32}),
                    shaped("BiasLength", "blk.0.attn_q.bias", {32}), shaped("MatrixOfThree", "blk.0.ffn_up.weight", {64, 64, 2}),
                    shaped("NormType", "output_norm.weight", {64}, Code::unsupported, gguf::Type::bf16),
                    shaped("MatrixType", "token_embd.weight", {256, vocab / 4}, Code::bad_file, iq2_xxs),
                    shaped("FusedQkv", "blk.0.attn_qkv.weight", {64, 128}, Code::unsupported),
                    shaped("QNorm", "blk.0.attn_q_norm.weight", {16}, Code::unsupported),
                    shaped("NormBias", "blk.3.attn_norm.bias", {64}, Code::unsupported),
                    shaped("OutputNormBias", "output_norm.bias", {64}, Code::unsupported),
                    shaped("Experts", "blk.0.ffn_up_exps.weight", {64, 128, 2}, Code::unsupported),
                    shaped("LayerScale", "blk.0.ffn_down.scale", {1}, Code::unsupported),
                    shaped("OutputScale", "output.scale", {1}, Code::unsupported),
                    shaped("LayerBeyondTheLast", "blk.4.attn_q.weight", {64, 64}),
                    shaped("HeadBehindTheLast", "blk.4.nextn.eh_proj.weight", {64, 64}),
                    shaped("LayerWithoutANumber", "blk.x.attn_q.weight", {64, 64}, Code::unsupported),
                    shaped("SomebodysExtra", "my_notes", {4}, Code::unsupported),
                    shaped("LearnedPositions", "position_embd.weight", {64, 256}, Code::unsupported),
                    shaped("LongRopeFactors", "rope_factors_long.weight", {8}, Code::unsupported)),
    refusal_name);

TEST(Config, RefusesATypeThatItCannotMultiplyWith) {
  TinyConfig tiny;
  tiny.dim = 256;
  const gguf::File file = EditedModel(tiny).tensor("blk.0.ffn_gate.weight", {256, 128}, {}, iq2_xxs).open();
  try {
    Config::from(file);
    ADD_FAILURE() << "was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::unsupported);
    EXPECT_NE(std::string(error.what()).find("'blk.0.ffn_gate.weight' has type IQ2_XXS"), std::string::npos) << error.what();
  }
}

TEST(Config, EveryWrongMetadataTypeIsAnError) {
  // Whatever an attacker puts where a number is expected, the answer is an error of ours.
  const gguf::File good = EditedModel().open();
  for (const gguf::Pair& pair : good.metadata()) {
    if (!pair.key.starts_with("llama.")) continue;
    const gguf::File file = EditedModel().set_array(pair.key, {}).open();
    EXPECT_THROW(Config::from(file), Error) << pair.key;
  }
}

}  // namespace
}  // namespace skipstone
