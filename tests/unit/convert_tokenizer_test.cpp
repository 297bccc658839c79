// Tokenizers of Hugging Face folders that the tests write, as GGUF metadata.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "fixtures/failure.h"
#include "fixtures/warnings.h"
#include "unit/converted_values.h"

namespace skipstone::convert::testing {
namespace {

TEST(SentencePieceModel, EveryKeyIsWrittenWithItsType) {
  const Vocabulary v = handmade::sentencepiece();
  const Folder folder;
  folder.write("tokenizer.model", sentencepiece_model(v, v.tokens.size()));
  const gguf::File file = folder.convert(size_of(v));
  EXPECT_EQ(value_of<std::string>(file, "ggml.model"), "llama");
  EXPECT_EQ(value_of<std::string>(file, "ggml.pre"), "default");
  EXPECT_EQ(array_of<std::string>(file, "ggml.tokens"), v.tokens);
  EXPECT_EQ(array_of<float>(file, "ggml.scores"), v.scores);
  std::vector<std::int32_t> types;
  for (const TokenType type : v.types) types.push_back(static_cast<std::int32_t>(type));
  EXPECT_EQ(array_of<std::int32_t>(file, "ggml.token_type"), types);
  EXPECT_EQ(value_of<std::uint32_t>(file, "ggml.unknown_token_id"), 0u);
  EXPECT_EQ(value_of<std::uint32_t>(file, "ggml.bos_token_id"), 1u);
  EXPECT_EQ(value_of<std::uint32_t>(file, "ggml.eos_token_id"), 2u);
  EXPECT_EQ(file.find("tokenizer.ggml.padding_token_id"), nullptr);
  EXPECT_TRUE(value_of<bool>(file, "ggml.add_bos_token"));
  EXPECT_FALSE(value_of<bool>(file, "ggml.add_eos_token"));
  EXPECT_EQ(file.find("tokenizer.ggml.add_space_prefix"), nullptr) << "readers assume it";
  EXPECT_EQ(file.find("tokenizer.ggml.remove_extra_whitespaces"), nullptr);
  EXPECT_EQ(file.find("tokenizer.chat_template"), nullptr);
  expect_same_ids(file, v);
}

// A model that SentencePiece 0.1.97 trained on this project's documents (BPE, 400 pieces, byte fallback, padding 3, a control and a
// user-defined symbol), and the ids that it gives itself.
TEST(SentencePieceModel, ATrainedOneGivesTheIdsOfSentencePiece) {
  const Folder folder;
  folder.write("tokenizer.model", fixtures::bytes_of(SKIPSTONE_TEST_SOURCES "/unit/data/sentencepiece.model"));
  const gguf::File file = folder.convert(400);
  EXPECT_EQ(value_of<std::uint32_t>(file, "ggml.padding_token_id"), 3u);
  EXPECT_EQ(array_of<std::int32_t>(file, "ggml.token_type")[4], 3) << "<end>";
  EXPECT_EQ(array_of<std::int32_t>(file, "ggml.token_type")[5], 4) << "<tool>";
  const Tokenizer tokenizer(Vocabulary::from(file));
  const std::vector<std::pair<const char*, std::vector<Token>>> cases = {
      {"The model drafts tokens.", {335, 376, 265, 290, 318, 289, 279, 325, 338, 295, 358, 283, 338, 354}},
      {"  two  spaces ", {335, 335, 262, 355, 340, 335, 272, 348, 330, 270, 335}},
      {"é 🚀 naïve\n\tx", {335, 201, 175, 335, 246, 165, 160, 134, 298, 339, 201, 181, 360, 336, 16, 15, 366}},
      {" Vulkan devices, 1.2", {335, 335, 388, 351, 346, 358, 294, 279, 336, 360, 343, 347, 270, 353, 329, 354, 370}},
      {"</s><end>", {335, 66, 363, 338, 68, 66, 336, 274, 68}},
      {"see <tool>", {272, 336, 336, 335, 5}},
      {"skipstone run -m FILE", {272, 358, 327, 287, 266, 336, 278, 319, 335, 362, 350, 335, 76, 382, 383, 378}},
      {"The **same text**, bit for bit",
       {335, 376, 265, 335, 331, 338, 326, 336, 262, 336, 366, 337, 331, 353, 285, 273, 291, 281, 285, 273}},
  };
  for (const auto& [text, ids] : cases) EXPECT_EQ(tokenizer.encode(text, false, false), ids) << text;
}

TEST(SentencePieceModel, TheNormaliserSaysWhetherASpaceIsPutInFront) {
  Vocabulary v = handmade::sentencepiece();
  const Folder folder;
  folder.write("tokenizer.model", sentencepiece_model(v, v.tokens.size(), {.add_dummy_prefix = false, .remove_extra_whitespaces = true}));
  const gguf::File file = folder.convert(size_of(v));
  EXPECT_FALSE(value_of<bool>(file, "ggml.add_space_prefix"));
  EXPECT_TRUE(value_of<bool>(file, "ggml.remove_extra_whitespaces"));
  v.add_space_prefix = false;
  expect_same_ids(file, v);
}

TEST(SentencePieceModel, TokenizerConfigHasTheLastWord) {
  const Vocabulary v = handmade::sentencepiece();
  const Folder folder;
  folder.write("tokenizer.model", sentencepiece_model(v, v.tokens.size()));
  folder.write_json("tokenizer_config.json", json{{"add_bos_token", false},
                                                  {"add_eos_token", true},
                                                  {"add_prefix_space", false},
                                                  {"bos_token", {{"content", "</s>"}, {"special", true}}},
                                                  {"eos_token", "<s>"},
                                                  {"pad_token", "<unk>"},
                                                  {"unk_token", nullptr}});
  folder.write_json("config.json", json{{"bos_token_id", 7}, {"eos_token_id", 7}});
  const gguf::File file = folder.convert(size_of(v));
  EXPECT_FALSE(value_of<bool>(file, "ggml.add_bos_token"));
  EXPECT_TRUE(value_of<bool>(file, "ggml.add_eos_token"));
  EXPECT_FALSE(value_of<bool>(file, "ggml.add_space_prefix"));
  EXPECT_EQ(value_of<std::uint32_t>(file, "ggml.bos_token_id"), 2u);
  EXPECT_EQ(value_of<std::uint32_t>(file, "ggml.eos_token_id"), 1u);
  EXPECT_EQ(value_of<std::uint32_t>(file, "ggml.unknown_token_id"), 0u);
  EXPECT_EQ(value_of<std::uint32_t>(file, "ggml.padding_token_id"), 0u);
  EXPECT_EQ(array_of<std::int32_t>(file, "ggml.token_type")[0], 2) << "the unknown token stays the unknown token";
}

TEST(SentencePieceModel, IdsOfTheModelsConfigurationComeBeforeTheTrainers) {
  const Vocabulary v = handmade::sentencepiece();
  const Folder folder;
  folder.write("tokenizer.model", sentencepiece_model(v, v.tokens.size()));
  folder.write_json("config.json", json{{"bos_token_id", nullptr}, {"eos_token_id", {260, 2}}, {"pad_token_id", -1}});
  folder.write_json("generation_config.json", json{{"eos_token_id", 2}, {"pad_token_id", 99999}});
  const gguf::File file = folder.convert(size_of(v));
  EXPECT_EQ(value_of<std::uint32_t>(file, "ggml.bos_token_id"), 1u);
  EXPECT_EQ(value_of<std::uint32_t>(file, "ggml.eos_token_id"), 260u);
  EXPECT_EQ(file.find("tokenizer.ggml.padding_token_id"), nullptr) << "99999 is beyond the vocabulary";
}

TEST(SentencePieceModel, AddedTokensAndUnusedRows) {
  const Vocabulary v = handmade::sentencepiece();
  const std::uint32_t size = size_of(v);
  const Folder folder;
  folder.write("tokenizer.model", sentencepiece_model(v, size));
  folder.write_json("added_tokens.json", json{{"<|im_end|>", size}, {"▁▁<tool>", size + 1}, {"<extra>", size + 2}});
  folder.write_json(
      "tokenizer_config.json",
      json{{"added_tokens_decoder",
            {{"2", {{"content", "</s>"}, {"special", false}}}, {std::to_string(size), {{"content", "<|im_end|>"}, {"special", true}}}}},
           {"additional_special_tokens", {"<extra>", {{"content", "<not there>"}}}}});
  const gguf::File file = folder.convert(size + 5);
  const auto tokens = array_of<std::string>(file, "ggml.tokens");
  const auto types = array_of<std::int32_t>(file, "ggml.token_type");
  ASSERT_EQ(tokens.size(), size + 5);
  EXPECT_EQ(tokens[size], "<|im_end|>");
  EXPECT_EQ(tokens[size + 1], "  <tool>") << "user-defined tokens are looked for in the text as it is";
  EXPECT_EQ(tokens[size + 3], "[PAD" + std::to_string(size + 3) + "]");
  EXPECT_EQ((std::vector<std::int32_t>(types.begin() + size, types.end())), (std::vector<std::int32_t>{3, 4, 3, 5, 5}));
  EXPECT_EQ(types[2], 4);
  EXPECT_EQ(array_of<float>(file, "ggml.scores").size(), size + 5);
  const Tokenizer tokenizer(Vocabulary::from(file));
  EXPECT_EQ(tokenizer.encode("a  <tool>", false, false).back(), static_cast<Token>(size + 1));
}

TEST(SentencePieceModel, AddedTokensPastTheLastRowAreLeftOut) {
  const Vocabulary v = handmade::sentencepiece();
  const std::uint32_t size = size_of(v);
  const Folder folder;
  folder.write("tokenizer.model", sentencepiece_model(v, size));
  folder.write_json("added_tokens.json", json{{"<kept>", size}, {"<pad>", size + 1}, {"<far>", 4000000000u}});
  folder.write_json(
      "tokenizer_config.json",
      json{{"pad_token", "<pad>"},
           {"added_tokens_decoder", {{std::to_string(size + 2), {{"content", "<image>"}, {"special", true}, {"lstrip", true}}}}}});
  const fixtures::Warnings warnings;
  const gguf::File file = folder.convert(size + 1);
  EXPECT_EQ(array_of<std::string>(file, "ggml.tokens").back(), "<kept>");
  EXPECT_EQ(file.find("tokenizer.ggml.padding_token_id"), nullptr);
  ASSERT_EQ(warnings.texts.size(), 2u);
  EXPECT_NE(warnings.texts[0].find("3 added tokens have no row"), std::string::npos) << warnings.texts[0];
  EXPECT_NE(warnings.texts[1].find("pad_token"), std::string::npos) << warnings.texts[1];
}

TEST(SentencePieceModel, TokensOfTokenizerJsonAloneKeepTheirTexts) {
  const Vocabulary v = handmade::sentencepiece();
  const std::uint32_t size = size_of(v);
  const Folder folder;
  folder.write("tokenizer.model", sentencepiece_model(v, size));
  folder.write_json("added_tokens.json", json{{"<own>", size}});
  json source = {{"added_tokens",
                  {{{"id", 1}, {"content", "<other name of BOS>"}, {"special", true}},
                   {{"id", size}, {"content", "<not own>"}, {"special", true}},
                   {{"id", size + 1}, {"content", "<|im_end|>"}, {"special", true}, {"rstrip", true}},
                   {{"id", size + 2}, {"content", "<tool>"}, {"special", false}},
                   {{"id", size + 9}, {"content", "<past the last row>"}, {"special", true}}}},
                 {"model", {{"type", "BPE"}, {"vocab", {{"▁lake", size + 3}, {"</s>", size + 4}, {"<unk>", 0}}}}}};
  folder.write_json("tokenizer.json", source);
  const gguf::File file = folder.convert(size + 5);
  const auto tokens = array_of<std::string>(file, "ggml.tokens");
  const auto types = array_of<std::int32_t>(file, "ggml.token_type");
  EXPECT_EQ((std::vector<std::string>(tokens.begin() + size, tokens.end())),
            (std::vector<std::string>{"<own>", "<|im_end|>", "<tool>", "▁lake", "[PAD" + std::to_string(size + 4) + "]"}));
  EXPECT_EQ((std::vector<std::int32_t>(types.begin() + size, types.end())), (std::vector<std::int32_t>{4, 3, 4, 1, 5}));
  EXPECT_EQ(tokens[1], v.tokens[1]);
  EXPECT_TRUE(Vocabulary::from(file).flags.at(static_cast<Token>(size + 1)).strip_right);
  // Such a file cannot make a folder worse.
  for (const char* damaged : {"{", "[]", R"({"added_tokens": 5, "model": []})", R"({"added_tokens": [{"id": -1, "content": "x"}, 7]})"}) {
    folder.write("tokenizer.json", damaged);
    const fixtures::Warnings warnings;
    EXPECT_EQ(array_of<std::int32_t>(folder.convert(size + 2), "ggml.token_type").back(), 5) << damaged;
  }
}

TEST(SentencePieceModel, ExtraSpecialTokensAreSpecial) {
  const Vocabulary v = handmade::sentencepiece();
  const std::uint32_t size = size_of(v);
  const Folder folder;
  folder.write("tokenizer.model", sentencepiece_model(v, size));
  folder.write_json("added_tokens.json", json{{"<image>", size}, {"<audio>", size + 1}});
  for (const json& extra : {json{"<image>", "<audio>"}, json{{"image_token", "<image>"}, {"audio_token", {{"content", "<audio>"}}}}}) {
    folder.write_json("tokenizer_config.json", json{{"extra_special_tokens", extra}});
    const auto types = array_of<std::int32_t>(folder.convert(size + 2), "ggml.token_type");
    EXPECT_EQ((std::vector<std::int32_t>(types.begin() + size, types.end())), (std::vector<std::int32_t>{3, 3})) << extra;
  }
}

TEST(SentencePieceModel, HasNoPreTokenizerToChoose) {
  const Vocabulary v = handmade::sentencepiece();
  const Folder folder;
  folder.write("tokenizer.model", sentencepiece_model(v, v.tokens.size()));
  const auto failure = fixtures::failure_of([&] { folder.convert(size_of(v), "qwen2"); });
  EXPECT_EQ(failure.code, Code::invalid_argument);
  EXPECT_NE(failure.message.find("only byte-level BPE"), std::string::npos) << failure.message;
}

TEST(ChatTemplate, ComesFromWhereItIs) {
  const Vocabulary v = handmade::sentencepiece();
  const Folder folder;
  folder.write("tokenizer.model", sentencepiece_model(v, v.tokens.size()));
  const auto converted = [&] { return value_of<std::string>(folder.convert(size_of(v)), "chat_template"); };
  folder.write("chat_template.jinja", "{{ from_file }}");
  EXPECT_EQ(converted(), "{{ from_file }}");
  folder.write_json("tokenizer_config.json", json{{"chat_template", "{{ messages }}"}});
  EXPECT_EQ(converted(), "{{ messages }}");
  folder.write_json("tokenizer_config.json",
                    json{{"chat_template", {{{"name", "rag"}, {"template", "no"}}, {{"name", "default"}, {"template", "{{ yes }}"}}}}});
  EXPECT_EQ(converted(), "{{ yes }}");
}

TEST(ChatTemplate, AllNamedOnesAreKept) {
  const Vocabulary v = handmade::sentencepiece();
  const Folder folder;
  folder.write("tokenizer.model", sentencepiece_model(v, v.tokens.size()));
  const json listed = {{{"name", "tool_use"}, {"template", "{{ tools }}"}},
                       {{"name", "default"}, {"template", "{{ yes }}"}},
                       {{"name", ""}, {"template", "{{ nameless }}"}},
                       {{"name", "rag"}, {"template", "{{ documents }}"}}};
  folder.write_json("tokenizer_config.json", json{{"chat_template", listed}});
  const auto converted = [&] {
    std::map<std::string, std::string> read;
    for (const text::ChatTemplate& each : text::chat_templates(folder.convert(size_of(v)))) read[each.name] = each.source;
    return read;
  };
  EXPECT_EQ(converted(), (std::map<std::string, std::string>{{"", "{{ yes }}"}, {"rag", "{{ documents }}"}, {"tool_use", "{{ tools }}"}}));
  std::filesystem::remove(folder.path() + "/tokenizer_config.json");
  std::filesystem::create_directory(folder.path() + "/additional_chat_templates");
  folder.write("chat_template.jinja", "{{ usual }}");
  folder.write("additional_chat_templates/tool_use.jinja", "{{ called }}");
  folder.write("additional_chat_templates/notes.txt", "no template");
  folder.write("additional_chat_templates/damaged.jinja", "\xFF");
  const fixtures::Warnings warnings;
  EXPECT_EQ(converted(), (std::map<std::string, std::string>{{"", "{{ usual }}"}, {"tool_use", "{{ called }}"}}));
}

}  // namespace
}  // namespace skipstone::convert::testing
