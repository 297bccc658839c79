// Tokenizer files that are damaged, malicious, or of a kind that cannot be converted: one sentence each, and nothing worse.
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <random>

#include "fixtures/failure.h"
#include "unit/handmade_vocabulary.h"
#include "unit/hugging_face_folder.h"

namespace skipstone::convert::testing {
namespace {

namespace handmade = text::handmade;
using fixtures::Failure;
using fixtures::failure_of;
using text::Vocabulary;

constexpr std::uint32_t vocabulary_rows = 400;  // more than any vocabulary here

Failure failure_of_folder(const Folder& folder, std::uint32_t rows = vocabulary_rows) {
  return failure_of([&] {
    gguf::Writer writer;
    write_tokenizer(folder.path(), rows, writer);
  });
}

void expect(const Failure& failure, Code code, std::string_view says) {
  EXPECT_EQ(failure.code, code) << failure.message;
  EXPECT_NE(failure.message.find(says), std::string::npos) << "should say '" << says << "': " << failure.message;
  EXPECT_EQ(failure.message.find('\n'), std::string::npos) << failure.message;
  EXPECT_LT(failure.message.size(), 1500u);
}

void expect_model(const std::string& bytes, Code code, std::string_view says) {
  const Folder folder;
  folder.write("tokenizer.model", bytes);
  expect(failure_of_folder(folder), code, says);
}

std::string good_model(const SentencePieceSpecs& specs = {}) {
  const Vocabulary v = handmade::sentencepiece();
  return sentencepiece_model(v, v.tokens.size(), specs);
}

json good_json() { return tokenizer_json(handmade::byte_level("gpt-2"), pre_tokenizer_of("gpt-2")); }

using Change = std::function<void(json&)>;

void expect_json(const Change& change, Code code, std::string_view says) {
  json source = good_json();
  change(source);
  const Folder folder;
  folder.write_json("tokenizer.json", source);
  expect(failure_of_folder(folder), code, says);
}

TEST(TokenizerFolder, WithoutATokenizer) {
  const Folder folder;
  expect(failure_of_folder(folder), Code::not_found, "neither a tokenizer.model nor a tokenizer.json");
  folder.write("tokenizer.model", "IQ== 0\nIg== 1\n");
  expect(failure_of_folder(folder), Code::unsupported, "tiktoken");
  folder.write_json("tokenizer.json", good_json());
  EXPECT_EQ(failure_of_folder(folder).code, Code::ok) << "the list of tiktoken is Llama 3's; its tokenizer.json says the same";
}

TEST(TokenizerFolder, FilesThatAreNone) {
  for (const char* name : {"tokenizer.model", "tokenizer.json"}) {
    const Folder folder;
    std::filesystem::create_directory(folder.path() + "/" + name);
    expect(failure_of_folder(folder), Code::bad_file, "not a regular file");
    std::filesystem::remove(folder.path() + "/" + name);
    folder.write(name, "");
    expect(failure_of_folder(folder), Code::bad_file, "empty");
  }
}

TEST(TokenizerFolder, EmbeddingsThatDoNotFit) {
  const Folder folder;
  folder.write("tokenizer.model", good_model());
  expect(failure_of_folder(folder, 0), Code::bad_file, "0 rows");
  expect(failure_of_folder(folder, std::numeric_limits<std::uint32_t>::max()), Code::bad_file, "4294967295 rows");
  const auto size = static_cast<std::uint32_t>(handmade::sentencepiece().tokens.size());
  EXPECT_EQ(failure_of_folder(folder, size).code, Code::ok);
  expect(failure_of_folder(folder, size - 1), Code::bad_file, "no row in the model's embedding");
}

TEST(HostileSentencePiece, OtherKindsAreRefusedByName) {
  expect_model(good_model({.model_type = 1}), Code::unsupported, "unigram");
  expect_model(good_model({.model_type = 3}), Code::unsupported, "word");
  expect_model(good_model({.model_type = 77}), Code::unsupported, "unknown type");
  expect_model(good_model({.normalizer = "nmt_nfkc_cf", .character_map = "rules"}), Code::unsupported, "nmt_nfkc_cf");
  expect_model(good_model({.normalizer = "user_defined", .character_map = "rules"}), Code::unsupported, "user_defined");
  expect_model(good_model({.escape_whitespaces = false}), Code::unsupported, "keeps spaces");
  expect_model(good_model({.whitespace_as_suffix = true}), Code::unsupported, "end of words");
  const Folder folder;
  folder.write("tokenizer.model", good_model({.normalizer = "nmt_nfkc", .character_map = "rules"}));
  EXPECT_EQ(failure_of_folder(folder).code, Code::ok) << "a warning is enough";
}

TEST(HostileSentencePiece, WhatMakesNoSense) {
  const std::string model = good_model();
  expect_model("this is no model at all", Code::bad_file, "not a SentencePiece model");
  expect_model(bytes_field(9, "unknown field only"), Code::bad_file, "without pieces");
  expect_model(model + piece_field("", 0, TokenType::normal), Code::bad_file, "is empty");
  expect_model(model + piece_field("\xC3(", 0, TokenType::normal), Code::bad_file, "not UTF-8");
  expect_model(model + piece_field("</s>", 0, TokenType::normal), Code::bad_file, "is there twice");
  expect_model(model + piece_field("x", std::numeric_limits<float>::quiet_NaN(), TokenType::normal), Code::bad_file, "not finite");
  expect_model(model + piece_field("x", 0, static_cast<TokenType>(9)), Code::bad_file, "type 9");
  expect_model(model + bytes_field(2, number_field(42, 5000)), Code::bad_file, "EOS token is 5000");
  expect_model(model + bytes_field(2, number_field(40, 5000)), Code::bad_file, "unknown token is 5000");
  expect_model(model + bytes_field(1, float_field(2, 1)), Code::bad_file, "is empty");
  // A length beyond the file, a varint without an end, field number 0, and a group, which protobuf gave up in 2008.
  expect_model(model + varint(10) + varint(0xFFFFFFFF), Code::bad_file, "damaged");
  expect_model(model + std::string(20, '\xFF'), Code::bad_file, "damaged");
  expect_model(model + std::string(2, '\0'), Code::bad_file, "damaged");
  expect_model(model + varint(1 * 8 + 3), Code::bad_file, "damaged");
}

TEST(HostileSentencePiece, FieldsOfAnotherTypeAreSkipped) {
  // Fields that are read, each with a wire type that it does not have.
  std::string other = number_field(1, 5) + number_field(2, 5) + float_field(3, 1);
  other += bytes_field(2, bytes_field(3, "x") + float_field(40, 1) + bytes_field(41, "") + bytes_field(42, "x") + bytes_field(43, "x"));
  other += bytes_field(3, number_field(1, 1) + float_field(2, 1) + bytes_field(3, "x") + bytes_field(4, "") + bytes_field(5, "x"));
  other += bytes_field(1, bytes_field(1, "a new piece") + number_field(1, 9) + bytes_field(2, "x") + bytes_field(3, "x"));
  const Folder folder;
  folder.write("tokenizer.model", good_model() + other);
  EXPECT_EQ(failure_of_folder(folder).code, Code::ok) << failure_of_folder(folder).message;
}

TEST(HostileSentencePiece, TruncatedAndFlippedFiles) {
  const std::string model = good_model();
  const Folder folder;
  std::size_t refused = 0;
  const auto attempt = [&](std::string_view bytes) {
    folder.write("tokenizer.model", bytes);
    const Failure failure = failure_of_folder(folder);  // any other exception, or a crash, fails the test
    refused += failure.code != Code::ok;
    EXPECT_TRUE(failure.code == Code::ok || failure.code == Code::bad_file || failure.code == Code::unsupported) << failure.message;
  };
  for (std::size_t size = 1; size < model.size(); size += size < 200 ? 1 : 37) attempt(std::string_view(model).substr(0, size));
  EXPECT_GT(refused, 200u);
  std::mt19937 random(7);
  for (int i = 0; i < 500; ++i) {
    std::string flipped = model;
    for (int n = 0; n < 3; ++n) flipped[random() % flipped.size()] = static_cast<char>(random());
    attempt(flipped);
  }
}

TEST(HostileTokenizerJson, OtherKindsAreRefusedByName) {
  const auto unsupported = [](std::string_view says, const Change& change) { expect_json(change, Code::unsupported, says); };
  unsupported("WordPiece", [](json& j) { j["model"]["type"] = "WordPiece"; });
  unsupported("Unigram", [](json& j) { j["model"]["type"] = "Unigram"; });
  unsupported("##", [](json& j) { j["model"]["continuing_subword_prefix"] = "##"; });
  unsupported("no pre-tokenizer", [](json& j) { j["pre_tokenizer"] = nullptr; });
  unsupported("Lowercase", [](json& j) { j["normalizer"] = {{"type", "Lowercase"}}; });
  unsupported("Metaspace", [](json& j) { j["pre_tokenizer"] = {{"type", "Metaspace"}}; });
  unsupported("Whitespace", [](json& j) { j["pre_tokenizer"] = sequence({{{"type", "Whitespace"}}, byte_level_step(false)}); });
  unsupported("add_prefix_space", [](json& j) { j["pre_tokenizer"]["add_prefix_space"] = true; });
  unsupported("RobertaProcessing", [](json& j) { j["post_processor"] = {{"type", "RobertaProcessing"}}; });
}

TEST(HostileTokenizerJson, UnknownPreTokenizersAreShownNotGuessed) {
  const auto refused = [](std::string_view says, const json& pre_tokenizer) {
    expect_json([&](json& j) { j["pre_tokenizer"] = pre_tokenizer; }, Code::unsupported, says);
  };
  refused("\\p{Han}+", sequence({split_step("\\p{Han}+"), byte_level_step(false)}));
  json merged = split_step("\\p{N}");
  merged["behavior"] = "MergedWithNext";
  refused("MergedWithNext", sequence({merged, byte_level_step(false)}));
  refused("split at", sequence({split_step("\\s+")}));
  refused("string \"+\"", sequence({{{"type", "Split"}, {"pattern", {{"String", "+"}}}, {"behavior", "Isolated"}}}));
  refused("each digit", sequence({byte_level_step(true), digits_step(true)}));
  expect_json([](json& j) { j["model"]["ignore_merges"] = true; }, Code::unsupported, "ignore_merges");
  json nested = byte_level_step(true);
  for (int i = 0; i < 300; ++i) nested = sequence({nested});
  expect_json([&](json& j) { j["pre_tokenizer"] = nested; }, Code::bad_file, "nests deeper than 512 levels");
}

TEST(HostileTokenizerJson, Vocabularies) {
  const auto bad = [](std::string_view says, const Change& change) { expect_json(change, Code::bad_file, says); };
  bad("\"model\" is missing", [](json& j) { j.erase("model"); });
  bad("\"vocab\" is missing", [](json& j) { j["model"]["vocab"] = json::array({"a", "b"}); });
  bad("\"merges\" is missing", [](json& j) { j["model"].erase("merges"); });
  bad("not a whole number", [](json& j) { j["model"]["vocab"]["x1"] = -1; });
  bad("not a whole number", [](json& j) { j["model"]["vocab"]["x1"] = 1.5; });
  bad("not a whole number", [](json& j) { j["model"]["vocab"]["x1"] = "12"; });
  bad("no row in the model's embedding", [](json& j) { j["model"]["vocab"]["x1"] = 4000000000u; });
  bad("no row in the model's embedding", [](json& j) { j["model"]["vocab"]["x1"] = std::numeric_limits<std::uint64_t>::max(); });
  bad("have the id 5", [](json& j) { j["model"]["vocab"]["x1"] = 5; });
  bad("among the added tokens", [](json& j) { j["added_tokens"][0]["id"] = 5; });
  bad("is there twice", [](json& j) { j["added_tokens"][0]["content"] = "<|im_end|>"; });
  bad("no array", [](json& j) { j["added_tokens"] = {{"a", 1}}; });
  bad("no content", [](json& j) { j["added_tokens"][0].erase("content"); });
  bad("not a whole number", [](json& j) { j["added_tokens"][0].erase("id"); });
}

TEST(HostileTokenizerJson, Merges) {
  const auto bad = [](std::string_view says, const json& merge) {
    expect_json([&](json& j) { j["model"]["merges"].push_back(merge); }, Code::bad_file, says);
  };
  bad("needs the token \"qqq\"", "qqq h");
  bad("needs the token \"qh\"", "q h");
  bad("needs the token \"qh\"", {"q", "h"});
  for (const char* merge : {"h", "", " h", "h ", "h e l"}) bad("is not two tokens", merge);
  bad("not a pair", {"h", "e", "l"});
  bad("not a pair", {1, 2});
  bad("not a pair", 7);
  bad("not a pair", nullptr);
  expect_json([](json& j) { j["model"]["merges"].push_back({"h e", "l"}); }, Code::unsupported, "space");
}

TEST(HostileTokenizerJson, Templates) {
  expect_json([](json& j) { j["post_processor"] = bos_template("<nobody>"); }, Code::bad_file, "<nobody>");
  expect_json([](json& j) { j["post_processor"] = {{"type", "TemplateProcessing"}}; }, Code::bad_file, "template");
  expect_json(
      [](json& j) {
        j["post_processor"] = bos_template("<|im_start|>");
        j["post_processor"]["single"].insert(j["post_processor"]["single"].begin(), j["post_processor"]["single"][0]);
      },
      Code::unsupported, "more than one token");
  const Folder folder;
  json source = good_json();
  source["post_processor"] = bos_template("<|im_start|>");
  folder.write_json("tokenizer.json", source);
  folder.write_json("tokenizer_config.json", json{{"bos_token", "<|im_end|>"}});
  expect(failure_of_folder(folder), Code::unsupported, "although the BOS token is");
}

TEST(HostileTokenizerJson, BytesThatAreNoJson) {
  const std::string text = good_json().dump();
  const auto refused = [](std::string_view bytes, std::string_view says) {
    const Folder folder;
    folder.write("tokenizer.json", bytes);
    expect(failure_of_folder(folder), Code::bad_file, says);
  };
  for (const std::size_t size : {std::size_t{1}, text.size() / 3, text.size() - 1}) refused(text.substr(0, size), "not valid JSON");
  refused("[1, 2]", "array where an object was expected");
  refused("null", "null where an object was expected");
  refused("{\"model\": \"\xC3(\"}", "not valid JSON");
  refused("{\"model\": \"\\ud800\"}", "not valid JSON");
  refused(std::string(1000000, '['), "nests deeper");
  refused(std::string(100000, '[') + std::string(100000, ']'), "nests deeper");
}

TEST(HostileSettings, FilesBesideTheTokenizer) {
  const auto refused = [](const char* name, std::string_view bytes, std::string_view says) {
    const Folder folder;
    folder.write("tokenizer.model", good_model());
    folder.write(name, bytes);
    expect(failure_of_folder(folder), Code::bad_file, says);
  };
  for (const char* name :
       {"tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "config.json", "generation_config.json"}) {
    refused(name, "[]", "object was expected");
    refused(name, "{", "not valid JSON");
  }
  refused("added_tokens.json", R"({"<x>": -5})", "whole number");
  refused("added_tokens.json", R"({"<x>": 99999})", "no row");
  refused("tokenizer_config.json", R"({"added_tokens_decoder": []})", "no object");
  for (const char* id : {"", "x", "1x", "-1", "99999999999999999999999"}) {
    refused("tokenizer_config.json", R"({"added_tokens_decoder": {")" + std::string(id) + R"(": {"content": "x"}}})", "no id with a token");
  }
  refused("tokenizer_config.json", R"({"added_tokens_decoder": {"300": {"content": 5}}})", "no id with a token");
  refused("tokenizer_config.json", R"({"added_tokens_decoder": {"1": {"content": "<other>"}}})", "among the added tokens");
  refused("chat_template.jinja", "\xFF\xFE", "not UTF-8");
  const Folder folder;  // things of the wrong kind that mean nothing
  folder.write("tokenizer.model", good_model());
  folder.write("tokenizer_config.json",
               R"({"bos_token": 5, "eos_token": ["x"], "add_bos_token": "yes", "chat_template": 7, "additional_special_tokens": 3})");
  folder.write("config.json", R"({"bos_token_id": "1", "eos_token_id": [], "pad_token_id": 1e300})");
  EXPECT_EQ(failure_of_folder(folder).code, Code::ok);
}

TEST(HostileSettings, BosThatIsAskedForButNotThere) {
  const Folder folder;
  folder.write_json("tokenizer.json", good_json());
  folder.write_json("tokenizer_config.json", json{{"add_bos_token", true}});
  expect(failure_of_folder(folder), Code::bad_file, "BOS");
}

}  // namespace
}  // namespace skipstone::convert::testing
