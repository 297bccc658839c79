// Mixtures of experts that are larger than the device's memory: experts in host memory give the texts of a model that fits.
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "drafted_texts.h"
#include "engine/engine.h"
#include "engine/stages.h"
#include "fixtures/failure.h"
#include "fixtures/system.h"
#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_model.h"
#include "gpu/test_device.h"

namespace skipstone::engine {
namespace {

constexpr std::uint64_t mib = 1u << 20;
const std::vector<std::string> drafters{"none", "exit:1,k=4", "suffix:alpha=4,k=7,p=0"};

EngineOptions options_for(const std::string& file) {
  EngineOptions options;
  options.model_path = file;
  options.context = 128;
  return options;
}

/// With every drafter; seed 0: greedy.
std::vector<Tokens> texts_of(const std::shared_ptr<Engine>& engine, const std::vector<std::uint64_t>& seeds = {0, 7}) {
  std::vector<Tokens> texts;
  for (const std::string& draft : drafters) {
    for (const std::uint64_t seed : seeds) {
      Session session(engine, with(draft, seed));
      texts.push_back(session.generate(prompt_of(*engine, 37), 24, {}).tokens);
    }
  }
  return texts;
}

/// What a model needs of a limit.
std::uint64_t limit_of(const MemoryPlan& plan) { return plan.total() + plan.working(); }

class ExpertsOnHost : public testing::Test {
 protected:
  /// A model whose experts are most of its 24 MiB.
  void SetUp() override {
    fixtures::TinyConfig config = fixtures::tiny_family("qwen3moe");
    config.layers = 4;
    config.dim = 128;
    config.head_dim = 32;
    config.experts = 120;
    fixtures::write_tiny_model(config, file_);
    EngineOptions options = options_for(file_);
    options.kernels = fixtures::TestDevice::get().kernels;
    whole_ = Engine::load(options);
    expected_ = texts_of(whole_);
    for (std::size_t i = 2; i < expected_.size(); ++i) EXPECT_EQ(expected_[i], expected_[i % 2]) << drafters[i / 2];
    ASSERT_GT(whole_->memory().experts, 16 * mib);
  }

  fixtures::TemporaryDirectory directory_;
  const std::string file_ = directory_.file("experts.gguf");
  std::shared_ptr<Engine> whole_;
  std::vector<Tokens> expected_;
};

TEST_F(ExpertsOnHost, RunAModelOfOneAndAHalfTimesTheLimit) {
  EngineOptions options = options_for(file_);
  options.memory_limit = limit_of(whole_->memory()) * 2 / 3;
  const auto engine = Engine::load(options);
  const MemoryPlan& plan = engine->memory();
  EXPECT_GT(plan.experts_on_host, 0u);
  EXPECT_EQ(plan.weights + plan.host_weights, whole_->memory().weights);
  EXPECT_EQ(texts_of(engine), expected_);
  EXPECT_LE(engine->device_bytes_held(), options.memory_limit);
  EXPECT_GE(engine->host_bytes_held(), plan.host_weights);
  EXPECT_EQ(engine->validation_messages(), 0u);

  // Nothing less does: no experts there, and those of one layer fewer.
  for (const std::uint32_t fewer : {0u, plan.experts_on_host - 1}) {
    options.experts_on_host = fewer;
    const fixtures::Failure refused = fixtures::failure_of([&] { Engine::load(options); });
    EXPECT_EQ(refused.code, Code::out_of_memory) << fewer;
    EXPECT_NE(refused.message.find("the memory limit is"), std::string::npos) << refused.message;
  }
  options.experts_on_host.reset();
  options.memory_limit = whole_->memory().total() - whole_->memory().experts;  // without working memory
  const fixtures::Failure small = fixtures::failure_of([&] { Engine::load(options); });
  EXPECT_EQ(small.code, Code::out_of_memory);
  EXPECT_NE(small.message.find("beside the experts of the first 4 layers, which stay in host memory"), std::string::npos) << small.message;
}

TEST_F(ExpertsOnHost, AreThoseOfAsManyLayersAsAsked) {
  for (const std::uint32_t layers : {1u, 3u, 99u}) {
    EngineOptions options = options_for(file_);
    options.experts_on_host = layers;
    const auto engine = Engine::load(options);
    EXPECT_EQ(engine->memory().experts_on_host, std::min(layers, 4u));
    EXPECT_EQ(engine->memory().host_weights, whole_->memory().experts * std::min(layers, 4u) / 4);
    EXPECT_EQ(texts_of(engine), expected_) << layers;
  }
}

TEST_F(ExpertsOnHost, AreEachStagesOwn) {
  fixtures::set_variable("SKIPSTONE_SAME_DEVICE", "1");
  EngineOptions options = options_for(file_);
  options.devices = "0:2,0:2";
  options.experts_on_host = 3;
  const auto engine = Engine::load(options);
  const std::vector<StageState> stages = engine->stages();
  ASSERT_EQ(stages.size(), 2u);
  EXPECT_EQ(stages[0].host_weights, whole_->memory().experts / 2);
  EXPECT_EQ(stages[1].host_weights, whole_->memory().experts / 4);
  EXPECT_EQ(texts_of(engine), expected_);
  EXPECT_GE(engine->host_bytes_held(), stages[0].host_weights + stages[1].host_weights);

  // A limit is one for all stages, and the plan without loading is the same.
  options.experts_on_host.reset();
  options.memory_limit = limit_of(whole_->memory()) * 2 / 3;
  const auto limited = Engine::load(options);
  EXPECT_GT(limited->memory().experts_on_host, 0u);
  EXPECT_EQ(limited->stages()[1].experts_on_host, limited->memory().experts_on_host);
  EXPECT_EQ(texts_of(limited), expected_);
  EXPECT_LE(limited->device_bytes_held(), options.memory_limit);
  const std::vector<StageState> planned = plan_devices(options);
  for (std::size_t i = 0; i < planned.size(); ++i) {
    EXPECT_EQ(planned[i].host_weights, limited->stages()[i].host_weights);
    EXPECT_EQ(planned[i].experts_on_host, limited->memory().experts_on_host);
  }
}

// The reference models of families whose experts differ: biases, gate and up in one stack, no gate and a latent vector.
TEST(ExpertsOfFamilies, OnTheHostGiveTheSameTexts) {
  const std::filesystem::path root = std::filesystem::path(SKIPSTONE_SHARED_DATA) / "arch";
  if (!std::filesystem::exists(root)) GTEST_SKIP() << root << " is not there";
  for (const char* family : {"qwen3moe", "gpt-oss", "gemma4-moe", "nemotron_h_moe-latent"}) {
    const std::string file = (root / family / "model.gguf").string();
    EngineOptions options = options_for(file);
    options.kernels = fixtures::TestDevice::get().kernels;
    const std::vector<Tokens> expected = texts_of(Engine::load(options), {0});
    options.experts_on_host = 1000;
    const auto engine = Engine::load(options);
    EXPECT_GT(engine->memory().host_weights, 0u) << family;
    EXPECT_EQ(engine->memory().experts, 0u) << family;
    EXPECT_EQ(texts_of(engine, {0}), expected) << family;
  }
}

}  // namespace
}  // namespace skipstone::engine
