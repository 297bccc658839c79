// The tokenizers against real vocabularies and the ids that others give (data beside the checkout; skipped where it is absent).
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <sstream>

#include "gguf/gguf.h"
#include "text/tokenizer.h"
#include "unit/handmade_vocabulary.h"

namespace skipstone::text {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const std::string tokenizers_folder = SKIPSTONE_SHARED_DATA "/tokenizers/";
const std::string models_folder = SKIPSTONE_SHARED_DATA "/models/";

#define SKIP_WITHOUT(path) \
  if (!fs::exists(path)) GTEST_SKIP() << (path) << " is not here"

std::string contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Each text is followed by a line break, the separator and a line break; whatever else is in between belongs to the text.
std::vector<std::string> texts_of(const std::string& path) {
  const std::string all = contents(path);
  const std::string separator = "\n__ggml_vocab_test__\n";
  std::vector<std::string> texts;
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t end = std::min(all.find(separator, at), all.size());
    texts.push_back(all.substr(at, end - at));
    at = end + separator.size();
  }
  return texts;
}

std::vector<std::vector<Token>> ids_of(const std::string& path) {
  std::ifstream in(path);
  std::vector<std::vector<Token>> all;
  for (std::string line; std::getline(in, line);) {
    std::istringstream numbers(line);
    all.emplace_back(std::istream_iterator<Token>(numbers), std::istream_iterator<Token>());
  }
  return all;
}

// Ids and texts both ways.
void expect_cases(const Tokenizer& tokenizer, const std::string& stem) {
  const std::vector<std::string> texts = texts_of(stem + ".inp");
  const std::vector<std::vector<Token>> expected = ids_of(stem + ".out");
  ASSERT_EQ(texts.size(), 46u);
  ASSERT_EQ(expected.size(), 46u);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(tokenizer.encode(texts[i], false, false), expected[i]) << "text " << i << ": " << texts[i];
    EXPECT_EQ(tokenizer.decode(expected[i]), texts[i]) << "text " << i;
  }
}

Vocabulary vocabulary_of(const std::string& path) { return Vocabulary::from(gguf::File::open(path)); }

class PublishedCases : public testing::TestWithParam<const char*> {};

TEST_P(PublishedCases, AllCasesPass) {
  const std::string stem = tokenizers_folder + "ggml-vocab-" + GetParam() + ".gguf";
  SKIP_WITHOUT(stem);
  expect_cases(Tokenizer(vocabulary_of(stem)), stem);
}

// llama-bpe's vocabulary is not among the data; its cases run once it is put there.
INSTANTIATE_TEST_SUITE_P(Tokenizers, PublishedCases,
                         testing::Values("gpt-2", "llama-spm", "phi-3", "deepseek-coder", "falcon", "starcoder", "llama-bpe"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

Vocabulary from_json(const json& ids, std::string pre) {
  Vocabulary v;
  v.model = "gpt2";
  v.pre = std::move(pre);
  v.tokens.resize(ids.size());
  for (const auto& [written, id] : ids.items()) v.tokens.at(id.get<std::size_t>()) = written;
  v.types.assign(v.tokens.size(), TokenType::normal);
  return v;
}

std::optional<Vocabulary> qwen2() {
  const std::string folder = tokenizers_folder + "qwen2.5-0.5b/";
  if (!fs::exists(folder + "vocab.json")) return std::nullopt;
  Vocabulary v = from_json(json::parse(contents(folder + "vocab.json")), "qwen2");
  std::ifstream merges(folder + "merges.txt");
  for (std::string line; std::getline(merges, line);) {
    if (!line.empty() && line.rfind("#version", 0) != 0) v.merges.push_back(line);
  }
  return v;
}

std::optional<Vocabulary> smollm() {
  const std::string path = tokenizers_folder + "smollm2-135m/tokenizer.json";
  if (!fs::exists(path)) return std::nullopt;
  const json file = json::parse(contents(path));
  Vocabulary v = from_json(file["model"]["vocab"], "smollm");
  v.merges = file["model"]["merges"].get<std::vector<std::string>>();
  for (const json& added : file["added_tokens"]) {
    v.types.at(added["id"].get<std::size_t>()) = added["special"].get<bool>() ? TokenType::control : TokenType::user_defined;
  }
  return v;
}

TEST(Qwen2, AllCasesPass) {
  std::optional<Vocabulary> v = qwen2();
  if (!v) GTEST_SKIP() << tokenizers_folder << "qwen2.5-0.5b is not here";
  expect_cases(Tokenizer(*v), tokenizers_folder + "ggml-vocab-qwen2.gguf");
}

TEST(SmolLm, DigitsStandAlone) {
  std::optional<Vocabulary> v = smollm();
  if (!v) GTEST_SKIP() << tokenizers_folder << "smollm2-135m is not here";
  const Tokenizer tokenizer(*v);
  const auto id = [&v](const char* written) { return handmade::id_of(*v, written); };
  EXPECT_EQ(tokenizer.encode("x 2024.", false, false), (std::vector<Token>{id("x"), id("Ġ"), id("2"), id("0"), id("2"), id("4"), id(".")}));
  EXPECT_EQ(tokenizer.encode("<|im_start|>1", false, true), (std::vector<Token>{1, id("1")}));
  EXPECT_GT(tokenizer.encode("<|im_start|>", false, false).size(), 1u);
  for (const std::string& text : texts_of(tokenizers_folder + "ggml-vocab-qwen2.gguf.inp")) {
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text, true, true)), text);
  }
}

class GreedyRuns : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(GreedyRuns, PromptsAndTextsMatch) {
  const auto [model, runs] = GetParam();
  SKIP_WITHOUT(models_folder + model);
  SKIP_WITHOUT(models_folder + runs);
  const Tokenizer tokenizer(vocabulary_of(models_folder + model));
  for (const json& run : json::parse(contents(models_folder + runs))) {
    const auto prompt = run["prompt"].get<std::string>();
    const auto prompt_tokens = run["prompt_tokens"].get<std::vector<Token>>();
    const auto tokens = run["tokens"].get<std::vector<Token>>();
    const auto text = run["text"].get<std::string>();
    EXPECT_EQ(tokenizer.encode(prompt, true, true), prompt_tokens) << prompt;
    EXPECT_EQ(tokenizer.decode(prompt_tokens), prompt);
    StreamDecoder stream(tokenizer, false);
    std::string streamed;
    for (const Token token : tokens) streamed += stream.push(token);
    EXPECT_EQ(streamed + stream.finish(), text) << prompt;
    std::vector<Token> whole = prompt_tokens;
    whole.insert(whole.end(), tokens.begin(), tokens.end());
    EXPECT_EQ(tokenizer.decode(whole), prompt + text);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, GreedyRuns,
                         testing::Values(std::pair("stories260K.gguf", "stories260K.greedy.json"),
                                         std::pair("py20-f16.gguf", "py20.greedy.json")),
                         [](const auto& test) { return std::string(test.param.first).substr(0, 4); });

TEST(RealVocabularies, AMegabyteTakesLinearTime) {
  std::vector<Vocabulary> vocabularies;
  for (const char* name : {"llama-spm", "gpt-2", "falcon"}) {
    const std::string path = tokenizers_folder + "ggml-vocab-" + name + ".gguf";
    if (fs::exists(path)) vocabularies.push_back(vocabulary_of(path));
  }
  if (auto v = qwen2()) vocabularies.push_back(std::move(*v));
  if (vocabularies.empty()) GTEST_SKIP() << tokenizers_folder << " is not here";
  std::string mixed;
  for (const std::string& text : texts_of(tokenizers_folder + "ggml-vocab-gpt-2.gguf.inp")) mixed += text;
  std::string megabyte;
  while (megabyte.size() < (std::size_t{1} << 20)) megabyte += mixed;
  for (Vocabulary& v : vocabularies) {
    const std::string name = v.model + " " + v.pre;
    const Tokenizer tokenizer(std::move(v));
    for (const std::string& text : {megabyte, std::string(std::size_t{1} << 20, 'a'), std::string(std::size_t{1} << 20, ' ')}) {
      const std::vector<Token> tokens = tokenizer.encode(text, true, true);
      EXPECT_TRUE(tokenizer.decode(tokens) == text) << name;
      std::cout << name << " " << text.substr(0, 4) << ": " << tokens.size() << " tokens\n";
    }
  }
}

}  // namespace
}  // namespace skipstone::text
