// Tokenizers of real models: published vocabularies are written as Hugging Face folders and converted back, a real checkpoint's is
// converted as it is. The metadata has to be the published one, key by key, and the texts have to become the ids that others give.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <sstream>

#include "gguf/gguf.h"
#include "unit/hugging_face_folder.h"

namespace skipstone::convert::testing {
namespace {

namespace fs = std::filesystem;
using fixtures::bytes_of;
using text::Tokenizer;
using text::Vocabulary;

const std::string tokenizers_folder = SKIPSTONE_SHARED_DATA "/tokenizers/";
const std::string models_folder = SKIPSTONE_SHARED_DATA "/models/";

#define SKIP_WITHOUT(path) \
  if (!fs::exists(path)) GTEST_SKIP() << (path) << " is not here"

// The 46 published cases: texts separated by a line, ids a line each.
void expect_cases(const gguf::File& file, const std::string& stem) {
  const Tokenizer tokenizer(Vocabulary::from(file));
  const std::string all = bytes_of(stem + ".inp");
  const std::string separator = "\n__ggml_vocab_test__\n";
  std::istringstream lines(bytes_of(stem + ".out"));
  std::size_t cases = 0;
  std::string line;
  for (std::size_t at = 0; at < all.size() && std::getline(lines, line); ++cases) {
    const std::size_t end = std::min(all.find(separator, at), all.size());
    const std::string text = all.substr(at, end - at);
    std::istringstream numbers(line);
    const std::vector<Token> expected{std::istream_iterator<Token>(numbers), std::istream_iterator<Token>()};
    EXPECT_EQ(tokenizer.encode(text, false, false), expected) << "text " << cases << ": " << text;
    at = end + separator.size();
  }
  EXPECT_EQ(cases, 46u);
}

bool same(const gguf::Value& a, const gguf::Value& b) {
  using Shared = std::shared_ptr<const gguf::Array>;
  const auto* left = std::get_if<Shared>(&a);
  const auto* right = std::get_if<Shared>(&b);
  if (left == nullptr || right == nullptr) return a == b;
  return (*left)->items == (*right)->items;
}

// The tokenizer.ggml.* keys that are not the same in both files, with their types and values.
std::vector<std::string> differences(const gguf::File& a, const gguf::File& b) {
  std::vector<std::string> found;
  const auto compare = [&](const gguf::File& from, const gguf::File& to, bool report_values) {
    for (const gguf::Pair& pair : from.metadata()) {
      if (!pair.key.starts_with("tokenizer.")) continue;
      const gguf::Value* other = to.find(pair.key);
      if (other == nullptr) {
        found.push_back(pair.key + " is only in " + from.path());
      } else if (report_values && !same(pair.value, *other)) {
        found.push_back(pair.key + ": " + gguf::type_name(pair.value) + " " + gguf::to_display(pair.value) + " and " +
                        gguf::type_name(*other) + " " + gguf::to_display(*other));
      }
    }
  };
  compare(a, b, true);
  compare(b, a, false);
  return found;
}

// What tokenizer_config.json says of a published file's special tokens.
json config_of(const gguf::File& file) {
  const std::vector<std::string>& tokens = *file.strings("tokenizer.ggml.tokens");
  const std::map<std::string, std::string> names = {
      {"bos", "bos_token"}, {"eos", "eos_token"}, {"unknown", "unk_token"}, {"padding", "pad_token"}};
  json config = json::object();
  for (const auto& [key, name] : names) {
    const std::string full = "tokenizer.ggml." + key + "_token_id";
    if (file.find(full) != nullptr) config[name] = tokens.at(file.integer(full, 0));
  }
  for (const char* name : {"add_bos_token", "add_eos_token"}) {
    const std::string full = std::string("tokenizer.ggml.") + name;
    if (file.find(full) != nullptr) config[name] = file.boolean(full, false);
  }
  return config;
}

class ByteLevelFiles : public ::testing::TestWithParam<const char*> {};

TEST_P(ByteLevelFiles, ComeBackAsTheyWere) {
  const std::string stem = tokenizers_folder + "ggml-vocab-" + GetParam() + ".gguf";
  SKIP_WITHOUT(stem);
  const gguf::File published = gguf::File::open(stem);
  const Vocabulary v = Vocabulary::from(published);
  for (const bool pairs : {false, true}) {
    const Folder folder;
    folder.write_json("tokenizer.json", tokenizer_json(v, pre_tokenizer_of(GetParam()), pairs));
    folder.write_json("tokenizer_config.json", config_of(published));
    const gguf::File converted = folder.convert(static_cast<std::uint32_t>(v.tokens.size()));
    EXPECT_EQ(differences(published, converted), std::vector<std::string>{});
    if (!pairs) expect_cases(converted, stem);
  }
}

INSTANTIATE_TEST_SUITE_P(Published, ByteLevelFiles, ::testing::Values("gpt-2", "starcoder", "falcon", "deepseek-coder"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(SentencePieceFiles, Llama2ComesBackAsItWas) {
  const std::string stem = tokenizers_folder + "ggml-vocab-llama-spm.gguf";
  SKIP_WITHOUT(stem);
  const gguf::File published = gguf::File::open(stem);
  const Vocabulary v = Vocabulary::from(published);
  const Folder folder;
  folder.write("tokenizer.model", sentencepiece_model(v, v.tokens.size()));
  const gguf::File converted = folder.convert(32000);
  EXPECT_EQ(differences(published, converted), std::vector<std::string>{});
  expect_cases(converted, stem);
}

TEST(SentencePieceFiles, Llama2WithoutItsModelMergesInTheSameOrder) {
  const std::string stem = tokenizers_folder + "ggml-vocab-llama-spm.gguf";
  SKIP_WITHOUT(stem);
  const Vocabulary v = Vocabulary::from(gguf::File::open(stem));
  const Folder folder;
  folder.write_json("tokenizer.json", converted_sentencepiece_json(v));
  folder.write_json("config.json", json{{"bos_token_id", 1}, {"eos_token_id", 2}});
  const gguf::File converted = folder.convert(32000);
  const Vocabulary got = Vocabulary::from(converted);
  EXPECT_EQ(got.tokens, v.tokens);
  EXPECT_EQ(got.types, v.types);
  EXPECT_TRUE(got.add_space_prefix);
  expect_cases(converted, stem);
}

TEST(SentencePieceFiles, Phi3HasAddedTokensAndUnusedRows) {
  const std::string stem = tokenizers_folder + "ggml-vocab-phi-3.gguf";
  SKIP_WITHOUT(stem);
  const gguf::File published = gguf::File::open(stem);
  Vocabulary v = Vocabulary::from(published);
  // The published file has the model's own first three tokens as its added_tokens_decoder marks them.
  json config = config_of(published);
  json& decoder = config["added_tokens_decoder"] = json::object();
  for (std::size_t id = 0; id < 32011; ++id) {
    if (id >= 3 && id < 32000) continue;
    decoder[std::to_string(id)] = {{"content", v.tokens[id]}, {"special", v.types[id] == TokenType::control}};
  }
  v.types[0] = TokenType::unknown;
  v.types[2] = TokenType::control;
  v.eos = 2;
  const Folder folder;
  folder.write("tokenizer.model", sentencepiece_model(v, 32000));
  folder.write_json("tokenizer_config.json", config);
  const gguf::File converted = folder.convert(32064);
  const Vocabulary got = Vocabulary::from(converted);
  EXPECT_EQ(got.tokens, v.tokens);
  EXPECT_EQ(got.types[2], TokenType::user_defined);
  EXPECT_EQ(got.types[32007], TokenType::control);
  EXPECT_EQ(got.types[32063], TokenType::unused);
  EXPECT_EQ(got.eos, 32000);
  expect_cases(converted, stem);
}

TEST(SentencePieceFiles, ATrainedCheckpointGivesThePublishedFile) {
  const std::string checkpoint = models_folder + "py20-hf";
  SKIP_WITHOUT(checkpoint);
  SKIP_WITHOUT(models_folder + "py20-f16.gguf");
  const gguf::File published = gguf::File::open(models_folder + "py20-f16.gguf");
  gguf::Writer writer;
  write_tokenizer(checkpoint, 8192, writer);
  const fixtures::TemporaryDirectory directory;
  writer.write(directory.file("out.gguf"));
  EXPECT_EQ(differences(published, gguf::File::open(directory.file("out.gguf"))), std::vector<std::string>{});
}

TEST(HuggingFaceFiles, Qwen2) {
  const std::string source = tokenizers_folder + "qwen2.5-0.5b/";
  SKIP_WITHOUT(source);
  json file = {{"added_tokens", json::array()},
               {"normalizer", {{"type", "NFC"}}},
               {"pre_tokenizer", pre_tokenizer_of("qwen2")},
               {"post_processor", byte_level_step(false)},
               {"model", {{"type", "BPE"}, {"vocab", json::parse(bytes_of(source + "vocab.json"))}, {"byte_fallback", false}}}};
  json& merges = file["model"]["merges"] = json::array();
  std::istringstream lines(bytes_of(source + "merges.txt"));
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && !line.starts_with("#version")) merges.push_back(line);
  }
  std::size_t id = file["model"]["vocab"].size();
  for (const char* text : {"<|endoftext|>", "<|im_start|>", "<|im_end|>"}) {
    file["added_tokens"].push_back({{"id", id++}, {"content", text}, {"special", true}});
  }
  const Folder folder;
  folder.write_json("tokenizer.json", file);
  folder.write_json("tokenizer_config.json", json{{"add_bos_token", false}, {"bos_token", nullptr}, {"eos_token", "<|im_end|>"}});
  const gguf::File converted = folder.convert(151936);
  EXPECT_EQ(converted.string("tokenizer.ggml.pre", ""), "qwen2");
  EXPECT_EQ(converted.strings("tokenizer.ggml.tokens")->size(), 151936u);
  EXPECT_EQ(converted.find("tokenizer.ggml.bos_token_id"), nullptr);
  EXPECT_EQ(converted.required_integer("tokenizer.ggml.eos_token_id"), 151645u);
  EXPECT_EQ(converted.integers("tokenizer.ggml.token_type")[151643], 3);
  EXPECT_EQ(converted.integers("tokenizer.ggml.token_type")[151646], 5);
  expect_cases(converted, tokenizers_folder + "ggml-vocab-qwen2.gguf");
}

TEST(HuggingFaceFiles, SmolLm2) {
  const std::string source = tokenizers_folder + "smollm2-135m/";
  SKIP_WITHOUT(source);
  const Folder folder;
  for (const char* name : {"tokenizer.json", "config.json"}) folder.write(name, bytes_of(source + name));
  const gguf::File converted = folder.convert(49152);
  EXPECT_EQ(converted.required_integer("tokenizer.ggml.bos_token_id"), 1u);
  EXPECT_EQ(converted.required_integer("tokenizer.ggml.eos_token_id"), 2u);
  EXPECT_EQ(converted.required_integer("tokenizer.ggml.padding_token_id"), 2u);
  EXPECT_EQ(converted.integers("tokenizer.ggml.token_type")[2], 3);
  // Digits one by one, as its tokenizer.json says; the name for that rule is StarCoder's.
  const Vocabulary v = Vocabulary::from(converted);
  const Tokenizer tokenizer(v);
  std::vector<std::string> words;
  for (const Token token : tokenizer.encode("x 2024.", true, false)) words.push_back(v.tokens[static_cast<std::size_t>(token)]);
  EXPECT_EQ(words, (std::vector<std::string>{"x", "Ġ", "2", "0", "2", "4", "."}));
  const json file = json::parse(bytes_of(source + "tokenizer.json"));
  EXPECT_EQ(v.merges, file["model"]["merges"].get<std::vector<std::string>>());
  for (const auto& [text, id] : file["model"]["vocab"].items()) EXPECT_EQ(v.tokens[id.get<std::size_t>()], text);
}

// The reference models' folders beside what llama.cpp's converter made of them. Their tokenizer.json files all have GPT-2's pre-tokenizer;
// the family's was put into the GGUF files by hand, so it is given here by name.
class ReferenceModels : public ::testing::TestWithParam<const char*> {};

TEST_P(ReferenceModels, GiveThePublishedKeys) {
  const std::string folder = SKIPSTONE_SHARED_DATA "/arch/" + std::string(GetParam());
  SKIP_WITHOUT(folder);
  const gguf::File published = gguf::File::open(folder + "/model.gguf");
  const bool byte_level = published.string("tokenizer.ggml.model", "") == "gpt2";
  gguf::Writer writer;
  const model::TokenizerFacts facts = testing::facts_of(published.string("general.architecture", ""));
  write_tokenizer(folder + "/hf", 640, writer, facts, byte_level ? published.string("tokenizer.ggml.pre", "") : "");
  const fixtures::TemporaryDirectory directory;
  writer.write(directory.file("out.gguf"));
  const gguf::File converted = gguf::File::open(directory.file("out.gguf"));
  std::vector<std::string> found = differences(published, converted);
  // The published SentencePiece files leave out what readers assume anyway, and what none but T5's heeds.
  if (!byte_level) {
    EXPECT_EQ(converted.integer("tokenizer.ggml.unknown_token_id", 0), 0u);
    for (const char* key : {"unknown_token_id", "remove_extra_whitespaces"}) {
      std::erase(found, fmt::format("tokenizer.ggml.{} is only in {}", key, converted.path()));
    }
  }
  EXPECT_EQ(found, std::vector<std::string>{});
}

INSTANTIATE_TEST_SUITE_P(Published, ReferenceModels,
                         ::testing::Values("cohere2", "exaone4", "gemma2", "gemma3", "glm4", "gpt-oss", "granite", "lfm2", "llama3-rope",
                                           "mistral3", "olmo2", "olmo3", "phi3", "phi3-longrope", "qwen2", "qwen3", "qwen35", "qwen3moe",
                                           "smollm3", "starcoder2"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace skipstone::convert::testing
