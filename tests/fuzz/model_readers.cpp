#include <array>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>

#include "base/escape.h"
#include "base/input_file.h"
#include "base/status.h"
#include "convert/convert.h"
#include "convert/quantize.h"
#include "engine/model_file.h"
#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_checkpoint.h"
#include "fixtures/tiny_model.h"
#include "fuzz/readers.h"
#include "gguf/gguf.h"
#include "model/config.h"
#include "text/tokenizer.h"
#include "unit/edited_model.h"
#include "unit/handmade_vocabulary.h"
#include "unit/hugging_face_folder.h"

namespace skipstone::fuzz {
namespace {

namespace fs = std::filesystem;
namespace folders = convert::testing;
using nlohmann::json;
using nlohmann::ordered_json;

const fixtures::CheckpointShape small{.layers = 1, .width = 16, .heads = 2, .kv_heads = 1, .head_dim = 8, .ffn = 16};

// ---- reading

/// As much as loading does before it needs a device, and every byte of the tensors.
void read_model(const gguf::File& file) {
  std::size_t seen = file.fingerprint().size();
  for (const gguf::Pair& pair : file.metadata()) {
    seen += escaped(pair.key).size() + gguf::to_display(pair.value).size() + gguf::type_name(pair.value).size();
  }
  for (const gguf::Tensor& tensor : file.tensors()) {
    tensor.data.for_each_piece(1, [&](std::uint64_t, std::span<const std::byte> bytes) { seen += bytes.size(); });
  }
  const model::Config config = model::Config::from(file);
  const engine::ModelFile model = engine::load_model_file(file, config);
  const text::Tokenizer& tokenizer = *model.tokenizer;
  const std::vector<text::Token> tokens = tokenizer.encode("The hello, \xe4\xb8\xad 123\n  <s> and <|im_end|>", true, true);
  seen += tokenizer.decode(tokens).size();
  for (std::size_t id = 0; id < tokenizer.size(); ++id) seen += tokenizer.piece(static_cast<text::Token>(id)).size();
  if (seen == 0) throw std::logic_error("a model was read that has nothing in it");
}

/// From the path, and from memory: exactly as many bytes, so that sanitizers see one that is read beyond them. Both say the same.
void read_gguf(const std::string& folder) {
  const std::string path = folder + "/model.gguf";
  const std::string text = read_whole_file(path, std::uint64_t{1} << 30);
  const std::vector<std::byte> memory(std::as_bytes(std::span(text)).begin(), std::as_bytes(std::span(text)).end());
  std::string refusal;
  try {
    read_model(gguf::File::open(std::make_shared<const InputFile>(InputFile::in_memory(memory, path))));
  } catch (const Error& error) {
    refusal = error.what();
  }
  try {
    read_model(gguf::File::open(path));
  } catch (const Error& error) {
    const bool part = refusal.find("split model") != std::string::npos;  // whose sisters have names
    if (refusal != error.what() && !part) throw std::logic_error("from memory: '" + refusal + "', from the file: '" + error.what() + "'");
    throw;
  }
  if (!refusal.empty()) throw std::logic_error("taken from the file, but from memory: " + refusal);
}

void convert_folder(const std::string& folder, const std::string& output) {
  convert::ConvertOptions options;
  options.folder = folder;
  options.output = output;
  options.overwrite = true;
  convert::convert(options);
}

/// A folder that can be converted gives a file that can be read.
void read_checkpoint(const std::string& folder) {
  const std::string output = folder + "/converted.gguf";
  convert_folder(folder, output);
  try {
    read_model(gguf::File::open(output));
  } catch (const Error& error) {
    throw std::logic_error(std::string("what convert wrote is refused: ") + error.what());
  }
}

// ---- folders around the file

void prepare_checkpoint(const std::string& folder) { fixtures::write_checkpoint(fixtures::tiny_checkpoint(small), folder); }

void prepare_shards(const std::string& folder) { fixtures::write_checkpoint(fixtures::tiny_checkpoint(small), folder, 2); }

/// The most tokens in the vocabularies of the two kinds of tokenizer.json.
constexpr std::uint32_t json_rows = 300;

void prepare_tokenizer_json(const std::string& folder) {
  fixtures::CheckpointShape shape = small;
  shape.vocabulary = json_rows;
  fixtures::write_checkpoint(fixtures::tiny_checkpoint(shape), folder);
  fs::remove(folder + "/tokenizer.model");
  fs::remove(folder + "/tokenizer_config.json");
}

// ---- sound files

std::vector<std::string> written(const char* file, void (*prepare)(const std::string&)) {
  const fixtures::TemporaryDirectory folder;
  prepare(folder.path().string());
  return {fixtures::bytes_of(folder.file(file))};
}

/// Models whose matrices have all types with blocks that are read, five in each.
void write_formats(const std::string& path, const std::function<void()>& take) {
  std::vector<gguf::Type> types;
  for (const gguf::Traits& traits : gguf::all_traits()) {
    if (traits.runnable && traits.block > 1) types.push_back(traits.type);
  }
  const std::vector<std::pair<const char*, std::uint64_t>> matrices{
      {"attn_q", 8}, {"attn_k", 8}, {"attn_v", 8}, {"ffn_gate", 4}, {"ffn_up", 4}};
  for (std::size_t at = 0; at < types.size(); take()) {
    tests::EditedModel model({.layers = 1, .dim = 256, .heads = 1, .kv_heads = 1, .head_dim = 8, .ffn = 4, .context = 64});
    model.tensor("token_embd.weight", {256, fixtures::tiny_vocabulary_size()}, {}, gguf::Type::q2_k);
    model.tensor("blk.0.attn_q.scale", {1}, {0.5f});
    for (const auto& [name, rows] : matrices) {
      model.tensor(std::string("blk.0.") + name + ".weight", {256, rows}, {}, types[at++ % types.size()]);
    }
    model.write(path);
  }
}

std::vector<std::string> gguf_seeds() {
  const fixtures::TemporaryDirectory folder;
  std::vector<std::string> seeds;
  const auto take = [&](const char* name) { seeds.push_back(fixtures::bytes_of(folder.file(name))); };
  const fixtures::TinyConfig tiny{.layers = 1, .dim = 32, .heads = 2, .kv_heads = 1, .ffn = 32, .context = 64};
  fixtures::TinyConfig odd = tiny;
  odd.tied = false;
  odd.biases = odd.rope_freqs = true;
  odd.type = gguf::Type::q8_0;
  fixtures::write_tiny_model(odd, folder.file("odd.gguf"));
  take("odd.gguf");
  fixtures::write_tiny_model(tiny, folder.file("tiny.gguf"));
  convert::QuantizeOptions sparse;
  sparse.input = folder.file("tiny.gguf");
  sparse.output = folder.file("sparse.gguf");
  sparse.sparse = convert::Scores::magnitude;
  convert::quantize(sparse);
  take("sparse.gguf");
  for (const model::Architecture& row : model::architectures()) {
    fixtures::TinyConfig family = fixtures::tiny_family(row.name);
    family.dim = family.ffn = 16;
    family.heads = 2;
    family.kv_heads = 1;
    family.long_rope_above = (row.honours & model::honours_long_rope) != 0 ? 64 : 0;
    fixtures::write_tiny_model(family, folder.file("family.gguf"));
    take("family.gguf");
  }
  write_formats(folder.file("formats.gguf"), [&] { take("formats.gguf"); });
  const std::string checkpoint = folder.file("checkpoint");
  prepare_tokenizer_json(checkpoint);
  const text::Vocabulary vocabulary = text::handmade::byte_level("gpt-2");
  json tokenizer = folders::tokenizer_json(vocabulary, folders::pre_tokenizer_of("gpt-2"));
  for (const char* flag : {"lstrip", "rstrip", "single_word"}) tokenizer["added_tokens"][0][flag] = true;
  fixtures::write_text(checkpoint + "/tokenizer.json", tokenizer.dump());
  fixtures::write_text(checkpoint + "/generation_config.json", json{{"eos_token_id", {1, 2, 3, 4}}}.dump());
  convert_folder(checkpoint, folder.file("bytes.gguf"));
  take("bytes.gguf");
  return seeds;
}

std::vector<std::string> safetensors_seeds() { return written("model.safetensors", prepare_checkpoint); }
std::vector<std::string> index_seeds() { return written("model.safetensors.index.json", prepare_shards); }
std::vector<std::string> sentencepiece_seeds() { return written("tokenizer.model", prepare_checkpoint); }

std::vector<std::string> config_seeds() {
  ordered_json config = fixtures::tiny_checkpoint(small).config;
  std::vector<std::string> seeds{config.dump()};
  config["rope_scaling"] = {{"rope_type", "llama3"},
                            {"factor", 8.0},
                            {"low_freq_factor", 1.0},
                            {"high_freq_factor", 4.0},
                            {"original_max_position_embeddings", 64}};
  config["architectures"] = {"MistralForCausalLM"};
  config["sliding_window"] = 4096;
  config["_name_or_path"] = "facebook/layerskip-llama2-7B";
  config["eos_token_id"] = {2, 1};
  seeds.push_back(config.dump());
  // Families whose checkpoints have Llama's tensors.
  config = fixtures::tiny_checkpoint(small).config;
  config["architectures"] = {"Ministral3ForCausalLM"};
  config["layer_types"] = {"sliding_attention"};
  config["sliding_window"] = 16;
  config["rope_parameters"] = {{"rope_type", "yarn"}, {"factor", 4.0},         {"original_max_position_embeddings", 32},
                               {"rope_theta", 1e6},   {"beta_fast", 32.0},     {"beta_slow", 1.0},
                               {"mscale", 1.0},       {"mscale_all_dim", 0.7}, {"llama_4_scaling_beta", 0.1}};
  seeds.push_back(config.dump());
  config = fixtures::tiny_checkpoint(small).config;
  config["architectures"] = {"GraniteForCausalLM"};
  for (const char* key : {"attention_multiplier", "embedding_multiplier", "residual_multiplier", "logits_scaling"}) config[key] = 0.25;
  config["rope_parameters"] = {{"rope_type", "linear"}, {"factor", 4.0}, {"rope_theta", 1e6}};
  seeds.push_back(config.dump());
  config = fixtures::tiny_checkpoint(small).config;
  config["architectures"] = {"SmolLM3ForCausalLM"};
  config["no_rope_layer_interval"] = 4;
  config["no_rope_layers"] = {1};
  config["use_sliding_window"] = true;
  config["max_window_layers"] = 0;
  config["sliding_window"] = 8;
  seeds.push_back(config.dump());
  return seeds;
}

std::vector<std::string> tokenizer_json_seeds() {
  json bytes = folders::tokenizer_json(text::handmade::byte_level("llama-bpe"), folders::pre_tokenizer_of("llama-bpe"), true);
  bytes["model"]["ignore_merges"] = true;
  bytes["post_processor"] = folders::bos_template("<|im_start|>");
  for (const char* flag : {"lstrip", "rstrip", "single_word"}) bytes["added_tokens"][1][flag] = true;
  json gemma = folders::converted_sentencepiece_json(text::handmade::sentencepiece());
  gemma["normalizer"] = gemma["normalizer"]["normalizers"][1];
  gemma["pre_tokenizer"] = {{"type", "Split"}, {"pattern", {{"String", " "}}}, {"behavior", "MergedWithPrevious"}, {"invert", false}};
  return {folders::tokenizer_json(text::handmade::byte_level("gpt-2"), folders::pre_tokenizer_of("gpt-2")).dump(), bytes.dump(),
          folders::converted_sentencepiece_json(text::handmade::sentencepiece()).dump(), gemma.dump()};
}

std::vector<std::string> tokenizer_config_seeds() {
  const json config{
      {"tokenizer_class", "LlamaTokenizer"},
      {"add_bos_token", true},
      {"add_eos_token", false},
      {"add_prefix_space", true},
      {"bos_token", "<s>"},
      {"eos_token", {{"content", "</s>"}, {"special", true}}},
      {"additional_special_tokens", {"th", {{"content", "he"}}}},
      {"added_tokens_decoder", {{"1", {{"content", "<s>"}, {"special", true}}}, {"2", {{"content", "</s>"}, {"special", true}}}}},
      {"chat_template", {{{"name", "default"}, {"template", "{{ messages[0]['content'] }}"}}}}};
  return {config.dump()};
}

std::vector<std::string> special_tokens_seeds() {
  return {json{{"bos_token", "<s>"}, {"eos_token", {{"content", "</s>"}}}, {"unk_token", "<unk>"}, {"additional_special_tokens", {"in"}}}
              .dump()};
}

std::vector<std::string> added_tokens_seeds() { return {json{{"<s>", 1}, {"</s>", 2}}.dump()}; }

}  // namespace

std::span<const Reader> model_readers() {
  static const std::array readers{
      Reader{"gguf", "model.gguf", Kind::gguf, gguf_seeds, nullptr, read_gguf},
      Reader{"safetensors", "model.safetensors", Kind::safetensors, safetensors_seeds, prepare_checkpoint, read_checkpoint},
      Reader{"index", "model.safetensors.index.json", Kind::json, index_seeds, prepare_shards, read_checkpoint},
      Reader{"config", "config.json", Kind::json, config_seeds, prepare_checkpoint, read_checkpoint},
      Reader{"tokenizer_json", "tokenizer.json", Kind::json, tokenizer_json_seeds, prepare_tokenizer_json, read_checkpoint},
      Reader{"sentencepiece", "tokenizer.model", Kind::sentencepiece, sentencepiece_seeds, prepare_checkpoint, read_checkpoint},
      Reader{"tokenizer_config", "tokenizer_config.json", Kind::json, tokenizer_config_seeds, prepare_checkpoint, read_checkpoint},
      Reader{"special_tokens", "special_tokens_map.json", Kind::json, special_tokens_seeds, prepare_checkpoint, read_checkpoint},
      Reader{"added_tokens", "added_tokens.json", Kind::json, added_tokens_seeds, prepare_checkpoint, read_checkpoint},
  };
  return readers;
}

}  // namespace skipstone::fuzz
