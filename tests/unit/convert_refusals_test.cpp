// Checkpoints that cannot be converted: one sentence each, and no file left.
#include <cmath>
#include <cstring>
#include <functional>

#include "convert_fixture.h"

namespace skipstone::convert {
namespace {

namespace fs = std::filesystem;
using fixtures::checkpoint_tensor;
using fixtures::failure_of;
using fixtures::tiny_checkpoint;
using fixtures::TinyCheckpoint;

TEST_F(ConvertTest, ConfigurationsThatAreRefused) {
  struct Row {
    std::function<void(nlohmann::ordered_json&)> change;
    Code code;
    std::string part;
  };
  using Config = nlohmann::ordered_json;
  const std::vector<Row> rows = {
      {[](Config& c) { c["architectures"] = {"BertForMaskedLM"}; }, Code::unsupported,
       "architecture is \"BertForMaskedLM\"; LlamaForCausalLM, LLaMAForCausalLM, MistralForCausalLM, "},
      {[](Config& c) { c.erase("architectures"); }, Code::bad_file, "names no 'architectures'"},
      {[](Config& c) { c["architectures"] = Config::array(); }, Code::bad_file, "names no 'architectures'"},
      {[](Config& c) { c["architectures"] = "LlamaForCausalLM"; }, Code::bad_file, "names no 'architectures'"},
      {[](Config& c) { c["hidden_act"] = "gelu"; }, Code::unsupported, "'hidden_act' is 'gelu'"},
      {[](Config& c) { c["attention_bias"] = true; }, Code::bad_file, "'model.layers.0.self_attn.q_proj.bias' (32) is missing"},
      {[](Config& c) { c["mlp_bias"] = true; }, Code::bad_file, "'model.layers.0.mlp.gate_proj.bias' (64) is missing"},
      {[](Config& c) { c["attention_bias"] = "no"; }, Code::bad_file, "'attention_bias' is \"no\", expected true or false"},
      {[](Config& c) {
         c["quantization_config"] = {{"quant_method", "gptq"}};
       },
       Code::unsupported, "quantised already ('quantization_config', method \"gptq\")"},
      {[](Config& c) { c["quantization_config"] = 7; }, Code::unsupported, "quantised already"},
      {[](Config& c) { c["partial_rotary_factor"] = 0.5; }, Code::unsupported, "'partial_rotary_factor' is 0.5"},
      {[](Config& c) {
         c["rope_scaling"] = {{"rope_type", "longrope"}, {"factor", 2}};
       },
       Code::unsupported, "scaled by 'longrope'; of a model of class llama default, linear, llama3, yarn can be converted"},
      {[](Config& c) {
         c["rope_scaling"] = {{"type", "dynamic"}, {"factor", 2}};
       },
       Code::unsupported, "scaled by 'dynamic'"},
      {[](Config& c) {
         c["rope_scaling"] = {{"type", "linear"}};
       },
       Code::bad_file, "rope_scaling: 'factor' is missing"},
      {[](Config& c) {
         c["rope_scaling"] = {{"type", "linear"}, {"factor", 0}};
       },
       Code::bad_file, "'factor' is 0, expected a number above 0"},
      {[](Config& c) {
         c["rope_scaling"] = {{"rope_type", "llama3"}, {"factor", 8}};
       },
       Code::bad_file, "'low_freq_factor' is missing"},
      {[](Config& c) {
         c["rope_scaling"] = {{"rope_type", "llama3"},
                              {"factor", 8},
                              {"low_freq_factor", 4},
                              {"high_freq_factor", 4},
                              {"original_max_position_embeddings", 64}};
       },
       Code::bad_file, "'high_freq_factor' 4 is not above 'low_freq_factor' 4"},
      {[](Config& c) { c["rope_scaling"] = "linear"; }, Code::bad_file, "expected an object"},
      {[](Config& c) { c.erase("hidden_size"); }, Code::bad_file, "'hidden_size' is missing"},
      {[](Config& c) { c["num_hidden_layers"] = 0; }, Code::bad_file, "'num_hidden_layers' is 0, expected 1 to 256"},
      {[](Config& c) { c["num_hidden_layers"] = 257; }, Code::bad_file, "'num_hidden_layers' is 257"},
      {[](Config& c) { c["num_hidden_layers"] = -2; }, Code::bad_file, "'num_hidden_layers' is -2"},
      {[](Config& c) { c["num_hidden_layers"] = 2.0; }, Code::bad_file, "'num_hidden_layers' is 2.0"},
      {[](Config& c) { c["num_key_value_heads"] = 3; }, Code::bad_file, "4 'num_attention_heads' do not divide among 3"},
      {[](Config& c) {
         c["num_attention_heads"] = 6;
         c["num_key_value_heads"] = 6;
         c.erase("head_dim");
       },
       Code::bad_file, "does not divide among 6"},
      {[](Config& c) { c["head_dim"] = 6; }, Code::unsupported, "dimension of a head is 6"},
      {[](Config& c) { c["head_dim"] = 516; }, Code::bad_file, "'head_dim' is 516"},
      {[](Config& c) { c["rms_norm_eps"] = 0; }, Code::bad_file, "'rms_norm_eps' is 0"},
      {[](Config& c) { c["rope_theta"] = "10000"; }, Code::bad_file, "'rope_theta' is \"10000\""},
      {[](Config& c) { c["vocab_size"] = 4294967296; }, Code::bad_file, "'vocab_size' is 4294967296"},
      {[](Config& c) { c["skipstone_exit_layer"] = 2; }, Code::bad_file, "'skipstone_exit_layer' is 2, expected 1 to 1"},
      {[](Config& c) { c["num_hidden_layers"] = 3; }, Code::bad_file, "'model.layers.2.input_layernorm.weight' (32) is missing"},
      {[](Config& c) { c["num_key_value_heads"] = 4; }, Code::bad_file,
       "'model.layers.0.self_attn.k_proj.weight' has the shape 16 x 32, expected 32 x 32"},
      {[](Config& c) { c["vocab_size"] = 300; }, Code::bad_file, "'model.embed_tokens.weight' has the shape 271 x 32, expected 300 x 32"},
      {[](Config& c) { c["tie_word_embeddings"] = false; }, Code::bad_file, "'lm_head.weight' (271 x 32) is missing"},
  };
  for (const Row& row : rows) {
    TinyCheckpoint checkpoint = tiny_checkpoint();
    row.change(checkpoint.config);
    expect_refused(checkpoint, row.code, row.part);
  }
}

TEST_F(ConvertTest, TensorsThatAreRefused) {
  const std::string q = "model.layers.1.self_attn.q_proj.weight";
  TinyCheckpoint checkpoint = tiny_checkpoint();
  checkpoint.remove(q);
  expect_refused(checkpoint, Code::bad_file, "'" + q + "' (32 x 32) is missing");
  checkpoint = tiny_checkpoint();
  checkpoint.tensor(q) = checkpoint_tensor(q, "F32", {16, 64}, 1);
  expect_refused(checkpoint, Code::bad_file, "'" + q + "' has the shape 16 x 64, expected 32 x 32");
  checkpoint.tensor(q) = checkpoint_tensor(q, "F32", {32 * 32}, 1);
  expect_refused(checkpoint, Code::bad_file, "'" + q + "' has the shape 1024, expected 32 x 32");
  checkpoint.tensor(q) = checkpoint_tensor(q, "I32", {32, 32}, 1);
  expect_refused(checkpoint, Code::unsupported, "'" + q + "' holds numbers of type I32");
  for (const char* extra : {"model.layers.0.self_attn.q_proj.bias", "model.layers.1.self_attn.q_norm.weight", "lm_head.bias",
                            "model.embed_positions.weight", "model.norm.bias", "lm_head.weight_scale"}) {
    checkpoint = tiny_checkpoint();
    checkpoint.tensors.push_back(checkpoint_tensor(extra, "F32", {32}, 1));
    expect_refused(checkpoint, Code::unsupported, std::string("'") + extra + "' (32) has no place in architecture llama");
  }
}

TEST_F(ConvertTest, ATiedHeadIsACopyOrRefused) {
  TinyCheckpoint checkpoint = tiny_checkpoint();
  const std::string without = converted_bytes(checkpoint, gguf::Type::f16);
  fixtures::CheckpointTensor head = checkpoint.tensor("model.embed_tokens.weight");
  head.name = "lm_head.weight";
  checkpoint.tensors.push_back(head);
  EXPECT_EQ(converted_bytes(checkpoint, gguf::Type::f16), without);
  checkpoint.tensors.back().bytes[100] ^= 1;
  expect_refused(checkpoint, Code::bad_file, "'lm_head.weight' is not equal to 'model.embed_tokens.weight'");
}

TEST_F(ConvertTest, ATiedEmbeddingMayStandAsTheHeadAlone) {
  for (const bool said : {true, false}) {
    TinyCheckpoint checkpoint = tiny_checkpoint();
    const std::string usual = converted_bytes(checkpoint, gguf::Type::f16);
    checkpoint.tensor("model.embed_tokens.weight").name = "lm_head.weight";
    if (!said) checkpoint.config.erase("tie_word_embeddings");
    EXPECT_EQ(converted_bytes(checkpoint, gguf::Type::f16), usual);
  }
  TinyCheckpoint checkpoint = tiny_checkpoint({.tied = false});
  checkpoint.remove("model.embed_tokens.weight");
  expect_refused(checkpoint, Code::bad_file, "'model.embed_tokens.weight' (271 x 32) is missing");
  checkpoint.config["tie_word_embeddings"] = true;
  checkpoint.remove("lm_head.weight");
  expect_refused(checkpoint, Code::bad_file, "'model.embed_tokens.weight' (271 x 32) is missing");
  // Silent about it, with both: tied where they are the same.
  checkpoint = tiny_checkpoint();
  const std::string usual = converted_bytes(checkpoint, gguf::Type::f16);
  checkpoint.config.erase("tie_word_embeddings");
  checkpoint.tensors.push_back(checkpoint.tensor("model.embed_tokens.weight"));
  checkpoint.tensors.back().name = "lm_head.weight";
  EXPECT_EQ(converted_bytes(checkpoint, gguf::Type::f16), usual);
  checkpoint.tensors.back().bytes[100] ^= 1;
  write(checkpoint);
  EXPECT_NE(converted().find_tensor("output.weight"), nullptr);
}

TEST_F(ConvertTest, WeightsThatDoNotFit) {
  const std::string name = "model.layers.0.self_attn.k_proj.weight";
  const auto with_weight = [&](float weight) {
    TinyCheckpoint checkpoint = tiny_checkpoint();
    std::memcpy(checkpoint.tensor(name).bytes.data() + 5 * 32 * 4, &weight, 4);  // row 5
    return checkpoint;
  };
  expect_refused(with_weight(NAN), Code::bad_file, "'" + name + "' has a weight in row 5 that is not finite (nan)");
  expect_refused(with_weight(-INFINITY), Code::bad_file, "'" + name + "' has a weight in row 5 that is not finite (-inf)");
  expect_refused(with_weight(-70000.0f), Code::unsupported, "'" + name + "' has a weight in row 5 (-70000) that is too large for F16",
                 gguf::Type::f16);
  expect_refused(with_weight(1e7f), Code::unsupported, "in row 5 (10000000) that is too large for Q8_0", gguf::Type::q8_0);
  expect_refused(with_weight(1e6f), Code::unsupported, "in row 5 (1000000) that is too large for Q4_0", gguf::Type::q4_0);
  expect_refused(with_weight(3.4e38f), Code::unsupported, "that is too large for BF16", gguf::Type::bf16);
  write(with_weight(70000.0f));
  EXPECT_NO_THROW(converted(gguf::Type::bf16));
  EXPECT_NO_THROW(converted(gguf::Type::f32));
}

TEST_F(ConvertTest, Folders) {
  const auto refused = [&](const std::string& path, Code code, const std::string& part) {
    ConvertOptions wanted = options();
    wanted.folder = path;
    const auto failure = failure_of([&] { convert(wanted); });
    EXPECT_EQ(failure.code, code) << failure.message;
    EXPECT_NE(failure.message.find(part), std::string::npos) << failure.message;
  };
  refused(directory_.file("nothing"), Code::not_found, "there is no such folder");
  refused("", Code::not_found, "there is no such folder");
  fs::create_directory(folder());
  refused(folder(), Code::not_found, "has no config.json");
  fixtures::write_text(directory_.file("checkpoint/config.json"), "{");
  refused(folder(), Code::bad_file, "config.json: is not valid JSON");
  refused(directory_.file("checkpoint/config.json"), Code::bad_file, "is not a folder");
  write(tiny_checkpoint());
  fs::remove(directory_.file("checkpoint/tokenizer.model"));
  refused(folder(), Code::not_found, "tokenizer");
  fs::remove(directory_.file("checkpoint/model.safetensors"));
  refused(folder(), Code::not_found, "model.safetensors");
}

TEST_F(ConvertTest, Outputs) {
  write(tiny_checkpoint());
  const auto refused = [&](const std::string& path, bool overwrite, Code code, const std::string& part) {
    ConvertOptions wanted = options();
    wanted.output = path;
    wanted.overwrite = overwrite;
    const auto failure = failure_of([&] { convert(wanted); });
    EXPECT_EQ(failure.code, code) << failure.message;
    EXPECT_NE(failure.message.find(part), std::string::npos) << failure.message;
  };
  refused("", true, Code::invalid_argument, "no name");
  refused(folder(), true, Code::invalid_argument, "is a folder");
  refused(directory_.file("no/such/out.gguf"), true, Code::io, fixtures::no_such_folder());
  refused(fixtures::null_device, true, Code::io, "not a regular file");
  fixtures::write_text(output(), "mine");
  refused(output(), false, Code::invalid_argument, "is there already");
  EXPECT_EQ(fixtures::bytes_of(output()), "mine");
  const std::string weights = directory_.file("checkpoint/model.safetensors"), link = directory_.file("link.gguf");
  fs::create_hard_link(weights, link);
  for (const std::string& path : {weights, link, directory_.file("checkpoint/config.json")}) {
    const std::string before = fixtures::bytes_of(path);
    refused(path, true, Code::invalid_argument, "is the input");
    EXPECT_EQ(fixtures::bytes_of(path), before);
  }
  convert(options());
  EXPECT_NE(fixtures::bytes_of(output()), "mine");
}

TEST_F(ConvertTest, CancellingLeavesNothingBehind) {
  write(tiny_checkpoint());
  ConvertOptions wanted = options();
  std::uint64_t last = 0, calls = 0, all = 0;
  wanted.progress = [&](std::uint64_t written, std::uint64_t total) {
    EXPECT_GT(written, last);
    last = written;
    all = total;
    return ++calls > 0;
  };
  convert(wanted);
  EXPECT_EQ(last, all);
  EXPECT_GT(calls, 10u);
  fs::remove(output());
  wanted.progress = [&](std::uint64_t written, std::uint64_t) { return written < all / 2; };
  EXPECT_EQ(failure_of([&] { convert(wanted); }).code, Code::cancelled);
  EXPECT_EQ(std::distance(fs::directory_iterator(directory_.path()), fs::directory_iterator()), 1);
}

}  // namespace
}  // namespace skipstone::convert
