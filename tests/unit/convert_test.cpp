// Checkpoints of Hugging Face to GGUF: values, names, metadata.
#include <algorithm>
#include <map>

#include "convert/checkpoint.h"
#include "convert/tensors.h"
#include "convert_fixture.h"

namespace skipstone::convert {
namespace {

using fixtures::checkpoint_tensor;
using fixtures::failure_of;
using fixtures::tiny_checkpoint;
using fixtures::TinyCheckpoint;

std::vector<float> values_of(const gguf::Tensor& tensor) {
  std::vector<float> values(tensor.elements());
  gguf::dequantize(tensor, values);
  return values;
}

/// Rows of heads from halves (i, i + half) to neighbours (2i, 2i + 1), by the definition and not by the code under test.
std::vector<float> with_neighbouring_pairs(const std::vector<float>& rows, std::size_t heads, std::size_t length) {
  const std::size_t half = rows.size() / length / heads / 2;
  std::vector<float> out;
  for (std::size_t head = 0; head < heads; ++head) {
    for (std::size_t i = 0; i < half; ++i) {
      for (const std::size_t part : {0, 1}) {
        const auto row = rows.begin() + static_cast<std::ptrdiff_t>(((head * 2 + part) * half + i) * length);
        out.insert(out.end(), row, row + static_cast<std::ptrdiff_t>(length));
      }
    }
  }
  return out;
}

TEST_F(ConvertTest, EveryTensorArrivesUnderItsNameWithItsValues) {
  for (const bool tied : {true, false}) {
    TinyCheckpoint checkpoint = tiny_checkpoint({.tied = tied});
    write(checkpoint);
    const gguf::File file = converted();
    // What llama.cpp's architecture "llama" looks for (llama-arch.cpp), with the ranks of norms and matrices.
    std::map<std::string, std::string> names = {{"token_embd.weight", "model.embed_tokens.weight"},
                                                {"output_norm.weight", "model.norm.weight"}};
    if (!tied) names["output.weight"] = "lm_head.weight";
    for (const std::string layer : {"0", "1"}) {
      const std::string from = "model.layers." + layer + ".", to = "blk." + layer + ".";
      names[to + "attn_norm.weight"] = from + "input_layernorm.weight";
      names[to + "attn_q.weight"] = from + "self_attn.q_proj.weight";
      names[to + "attn_k.weight"] = from + "self_attn.k_proj.weight";
      names[to + "attn_v.weight"] = from + "self_attn.v_proj.weight";
      names[to + "attn_output.weight"] = from + "self_attn.o_proj.weight";
      names[to + "ffn_norm.weight"] = from + "post_attention_layernorm.weight";
      names[to + "ffn_gate.weight"] = from + "mlp.gate_proj.weight";
      names[to + "ffn_up.weight"] = from + "mlp.up_proj.weight";
      names[to + "ffn_down.weight"] = from + "mlp.down_proj.weight";
    }
    EXPECT_EQ(file.tensors().size(), names.size());
    for (const auto& [target, source] : names) {
      const gguf::Tensor* tensor = file.find_tensor(target);
      ASSERT_NE(tensor, nullptr) << target;
      const fixtures::CheckpointTensor& wanted = checkpoint.tensor(source);
      ASSERT_EQ(tensor->dimensions, wanted.shape.size()) << target;
      EXPECT_TRUE(std::equal(wanted.shape.rbegin(), wanted.shape.rend(), tensor->shape.begin())) << target;
      std::vector<float> values = wanted.values();
      if (target.ends_with("attn_q.weight")) values = with_neighbouring_pairs(values, 4, 32);
      if (target.ends_with("attn_k.weight")) values = with_neighbouring_pairs(values, 2, 32);
      EXPECT_EQ(values_of(*tensor), values) << target;
    }
  }
}

TEST_F(ConvertTest, RotaryRowsOfOneHead) {
  std::vector<std::uint64_t> rows;
  for (std::uint64_t row = 6; row < 12; ++row) rows.push_back(rotary_row(row, 6));
  EXPECT_EQ(rows, (std::vector<std::uint64_t>{6, 9, 7, 10, 8, 11}));
}

TEST_F(ConvertTest, EveryDtypeAndAnyShardsGiveTheSameFile) {
  const std::string wanted = converted_bytes(tiny_checkpoint({.dtype = "F32"}), gguf::Type::f16);
  EXPECT_GT(wanted.size(), 30000u);
  EXPECT_EQ(converted_bytes(tiny_checkpoint({.dtype = "F16"}), gguf::Type::f16), wanted);
  EXPECT_EQ(converted_bytes(tiny_checkpoint({.dtype = "BF16"}), gguf::Type::f16), wanted);
  EXPECT_EQ(converted_bytes(tiny_checkpoint({.dtype = "F32"}), gguf::Type::f16, 3), wanted);
  EXPECT_NE(converted_bytes(tiny_checkpoint({.dtype = "F32"}), gguf::Type::bf16), wanted);
}

TEST_F(ConvertTest, TypesOfTensorsAndOfTheFile) {
  struct Row {
    gguf::Type type;
    std::uint64_t file_type;
    gguf::Type matrix, embedding;
  };
  for (const Row& row : {Row{gguf::Type::f32, 0, gguf::Type::f32, gguf::Type::f32},
                         {gguf::Type::f16, 1, gguf::Type::f16, gguf::Type::f16},
                         {gguf::Type::q4_0, 2, gguf::Type::q4_0, gguf::Type::q8_0},  // the output matrix, of Q6_K where rows divide by 256
                         {gguf::Type::q8_0, 7, gguf::Type::q8_0, gguf::Type::q8_0},
                         {gguf::Type::bf16, 32, gguf::Type::bf16, gguf::Type::bf16}}) {
    TinyCheckpoint checkpoint = tiny_checkpoint();
    write(checkpoint);
    const gguf::File file = converted(row.type);
    EXPECT_EQ(file.integer("general.file_type", 99), row.file_type);
    EXPECT_EQ(file.integer("general.quantization_version", 0), 2u);
    EXPECT_EQ(file.find_tensor("blk.0.ffn_up.weight")->type, row.matrix);
    EXPECT_EQ(file.find_tensor("token_embd.weight")->type, row.embedding);
    EXPECT_EQ(file.find_tensor("blk.1.attn_norm.weight")->type, gguf::Type::f32);
    const std::vector<float> values = values_of(*file.find_tensor("blk.1.ffn_down.weight"));
    const std::vector<float> wanted = checkpoint.tensor("model.layers.1.mlp.down_proj.weight").values();
    const float bound = row.matrix == gguf::Type::q4_0 ? 0.26f : row.matrix == gguf::Type::q8_0 ? 0.009f : 0.0f;  // weights go up to 2
    for (std::size_t i = 0; i < wanted.size(); ++i) ASSERT_NEAR(values[i], wanted[i], bound) << i;
  }
}

TEST_F(ConvertTest, MetadataOfTheUsualTypes) {
  write(tiny_checkpoint());
  const gguf::File file = converted(gguf::Type::q8_0);
  const std::vector<std::pair<std::string, std::string>> wanted = {{"general.architecture", "string"},
                                                                   {"general.type", "string"},
                                                                   {"general.name", "string"},
                                                                   {"general.size_label", "string"},
                                                                   {"llama.block_count", "uint32"},
                                                                   {"llama.context_length", "uint32"},
                                                                   {"llama.embedding_length", "uint32"},
                                                                   {"llama.feed_forward_length", "uint32"},
                                                                   {"llama.attention.head_count", "uint32"},
                                                                   {"llama.attention.head_count_kv", "uint32"},
                                                                   {"llama.vocab_size", "uint32"},
                                                                   {"llama.attention.key_length", "uint32"},
                                                                   {"llama.attention.value_length", "uint32"},
                                                                   {"llama.attention.layer_norm_rms_epsilon", "float32"},
                                                                   {"llama.rope.dimension_count", "uint32"},
                                                                   {"llama.rope.freq_base", "float32"},
                                                                   {"general.file_type", "uint32"},
                                                                   {"general.quantization_version", "uint32"},
                                                                   {"tokenizer.ggml.model", "string"}};
  ASSERT_GT(file.metadata().size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_EQ(file.metadata()[i].key, wanted[i].first);
    EXPECT_EQ(gguf::type_name(file.metadata()[i].value), wanted[i].second) << wanted[i].first;
  }
  EXPECT_EQ(file.string("general.size_label", ""), "27K");  // 271 x 32 and twice 9280 weights and norms, and the last norm
  const model::Config config = model::Config::from(file);
  EXPECT_EQ(config.name, "checkpoint");
  EXPECT_EQ(config.layer_count(), 2u);
  EXPECT_EQ(config.width, 32u);
  EXPECT_EQ(config.ffn(), 64u);
  EXPECT_EQ(config.attention().heads, 4u);
  EXPECT_EQ(config.attention().kv_heads, 2u);
  EXPECT_EQ(config.attention().head_dim, 8u);
  EXPECT_EQ(config.rope_dim, 8u);
  EXPECT_EQ(config.context_trained, 128u);
  EXPECT_EQ(config.norm_epsilon, 1e-5f);
  EXPECT_TRUE(config.tied_embeddings);
  EXPECT_EQ(file.strings("tokenizer.ggml.tokens")->size(), fixtures::tiny_tokenizer_size());
}

TEST_F(ConvertTest, DefaultsOfAbsentValues) {
  TinyCheckpoint checkpoint = tiny_checkpoint({.kv_heads = 4, .tied = false});
  for (const char* key :
       {"num_key_value_heads", "head_dim", "rms_norm_eps", "rope_theta", "tie_word_embeddings", "hidden_act", "attention_bias"}) {
    checkpoint.config.erase(key);
  }
  checkpoint.config["mlp_bias"] = nullptr;
  checkpoint.config["rope_scaling"] = nullptr;
  checkpoint.config["sliding_window"] = nullptr;
  checkpoint.config["quantization_config"] = nullptr;
  write(checkpoint);
  const model::Config config = model::Config::from(converted());
  EXPECT_EQ(config.attention().kv_heads, 4u);
  EXPECT_EQ(config.attention().head_dim, 8u);
  EXPECT_EQ(config.norm_epsilon, 1e-6f);
  EXPECT_EQ(config.rope_base, 10000.0f);
  EXPECT_FALSE(config.tied_embeddings);
}

TEST_F(ConvertTest, HeadsThatDoNotMakeUpTheWidth) {
  write(tiny_checkpoint({.head_dim = 16}));
  const gguf::File file = converted();
  EXPECT_EQ(file.integer("llama.attention.key_length", 0), 16u);
  EXPECT_EQ(file.integer("llama.attention.value_length", 0), 16u);
  EXPECT_EQ(file.integer("llama.rope.dimension_count", 0), 16u);
  EXPECT_EQ(file.find_tensor("blk.0.attn_q.weight")->rows(), 64u);
}

TEST_F(ConvertTest, MistralIsLlamaWithAWindow) {
  constexpr const char* key = "llama.attention.sliding_window";
  TinyCheckpoint checkpoint = tiny_checkpoint();
  checkpoint.config["architectures"] = {"MistralForCausalLM"};
  for (const nlohmann::ordered_json& window : {nlohmann::ordered_json(nullptr), nlohmann::ordered_json(128)}) {  // 128: the context
    checkpoint.config["sliding_window"] = window;
    write(checkpoint);
    const gguf::File file = converted();
    EXPECT_EQ(file.string("general.architecture", ""), "llama");
    EXPECT_EQ(file.find(key), nullptr);
  }
  checkpoint.config["sliding_window"] = 64;
  write(checkpoint);
  const gguf::File file = converted();
  EXPECT_EQ(file.integer(key, 0), 64u);
  EXPECT_EQ(model::Config::from(file).attention(1).window, 64u);
  checkpoint.config["architectures"] = {"LlamaForCausalLM"};  // transformers' Llama has no window, whatever its config.json says
  write(checkpoint);
  EXPECT_EQ(converted().find(key), nullptr);
}

TEST_F(ConvertTest, LinearScaling) {
  TinyCheckpoint checkpoint = tiny_checkpoint();
  checkpoint.config["rope_scaling"] = {{"type", "linear"}, {"factor", 2.5}};
  write(checkpoint);
  const gguf::File file = converted();
  EXPECT_EQ(file.string("llama.rope.scaling.type", ""), "linear");
  EXPECT_EQ(model::Config::from(file).rope_scale, 2.5f);
  checkpoint.config.erase("rope_scaling");
  checkpoint.config.erase("rope_theta");
  checkpoint.config["rope_parameters"] = {{"rope_type", "linear"}, {"factor", 4}, {"rope_theta", 500000}};
  write(checkpoint);
  const model::Config config = model::Config::from(converted());
  EXPECT_EQ(config.rope_scale, 4.0f);
  EXPECT_EQ(config.rope_base, 500000.0f);
}

// Expected: transformers' _compute_llama3_parameters in float32, default inverse frequency over scaled one.
TEST_F(ConvertTest, LlamaThreeScaling) {
  const std::vector<float> factors = rope_factors({.factor = 32.0f, .low = 1.0f, .high = 4.0f, .context = 8192.0f}, 64, 500000.0f);
  ASSERT_EQ(factors.size(), 32u);
  const std::map<std::size_t, float> wanted = {{0, 1.000000f},  {14, 1.000000f},  {15, 1.651329f}, {16, 3.292263f},
                                               {17, 9.666730f}, {18, 32.000000f}, {31, 32.000000f}};
  for (const auto& [i, factor] : wanted) EXPECT_NEAR(factors[i], factor, 1e-5f * factor) << i;

  TinyCheckpoint checkpoint = tiny_checkpoint();
  checkpoint.config["rope_scaling"] = {{"rope_type", "llama3"},
                                       {"factor", 8.0},
                                       {"low_freq_factor", 1.0},
                                       {"high_freq_factor", 4.0},
                                       {"original_max_position_embeddings", 64}};
  write(checkpoint);
  const gguf::File file = converted(gguf::Type::q8_0);
  const gguf::Tensor* tensor = file.find_tensor("rope_freqs.weight");
  ASSERT_NE(tensor, nullptr);
  EXPECT_EQ(tensor->type, gguf::Type::f32);
  EXPECT_EQ(tensor->dimensions, 1u);
  // Wavelengths 2 pi 10^i against 16 and 64: within, between, beyond, beyond.
  const float share = (64.0f / 62.831853f - 1.0f) / 3.0f;
  const std::vector<float> expected = {1.0f, 1.0f / ((1.0f - share) / 8.0f + share), 8.0f, 8.0f};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(model::Config::from(file).rope_factors[i], expected[i], 1e-4f) << i;
}

TEST_F(ConvertTest, ExtrasAreLeftOutAndCounted) {
  TinyCheckpoint checkpoint = tiny_checkpoint();
  const std::string without = converted_bytes(checkpoint, gguf::Type::f32);
  checkpoint.tensors.push_back(checkpoint_tensor("model.layers.0.self_attn.rotary_emb.inv_freq", "F32", {4}, 1));
  checkpoint.tensors.push_back(checkpoint_tensor("model.rotary_emb.inv_freq", "F32", {4}, 1));
  {
    const Warnings warnings;
    EXPECT_EQ(converted_bytes(checkpoint, gguf::Type::f32), without);
    EXPECT_TRUE(warnings.texts.empty()) << warnings.texts[0];
  }
  checkpoint.tensors.push_back(checkpoint_tensor("model.layers.2.self_attn.q_proj.weight", "F32", {4}, 1));  // beyond the last layer
  for (int i = 0; i < 7; ++i) checkpoint.tensors.push_back(checkpoint_tensor("value_head." + std::to_string(i), "I32", {1, 4}, 1));
  const Warnings warnings;
  EXPECT_EQ(converted_bytes(checkpoint, gguf::Type::f32), without);
  ASSERT_EQ(warnings.texts.size(), 6u);
  EXPECT_NE(warnings.texts[0].find("is not part of the model and is left out"), std::string::npos);
  EXPECT_EQ(warnings.texts[5], "3 more tensors are not part of the model and are left out.");
}

TEST_F(ConvertTest, ExitLayer) {
  TinyCheckpoint checkpoint = tiny_checkpoint({.layers = 4});
  write(checkpoint);
  EXPECT_EQ(converted().find("skipstone.exit_layer"), nullptr);
  checkpoint.config["skipstone_exit_layer"] = 2;
  write(checkpoint);
  const gguf::File from_config = converted();
  EXPECT_EQ(gguf::type_name(*from_config.find("skipstone.exit_layer")), "uint32");
  EXPECT_EQ(model::Config::from(from_config).exit_layer, 2u);
  ConvertOptions wanted = options();
  wanted.exit_layer = 3;
  convert(wanted);
  EXPECT_EQ(model::Config::from(gguf::File::open(output())).exit_layer, 3u);
  wanted.exit_layer = 4;
  const auto failure = failure_of([&] { convert(wanted); });
  EXPECT_EQ(failure.code, Code::invalid_argument);
  EXPECT_EQ(failure.message, "the exit layer is 4, but an early exit comes before the last of the model's 4 layers");
}

TEST_F(ConvertTest, ExitLayersOfTheLayerSkipCheckpoints) {
  struct Row {
    std::string folder, origin;
    std::uint32_t layers, width, heads, vocabulary, exit;
    std::size_t warnings;
  };
  const std::string cache = "models--facebook--layerskip-llama3.2-1B/snapshots/0a1b2c";
  for (const Row& row : {Row{"layerskip-llama3-8B", "", 32, 4096, 32, 128256, 3, 1},
                         {cache, "", 16, 2048, 32, 128256, 3, 1},
                         {"mine", "facebook/LayerSkip-llama2-7B", 32, 4096, 32, 32000, 7, 1},
                         {"layerskip-llama2-13B", "", 40, 5120, 40, 32000, 13, 1},
                         {"layerskip-llama2-70B", "", 80, 8192, 64, 32000, 9, 1},
                         {"layerskip-codellama-7B", "", 32, 4096, 32, 32016, 0, 1},
                         {"Llama-2-7b-hf", "meta-llama/Llama-2-7b-hf", 32, 4096, 32, 32000, 0, 0}}) {
    TinyCheckpoint checkpoint = tiny_checkpoint({.layers = 1});
    checkpoint.config["num_hidden_layers"] = row.layers;
    checkpoint.config["hidden_size"] = row.width;
    checkpoint.config["num_attention_heads"] = row.heads;
    checkpoint.config["head_dim"] = 128;
    checkpoint.config["num_key_value_heads"] = 8;
    checkpoint.config["vocab_size"] = row.vocabulary;
    checkpoint.config["_name_or_path"] = row.origin;
    fixtures::write_checkpoint(checkpoint, directory_.file(row.folder));
    const Warnings warnings;
    EXPECT_EQ(read_checkpoint(directory_.file(row.folder)).exit_layer, row.exit) << row.folder;
    EXPECT_EQ(warnings.texts.size(), row.warnings) << row.folder;
  }
  EXPECT_EQ(read_checkpoint(directory_.file(cache)).name, "layerskip-llama3.2-1B");
  EXPECT_EQ(read_checkpoint(directory_.file("mine/")).name, "mine");
}

}  // namespace
}  // namespace skipstone::convert
