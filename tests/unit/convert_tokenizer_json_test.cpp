// tokenizer.json of byte-level BPE as GGUF metadata: pre-tokenizers, special tokens, flags.
#include <gtest/gtest.h>

#include "fixtures/failure.h"
#include "text/pretokenizer.h"
#include "unit/converted_values.h"

namespace skipstone::convert::testing {
namespace {

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

// Each rule of the table as a tokenizer.json has it: its steps as Split steps, the bytes after them.
TEST(TokenizerJson, EveryRuleOfTheTableIsRecognised) {
  const Vocabulary v = handmade::byte_level("gpt-2");
  std::size_t recognised = 0;
  for (const text::PreTokenizerRule& rule : text::pretokenizer_rules()) {
    std::vector<std::vector<std::string>> ways = rule.written;
    if (ways.empty()) {
      ways.emplace_back();
      for (const text::Cut& cut : rule.cuts) ways.back().push_back(cut.pattern);
    }
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
  EXPECT_GE(recognised, text::pretokenizer_rules().size());
}

std::string name_of(const json& source, const std::string& family = "", const std::string& pre = "") {
  const Folder folder;
  folder.write_json("tokenizer.json", source);
  return value_of<std::string>(folder.convert(400, pre, family), "ggml.pre");
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
  EXPECT_EQ(
      name({split_step("\\p{Nd}{1,510}(?=(?>\\p{Nd}{510})*(?:\\P{Nd}|$))|\\G\\p{Nd}{510}"), split_step("\\A\\p{Nd}{1,2}(?=\\p{Nd}{3}+\\z)"),
            split_step("\\A\\p{Nd}{3}|\\G\\p{Nd}{3}"),
            split_step("(?:[\\u4E00-\\u9FFF\\u3040-\\u309F\\u30A0-\\u30FF\\u3400-\\u4DBF\\uf900-\\uFAFF\\uFF65-\\uFF9F\\u2F00-\\u2FDF]+|"
                       "[\\u0E00-\\u0E7F]+|[\\u0E80-\\u0EFF]+|[\\u1780-\\u17FF]+|[\\u1000-\\u109F\\uAA60-\\uAA7F\\uA9E0-\\uA9FF]+|"
                       "[\\uAC00-\\uD7AF\\u1100-\\u11FF]+)"),
            split_step("[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}"
                       "\\p{S}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"),
            byte_level_step(false)}),
      "afmoe");
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

// generation_config.json's list of EOS: an unknown one goes to the keys for a turn's and a message's end, then to one of our own.
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

}  // namespace
}  // namespace skipstone::convert::testing
