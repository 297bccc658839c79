// Sequential speculation on a device. It is lossy, so what can be said for certain is said of its ends: where it may never leave it is
// plain decoding, where it leaves at once only the first layers run, and what it leaves in the cache is mended as it says.
#include <gtest/gtest.h>

#include "engine/engine.h"
#include "engine/engine_state.h"
#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_model.h"
#include "gpu/test_device.h"

namespace skipstone::engine {
namespace {

class Sequential : public ::testing::Test {
 protected:
  void SetUp() override {
    fixtures::TinyConfig tiny;
    tiny.layers = 6;
    tiny.context = 160;
    tiny.type = gguf::Type::q8_0;
    fixtures::write_tiny_model(tiny, directory_.file("tiny.gguf"));
    EngineOptions options;
    options.kernels = fixtures::TestDevice::get().kernels;
    options.model_path = directory_.file("tiny.gguf");
    engine_ = Engine::load(options);
  }

  speculation::Outcome run(const std::string& draft, double* agreement = nullptr, float temperature = 0.0f) {
    SessionOptions options;
    options.draft = draft;
    options.sampling.temperature = temperature;
    options.sampling.seed = 3;
    Session session(engine_, options);
    speculation::Outcome outcome = session.generate({1, 70, 75, 80, 70, 75}, 90, {});
    if (agreement != nullptr) *agreement = session.agreement(outcome.tokens.size());
    return outcome;
  }

  fixtures::TemporaryDirectory directory_;
  std::shared_ptr<Engine> engine_;
};

TEST_F(Sequential, IsPlainDecodingWhereItNeverLeaves) {
  for (const float temperature : {0.0f, 0.8f}) {
    const auto plain = run("none", nullptr, temperature);
    for (const char* fill : {"0", "1"}) {
      // The text of a random model does not reach a probability of 1 exactly.
      const auto outcome = run(std::string("sequential:2/4,any=1,own=1,reject=0,recompute=") + fill, nullptr, temperature);
      EXPECT_EQ(outcome.tokens, plain.tokens);
      EXPECT_EQ(outcome.stats.early_exits.full, 89u);  // the first token is the prompt's
      EXPECT_EQ(outcome.stats.early_exits.layers, 89u * 6);
    }
  }
}

TEST_F(Sequential, RunsTheFirstLayersAloneWhereItAlwaysLeaves) {
  for (const char* fill : {"0", "1"}) {
    const auto outcome = run(std::string("sequential:2/4,any=0,recompute=") + fill);
    EXPECT_EQ(outcome.tokens.size(), 90u);
    EXPECT_EQ(outcome.stats.early_exits.confident, 89u);
    EXPECT_EQ(outcome.stats.early_exits.layers, 89u * 2);
  }
}

TEST_F(Sequential, AgreementIsOneForExactTextsAndCountsForOthers) {
  double exact = 0, lossy = 0;
  run("exit:3", &exact);
  EXPECT_EQ(exact, 1.0);
  run("sequential:1,any=0", &lossy);
  EXPECT_LT(lossy, 1.0);
  EXPECT_GE(lossy, 0.0);
}

// Where all tokens leave early, no pass runs the whole model: states advance with those that fill keys and values.
TEST(SequentialRecurrent, StatesDoNotFallBehind) {
  const fixtures::TemporaryDirectory directory;
  fixtures::TinyConfig tiny = fixtures::tiny_family("qwen35");
  tiny.context = 1024;
  fixtures::write_tiny_model(tiny, directory.file("tiny.gguf"));
  EngineOptions options;
  options.kernels = fixtures::TestDevice::get().kernels;
  options.model_path = directory.file("tiny.gguf");
  const auto engine = Engine::load(options);
  for (const char* fill : {"0", "1"}) {
    SessionOptions lossy;
    lossy.draft = std::string("sequential:2,any=0,recompute=") + fill;
    lossy.ignore_end = true;
    Session session(engine, lossy);
    const speculation::Outcome outcome = session.generate({1, 70, 75, 80}, 600, {});
    EXPECT_EQ(outcome.stats.early_exits.confident, 599u);
    EXPECT_LE(engine->state().passes->cache().pool(exec::MemoryKind::recurrent).use().used, 4u) << "of 10 pages of the text";
  }
}

// After tokens that left early the model continues as if it had read them whole, once the holes are filled by recomputing.
TEST_F(Sequential, RecomputedCachesAreTheFullModels) {
  SessionOptions lossy;
  lossy.draft = "sequential:2,any=0,recompute=1";
  Session session(engine_, lossy);
  const std::vector<text::Token> prompt{1, 70, 75, 80};
  session.generate(prompt, 12, {});
  const std::vector<text::Token> turn{90, 91, 92};
  const auto continued = session.generate(turn, 1, {}).tokens;  // the prompt pass after the holes; its token is the whole model's

  std::vector<text::Token> text(session.history().begin(), session.history().end() - 1);
  Session whole(engine_, {});
  const auto plain = whole.generate(text, 1, {}).tokens;
  EXPECT_EQ(continued, plain);
}

}  // namespace
}  // namespace skipstone::engine
