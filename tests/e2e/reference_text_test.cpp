// The whole path against texts that other programs made: llama.cpp (stories260K) and transformers (py20), with and without drafting.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/env.h"
#include "engine/engine.h"
#include "gpu/test_device.h"

namespace skipstone::engine {
namespace {

using nlohmann::json;
using text::Token;

std::string data_path(const std::string& name) { return std::string(SKIPSTONE_SHARED_DATA) + "/models/" + name; }

struct Reference {
  std::shared_ptr<Engine> engine;
  json cases;
};

std::shared_ptr<Engine> load(const std::string& path) {
  EngineOptions options;
  options.kernels = fixtures::TestDevice::get().kernels;
  options.model_path = path;
  options.context = 512;
  return Engine::load(options);
}

class ReferenceText : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string name = GetParam();
    model_ = data_path(name == "py20" ? "py20-f16.gguf" : name + ".gguf");
    const std::string expected = data_path(name + ".greedy.json");
    if (!std::filesystem::exists(model_) || !std::filesystem::exists(expected)) GTEST_SKIP() << "no reference data at " << expected;
    std::ifstream(expected) >> cases_;
    engine_ = load(model_);
  }

  // To keep the suite short, devices beside lavapipe's usual width take some of the larger model's prompts (SwiftShader multiplies some ten
  // times slower); SKIPSTONE_FULL_TESTS=1 makes all of them take all.
  std::size_t prompts_here() const {
    const std::string device = env::get("SKIPSTONE_TEST_DEVICE").value_or("system");
    const bool all =
        std::string(GetParam()) != "py20" || env::flag("SKIPSTONE_FULL_TESTS") || device == "system" || device == "lavapipe256";
    return all ? cases_.size() : device == "swiftshader" ? 2 : 4;
  }

  void compare(const std::string& draft) {
    for (std::size_t i = 0; i < prompts_here(); ++i) {
      const json& reference = cases_[i];
      const auto prompt = engine_->tokenizer().encode(reference.at("prompt").get<std::string>(), true, false);
      ASSERT_EQ(prompt, reference.at("prompt_tokens").get<std::vector<Token>>());
      const auto expected = reference.at("tokens").get<std::vector<Token>>();
      SessionOptions options;
      options.draft = draft;
      Session session(engine_, options);
      const speculation::Outcome outcome = session.generate(prompt, static_cast<std::uint32_t>(expected.size()), {});
      EXPECT_EQ(outcome.tokens, expected)
          << "prompt: " << reference.at("prompt") << "\nfirst difference at "
          << std::mismatch(outcome.tokens.begin(), outcome.tokens.end(), expected.begin(), expected.end()).first - outcome.tokens.begin();
      if (draft != "none" && reference.contains("attention_cosine")) {
        compare_cosines(session.attention_cosine(), reference.at("attention_cosine").get<std::vector<float>>());
      }
    }
    EXPECT_EQ(engine_->validation_messages(), 0u);
  }

  static void compare_cosines(const std::vector<float>& measured, const std::vector<float>& expected) {
    ASSERT_EQ(measured.size(), expected.size());
    for (std::size_t layer = 0; layer < expected.size(); ++layer) EXPECT_NEAR(measured[layer], expected[layer], 2e-3) << "layer " << layer;
  }

  std::string model_;
  json cases_;
  std::shared_ptr<Engine> engine_;
};

TEST_P(ReferenceText, PlainDecodingGivesTheReferenceTokens) { compare("none"); }
TEST_P(ReferenceText, DraftOnTheFlyGivesTheReferenceTokens) { compare("asd"); }

INSTANTIATE_TEST_SUITE_P(Models, ReferenceText, testing::Values("stories260K", "py20"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace skipstone::engine
