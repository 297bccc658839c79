// Checkpoints with recurrent layers: tiny models go to Hugging Face's form and back; what their config.json may not say.
#include <cmath>
#include <functional>

#include "convert/checkpoint.h"
#include "convert_fixture.h"
#include "fixtures/tiny_model.h"

namespace skipstone::convert::hybrids {
namespace {

using fixtures::TinyCheckpoint;
using Json = nlohmann::ordered_json;

/// config.json of tiny_family() models.
Json config_of(const std::string& family) {
  Json config{{"hidden_size", 48},           {"num_attention_heads", 4},
              {"num_key_value_heads", 2},    {"head_dim", 16},
              {"intermediate_size", 64},     {"max_position_embeddings", 256},
              {"num_hidden_layers", 5},      {"rope_theta", 10000},
              {"rms_norm_eps", 1e-5},        {"vocab_size", fixtures::tiny_vocabulary_size()},
              {"tie_word_embeddings", false}};
  const auto kinds = [&](const char* key, const char* recurrent, const char* attention) {
    config[key] = {recurrent, recurrent, attention, recurrent, attention};
  };
  if (family == "lfm2") {
    config["architectures"] = {"Lfm2ForCausalLM"};
    config["norm_eps"] = 1e-5;
    config["conv_L_cache"] = 3;
    config["block_auto_adjust_ff_dim"] = false;
    kinds("layer_types", "conv", "full_attention");
  } else if (family == "qwen35") {
    config["architectures"] = {"Qwen3_5ForCausalLM"};
    config["partial_rotary_factor"] = 0.5;
    config["mtp_num_hidden_layers"] = 1;
    config.update({{"linear_num_key_heads", 2},
                   {"linear_num_value_heads", 4},
                   {"linear_key_head_dim", 16},
                   {"linear_value_head_dim", 8},
                   {"linear_conv_kernel_dim", 4}});
    kinds("layer_types", "linear_attention", "full_attention");
  } else if (family == "granitehybrid") {
    config["architectures"] = {"GraniteMoeHybridForCausalLM"};
    config.update({{"mamba_n_heads", 4},
                   {"mamba_d_head", 16},
                   {"mamba_n_groups", 2},
                   {"mamba_d_state", 8},
                   {"mamba_d_conv", 4},
                   {"shared_intermediate_size", 64},
                   {"embedding_multiplier", 3},
                   {"residual_multiplier", 0.5},
                   {"attention_multiplier", 0.125},
                   {"logits_scaling", 2}});
    kinds("layer_types", "mamba", "attention");
  } else {
    config["architectures"] = {"NemotronHForCausalLM"};
    config.erase("num_hidden_layers");
    config.update({{"mamba_num_heads", 4},
                   {"mamba_head_dim", 16},
                   {"n_groups", 2},
                   {"ssm_state_size", 8},
                   {"conv_kernel", 4},
                   {"layer_norm_epsilon", 1e-5},
                   {"mlp_hidden_act", "relu2"},
                   {"hybrid_override_pattern", "M-*M*"}});
  }
  return config;
}

class ConvertHybrids : public ConvertTest {
 protected:
  /// A tiny model's file, and its checkpoint.
  std::pair<gguf::File, TinyCheckpoint> checkpoint_of(const std::string& family) const {
    const fixtures::TinyConfig tiny = fixtures::tiny_family(family);
    const std::string path = results_.file("tiny-" + family + ".gguf");
    fixtures::write_tiny_model(tiny, path);
    gguf::File file = gguf::File::open(path);
    TinyCheckpoint checkpoint{config_of(family), hybrid_checkpoint(file)};
    return {std::move(file), std::move(checkpoint)};
  }
};

const char* const families[] = {"lfm2", "qwen35", "granitehybrid", "nemotron_h"};

std::vector<float> numbers_of(const gguf::Tensor& tensor) {
  std::vector<float> numbers(tensor.elements());
  gguf::dequantize(tensor, numbers);
  return numbers;
}

TEST_F(ConvertHybrids, TinyModelsComeBackAsTheyWere) {
  for (const char* family : families) {
    SCOPED_TRACE(family);
    const auto [wanted, checkpoint] = checkpoint_of(family);
    write(checkpoint);
    const gguf::File file = converted();
    const model::Config config = model::Config::from(file), original = model::Config::from(wanted);
    EXPECT_EQ(config.layers, original.layers);
    EXPECT_EQ(config.prediction_layers, original.prediction_layers);
    EXPECT_EQ(config.rope_dim, original.rope_dim);
    EXPECT_EQ(config.norm_epsilon, original.norm_epsilon);
    ASSERT_EQ(file.tensors().size(), wanted.tensors().size());
    for (const gguf::Tensor& tensor : wanted.tensors()) {
      const gguf::Tensor* found = file.find_tensor(tensor.name);
      ASSERT_NE(found, nullptr) << tensor.name;
      const std::vector<float> numbers = numbers_of(*found), before = numbers_of(tensor);
      for (std::size_t i = 0; i < before.size(); ++i)
        EXPECT_NEAR(numbers[i], before[i], 1e-6f * (1.0f + std::abs(before[i]))) << tensor.name;
    }
  }
}

TEST_F(ConvertHybrids, HeadsForPredictionMayBeMissing) {
  TinyCheckpoint checkpoint = checkpoint_of("qwen35").second;
  std::erase_if(checkpoint.tensors, [](const auto& tensor) { return tensor.name.starts_with("mtp."); });
  write(checkpoint);
  const Warnings warnings;
  const gguf::File file = converted();
  EXPECT_TRUE(model::Config::from(file).prediction_layers.empty());
  EXPECT_EQ(file.required_integer("qwen35.block_count"), 5u);
  EXPECT_EQ(file.find("qwen35.nextn_predict_layers"), nullptr);
  checkpoint = checkpoint_of("qwen35").second;
  checkpoint.remove("mtp.fc.weight");
  expect_refused(checkpoint, Code::bad_file, "'mtp.fc.weight'");
}

TEST_F(ConvertHybrids, BiasesOfGateAndUpInOneMatrixAreRefused) {
  TinyCheckpoint checkpoint = checkpoint_of("granitehybrid").second;
  checkpoint.config["mlp_bias"] = true;
  expect_refused(checkpoint, Code::unsupported, "'mlp_bias'");
}

TEST_F(ConvertHybrids, ATextPartOfAMultimodalModel) {
  TinyCheckpoint checkpoint = checkpoint_of("qwen35").second;
  Json text = checkpoint.config;
  text["model_type"] = "qwen3_5_text";
  checkpoint.config = {{"architectures", {"Qwen3_5ForConditionalGeneration"}}, {"text_config", text}};
  for (fixtures::CheckpointTensor& tensor : checkpoint.tensors) {
    if (tensor.name.starts_with("model.")) tensor.name.insert(6, "language_model.");
  }
  write(checkpoint);
  EXPECT_EQ(model::Config::from(converted()).prediction_layers.size(), 1u);
}

TEST_F(ConvertHybrids, KindsOfLayersInOtherWords) {
  const auto layers = [&](const std::string& family, const std::function<void(Json&)>& change) {
    Json config = config_of(family);
    change(config);
    std::filesystem::create_directories(folder());
    fixtures::write_text(folder() + "/config.json", config.dump());
    return read_checkpoint(folder()).config.layers;
  };
  const auto none = [](Json&) {};
  EXPECT_EQ(layers("lfm2",
                   [](Json& c) {
                     c.erase("layer_types");
                     c["full_attn_idxs"] = {2, 4};
                   }),
            layers("lfm2", none));
  EXPECT_EQ(layers("nemotron_h",
                   [](Json& c) {
                     c.erase("hybrid_override_pattern");
                     c["layers_block_type"] = {"mamba", "mlp", "attention", "mamba", "attention"};
                   }),
            layers("nemotron_h", none));
  const auto counted = layers("qwen35", [](Json& c) {
    c.erase("layer_types");
    c["full_attention_interval"] = 3;
  });
  EXPECT_TRUE(std::holds_alternative<model::GatedDeltaNet>(counted[1].mixer));
  EXPECT_TRUE(std::holds_alternative<model::Attention>(counted[2].mixer));
  const auto adjusted = layers("lfm2", [](Json& c) {
    c["block_auto_adjust_ff_dim"] = true;
    c["block_ff_dim"] = 100;
    c["block_ffn_dim_multiplier"] = 1.5;
    c["block_multiple_of"] = 32;
  });
  EXPECT_EQ(std::get<model::Mlp>(adjusted[0].feedforward).width, 128u);  // 66 * 1.5 = 99
  const auto rotating = layers("granitehybrid", [](Json& c) { c["position_embedding_type"] = "rope"; });
  EXPECT_TRUE(std::get<model::Attention>(rotating[2].mixer).rotates);
}

TEST_F(ConvertHybrids, LimitsThatAreNone) {
  const std::string usual = config_of("granitehybrid").dump();
  std::filesystem::create_directories(folder());
  for (const char* limit : {"[0.0, Infinity]", "[0.0, {\"__float__\": \"Infinity\"}]", "[0.0, 1e300]", "null"}) {
    fixtures::write_text(folder() + "/config.json",
                         usual.substr(0, usual.size() - 1) + ", \"time_step_limit\": " + limit + R"(, "note": "\"Infinity, \\"})");
    EXPECT_NO_THROW(read_checkpoint(folder())) << limit;
  }
  for (const char* limit : {"[0.0, -Infinity]", "[0.0, NaN]", "[0.0, \"0.1\"]", "[0.0, true]", "[0.0, {}]"}) {
    fixtures::write_text(folder() + "/config.json", usual.substr(0, usual.size() - 1) + ", \"time_step_limit\": " + limit + "}");
    EXPECT_THROW(read_checkpoint(folder()), Error) << limit;
  }
}

TEST_F(ConvertHybrids, OtherModelsAreRefused) {
  struct Row {
    const char* family;
    std::function<void(Json&)> change;
    Code code;
    const char* part;
  };
  const std::vector<Row> rows{
      {"lfm2",
       [](Json& c) {
         c["layer_types"] = {"conv", "conv"};
       },
       Code::bad_file, "expected an item for each of the 5 layers"},
      {"lfm2", [](Json& c) { c["layer_types"][0] = "mamba"; }, Code::unsupported, "'layer_types' has \"mamba\""},
      {"lfm2",
       [](Json& c) {
         c["layer_types"] = {"conv", "conv", "conv", "conv", "conv"};
       },
       Code::unsupported, "none of the layers"},
      {"lfm2", [](Json& c) { c["conv_bias"] = true; }, Code::unsupported, "'conv_bias' is true"},
      {"lfm2", [](Json& c) { c["conv_L_cache"] = 1; }, Code::bad_file, "'conv_L_cache' is 1"},
      {"lfm2",
       [](Json& c) {
         c.erase("layer_types");
         c["full_attn_idxs"] = {2, 5};
       },
       Code::bad_file, "'full_attn_idxs' has 5, expected layers 0 to 4"},
      {"lfm2",
       [](Json& c) {
         c["block_auto_adjust_ff_dim"] = true;
         c["block_ffn_dim_multiplier"] = 1e30;
       },
       Code::bad_file, "'block_ffn_dim_multiplier' makes"},
      {"qwen35", [](Json& c) { c["attn_output_gate"] = false; }, Code::unsupported, "'attn_output_gate' is false"},
      {"qwen35", [](Json& c) { c["linear_num_value_heads"] = 5; }, Code::bad_file, "do not divide among 2 'linear_num_key_heads'"},
      {"qwen35", [](Json& c) { c["linear_key_head_dim"] = 512; }, Code::bad_file, "'linear_key_head_dim' is 512"},
      {"qwen35", [](Json& c) { c["linear_value_head_dim"] = 6; }, Code::unsupported, "'linear_value_head_dim' is 6"},
      {"qwen35", [](Json& c) { c["mtp_num_hidden_layers"] = 2; }, Code::bad_file, "'mtp_num_hidden_layers' is 2"},
      {"qwen35",
       [](Json& c) {
         c["rope_parameters"] = {{"rope_theta", 1e4}, {"partial_rotary_factor", 0.5}, {"mrope_section", {1, -1}}};
       },
       Code::bad_file, "'mrope_section' is [1,-1]"},
      {"granitehybrid", [](Json& c) { c["num_local_experts"] = 4; }, Code::unsupported, "a mixture of experts"},
      {"granitehybrid", [](Json& c) { c["mamba_conv_bias"] = false; }, Code::unsupported, "'mamba_conv_bias' is false"},
      {"granitehybrid", [](Json& c) { c["mamba_proj_bias"] = true; }, Code::unsupported, "'mamba_proj_bias' is true"},
      {"granitehybrid", [](Json& c) { c["mamba_n_groups"] = 3; }, Code::bad_file, "do not divide among 3 'mamba_n_groups'"},
      {"granitehybrid", [](Json& c) { c.erase("mamba_n_heads"); }, Code::bad_file, "mamba_num_heads"},
      {"granitehybrid",
       [](Json& c) {
         c["time_step_limit"] = {0.0, 0.1};
       },
       Code::unsupported, "'time_step_limit' is [0.0,0.1]"},
      {"nemotron_h", [](Json& c) { c["hybrid_override_pattern"] = "ME*M*"; }, Code::unsupported, "'hybrid_override_pattern' has \"ME*M*\""},
      {"nemotron_h", [](Json& c) { c["hybrid_override_pattern"] = ""; }, Code::bad_file, "num_hidden_layers"},
      {"nemotron_h", [](Json& c) { c["mlp_hidden_act"] = "silu"; }, Code::unsupported, "'mlp_hidden_act' is 'silu'"},
      {"nemotron_h", [](Json& c) { c["mamba_hidden_act"] = "gelu"; }, Code::unsupported, "'mamba_hidden_act' is 'gelu'"},
      {"nemotron_h",
       [](Json& c) {
         c["mamba_num_heads"] = 65536;
         c["mamba_head_dim"] = 256;
       },
       Code::bad_file, "expected at most"},
  };
  for (const Row& row : rows) {
    TinyCheckpoint checkpoint{config_of(row.family), {}};
    row.change(checkpoint.config);
    expect_refused(checkpoint, row.code, row.part);
  }
}

TEST_F(ConvertHybrids, HostileValues) {
  const std::vector<Json> values = {nullptr, true, -1, 0, 3, 1e300, "\x1b[2J", Json::array({1, "x"}), Json::object()};
  std::filesystem::create_directories(folder());
  for (const char* family : families) {
    const Json usual = config_of(family);
    for (const auto& [key, unused] : usual.items()) {
      if (key == "architectures") continue;
      for (const Json& value : values) {
        Json config = usual;
        config[key] = value;
        fixtures::write_text(folder() + "/config.json", config.dump());
        const auto failure = fixtures::failure_of([&] { read_checkpoint(folder()); });
        EXPECT_NE(failure.code, Code::internal) << failure.message;
        EXPECT_EQ(failure.message.find('\x1b'), std::string::npos) << failure.message;
      }
    }
  }
}

}  // namespace
}  // namespace skipstone::convert::hybrids
