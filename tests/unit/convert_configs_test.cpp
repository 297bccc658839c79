// What config.json of the families says, in all the ways it has said it, and what it may not say.
#include <cmath>
#include <functional>

#include "convert/checkpoint.h"
#include "convert_fixture.h"

namespace skipstone::convert {
namespace {

using fixtures::checkpoint_tensor;
using fixtures::tiny_checkpoint;
using fixtures::TinyCheckpoint;
using Json = nlohmann::ordered_json;

std::string layer(std::uint32_t index, const std::string& rest) { return "model.layers." + std::to_string(index) + "." + rest; }

TinyCheckpoint of_class(const std::string& name, fixtures::CheckpointShape shape = {}) {
  TinyCheckpoint checkpoint = tiny_checkpoint(shape);
  checkpoint.config["architectures"] = {name};
  return checkpoint;
}

TinyCheckpoint gemma3(std::uint32_t layers = 7) {
  TinyCheckpoint checkpoint = of_class("Gemma3ForCausalLM", {.layers = layers});
  checkpoint.config.erase("hidden_act");
  checkpoint.config["hidden_activation"] = "gelu_pytorch_tanh";
  checkpoint.config["query_pre_attn_scalar"] = 8;
  checkpoint.config["sliding_window"] = 16;
  checkpoint.config["rope_theta"] = 1000000;
  for (std::uint32_t i = 0; i < layers; ++i) {
    for (const char* norm : {"pre_feedforward_layernorm.weight", "post_feedforward_layernorm.weight"}) {
      checkpoint.tensors.push_back(checkpoint_tensor(layer(i, norm), "F32", {32}, i));
    }
    for (const char* norm : {"self_attn.q_norm.weight", "self_attn.k_norm.weight"}) {
      checkpoint.tensors.push_back(checkpoint_tensor(layer(i, norm), "F32", {8}, i));
    }
  }
  return checkpoint;
}

TinyCheckpoint with_biases(TinyCheckpoint checkpoint, bool output) {
  for (std::uint32_t i = 0; i < 2; ++i) {
    checkpoint.tensors.push_back(checkpoint_tensor(layer(i, "self_attn.q_proj.bias"), "F32", {32}, 7 + i));
    checkpoint.tensors.push_back(checkpoint_tensor(layer(i, "self_attn.k_proj.bias"), "F32", {16}, 8 + i));
    checkpoint.tensors.push_back(checkpoint_tensor(layer(i, "self_attn.v_proj.bias"), "F32", {16}, 9 + i));
    if (output) checkpoint.tensors.push_back(checkpoint_tensor(layer(i, "self_attn.o_proj.bias"), "F32", {32}, 10 + i));
  }
  return checkpoint;
}

std::vector<float> values_of(const gguf::File& file, const std::string& name) {
  const gguf::Tensor* tensor = file.find_tensor(name);
  EXPECT_NE(tensor, nullptr) << name;
  std::vector<float> values(tensor != nullptr ? tensor->elements() : 0);
  if (tensor != nullptr) gguf::dequantize(*tensor, values);
  return values;
}

class ConvertConfigs : public ConvertTest {
 protected:
  model::Config config_of(const TinyCheckpoint& checkpoint) const {
    write(checkpoint);
    return model::Config::from(converted());
  }
};

TEST_F(ConvertConfigs, BiasesGoWhereTheirRowsGo) {
  TinyCheckpoint checkpoint = with_biases(tiny_checkpoint(), true);
  checkpoint.config["attention_bias"] = true;
  write(checkpoint);
  const gguf::File file = converted();
  const std::vector<float> wanted = checkpoint.tensor(layer(1, "self_attn.q_proj.bias")).values();
  const std::vector<float> values = values_of(file, "blk.1.attn_q.bias");
  ASSERT_EQ(values.size(), 32u);
  for (std::size_t i = 0; i < 32; ++i) EXPECT_EQ(values[i], wanted[i / 8 * 8 + i % 2 * 4 + i % 8 / 2]) << i;
  EXPECT_EQ(values_of(file, "blk.1.attn_v.bias"), checkpoint.tensor(layer(1, "self_attn.v_proj.bias")).values());
  EXPECT_EQ(values_of(file, "blk.0.attn_output.bias"), checkpoint.tensor(layer(0, "self_attn.o_proj.bias")).values());
  // Those of Qwen 2 need no word, and its halves stay.
  checkpoint = with_biases(of_class("Qwen2ForCausalLM"), false);
  write(checkpoint);
  EXPECT_EQ(values_of(converted(), "blk.1.attn_q.bias"), checkpoint.tensor(layer(1, "self_attn.q_proj.bias")).values());
}

TEST_F(ConvertConfigs, NormsThatAreStoredLessOne) {
  const TinyCheckpoint checkpoint = gemma3();
  TinyCheckpoint copy = checkpoint;
  write(checkpoint);
  const gguf::File file = converted();
  for (const auto& [name, source] : {std::pair<std::string, std::string>{"output_norm.weight", "model.norm.weight"},
                                     {"blk.2.attn_k_norm.weight", layer(2, "self_attn.k_norm.weight")},
                                     {"blk.2.ffn_norm.weight", layer(2, "pre_feedforward_layernorm.weight")},
                                     {"blk.2.post_ffw_norm.weight", layer(2, "post_feedforward_layernorm.weight")}}) {
    std::vector<float> wanted = copy.tensor(source).values();
    for (float& value : wanted) value += 1.0f;
    EXPECT_EQ(values_of(file, name), wanted) << name;
  }
  EXPECT_EQ(values_of(file, "token_embd.weight"), copy.tensor("model.embed_tokens.weight").values());
}

TEST_F(ConvertConfigs, WindowsOfLayers) {
  constexpr const char *window = "gemma3.attention.sliding_window", *pattern = "gemma3.attention.sliding_window_pattern";
  const std::string sliding = "sliding_attention", full = "full_attention";
  const auto windows = [&](const TinyCheckpoint& checkpoint) {
    const model::Config config = config_of(checkpoint);
    std::string text;
    for (std::uint32_t i = 0; i < config.layer_count(); ++i) text += config.window(i) == 16 ? 'w' : '-';
    return text + (gguf::File::open(output()).find(pattern) != nullptr ? " pattern" : "");
  };
  TinyCheckpoint checkpoint = gemma3();
  EXPECT_EQ(windows(checkpoint), "wwwww-w");
  EXPECT_EQ(gguf::File::open(output()).integer(window, 0), 16u);
  checkpoint.config["layer_types"] = {sliding, sliding, sliding, sliding, sliding, full, sliding};
  EXPECT_EQ(windows(checkpoint), "wwwww-w");
  checkpoint.config["layer_types"] = {full, sliding, sliding, sliding, sliding, full, sliding};
  EXPECT_EQ(windows(checkpoint), "-wwww-w pattern");
  checkpoint.config.erase("layer_types");
  checkpoint.config["sliding_window_pattern"] = 3;
  EXPECT_EQ(windows(checkpoint), "ww-ww-w pattern");
  checkpoint.config["sliding_window_pattern"] = "LG";
  EXPECT_EQ(windows(checkpoint), "w-w-w-w pattern");
  // Of Qwen the first layers have none, and all have none where it is not asked for.
  checkpoint = with_biases(of_class("Qwen2ForCausalLM"), false);
  checkpoint.config["sliding_window"] = 16;
  checkpoint.config["max_window_layers"] = 1;
  EXPECT_EQ(config_of(checkpoint).window(1), 0u);
  checkpoint.config["use_sliding_window"] = true;
  const model::Config config = config_of(checkpoint);
  EXPECT_EQ(config.window(0), 0u);
  EXPECT_EQ(config.window(1), 16u);
  checkpoint.config["max_window_layers"] = 2;
  EXPECT_EQ(config_of(checkpoint).window(1), 0u);
}

TEST_F(ConvertConfigs, RotaryBasesOldAndNew) {
  TinyCheckpoint checkpoint = gemma3();
  model::Config config = config_of(checkpoint);
  EXPECT_EQ(config.rope_base, 1e6f);
  EXPECT_EQ(config.local_rope_base, 1e4f);
  checkpoint.config["rope_local_base_freq"] = 20000;
  checkpoint.config["rope_scaling"] = {{"rope_type", "linear"}, {"factor", 8}};
  config = config_of(checkpoint);
  EXPECT_EQ(config.local_rope_base, 2e4f);
  EXPECT_EQ(config.rope_scale, 8.0f);
  for (const char* key : {"rope_local_base_freq", "rope_scaling", "rope_theta"}) checkpoint.config.erase(key);
  checkpoint.config["rope_parameters"] = {{"full_attention", {{"rope_type", "linear"}, {"factor", 4}, {"rope_theta", 5e5}}},
                                          {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", 3e4}}}};
  config = config_of(checkpoint);
  EXPECT_EQ(config.rope_base, 5e5f);
  EXPECT_EQ(config.local_rope_base, 3e4f);
  EXPECT_EQ(config.rope_scale, 4.0f);
}

// transformers' _compute_yarn_parameters.
TEST_F(ConvertConfigs, YarnMagnitudes) {
  struct Row {
    Json more;
    double magnitude;
  };
  const auto gain = [](double m) { return 0.1 * m * std::log(4.0) + 1.0; };
  for (const Row& row : {Row{Json::object(), gain(1)},
                         {{{"attention_factor", 1.5}}, 1.5},
                         {{{"mscale", 1.0}, {"mscale_all_dim", 1.0}}, 1.0},
                         {{{"mscale", 0.5}, {"mscale_all_dim", 2.0}}, gain(0.5) / gain(2)},
                         {{{"mscale", 0.707}, {"mscale_all_dim", 0}}, gain(1)},
                         {{{"beta_fast", 16}, {"beta_slow", 2}}, gain(1)}}) {
    TinyCheckpoint checkpoint = with_biases(of_class("Qwen2ForCausalLM"), false);
    checkpoint.config["rope_scaling"] = {{"type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 64}};
    checkpoint.config["rope_scaling"].update(row.more);
    const model::Config config = config_of(checkpoint);
    EXPECT_NEAR(config.rope_magnitude, row.magnitude, 1e-6) << row.more;
    EXPECT_EQ(config.rope_factors.size(), 4u);
    const gguf::File file = gguf::File::open(output());
    EXPECT_EQ(file.string("qwen2.rope.scaling.type", ""), "yarn");
    EXPECT_EQ(file.integer("qwen2.rope.scaling.original_context_length", 0), 64u);
    EXPECT_EQ(file.number("qwen2.rope.scaling.yarn_beta_fast", 0), row.more.contains("beta_fast") ? 16 : 0);
  }
}

TEST_F(ConvertConfigs, TextPartsOfMultimodalCheckpoints) {
  struct Row {
    std::string wrapper, type, architecture, layers, head;
  };
  for (const Row& row :
       {Row{"Gemma3ForConditionalGeneration", "gemma3_text", "gemma3", "language_model.model.", "language_model.lm_head.weight"},
        {"Gemma3ForConditionalGeneration", "gemma3_text", "gemma3", "model.language_model.", "lm_head.weight"},
        {"Mistral3ForConditionalGeneration", "mistral", "llama", "language_model.model.", "language_model.lm_head.weight"},
        {"Mistral3ForConditionalGeneration", "ministral3", "mistral3", "model.language_model.", "lm_head.weight"}}) {
    const bool gemma = row.architecture == "gemma3";
    TinyCheckpoint checkpoint = gemma ? gemma3() : tiny_checkpoint({.tied = false});
    const std::size_t parts = checkpoint.tensors.size();
    for (fixtures::CheckpointTensor& tensor : checkpoint.tensors) {
      tensor.name = tensor.name == "lm_head.weight" ? row.head : row.layers + tensor.name.substr(std::string("model.").size());
    }
    for (const char* name : {"vision_tower.patch.weight", "model.vision_tower.layers.0.q_proj.bias", "multi_modal_projector.weight"}) {
      checkpoint.tensors.push_back(checkpoint_tensor(name, "F32", {4, 4}, 1));
    }
    Json text = checkpoint.config;
    text.erase("architectures");
    text["model_type"] = row.type;
    checkpoint.config = {{"architectures", {row.wrapper}}, {"model_type", "other"}, {"text_config", text}};
    const Warnings warnings;
    write(checkpoint);
    const gguf::File file = converted();
    EXPECT_EQ(file.string("general.architecture", ""), row.architecture);
    EXPECT_EQ(file.tensors().size(), parts);
    ASSERT_EQ(warnings.texts.size(), 1u);
    EXPECT_NE(warnings.texts[0].find("3 tensors are not of the language model"), std::string::npos) << warnings.texts[0];
  }
  TinyCheckpoint checkpoint = of_class("Gemma3ForConditionalGeneration");
  expect_refused(checkpoint, Code::bad_file, "has no object 'text_config'");
  checkpoint.config["text_config"] = {{"model_type", "llama"}};
  expect_refused(checkpoint, Code::unsupported, "is of type 'llama', which cannot be converted");
}

TEST_F(ConvertConfigs, NumbersOfMultimodalGemmaThatAreNotSaid) {
  TinyCheckpoint checkpoint = gemma3();
  checkpoint.config["text_config"] = {
      {"model_type", "gemma3_text"}, {"hidden_size", 2560}, {"num_hidden_layers", 34}, {"intermediate_size", 10240}};
  checkpoint.config["architectures"] = {"Gemma3ForConditionalGeneration"};
  write(checkpoint);
  const model::Config& config = read_checkpoint(folder()).config;
  EXPECT_EQ(config.attention().heads, 8u);
  EXPECT_EQ(config.attention().kv_heads, 4u);
  EXPECT_EQ(config.attention().head_dim, 256u);
  EXPECT_EQ(config.vocabulary, 262208u);
  EXPECT_EQ(config.context_trained, 131072u);
  EXPECT_EQ(config.rope_base, 1e6f);
}

TEST_F(ConvertConfigs, ContradictionsAreRefused) {
  struct Row {
    std::function<TinyCheckpoint()> checkpoint;
    std::function<void(Json&)> change;
    Code code;
    std::string part;
  };
  const auto qwen2 = [] { return with_biases(of_class("Qwen2ForCausalLM"), false); };
  const auto smollm3 = [] { return of_class("SmolLM3ForCausalLM"); };
  const auto gemma = [] { return gemma3(); };
  const auto mistral = [] { return of_class("MistralForCausalLM"); };
  const auto phi3 = [] { return of_class("Phi3ForCausalLM"); };
  const std::vector<Row> rows = {
      {gemma, [](Json& c) { c["query_pre_attn_scalar"] = 16; }, Code::unsupported, "'query_pre_attn_scalar' is 16; "},
      {gemma, [](Json& c) { c["hidden_activation"] = "silu"; }, Code::unsupported, "'hidden_activation' is 'silu'; only gelu_pytorch_tanh"},
      {gemma, [](Json& c) { c["sliding_window"] = nullptr; }, Code::bad_file, "'sliding_window' is missing"},
      {gemma, [](Json& c) { c["sliding_window"] = 0; }, Code::bad_file, "'sliding_window' is 0"},
      {gemma, [](Json& c) { c["layer_types"] = {"full_attention"}; }, Code::bad_file, "an item for each of the 7 layers"},
      {gemma,
       [](Json& c) {
         c["layer_types"] = Json::array({1, 2, 3, 4, 5, 6, 7});
       },
       Code::unsupported, "'layer_types' has 1"},
      {gemma, [](Json& c) { c["sliding_window_pattern"] = "LLG LG"; }, Code::unsupported, "'sliding_window_pattern' is"},
      {gemma, [](Json& c) { c["final_logit_softcapping"] = -3; }, Code::bad_file, "'final_logit_softcapping' is -3"},
      {gemma, [](Json& c) { c["use_bidirectional_attention"] = true; }, Code::unsupported, "cannot generate text"},
      {gemma,
       [](Json& c) {
         c["rope_parameters"] = {{"full_attention", {{"rope_theta", 1e6}}},
                                 {"sliding_attention", {{"rope_theta", 1e4}, {"rope_type", "linear"}, {"factor", 2}}}};
       },
       Code::unsupported, "layers with a window are scaled by 'linear'"},
      {mistral,
       [](Json& c) {
         c["rope_parameters"] = {{"full_attention", {{"rope_theta", 1e6}}}, {"sliding_attention", {{"rope_theta", 1e4}}}};
       },
       Code::unsupported, "turn otherwise"},
      {mistral,
       [](Json& c) {
         c["rope_parameters"] = {{"full_attention", 3}};
       },
       Code::bad_file, "expected an object"},
      {mistral,
       [](Json& c) {
         c["layer_types"] = {"sliding_attention", "full_attention"};
       },
       Code::bad_file, "'sliding_window' says none"},
      {mistral,
       [](Json& c) {
         c["rope_parameters"] = {{"llama_4_scaling_beta", 0.1}};
       },
       Code::unsupported, "'llama_4_scaling_beta' is 0.1"},
      {mistral,
       [](Json& c) {
         c["rope_parameters"] = {{"rope_type", "yarn"}, {"factor", 4}, {"truncate", false}};
       },
       Code::unsupported, "'truncate' is false"},
      {mistral,
       [](Json& c) {
         c["rope_parameters"] = {{"rope_type", "yarn"}};
       },
       Code::bad_file, "'factor' is missing"},
      {qwen2, [](Json& c) { c["use_sliding_window"] = true, c["sliding_window"] = 16; }, Code::unsupported,
       "says which layers have a window"},
      {qwen2, [](Json& c) { c["use_sliding_window"] = true, c["max_window_layers"] = 0; }, Code::bad_file, "'sliding_window' is missing"},
      {smollm3,
       [](Json& c) {
         c["no_rope_layers"] = {1, 0};
       },
       Code::unsupported, "'no_rope_layers' is [1,0]"},
      {smollm3,
       [](Json& c) {
         c["no_rope_layers"] = {1, 1, 1};
       },
       Code::unsupported, "'no_rope_layers' is"},
      {smollm3, [](Json& c) { c["no_rope_layer_interval"] = 3; }, Code::unsupported, "'no_rope_layer_interval' is 3"},
      {phi3,
       [](Json& c) {
         c["rope_scaling"] = {{"type", "longrope"}, {"long_factor", {1, 2, 3, 4}}};
       },
       Code::bad_file, "'short_factor' is missing"},
      {phi3,
       [](Json& c) {
         c["rope_scaling"] = {{"type", "su"}, {"long_factor", {1, 2, 3}}, {"short_factor", {1, 1, 1, 1}}};
       },
       Code::bad_file, "'long_factor' is [1,2,3], expected an array of 4 numbers"},
      {phi3,
       [](Json& c) {
         c["rope_scaling"] = {{"type", "longrope"}, {"long_factor", {1, 2, 3, -4}}, {"short_factor", {1, 1, 1, 1}}};
       },
       Code::bad_file, "'long_factor' is -4, expected a number above 0"},
      {phi3, [](Json& c) { c["partial_rotary_factor"] = 1.5; }, Code::bad_file, "'partial_rotary_factor' is 1.5"},
      {phi3, [](Json& c) { c["partial_rotary_factor"] = 0.5; }, Code::unsupported, "4 of a head's 8 dimensions rotate"},
      {[] { return of_class("Starcoder2ForCausalLM"); }, [](Json& c) { c["hidden_act"] = "gelu_pytorch_tanh", c["use_bias"] = false; },
       Code::unsupported, "'use_bias' is false"},
      {[] { return of_class("Olmo2ForCausalLM"); }, [](Json& c) { c["clip_qkv"] = 8; }, Code::unsupported, "'clip_qkv' is set"},
      {[] { return of_class("GraniteForCausalLM"); }, [](Json& c) { c["logits_scaling"] = 0; }, Code::bad_file, "'logits_scaling' is 0"},
      {[] { return of_class("Gemma2ForCausalLM"); },
       [](Json& c) {
         c["hidden_act"] = "gelu_pytorch_tanh";
         c["attn_logit_softcapping"] = nullptr;
       },
       Code::unsupported, "'attn_logit_softcapping' is null"},
  };
  for (const Row& row : rows) {
    TinyCheckpoint checkpoint = row.checkpoint();
    row.change(checkpoint.config);
    expect_refused(checkpoint, row.code, row.part);
  }
}

/// Whatever a value becomes, it is taken or refused in a sentence.
TEST_F(ConvertConfigs, HostileValues) {
  const std::vector<Json> values = {nullptr, true, -1, 0, 3, 1e300, "\x1b[2J", Json::array({1, "x"}), Json::object()};
  std::filesystem::create_directories(folder());
  std::size_t refused = 0, taken = 0;
  for (const char* name : {"LlamaForCausalLM", "Gemma2ForCausalLM", "Gemma3ForCausalLM", "Phi3ForCausalLM", "Ministral3ForCausalLM",
                           "GraniteForCausalLM", "SmolLM3ForCausalLM", "Olmo3ForCausalLM", "Qwen3ForCausalLM", "Glm4ForCausalLM",
                           "Exaone4ForCausalLM", "Starcoder2ForCausalLM", "Cohere2ForCausalLM"}) {
    const Json usual = of_class(name).config;
    for (const char* key : {"hidden_size",
                            "num_hidden_layers",
                            "head_dim",
                            "sliding_window",
                            "layer_types",
                            "sliding_window_pattern",
                            "rope_theta",
                            "rope_parameters",
                            "rope_scaling",
                            "no_rope_layers",
                            "query_pre_attn_scalar",
                            "attn_logit_softcapping",
                            "partial_rotary_factor",
                            "attention_multiplier",
                            "max_window_layers",
                            "use_sliding_window",
                            "tie_word_embeddings",
                            "original_max_position_embeddings",
                            "vocab_size",
                            "text_config"}) {
      for (const Json& value : values) {
        Json config = usual;
        config[key] = value;
        fixtures::write_text(folder() + "/config.json", config.dump());
        try {
          read_checkpoint(folder());
          ++taken;
        } catch (const Error& error) {
          ++refused;
          EXPECT_EQ(std::string(error.what()).find('\x1b'), std::string::npos) << error.what();
          EXPECT_NE(error.code(), Code::internal) << error.what();
        }
      }
    }
  }
  EXPECT_GT(taken, 500u);
  EXPECT_GT(refused, 500u);
}

}  // namespace
}  // namespace skipstone::convert
