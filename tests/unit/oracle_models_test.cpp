// The oracle against texts and cosines that other programs computed with real models.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "fixtures/distance.h"
#include "ref/model.h"
#include "ref/operations.h"

namespace skipstone {
namespace {

using fixtures::distance;
using Tokens = std::vector<std::int32_t>;

const std::string models = std::string(SKIPSTONE_SHARED_DATA) + "/models/";

nlohmann::json read_cases(const std::string& file) {
  std::ifstream stream(models + file);
  return nlohmann::json::parse(stream);
}

bool present(const std::string& file) { return std::filesystem::exists(models + file); }

Tokens generate(const ref::Model& model, const Tokens& prompt, std::size_t count) {
  const exec::LayerPlan plan = exec::LayerPlan::full(model.config().layer_count());
  ref::Sequence sequence = model.new_sequence();
  ref::Options options;
  options.all_logits = false;
  ref::Result result = model.forward(sequence, prompt, 0, plan, options);
  Tokens out;
  auto position = static_cast<std::uint32_t>(prompt.size());
  while (true) {
    out.push_back(ref::argmax(result.logits.back()).token);
    if (out.size() == count) return out;
    result = model.forward(sequence, std::span(&out.back(), 1), position++, plan, options);
  }
}

/// The oracle's choice after the prompt and after each of `tokens`, in one pass. Where every choice is the next token, greedy generation
/// gives exactly these tokens, because a row does not depend on how a text is cut (Oracle.ChunksGiveTheBitsOfOneCall).
struct Follow {
  std::vector<ref::Argmax> choices;
  std::vector<double> attention_cosine;  // mean over the prompt, by layer
};

Follow follow(const ref::Model& model, const Tokens& prompt, const Tokens& tokens) {
  Tokens text = prompt;
  text.insert(text.end(), tokens.begin(), tokens.end() - 1);
  ref::Sequence sequence = model.new_sequence();
  const ref::Result result = model.forward(sequence, text, 0, exec::LayerPlan::full(model.config().layer_count()));
  Follow out;
  for (std::size_t row = prompt.size() - 1; row < text.size(); ++row) out.choices.push_back(ref::argmax(result.logits[row]));
  for (const auto& rows : result.attention_cosine) {
    double sum = 0;
    for (std::size_t row = 0; row < prompt.size(); ++row) sum += static_cast<double>(rows[row]);
    out.attention_cosine.push_back(sum / static_cast<double>(prompt.size()));
  }
  return out;
}

TEST(OracleModels, Stories260KGivesTheTokensOfLlamaCpp) {
  if (!present("stories260K.gguf") || !present("stories260K.greedy.json")) GTEST_SKIP() << "needs stories260K.* in " << models;
  const ref::Model model(gguf::File::open(models + "stories260K.gguf"), KvFormat::f16);
  const auto cases = read_cases("stories260K.greedy.json");
  ASSERT_EQ(cases.size(), 6u);
  for (const auto& expected : cases) {
    const auto tokens = expected["tokens"].get<Tokens>();
    EXPECT_EQ(generate(model, expected["prompt_tokens"].get<Tokens>(), tokens.size()), tokens) << expected["prompt"];
  }
}

// The other program keeps its cache in halves too, and its closest call (0.0005 in log-probability) is decided by that rounding: an exact
// cache chooses the other token there. So without rounding only what lies farther apart has to agree.
TEST(OracleModels, Stories260KWithAnExactCacheDiffersInNearTiesAlone) {
  if (!present("stories260K.gguf") || !present("stories260K.greedy.json")) GTEST_SKIP() << "needs stories260K.* in " << models;
  const ref::Model model(gguf::File::open(models + "stories260K.gguf"), KvFormat::f32);
  for (const auto& expected : read_cases("stories260K.greedy.json")) {
    const auto tokens = expected["tokens"].get<Tokens>();
    const Follow actual = follow(model, expected["prompt_tokens"].get<Tokens>(), tokens);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (actual.choices[i].margin <= 0.001f) continue;
      EXPECT_EQ(actual.choices[i].token, tokens[i]) << expected["prompt"] << " token " << i;
    }
  }
}

class OracleCaches : public testing::TestWithParam<KvFormat> {};

TEST_P(OracleCaches, Py20GivesTheTokensAndCosinesOfTransformers) {
  if (!present("py20-f16.gguf") || !present("py20.greedy.json")) GTEST_SKIP() << "needs py20-f16.gguf and py20.greedy.json in " << models;
  const ref::Model model(gguf::File::open(models + "py20-f16.gguf"), GetParam());
  const auto cases = read_cases("py20.greedy.json");
  ASSERT_EQ(cases.size(), 8u);
  double farthest = 0;
  for (const auto& expected : cases) {
    SCOPED_TRACE(expected["prompt"].get<std::string>());
    const auto tokens = expected["tokens"].get<Tokens>();
    const Follow actual = follow(model, expected["prompt_tokens"].get<Tokens>(), tokens);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      ASSERT_EQ(actual.choices[i].token, tokens[i]) << "token " << i << ", margin " << actual.choices[i].margin;
    }
    const auto cosines = expected["attention_cosine"].get<std::vector<double>>();
    ASSERT_EQ(cosines.size(), actual.attention_cosine.size());
    for (std::size_t layer = 0; layer < cosines.size(); ++layer) {
      EXPECT_NEAR(actual.attention_cosine[layer], cosines[layer], 2e-4) << "layer " << layer;
      farthest = std::max(farthest, std::abs(actual.attention_cosine[layer] - cosines[layer]));
    }
  }
  RecordProperty("farthest_cosine", fmt::format("{:.2e}", farthest));
}

// Models of mixed weight formats: logits after each prompt, and tokens up to the first near tie.
TEST(OracleModels, ModelsOfMixedFormatsGiveTheNumbersOfOtherPrograms) {
  const std::filesystem::path root = std::filesystem::path(SKIPSTONE_SHARED_DATA) / "formats" / "models";
  if (!std::filesystem::is_directory(root)) GTEST_SKIP() << "no reference models in " << root;
  std::size_t compared = 0;
  double farthest = 0;
  for (const auto& entry : std::filesystem::directory_iterator(root)) {
    const std::string file = (entry.path() / "model.gguf").string();
    if (!std::filesystem::exists(file)) continue;
    SCOPED_TRACE(entry.path().filename().string());
    const gguf::File opened = gguf::File::open(file);
    const auto is_foreign = [](const gguf::Tensor& tensor) { return !gguf::traits(tensor.type).runnable; };
    if (std::ranges::any_of(opened.tensors(), is_foreign)) continue;
    if (model::find_architecture(opened.string("general.architecture", "")) == nullptr) continue;
    const ref::Model model(opened, KvFormat::f32);
    const auto prompts = nlohmann::json::parse(std::ifstream(entry.path() / "expected.json"))["prompts"];
    for (std::size_t i = 0; i < 2; ++i) {
      const auto ids = prompts[i]["ids"].get<Tokens>(), greedy = prompts[i]["greedy"].get<Tokens>();
      const auto margins = prompts[i]["greedy_margin"].get<std::vector<double>>();
      ref::Sequence sequence = model.new_sequence();
      ref::Options options;
      options.all_logits = false;
      const auto result = model.forward(sequence, ids, 0, exec::LayerPlan::full(model.config().layer_count()), options);
      const double apart = distance(result.logits.back(), prompts[i]["logits_first64"].get<std::vector<double>>());
      farthest = std::max(farthest, apart);
      EXPECT_LT(apart, 1e-4) << ids.size() << " tokens";
      const Follow actual = follow(model, ids, greedy);
      for (std::size_t t = 0; t < greedy.size() && margins[t] >= 0.02; ++t) ASSERT_EQ(actual.choices[t].token, greedy[t]) << "token " << t;
    }
    ++compared;
  }
  EXPECT_GT(compared, 0u);
  std::cout << compared << " models, logits at most " << farthest << " apart\n";
}

INSTANTIATE_TEST_SUITE_P(Cache, OracleCaches, testing::Values(KvFormat::f32, KvFormat::f16),
                         [](const auto& format) { return std::string(to_string(format.param)); });

}  // namespace
}  // namespace skipstone
