// Tokenizers as Hugging Face folders, written by tests: tokenizer.model in protobuf's wire format, and tokenizer.json.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "convert/tokenizer.h"
#include "fixtures/temporary_directory.h"
#include "gguf/gguf.h"
#include "text/tokenizer.h"

namespace skipstone::convert::testing {

using nlohmann::json;
using text::Token;
using text::TokenType;

inline model::TokenizerFacts facts_of(std::string_view family) {
  const model::Architecture* row = model::find_architecture(family);
  return row == nullptr ? model::TokenizerFacts{} : row->checkpoints.tokenizer;
}

/// A folder of files to convert.
class Folder {
 public:
  void write(const std::string& name, std::string_view bytes) const {
    std::ofstream(directory_.file(name), std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  void write_json(const std::string& name, const json& value) const { write(name, value.dump()); }

  std::string path() const { return directory_.path().string(); }

  /// Converts the folder for an embedding of `rows` of a model of `family` ("": of none); the result is a file without tensors.
  gguf::File convert(std::uint32_t rows, const std::string& pre = "", std::string_view family = "") const {
    gguf::Writer writer;
    write_tokenizer(path(), rows, writer, facts_of(family), pre);
    const std::string output = directory_.file(std::to_string(++outputs_) + ".gguf");  // Windows replaces no file that is open
    writer.write(output);
    return gguf::File::open(output);
  }

 private:
  fixtures::TemporaryDirectory directory_;
  mutable int outputs_ = 0;
};

// The wire format, written down from its description alone: https://protobuf.dev/programming-guides/encoding/
inline std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 128; value >>= 7) bytes.push_back(static_cast<char>(value % 128 + 128));
  bytes.push_back(static_cast<char>(value));
  return bytes;
}
inline std::string number_field(std::uint32_t tag, std::int64_t value) {
  return varint(tag * 8u) + varint(static_cast<std::uint64_t>(value));
}
inline std::string bytes_field(std::uint32_t tag, std::string_view bytes) {
  return varint(tag * 8u + 2) + varint(bytes.size()) + std::string(bytes);
}
inline std::string float_field(std::uint32_t tag, float value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return varint(tag * 8u + 5) + bytes;
}

/// One entry of ModelProto.pieces. The type of a normal piece is left to its default, as SentencePiece does.
inline std::string piece_field(std::string_view text, float score, TokenType type) {
  const auto number = static_cast<std::int32_t>(type);
  return bytes_field(1, bytes_field(1, text) + float_field(2, score) + (type == TokenType::normal ? "" : number_field(3, number)));
}

/// What a trainer and a normaliser spec say beyond the ids.
struct SentencePieceSpecs {
  std::int32_t model_type = 2;
  std::string normalizer = "identity";
  std::string character_map{};
  bool add_dummy_prefix = true, remove_extra_whitespaces = false, escape_whitespaces = true, whitespace_as_suffix = false;
};

/// The pieces of `v` from its first to its `count`th token, and the specs.
inline std::string sentencepiece_model(const text::Vocabulary& v, std::size_t count, const SentencePieceSpecs& specs = {}) {
  std::string model;
  for (std::size_t i = 0; i < count; ++i) model += piece_field(v.tokens[i], v.scores[i], v.types[i]);
  const std::string trainer = number_field(3, specs.model_type) + number_field(24, specs.whitespace_as_suffix) + number_field(35, 1) +
                              number_field(40, v.unknown) + number_field(41, v.bos) + number_field(42, v.eos) + number_field(43, -1);
  const std::string normalizer = bytes_field(1, specs.normalizer) + bytes_field(2, specs.character_map) +
                                 number_field(3, specs.add_dummy_prefix) + number_field(4, specs.remove_extra_whitespaces) +
                                 number_field(5, specs.escape_whitespaces);
  return model + bytes_field(2, trainer) + bytes_field(3, normalizer);
}

/// The tokenizer.json of byte-level BPE: ordinary tokens in the vocabulary, the others among the added tokens.
inline json tokenizer_json(const text::Vocabulary& v, json pre_tokenizer, bool merges_as_pairs = false) {
  json vocabulary = json::object(), added = json::array(), merges = json::array();
  for (std::size_t i = 0; i < v.tokens.size(); ++i) {
    if (v.types[i] == TokenType::normal) {
      vocabulary[v.tokens[i]] = i;
    } else {
      added.push_back({{"id", i}, {"content", v.tokens[i]}, {"special", v.types[i] == TokenType::control}});
    }
  }
  for (const std::string& merge : v.merges) {
    const std::size_t space = merge.find(' ');
    merges.push_back(merges_as_pairs ? json{merge.substr(0, space), merge.substr(space + 1)} : json(merge));
  }
  return {{"added_tokens", std::move(added)},
          {"normalizer", nullptr},
          {"pre_tokenizer", std::move(pre_tokenizer)},
          {"post_processor", nullptr},
          {"model", {{"type", "BPE"}, {"vocab", std::move(vocabulary)}, {"merges", std::move(merges)}}}};
}

// Pre-tokenizers as they stand in the tokenizer.json files of GPT-2, StarCoder2 (and SmolLM), Llama 3, Qwen2, DeepSeek Coder and Falcon.
inline json byte_level_step(bool use_regex) {
  return {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", use_regex}};
}
inline json split_step(const char* regex) {
  return {{"type", "Split"}, {"pattern", {{"Regex", regex}}}, {"behavior", "Isolated"}, {"invert", false}};
}
inline json sequence(std::initializer_list<json> steps) { return {{"type", "Sequence"}, {"pretokenizers", std::vector<json>(steps)}}; }
inline json digits_step(bool individual) { return {{"type", "Digits"}, {"individual_digits", individual}}; }

inline json pre_tokenizer_of(std::string_view name) {
  if (name == "gpt-2") return {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}};
  if (name == "starcoder") return sequence({digits_step(true), byte_level_step(true)});
  if (name == "llama-bpe" || name == "smaug-bpe") {
    return sequence({split_step("(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*"
                                "[\\r\\n]+|\\s+(?!\\S)|\\s+"),
                     byte_level_step(false)});
  }
  if (name == "qwen2") {
    return sequence(
        {split_step("(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+"
                    "|\\s+(?!\\S)|\\s+"),
         byte_level_step(false)});
  }
  if (name == "deepseek-coder") {
    return sequence({split_step("[\r\n]"), split_step("\\s?\\p{L}+"), split_step("\\s?\\p{P}+"), split_step("[一-龥ࠀ-一가-퟿]+"),
                     digits_step(true), byte_level_step(false)});
  }
  if (name == "falcon") {
    return sequence(
        {{{"type", "Punctuation"}, {"behavior", "Contiguous"}}, byte_level_step(true), digits_step(false), split_step("[0-9][0-9][0-9]")});
  }
  return nullptr;
}

/// The TemplateProcessing that puts `token` in front of a text.
inline json bos_template(const std::string& token) {
  return {{"type", "TemplateProcessing"},
          {"single", {{{"SpecialToken", {{"id", token}, {"type_id", 0}}}}, {{"Sequence", {{"id", "A"}, {"type_id", 0}}}}}}};
}

/// A converted SentencePiece vocabulary: its merges are all pairs of pieces that make a piece, the best score first.
inline json converted_sentencepiece_json(const text::Vocabulary& v) {
  json file = tokenizer_json(v, nullptr);
  json& vocabulary = file["model"]["vocab"];
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < v.tokens.size(); ++i) {
    vocabulary[v.tokens[i]] = i;
    if (v.types[i] == TokenType::normal) order.push_back(i);
  }
  json added = json::array();
  for (const json& each : file["added_tokens"]) {
    const auto type = v.types[each["id"].get<std::size_t>()];
    if (type != TokenType::byte)
      added.push_back({{"id", each["id"]}, {"content", each["content"]}, {"special", type != TokenType::user_defined}});
  }
  file["added_tokens"] = added;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return v.scores[a] > v.scores[b]; });
  json& merges = file["model"]["merges"] = json::array();
  const auto is_piece = [&](const std::string& text) {
    const auto found = vocabulary.find(text);
    return found != vocabulary.end() && v.types[found->get<std::size_t>()] == TokenType::normal;
  };
  for (const std::size_t i : order) {
    const std::string& text = v.tokens[i];
    for (std::size_t at = 1; at < text.size(); ++at) {
      if ((static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) continue;  // within a character
      if (is_piece(text.substr(0, at)) && is_piece(text.substr(at))) merges.push_back({text.substr(0, at), text.substr(at)});
    }
  }
  file["model"]["byte_fallback"] = true;
  file["model"]["unk_token"] = v.tokens[static_cast<std::size_t>(v.unknown)];
  file["normalizer"] = {
      {"type", "Sequence"},
      {"normalizers", {{{"type", "Prepend"}, {"prepend", "▁"}}, {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "▁"}}}}};
  return file;
}

}  // namespace skipstone::convert::testing
