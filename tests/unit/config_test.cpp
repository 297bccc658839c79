#include "model/config.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/status.h"
#include "edited_model.h"
#include "fixtures/failure.h"
#include "fixtures/warnings.h"

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
  EXPECT_EQ(c.layer_count(), 3u);
  EXPECT_EQ(c.width, 64u);
  EXPECT_EQ(c.attention().heads, 4u);
  EXPECT_EQ(c.attention().kv_heads, 2u);
  EXPECT_EQ(c.attention().head_dim, 16u);
  EXPECT_EQ(c.attention().q_width(), 64u);
  EXPECT_EQ(c.attention().kv_width(), 32u);
  EXPECT_EQ(c.attention().group(), 2u);
  EXPECT_EQ(c.ffn(), 128u);
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
  EXPECT_EQ(c.attention().head_dim, 16u);
  EXPECT_EQ(c.rope_dim, 16u);
  EXPECT_EQ(c.rope_base, 10000.0f);
  EXPECT_EQ(c.vocabulary, fixtures::tiny_vocabulary_size());
  EXPECT_TRUE(c.name.empty());
  EXPECT_TRUE(c.tied_embeddings);
  EXPECT_EQ(c.exit_layer, 0u);

  TinyConfig tiny;
  tiny.kv_heads = tiny.heads;
  EXPECT_EQ(Config::from(EditedModel(tiny).remove("llama.attention.head_count_kv").open()).attention().kv_heads, tiny.heads);
  EXPECT_EQ(Config::from(EditedModel().remove("tokenizer.ggml.tokens").open()).vocabulary, fixtures::tiny_vocabulary_size());
}

TEST(Config, TakesArraysWhoseLayersAgree) {
  const Config c = Config::from(EditedModel()
                                    .set_array("llama.attention.head_count", {4, 4, 4, 4})
                                    .set_array("llama.attention.head_count_kv", {2, 2, 2, 2})
                                    .set_array("llama.feed_forward_length", {128, 128, 128, 128})
                                    .open());
  EXPECT_EQ(c.attention().heads, 4u);
  EXPECT_EQ(c.attention().kv_heads, 2u);
  EXPECT_EQ(c.ffn(), 128u);
}

TEST(Config, ReadsTheMlpWidthOfEachLayer) {
  TinyConfig tiny;
  tiny.ffn_of_layers = {64, 32, 96, 32};
  const gguf::File file = EditedModel(tiny).open();
  const Config c = Config::from(file);
  EXPECT_EQ(c.ffn(), 96u);
  const model::ModelTensors tensors = find_tensors(file, c);
  for (std::uint32_t layer = 0; layer < c.layer_count(); ++layer) {
    EXPECT_EQ(std::get<model::Mlp>(c.layers[layer].feedforward).width, tiny.ffn_of_layers[layer]);
    EXPECT_EQ(tensors.layers[layer][Role::up].weight->rows(), tiny.ffn_of_layers[layer]);
  }
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

TEST(Config, LeavesOutEncodersOfOtherInputs) {
  EditedModel edited;
  for (const char* name : {"v.patch_embd.weight", "v.blk.0.attn_q.weight", "mm.0.bias", "a.blk.3.ffn_up.weight", "mmproj.fc.weight"}) {
    edited.tensor(name, {32, 2}, {}, gguf::Type::bf16);
  }
  edited.tensor("v.post_ln.weight", {32}, {}, gguf::Type::bf16);
  const fixtures::Warnings warnings;
  EXPECT_NO_THROW(Config::from(edited.open()));
  ASSERT_EQ(warnings.texts.size(), 1u) << warnings.texts.back();
  EXPECT_NE(warnings.texts[0].find("6 tensors"), std::string::npos) << warnings.texts[0];
  EXPECT_NE(warnings.texts[0].find("'v.patch_embd.weight'"), std::string::npos) << warnings.texts[0];
}

TEST(Config, ReadsNormsBiasesAndFactorsInBf16) {
  EditedModel edited;
  const std::vector<float> ones(64, 1.0f), factors(8, 2.0f);
  edited.tensor("output_norm.weight", {64}, ones, gguf::Type::bf16).tensor("blk.1.attn_norm.weight", {64}, ones, gguf::Type::bf16);
  edited.tensor("blk.0.ffn_down.bias", {64}, ones, gguf::Type::bf16).tensor("rope_freqs.weight", {8}, factors, gguf::Type::bf16);
  const gguf::File file = edited.open();
  const fixtures::Warnings warnings;
  const Config config = Config::from(file);
  EXPECT_EQ(config.rope_factors, factors);
  std::vector<float> read(64);
  gguf::dequantize(*model::find_tensors(file, config).model[Role::output_norm].weight, read);
  EXPECT_EQ(read, ones);
  ASSERT_EQ(warnings.texts.size(), 1u);
  EXPECT_NE(warnings.texts[0].find("4 norms"), std::string::npos) << warnings.texts[0];
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
  const fixtures::Failure failure = fixtures::failure_of([&] { Config::from(file); });
  EXPECT_EQ(failure.code, GetParam().code) << failure.message;
  EXPECT_NE(failure.message.find(GetParam().says), std::string::npos) << failure.message;
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

constexpr auto q8_1 = static_cast<gguf::Type>(9);  // has no kernels
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
        set("HugeHead", "llama.attention.key_length", std::uint32_t{516}),
        Refusal{"HugeHeadByDefault",
                [](EditedModel& m) {
                  m.remove("llama.attention.key_length")
                      .remove("llama.attention.value_length")
                      .set("llama.embedding_length", std::uint32_t{4096});
                },
                Code::unsupported, "1024 dimensions"},
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
        array("HeadsDiffer", "llama.attention.head_count", {4, 4, 2, 4}, Code::unsupported),
        array("LayerWithoutMlp", "llama.feed_forward_length", {128, 0, 128, 128}, Code::unsupported),
        array("LayerWithoutHeads", "llama.attention.head_count_kv", {2, 0, 0, 2}, Code::unsupported),
        Refusal{"OddFfnOfOneLayer",
                [](EditedModel& m) {
                  m.set_array("llama.feed_forward_length", {128, 128, 130, 128});
                },
                Code::unsupported, "feed-forward length is 130"},
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
                    shaped("RopeFactorsType", "rope_freqs.weight", {32}, Code::unsupported, gguf::Type::q8_0),
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
                    shaped("NormType", "output_norm.weight", {64}, Code::unsupported, gguf::Type::q8_0),
                    shaped("MatrixType", "token_embd.weight", {256, vocab / 4}, Code::bad_file, q8_1),
                    shaped("FusedQkv", "blk.0.attn_qkv.weight", {64, 128}, Code::unsupported),
                    shaped("QNorm", "blk.0.attn_q_norm.weight", {16}, Code::unsupported),
                    shaped("NormBias", "blk.3.attn_norm.bias", {64}, Code::unsupported),
                    shaped("OutputNormBias", "output_norm.bias", {64}, Code::unsupported),
                    shaped("Experts", "blk.0.ffn_up_exps.weight", {64, 128, 2}, Code::unsupported),
                    shaped("LayerScale", "blk.0.layer_output_scale.weight", {1}, Code::unsupported),
                    shaped("FactorOfANorm", "blk.0.attn_norm.scale", {1}, Code::unsupported),
                    shaped("FactorOfTheEmbedding", "token_embd.scale", {1}, Code::unsupported),
                    shaped("FactorsOfOneMatrix", "blk.0.attn_q.scale", {2}),
                    shaped("FactorNan", "blk.0.ffn_up.scale", {1}, Code::bad_file, gguf::Type::f32, {nan}),
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
  const gguf::File file = EditedModel(tiny).tensor("blk.0.ffn_gate.weight", {256, 128}, {}, q8_1).open();
  try {
    Config::from(file);
    ADD_FAILURE() << "was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::unsupported);
    EXPECT_NE(std::string(error.what()).find("'blk.0.ffn_gate.weight' has type Q8_1"), std::string::npos) << error.what();
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
