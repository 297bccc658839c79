// Tokenizers of Hugging Face folders that the tests write, as GGUF metadata.
#include <gtest/gtest.h>

#include <random>

#include "fixtures/failure.h"
#include "text/pretokenizer_rules.h"
#include "unit/handmade_vocabulary.h"
#include "unit/hugging_face_folder.h"

namespace skipstone::convert::testing {
namespace {

namespace handmade = text::handmade;
using text::Tokenizer;
using text::Vocabulary;

const std::string kText = "hello  the hello, 12345\n\tabc é 🚀 <|im_end|></s>";

std::uint32_t size_of(const Vocabulary& v) { return static_cast<std::uint32_t>(v.tokens.size()); }

template <typename T>
T value_of(const gguf::File& file, const std::string& key) {
  const gguf::Value* value = file.find("tokenizer." + key);
  if (value == nullptr || !std::holds_alternative<T>(*value)) {
    ADD_FAILURE() << key << " is " << (value == nullptr ? "missing" : gguf::type_name(*value));
    return {};
  }
  return std::get<T>(*value);
}

template <typename T>
std::vector<T> array_of(const gguf::File& file, const std::string& key) {
  const auto array = value_of<std::shared_ptr<const gguf::Array>>(file, key);
  if (array == nullptr || !std::holds_alternative<std::vector<T>>(array->items)) {
    ADD_FAILURE() << key << " has items of another type";
    return {};
  }
  return std::get<std::vector<T>>(array->items);
}

void expect_same_ids(const gguf::File& file, const Vocabulary& original) {
  const Tokenizer got(Vocabulary::from(file));
  const Tokenizer wanted(original);
  for (const bool parse_special : {false, true}) {
    EXPECT_EQ(got.encode(kText, true, parse_special), wanted.encode(kText, true, parse_special));
  }
}

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

class ByteLevelStyles : public ::testing::TestWithParam<const char*> {};

TEST_P(ByteLevelStyles, AreRecognisedByTheirPreTokenizer) {
  Vocabulary v = handmade::byte_level(GetParam());
  const Folder folder;
  json source = tokenizer_json(v, pre_tokenizer_of(GetParam()));
  const bool llama3 = v.pre == "llama-bpe";
  if (llama3) source["model"]["ignore_merges"] = true;
  folder.write_json("tokenizer.json", source);
  folder.write_json("special_tokens_map.json", json{{"bos_token", "<|im_start|>"}, {"eos_token", {{"content", "<|im_end|>"}}}});
  const gguf::File file = folder.convert(size_of(v));
  EXPECT_EQ(value_of<std::string>(file, "ggml.model"), "gpt2");
  EXPECT_EQ(value_of<std::string>(file, "ggml.pre"), GetParam());
  EXPECT_EQ(array_of<std::string>(file, "ggml.tokens"), v.tokens);
  EXPECT_EQ(array_of<std::string>(file, "ggml.merges"), v.merges);
  EXPECT_EQ(value_of<std::uint32_t>(file, "ggml.bos_token_id"), static_cast<std::uint32_t>(v.bos));
  EXPECT_EQ(value_of<std::uint32_t>(file, "ggml.eos_token_id"), static_cast<std::uint32_t>(v.eos));
  EXPECT_EQ(file.find("tokenizer.ggml.scores"), nullptr);
  EXPECT_EQ(file.find("tokenizer.ggml.add_bos_token") != nullptr, llama3) << "readers assume a BOS of Llama 3 alone";
  expect_same_ids(file, v);
}

INSTANTIATE_TEST_SUITE_P(Published, ByteLevelStyles,
                         ::testing::Values("gpt-2", "starcoder", "llama-bpe", "smaug-bpe", "qwen2", "deepseek-coder", "falcon"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// Each rule of the table as a tokenizer.json has it: its steps as Split steps, the bytes behind them.
TEST(TokenizerJson, EveryRuleOfTheTableIsRecognised) {
  const Vocabulary v = handmade::byte_level("gpt-2");
  std::size_t recognised = 0;
  for (const text::PreTokenizerRule& rule : text::pretokenizer_rules()) {
    std::vector<std::vector<std::string>> ways = rule.written;
    if (ways.empty()) {
      ways.emplace_back();
      for (const text::Cut& cut : rule.cuts) ways.back().push_back(cut.pattern);
    }
    if (rule.names.front() == "afmoe") continue;  // nobody says how its file has it
    for (const std::vector<std::string>& way : ways) {
      std::vector<json> steps;
      for (const std::string& step : way) steps.push_back(split_step(step.c_str()));
      steps.push_back(byte_level_step(false));
      json source = tokenizer_json(v, {{"type", "Sequence"}, {"pretokenizers", steps}});
      source["model"]["ignore_merges"] = rule.whole_words;
      const Folder folder;
      folder.write_json("tokenizer.json", source);
      EXPECT_EQ(value_of<std::string>(folder.convert(size_of(v)), "ggml.pre"), rule.names.front());
      ++recognised;
    }
  }
  EXPECT_GE(recognised, text::pretokenizer_rules().size() - 1);
}

std::string name_of(const json& source, const std::string& family = "", const std::string& pre = "") {
  const Folder folder;
  folder.write_json("tokenizer.json", source);
  if (!family.empty()) folder.write_json("config.json", json{{"model_type", family}});
  return value_of<std::string>(folder.convert(400, pre), "ggml.pre");
}

// As the files of GPT-4o's relatives, DeepSeek V3 and Bloom write them, letter for letter.
TEST(TokenizerJson, PatternsOfRealFiles) {
  const Vocabulary v = handmade::byte_level("gpt-2");
  const auto name = [&](std::initializer_list<json> steps, bool ignore_merges = false) {
    json source = tokenizer_json(v, sequence(steps));
    source["model"]["ignore_merges"] = ignore_merges;
    return name_of(source);
  };
  const json o200k = split_step(
      "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
      "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
      "\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+");
  EXPECT_EQ(name({o200k, byte_level_step(false)}), "gpt-4o");
  const json tekken = split_step(
      "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}"
      "\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+");
  EXPECT_EQ(name({tekken, byte_level_step(false)}, true), "tekken");
  EXPECT_EQ(name({tekken, byte_level_step(false)}, false), "tekken") << "merging gives all of these tokens, whole words or not";
  EXPECT_EQ(name({split_step("\\p{N}{1,3}"), split_step("[一-龥぀-ゟ゠-ヿ]+"),
                  split_step("[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}"
                             "\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"),
                  byte_level_step(false)}),
            "deepseek-v3");
  EXPECT_EQ(name({split_step(" ?[^(\\s|[.,!?…。，、।۔،])]+"), byte_level_step(false)}), "bloom");
  EXPECT_EQ(name({split_step("'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*|\\s*[\\r\\n]|"
                             "\\s+(?!\\S)|\\s+"),
                  byte_level_step(false)}),
            "bailingmoe");
  EXPECT_EQ(name({digits_step(true), byte_level_step(true)}), "starcoder");
}

TEST(TokenizerJson, WholeWordsMatterWhereMergingDoesNotGiveAll) {
  Vocabulary v = handmade::byte_level("gpt-2");
  json source = tokenizer_json(v, pre_tokenizer_of("llama-bpe"));
  source["model"]["vocab"]["xyz"] = v.tokens.size();
  source["model"]["ignore_merges"] = true;
  EXPECT_EQ(name_of(source), "llama-bpe");
  source["model"]["ignore_merges"] = false;
  EXPECT_EQ(name_of(source), "smaug-bpe");
  source["pre_tokenizer"]["pretokenizers"][0] = split_step("\\p{N}{1,3}");
  source["pre_tokenizer"]["pretokenizers"].insert(source["pre_tokenizer"]["pretokenizers"].begin() + 1,
                                                  split_step("(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}+| "
                                                             "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"));
  const Folder folder;
  folder.write_json("tokenizer.json", source);
  const auto failure = fixtures::failure_of([&] { folder.convert(400); });
  EXPECT_EQ(failure.code, Code::unsupported);
  EXPECT_NE(failure.message.find("never takes words whole"), std::string::npos) << failure.message;
  EXPECT_NE(failure.message.find("--pre NAME"), std::string::npos) << failure.message;
  source["model"]["ignore_merges"] = true;
  EXPECT_EQ(name_of(source), "minicpm5");
}

TEST(TokenizerJson, NamesOfFamiliesAndOfTheCaller) {
  const Vocabulary v = handmade::byte_level("gpt-2");
  const json gpt2 = tokenizer_json(v, pre_tokenizer_of("gpt-2")), smaug = tokenizer_json(v, pre_tokenizer_of("smaug-bpe"));
  EXPECT_EQ(name_of(smaug), "smaug-bpe");
  EXPECT_EQ(name_of(smaug, "olmo2"), "dbrx");
  EXPECT_EQ(name_of(gpt2, "olmo2"), "gpt-2") << "a family's name for another rule is not this one's";
  EXPECT_EQ(name_of(gpt2, "exaone4"), "exaone4");
  EXPECT_EQ(name_of(gpt2, "olmo2", "qwen35"), "qwen35");
  EXPECT_EQ(name_of(tokenizer_json(v, sequence({split_step("\\p{Han}+"), byte_level_step(false)})), "", "kimi-k2"), "kimi-k2");
  const auto failure = fixtures::failure_of([&] { name_of(gpt2, "", "elvish"); });
  EXPECT_EQ(failure.code, Code::invalid_argument);
  for (const char* part : {"\"elvish\"", "gpt-2", "deepseek-v3"})
    EXPECT_NE(failure.message.find(part), std::string::npos) << failure.message;
}

// generation_config.json's list of EOS: what nobody would know goes to the keys for a turn's and a message's end, then to one of our own.
TEST(EndTokens, AListOfEosEndsAllOfThem) {
  Vocabulary v = handmade::byte_level("gpt-2");
  for (const char* text : {"<|eot_id|>", "<|bye|>", "<|stop|>", "<|halt|>", "<|over|>"}) handmade::add(v, text, TokenType::control);
  const auto id = [&](const char* text) { return handmade::id_of(v, text); };
  const Folder folder;
  folder.write_json("tokenizer.json", tokenizer_json(v, pre_tokenizer_of("gpt-2")));
  folder.write_json("tokenizer_config.json", json{{"eos_token", "<|im_end|>"}});
  folder.write_json("config.json", json{{"eos_token_id", id("<|im_end|>")}});
  folder.write_json("generation_config.json",
                    json{{"eos_token_id", {id("<|eot_id|>"), id("<|bye|>"), id("<|im_end|>"), id("<|stop|>"), id("<|halt|>"), 9999, -1}}});
  const gguf::File file = folder.convert(400);
  EXPECT_EQ(value_of<std::uint32_t>(file, "ggml.eos_token_id"), static_cast<std::uint32_t>(id("<|im_end|>")));
  EXPECT_EQ(value_of<std::uint32_t>(file, "ggml.eot_token_id"), static_cast<std::uint32_t>(id("<|bye|>")));
  EXPECT_EQ(value_of<std::uint32_t>(file, "ggml.eom_token_id"), static_cast<std::uint32_t>(id("<|stop|>")));
  EXPECT_EQ(file.integers("skipstone.end_token_ids"), std::vector<std::int32_t>{id("<|halt|>")});
  const Vocabulary read = Vocabulary::from(file);
  std::vector<Token> expected = {id("<|im_end|>"), id("<|eot_id|>"), id("<|bye|>"), id("<|stop|>"), id("<|halt|>")};
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(read.end_of_generation, expected);
}

TEST(AddedTokens, TheirFlagsGoThroughTheFile) {
  Vocabulary v = handmade::byte_level("gpt-2");
  const Token user = handmade::add(v, "<|user|>", TokenType::control);
  const Token mask = handmade::add(v, "<mask>", TokenType::user_defined);
  const Token unit = handmade::add(v, "km", TokenType::user_defined);
  json source = tokenizer_json(v, pre_tokenizer_of("gpt-2"));
  for (json& added : source["added_tokens"]) {
    added["rstrip"] = added["id"] == user;
    added["single_word"] = added["id"] == unit;
  }
  const Folder folder;
  folder.write_json("tokenizer.json", source);
  folder.write_json(
      "tokenizer_config.json",
      json{{"added_tokens_decoder", {{std::to_string(mask), {{"content", "<mask>"}, {"special", false}, {"lstrip", true}}}}}});
  const gguf::File file = folder.convert(size_of(v));
  EXPECT_EQ(file.integers("skipstone.strip_right_token_ids"), std::vector<std::int32_t>{user});
  EXPECT_EQ(file.integers("skipstone.strip_left_token_ids"), std::vector<std::int32_t>{mask});
  EXPECT_EQ(file.integers("skipstone.single_word_token_ids"), std::vector<std::int32_t>{unit});
  const Tokenizer tokenizer(Vocabulary::from(file));
  EXPECT_EQ(tokenizer.encode("<|user|> \n a", false, true), (std::vector<Token>{user, handmade::id_of(v, "a")}));
  EXPECT_EQ(tokenizer.encode("a  <mask> a", false, false),
            (std::vector<Token>{handmade::id_of(v, "a"), mask, handmade::id_of(v, "Ġ"), handmade::id_of(v, "a")}));
}

TEST(TokenizerJson, OtherWaysToSayTheSame) {
  const Vocabulary v = handmade::byte_level("qwen2");
  const auto pre_of = [&](const json& pre_tokenizer, bool typed = true) {
    const Folder folder;
    json source = tokenizer_json(v, pre_tokenizer, true);
    if (!typed) source["model"].erase("type");
    folder.write_json("tokenizer.json", source);
    const gguf::File file = folder.convert(size_of(v));
    EXPECT_EQ(array_of<std::string>(file, "ggml.merges"), v.merges);
    return value_of<std::string>(file, "ggml.pre");
  };
  EXPECT_EQ(pre_of(pre_tokenizer_of("gpt-2"), false), "gpt-2") << "GPT-2's own file names no type";
  EXPECT_EQ(pre_of(sequence({sequence({byte_level_step(true)})})), "gpt-2");
  json kept = pre_tokenizer_of("qwen2");
  kept["pretokenizers"][0]["behavior"] = "Removed";
  kept["pretokenizers"][0]["invert"] = true;
  EXPECT_EQ(pre_of(kept), "qwen2") << "keeping what matches is cutting at it, where everything matches";
}

TEST(TokenizerJson, BosAsItsTemplateSays) {
  Vocabulary v = handmade::byte_level("llama-bpe");
  json source = tokenizer_json(v, pre_tokenizer_of("llama-bpe"));
  source["model"]["ignore_merges"] = true;
  source["post_processor"] = {{"type", "Sequence"}, {"processors", {byte_level_step(false), bos_template("<|im_start|>")}}};
  const Folder folder;
  folder.write_json("tokenizer.json", source);
  const gguf::File file = folder.convert(size_of(v));
  EXPECT_EQ(value_of<std::uint32_t>(file, "ggml.bos_token_id"), static_cast<std::uint32_t>(v.bos));
  EXPECT_TRUE(value_of<bool>(file, "ggml.add_bos_token"));
  v.add_bos = true;
  expect_same_ids(file, v);
  folder.write_json("tokenizer_config.json", json{{"add_bos_token", false}});
  EXPECT_FALSE(value_of<bool>(folder.convert(size_of(v)), "ggml.add_bos_token"));
}

TEST(TokenizerJson, IdsWithoutATokenAreUnused) {
  Vocabulary v = handmade::byte_level("gpt-2");
  json source = tokenizer_json(v, pre_tokenizer_of("gpt-2"));
  source["added_tokens"][1]["id"] = size_of(v) + 2;
  const Folder folder;
  folder.write_json("tokenizer.json", source);
  const gguf::File file = folder.convert(size_of(v) + 4);
  const auto types = array_of<std::int32_t>(file, "ggml.token_type");
  const auto tokens = array_of<std::string>(file, "ggml.tokens");
  const std::size_t last = v.tokens.size() - 1;
  EXPECT_EQ((std::vector<std::int32_t>(types.begin() + static_cast<std::ptrdiff_t>(last), types.end())),
            (std::vector<std::int32_t>{5, 5, 5, 3, 5}));
  EXPECT_EQ(tokens[last], "[PAD" + std::to_string(last) + "]");
  EXPECT_EQ(tokens[last + 3], "<|im_end|>");
}

// A vocabulary in which every way to make a piece is a merge.
Vocabulary small_sentencepiece() {
  Vocabulary v = handmade::sentencepiece();
  for (const char* piece : {"▁h", "▁hel", "hel", "▁hell", "hell", "ell", "el", "elo", "ello"})
    handmade::add(v, piece, TokenType::normal, -60);
  float score = -100;
  for (std::size_t i = v.tokens.size() - 9; i < v.tokens.size(); ++i) v.scores[i] = score--;
  return v;
}

TEST(ConvertedSentencePiece, MergesBecomeScores) {
  const Vocabulary v = small_sentencepiece();
  const Folder folder;
  json source = converted_sentencepiece_json(v);
  source["post_processor"] = bos_template("<s>");
  folder.write_json("tokenizer.json", source);
  const gguf::File file = folder.convert(size_of(v));
  EXPECT_EQ(value_of<std::string>(file, "ggml.model"), "llama");
  EXPECT_EQ(array_of<std::string>(file, "ggml.tokens"), v.tokens);
  EXPECT_EQ(value_of<std::uint32_t>(file, "ggml.bos_token_id"), 1u);
  EXPECT_EQ(value_of<std::uint32_t>(file, "ggml.unknown_token_id"), 0u);
  EXPECT_EQ(array_of<std::int32_t>(file, "ggml.token_type")[0], 2);
  EXPECT_EQ(array_of<std::int32_t>(file, "ggml.token_type")[3], 6);
  EXPECT_TRUE(value_of<bool>(file, "ggml.add_bos_token"));
  expect_same_ids(file, v);
}

TEST(ConvertedSentencePiece, MetaspaceInPlaceOfTheNormaliser) {
  Vocabulary v = small_sentencepiece();
  v.add_bos = false;
  json source = converted_sentencepiece_json(v);
  source["normalizer"] = nullptr;
  for (const char* scheme : {"first", "never"}) {
    source["pre_tokenizer"] = {{"type", "Metaspace"}, {"replacement", "▁"}, {"prepend_scheme", scheme}, {"split", false}};
    const Folder folder;
    folder.write_json("tokenizer.json", source);
    v.add_space_prefix = std::string_view(scheme) == "first";
    expect_same_ids(folder.convert(size_of(v)), v);
  }
}

// What merging the first merge of the list first gives, written down plainly: characters, and the best pair again and again.
std::vector<Token> merged_plainly(const json& source, const std::string& text) {
  std::vector<std::string> symbols;
  for (const char c : text) {
    if ((static_cast<unsigned char>(c) & 0xC0) != 0x80) symbols.emplace_back();
    symbols.back() += c;
  }
  const json& merges = source["model"]["merges"];
  while (true) {
    std::size_t best = merges.size(), place = 0;
    for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
      for (std::size_t rank = 0; rank < best; ++rank) {
        if (merges[rank][0] != symbols[i] || merges[rank][1] != symbols[i + 1]) continue;
        best = rank;
        place = i;
      }
    }
    if (best == merges.size()) break;
    symbols[place] += symbols[place + 1];
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(place) + 1);
  }
  std::vector<Token> ids;
  for (const std::string& symbol : symbols) ids.push_back(source["model"]["vocab"][symbol].get<Token>());
  return ids;
}

// Texts of `letters`, as GGUF's tokenizer and as the list of merges cuts them.
void expect_merged_alike(const json& source, std::uint32_t rows, const std::string& letters) {
  const Folder folder;
  folder.write_json("tokenizer.json", source);
  const Tokenizer tokenizer(Vocabulary::from(folder.convert(rows)));
  std::mt19937 random(20);
  for (int i = 0; i < 300; ++i) {
    std::string text, escaped;
    for (std::size_t n = random() % 24; n > 0; --n) text += letters[random() % letters.size()];
    for (const char c : text) escaped += c == ' ' ? std::string("▁") : std::string(1, c);
    EXPECT_EQ(tokenizer.encode(text, false, false), merged_plainly(source, escaped)) << text;
  }
}

// Without a space in front, which only blurs what is looked at.
json without_prefix(json source) {
  source["normalizer"] = source["normalizer"]["normalizers"][1];
  return source;
}

TEST(ConvertedSentencePiece, PairsThatNeverStandSideBySideDoNotMatter) {
  const Vocabulary v = small_sentencepiece();
  const json good = without_prefix(converted_sentencepiece_json(v));
  expect_merged_alike(good, size_of(v), "helo abc");
  const std::size_t count = good["model"]["merges"].size();
  std::size_t left_out = 0;
  for (std::size_t i = 0; i < count; ++i) {
    json incomplete = good;
    incomplete["model"]["merges"].erase(i);
    const Folder folder;
    folder.write_json("tokenizer.json", incomplete);
    const auto failure = fixtures::failure_of([&] { folder.convert(size_of(v)); });
    if (failure.code == Code::ok) {
      ++left_out;
      expect_merged_alike(incomplete, size_of(v), "helo abc");
    } else {
      EXPECT_EQ(failure.code, Code::unsupported) << failure.message;
      EXPECT_NE(failure.message.find("do not join"), std::string::npos) << failure.message;
    }
  }
  EXPECT_GT(left_out, 0u);
  EXPECT_LT(left_out, count);
}

// As transformers writes them: the pieces that SentencePiece was given, here runs of spaces, have one score, so their merges are in order
// of the parts' lengths, each run's early and late.
TEST(ConvertedSentencePiece, RunsOfSpacesJoinInAnyOrderOfTheList) {
  Vocabulary v = handmade::sentencepiece();
  std::string run = "▁▁";
  for (int i = 3; i <= 9; ++i) handmade::add(v, run += "▁", TokenType::normal, -200.F - static_cast<float>(i));
  json source = without_prefix(converted_sentencepiece_json(v));
  std::vector<json> spaces, rest;
  for (const json& merge : source["model"]["merges"]) {
    const std::string text = merge[0].get<std::string>() + merge[1].get<std::string>();
    (text.find_first_not_of("▁") == std::string::npos ? spaces : rest).push_back(merge);
  }
  std::stable_sort(spaces.begin(), spaces.end(),
                   [](const json& a, const json& b) { return a[0].get<std::string>().size() > b[0].get<std::string>().size(); });
  spaces.insert(spaces.end(), rest.begin(), rest.end());
  source["model"]["merges"] = spaces;
  expect_merged_alike(source, size_of(v), "   hello");
}

// Gemma's files cut at spaces after all of them have become U+2581.
TEST(ConvertedSentencePiece, ACutThatFindsNothingIsNone) {
  const Vocabulary v = small_sentencepiece();
  json source = without_prefix(converted_sentencepiece_json(v));
  source["pre_tokenizer"] = {{"type", "Split"}, {"pattern", {{"String", " "}}}, {"behavior", "MergedWithPrevious"}, {"invert", false}};
  expect_merged_alike(source, size_of(v), "helo abc");
  const Folder folder;
  folder.write_json("tokenizer.json", source);
  EXPECT_FALSE(value_of<bool>(folder.convert(size_of(v)), "ggml.add_space_prefix"));
}

TEST(ConvertedSentencePiece, OtherTreatmentOfTextsIsRefused) {
  const Vocabulary v = small_sentencepiece();
  const auto refused = [&](const json& source) {
    const Folder folder;
    folder.write_json("tokenizer.json", source);
    const auto failure = fixtures::failure_of([&] { folder.convert(size_of(v)); });
    EXPECT_EQ(failure.code, Code::unsupported) << failure.message;
    return failure.message;
  };
  const json good = converted_sentencepiece_json(v);
  json split = good;
  split["normalizer"] = nullptr;
  split["pre_tokenizer"] = {{"type", "Metaspace"}, {"replacement", "▁"}, {"prepend_scheme", "always"}};
  EXPECT_NE(refused(split).find("Metaspace"), std::string::npos);
  json lower = good;
  lower["normalizer"]["normalizers"].push_back({{"type", "Lowercase"}});
  EXPECT_NE(refused(lower).find("Lowercase"), std::string::npos);
}

}  // namespace
}  // namespace skipstone::convert::testing
