// The models of the repository: what was promised of them, and that `convert` makes exactly these files of their checkpoints.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "convert/convert.h"
#include "fixtures/tiny_checkpoint.h"
#include "hugging_face_folder.h"
#include "model/config.h"
#include "text/tokenizer.h"

namespace skipstone::convert {
namespace {

constexpr const char* names[] = {"skipstone-py", "skipstone-py-plain"};

std::string path_of(const std::string& name) { return std::string(SKIPSTONE_MODELS) + "/" + name + ".gguf"; }

TEST(BundledModels, AreATwinPairOfTheSizePromised) {
  const gguf::File trained = gguf::File::open(path_of(names[0])), plain = gguf::File::open(path_of(names[1]));
  EXPECT_LE(trained.file_bytes() + plain.file_bytes(), std::uint64_t{64} << 20);
  const model::Config a = model::Config::from(trained), b = model::Config::from(plain);
  EXPECT_GE(a.layer_count(), 16u);
  for (const std::uint32_t size : {a.width, a.attention().q_width(), a.ffn(), a.vocabulary}) EXPECT_EQ(size % 256, 0u) << size;
  EXPECT_EQ(a.layers, b.layers);
  EXPECT_EQ(std::tie(a.width, a.vocabulary), std::tie(b.width, b.vocabulary));
  EXPECT_EQ(*trained.strings("tokenizer.ggml.tokens"), *plain.strings("tokenizer.ggml.tokens"));
  EXPECT_EQ(trained.floats("tokenizer.ggml.scores"), plain.floats("tokenizer.ggml.scores"));
  EXPECT_GT(a.exit_layer, 0u);
  EXPECT_LE(a.exit_layer, (a.layer_count() + 2) / 3);
  EXPECT_EQ(b.exit_layer, 0u);
}

TEST(BundledModels, HaveAHeadOfTheSizePromised) {
  const std::string head = path_of("mtp-skipstone-py");
  EXPECT_LT(gguf::File::open(head).file_bytes(), 3'000'000u);
  const model::Config config = model::Config::from(model::with_prediction_heads(gguf::File::open(path_of(names[0])), head));
  EXPECT_EQ(config.prediction_layers.size(), 1u);
  EXPECT_EQ(config.layer_count(), 20u);
}

/// Hugging Face's name of one of our tensors.
std::string source_name(const std::string& target) {
  if (target == "token_embd.weight") return "model.embed_tokens.weight";
  if (target == "output_norm.weight") return "model.norm.weight";
  const auto dot = target.find('.', 4);
  const std::string layer = "model.layers." + target.substr(4, dot - 4) + ".", what = target.substr(dot + 1);
  const std::map<std::string, std::string> parts = {
      {"attn_norm.weight", "input_layernorm.weight"},    {"attn_q.weight", "self_attn.q_proj.weight"},
      {"attn_k.weight", "self_attn.k_proj.weight"},      {"attn_v.weight", "self_attn.v_proj.weight"},
      {"attn_output.weight", "self_attn.o_proj.weight"}, {"ffn_norm.weight", "post_attention_layernorm.weight"},
      {"ffn_gate.weight", "mlp.gate_proj.weight"},       {"ffn_up.weight", "mlp.up_proj.weight"},
      {"ffn_down.weight", "mlp.down_proj.weight"}};
  return layer + parts.at(what);
}

/// The checkpoint's tensor that one of the file came from: rows of Q and K go back from neighbouring pairs to halves.
fixtures::CheckpointTensor source_of(const gguf::Tensor& tensor, std::uint32_t head_dim) {
  fixtures::CheckpointTensor source{source_name(tensor.name), std::string(gguf::traits(tensor.type).name), {}, {}};
  for (std::uint32_t d = tensor.dimensions; d > 0; --d) source.shape.push_back(tensor.shape[d - 1]);
  const std::vector<std::byte> data = tensor.data.all();
  const std::string bytes(reinterpret_cast<const char*>(data.data()), data.size());
  source.bytes = bytes;
  if (!tensor.name.ends_with("attn_q.weight") && !tensor.name.ends_with("attn_k.weight")) return source;
  const std::size_t row = gguf::row_bytes(tensor.type, tensor.row_length()), half = head_dim / 2;
  for (std::size_t r = 0; r < tensor.rows(); ++r) {
    const std::size_t head = r / head_dim, in_head = r % head_dim;
    const std::size_t from = head * head_dim + (in_head % half) * 2 + in_head / half;
    source.bytes.replace(r * row, row, bytes, from * row, row);
  }
  return source;
}

nlohmann::ordered_json config_of(const model::Config& c) {
  nlohmann::ordered_json config = {{"architectures", {"LlamaForCausalLM"}},
                                   {"model_type", "llama"},
                                   {"hidden_act", "silu"},
                                   {"hidden_size", c.width},
                                   {"intermediate_size", c.ffn()},
                                   {"num_hidden_layers", c.layer_count()},
                                   {"num_attention_heads", c.attention().heads},
                                   {"num_key_value_heads", c.attention().kv_heads},
                                   {"vocab_size", c.vocabulary},
                                   {"rms_norm_eps", static_cast<double>(c.norm_epsilon)},
                                   {"rope_theta", static_cast<double>(c.rope_base)},
                                   {"max_position_embeddings", c.context_trained},
                                   {"tie_word_embeddings", c.tied_embeddings},
                                   {"bos_token_id", 1},
                                   {"eos_token_id", 2}};
  if (c.exit_layer > 0) config["skipstone_exit_layer"] = c.exit_layer;
  return config;
}

TEST(BundledModels, AreWhatConvertMakesOfTheirCheckpoints) {
  for (const char* name : names) {
    SCOPED_TRACE(name);
    const gguf::File bundled = gguf::File::open(path_of(name));
    const model::Config config = model::Config::from(bundled);
    const fixtures::TemporaryDirectory directory;
    const std::string folder = directory.file(name);
    fixtures::TinyCheckpoint checkpoint{config_of(config), {}};
    for (const gguf::Tensor& tensor : bundled.tensors()) checkpoint.tensors.push_back(source_of(tensor, config.attention().head_dim));
    fixtures::write_checkpoint(checkpoint, folder, 3);
    const text::Vocabulary vocabulary = text::Vocabulary::from(bundled);
    fixtures::write_text(folder + "/tokenizer.model",
                         testing::sentencepiece_model(vocabulary, vocabulary.tokens.size(), {.add_dummy_prefix = false}));
    fixtures::write_text(folder + "/tokenizer_config.json", R"({"add_bos_token": true, "add_eos_token": false})");

    ConvertOptions options;
    options.folder = folder;
    options.output = directory.file("again.gguf");
    convert(options);
    const gguf::File again = gguf::File::open(directory.file("again.gguf"));
    ASSERT_EQ(again.tensors().size(), bundled.tensors().size());
    for (const gguf::Tensor& wanted : bundled.tensors()) {
      const gguf::Tensor* tensor = again.find_tensor(wanted.name);
      ASSERT_NE(tensor, nullptr) << wanted.name;
      EXPECT_EQ(tensor->type, wanted.type) << wanted.name;
      EXPECT_EQ(tensor->shape, wanted.shape) << wanted.name;
      EXPECT_TRUE(tensor->data == wanted.data) << wanted.name;
    }
    for (const gguf::Pair& pair : bundled.metadata()) {
      const gguf::Value* value = again.find(pair.key);
      ASSERT_NE(value, nullptr) << pair.key;
      EXPECT_EQ(gguf::to_display(*value), gguf::to_display(pair.value)) << pair.key;
    }
    std::vector<std::string> later;  // what convert writes since the models were made
    for (const gguf::Pair& pair : again.metadata()) {
      if (bundled.find(pair.key) == nullptr) later.push_back(pair.key);
    }
    EXPECT_EQ(later, (std::vector<std::string>{"general.size_label", "general.quantization_version"}));
    EXPECT_EQ(*again.strings("tokenizer.ggml.tokens"), *bundled.strings("tokenizer.ggml.tokens"));
    EXPECT_EQ(again.floats("tokenizer.ggml.scores"), bundled.floats("tokenizer.ggml.scores"));
    EXPECT_EQ(again.integers("tokenizer.ggml.token_type"), bundled.integers("tokenizer.ggml.token_type"));
  }
}

}  // namespace
}  // namespace skipstone::convert
