// The oracle against texts and cosines that other programs computed with real models.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ref/model.h"
#include "ref/operations.h"

namespace skipstone {
namespace {

using Tokens = std::vector<std::int32_t>;

const std::string models = std::string(SKIPSTONE_SHARED_DATA) + "/models/";

struct Generated {
  Tokens tokens;
  float least_margin = std::numeric_limits<float>::infinity();
  std::vector<double> attention_cosine;  // mean over the prompt, by layer
};

Generated generate(const ref::Model& model, const Tokens& prompt, std::size_t count) {
  const exec::LayerPlan plan = exec::LayerPlan::full(model.config().layers);
  ref::Sequence sequence = model.new_sequence();
  ref::Options options;
  options.all_logits = false;
  ref::Result result = model.forward(sequence, prompt, 0, plan, options);
  Generated out;
  for (const auto& rows : result.attention_cosine) {
    double sum = 0;
    for (const float cosine : rows) sum += static_cast<double>(cosine);
    out.attention_cosine.push_back(sum / static_cast<double>(rows.size()));
  }
  auto position = static_cast<std::uint32_t>(prompt.size());
  while (true) {
    const ref::Choice choice = ref::argmax(result.logits.back());
    out.tokens.push_back(choice.token);
    out.least_margin = std::min(out.least_margin, choice.margin);
    if (out.tokens.size() == count) return out;
    result = model.forward(sequence, std::span(&out.tokens.back(), 1), position++, plan, options);
  }
}

/// A model with the continuations that another program gave; with a cache of halves, too.
class OracleModels : public testing::TestWithParam<bool> {
 protected:
  void check(const std::string& model_file, const std::string& expected_file, std::size_t prompts) {
    if (!std::filesystem::exists(models + model_file) || !std::filesystem::exists(models + expected_file)) {
      GTEST_SKIP() << "needs " << model_file << " and " << expected_file << " in " << models;
    }
    std::ifstream stream(models + expected_file);
    const auto cases = nlohmann::json::parse(stream);
    ASSERT_EQ(cases.size(), prompts);
    const ref::Model model(gguf::File::open(models + model_file), GetParam());
    double farthest = 0;
    for (const auto& expected : cases) {
      SCOPED_TRACE(expected["prompt"].get<std::string>());
      const auto tokens = expected["tokens"].get<Tokens>();
      const Generated actual = generate(model, expected["prompt_tokens"].get<Tokens>(), tokens.size());
      EXPECT_EQ(actual.tokens, tokens) << "first difference at token "
                                       << std::ranges::mismatch(actual.tokens, tokens).in1 - actual.tokens.begin() << ", least margin "
                                       << actual.least_margin;
      if (!expected.contains("attention_cosine")) continue;
      const auto cosines = expected["attention_cosine"].get<std::vector<double>>();
      ASSERT_EQ(cosines.size(), actual.attention_cosine.size());
      for (std::size_t layer = 0; layer < cosines.size(); ++layer) {
        EXPECT_NEAR(actual.attention_cosine[layer], cosines[layer], 2e-4) << "layer " << layer;
        farthest = std::max(farthest, std::abs(actual.attention_cosine[layer] - cosines[layer]));
      }
    }
    RecordProperty("farthest_cosine", std::to_string(farthest));
  }
};

TEST_P(OracleModels, Stories260KGivesTheTokensOfLlamaCpp) { check("stories260K.gguf", "stories260K.greedy.json", 6); }
TEST_P(OracleModels, Py20GivesTheTokensAndCosinesOfTransformers) { check("py20-f16.gguf", "py20.greedy.json", 8); }

INSTANTIATE_TEST_SUITE_P(Cache, OracleModels, testing::Bool(),
                         [](const testing::TestParamInfo<bool>& half) { return std::string(half.param ? "Half" : "Float"); });

}  // namespace
}  // namespace skipstone
