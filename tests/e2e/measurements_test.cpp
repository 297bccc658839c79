// Tuning and costs through the engine: measured once, kept, survived when damaged, and without effect on the text. Memory of the bundled
// model.
#include "engine/measurements.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/env.h"
#include "base/status.h"
#include "engine/engine.h"
#include "engine/engine_state.h"
#include "exec/cost_table.h"
#include "fixtures/system.h"
#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_model.h"
#include "tune/tuner.h"

namespace skipstone::engine {
namespace {

/// A tiny model and a cache folder of its own; what is in the environment otherwise comes back afterwards.
class Measurements : public testing::Test {
 protected:
  Measurements() {
    fixtures::TinyConfig tiny;
    tiny.layers = 2;
    tiny.heads = 4;
    tiny.kv_heads = 1;
    tiny.type = gguf::Type::q8_0;
    fixtures::write_tiny_model(tiny, directory_.file("tiny.gguf"));
    fixtures::set_variable("SKIPSTONE_CACHE", directory_.file("cache"));
  }
  ~Measurements() override {
    if (cache_) fixtures::set_variable("SKIPSTONE_CACHE", *cache_);
  }

  std::shared_ptr<Engine> load(Tuning tuning) {
    stages_.clear();
    EngineOptions options;
    options.model_path = directory_.file("tiny.gguf");
    options.tuning = tuning;
    options.progress = [this](const std::string& stage, double) { stages_.insert(stage); };
    return Engine::load(options);
  }
  bool tuned() const { return stages_.contains("tuning kernels"); }

  std::vector<std::filesystem::path> files(const std::string& kind) const {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::directory_iterator(directory_.file("cache"))) {
      if (entry.path().string().ends_with(kind + ".json")) found.push_back(entry.path());
    }
    return found;
  }

  static std::vector<text::Token> text(const std::shared_ptr<Engine>& engine) {
    SessionOptions options;
    options.draft = "exit:1,k=5";
    Session session(engine, options);
    return session.generate({1, 70, 71, 72, 73, 74, 75}, 40, {}).tokens;
  }

  fixtures::TemporaryDirectory directory_;
  const std::optional<std::string> cache_ = env::get("SKIPSTONE_CACHE");
  std::set<std::string> stages_;
};

TEST_F(Measurements, FirstUseTunesAndTheSecondStartDoesNot) {
  const auto plain = text(load(Tuning::off));
  EXPECT_FALSE(tuned());
  EXPECT_TRUE(files("choices").empty());

  const auto first = load(Tuning::first_use);
  EXPECT_TRUE(tuned());
  ASSERT_EQ(files("choices").size(), 1u);
  EXPECT_EQ(text(first), plain);

  const auto second = load(Tuning::first_use);
  EXPECT_FALSE(tuned()) << "what was measured is in the cache";
  EXPECT_EQ(text(second), plain);
  load(Tuning::automatic);
  EXPECT_FALSE(tuned());

  std::ofstream(files("choices").front(), std::ios::trunc) << "{\"key\": [";
  const auto third = load(Tuning::first_use);
  EXPECT_TRUE(tuned()) << "a damaged file is as if it were not there";
  EXPECT_EQ(text(third), plain);
  load(Tuning::first_use);
  EXPECT_FALSE(tuned());
}

TEST_F(Measurements, NoPassOfATextMakesAPipeline) {
  const auto engine = load(Tuning::off);
  const std::size_t loaded = engine->state().model->kernel_library->size();
  EXPECT_GT(loaded, 10u);
  const auto made = [&] { return engine->state().model->kernel_library->size(); };
  const auto ready = [&] { return engine->state().caches.pipelines->ready(); };
  EXPECT_EQ(ready(),
            exec::distinct_pipelines(*engine->state().model->builder, {exec::plain_passes(engine->config().layer_count())}).size());
  for (const float temperature : {0.0f, 0.8f}) {  // alone, and no session has drafted yet
    SessionOptions options;
    options.sampling.temperature = temperature;
    Session session(engine, options);
    const std::size_t before = made();
    session.generate(std::vector<text::Token>(150, 70), 20, {});
    session.generate({71, 72, 73}, 20, {});
    EXPECT_EQ(made(), before) << "temperature " << temperature;
  }
  {
    const std::size_t before = ready();
    const Session one(engine, {}), other(engine, {});
    EXPECT_GT(ready(), before + 10) << "rows of two texts go side by side";
  }
  for (const char* draft : {"none", "exit:1,k=9", "asd:gamma=0,k=3,m=1", "suffix", "jacobi", "lookahead", "ngram:k=4,w=4", "recycle:n=12",
                            "auto", "lookup+suffix:min=2"}) {
    for (const float temperature : {0.0f, 0.8f}) {
      SessionOptions options;
      options.draft = draft;
      options.sampling.temperature = temperature;
      Session session(engine, options);
      const std::size_t before = made();
      session.generate(std::vector<text::Token>(150, 70), 20, {});
      session.generate({71, 72, 73}, 20, {});
      EXPECT_EQ(made(), before) << draft << ", temperature " << temperature << ": a pass compiled something while text was generated";
    }
  }
  EXPECT_GT(made(), loaded) << "trees and samples have pipelines of their own";
}

TEST_F(Measurements, TuningEndsInTimeAndSaysWhatItFound) {
  const auto engine = load(Tuning::off);
  const tune::Report report = engine->tune(0.5, {});
  ASSERT_FALSE(report.results.empty());
  for (const tune::Result& result : report.results) {
    ASSERT_GE(result.candidates.size(), 2u);
    ASSERT_LT(result.chosen, result.candidates.size());
    const tune::Timed& chosen = result.candidates[result.chosen];
    EXPECT_FALSE(chosen.dropped);
    for (const tune::Timed& timed : result.candidates) {
      EXPECT_GT(timed.microseconds, 0);
      EXPECT_LE(chosen.microseconds, 1.03 * timed.microseconds);
    }
  }
  EXPECT_THROW(engine->tune(5, [](const std::string&, double) { fail(Code::cancelled, "stopped"); }), Error);
}

TEST_F(Measurements, CostsAreMeasuredOnceAndKept) {
  const auto engine = load(Tuning::off);
  std::size_t steps = 0;
  const auto count = [&](const std::string&, double) { ++steps; };
  const exec::CostTable costs = engine->costs(count);
  EXPECT_GT(steps, 0u);
  EXPECT_EQ(costs.layers(), 2u);
  for (const std::uint32_t rows : {1u, 2u, 4u, 8u, 16u}) {
    EXPECT_GT(costs.verify(rows).value(), 0) << rows;
    EXPECT_GE(costs.measured().at(rows).round_trip, 0.999 * costs.measured().at(rows).full);
  }
  exec::LayerPlan exit = exec::LayerPlan::full(2);
  exit.end = 1;
  EXPECT_LE(costs.draft(exit).value(), costs.verify(1).value());
  EXPECT_FALSE(costs.verify(10'000));
  ASSERT_EQ(files("costs").size(), 1u);

  steps = 0;
  const exec::CostTable again = load(Tuning::off)->costs(count);
  EXPECT_EQ(steps, 0u);
  EXPECT_DOUBLE_EQ(again.verify(8).value(), costs.verify(8).value());
  std::ofstream(files("costs").front(), std::ios::trunc) << "[]";
  load(Tuning::off)->costs(count);
  EXPECT_GT(steps, 0u);
  // Measuring leaves nothing that a text would see.
  EXPECT_EQ(text(engine), text(load(Tuning::off)));
}

TEST_F(Measurements, EstimatesSayAllRowsWhateverTimeThereIs) {
  const auto engine = load(Tuning::off);
  exec::Executor executor(*engine->state().passes);
  EXPECT_GT(exec::time_of_one_row(executor, 2), 0);
  std::size_t steps = 0;
  const exec::CostTable measured = exec::estimate_costs(executor, 2, 60, [&](double) { ++steps; });
  EXPECT_GT(steps, 2 * (4u + 5u));  // four passes of one row and one of each other number, more than once after the warm-up
  const exec::CostTable guessed = exec::estimate_costs(executor, 2, 0, {});
  for (const exec::CostTable* table : {&measured, &guessed}) {
    const exec::MeasuredPasses& one = table->measured().at(1);
    for (const std::uint32_t rows : {1u, 2u, 4u, 8u, 16u, 32u}) {
      const exec::MeasuredPasses& passes = table->measured().at(rows);
      EXPECT_GT(passes.full, 0);
      EXPECT_GE(passes.round_trip, 0.999 * passes.full);
      EXPECT_NEAR(passes.no_mlp / passes.full, one.no_mlp / one.full, 1e-9) << "parts keep their shares";
    }
    EXPECT_EQ(round_costs(*table).most_rows(), 32u);
  }
  EXPECT_NEAR(guessed.measured().at(32).full, 32 * guessed.measured().at(1).full, 1e-6 * guessed.measured().at(32).full);
}

TEST(CostsOfExperts, AreMeasuredByRowsOfDifferentTokens) {
  const fixtures::TemporaryDirectory directory;
  EngineOptions options;
  options.model_path = directory.file("tiny.gguf");
  fixtures::write_tiny_model(fixtures::tiny_family("qwen3moe"), options.model_path);
  const auto engine = Engine::load(options);
  exec::Executor executor(*engine->state().passes);
  const std::uint32_t layers = engine->config().layer_count();
  for (const exec::CostTable& table : {exec::measure_costs(executor, layers, {}), exec::estimate_costs(executor, layers, 60, {})}) {
    for (const auto& [rows, passes] : table.measured()) {
      EXPECT_GE(passes.experts, 2) << rows;
      EXPECT_LE(passes.experts, std::min(6u, 2 * rows)) << rows;
      if (rows == 1) continue;
      EXPECT_GE(passes.varied_experts, 2) << rows;
      EXPECT_LE(passes.varied_experts, std::min(6u, 2 * rows)) << rows;
      EXPECT_GE(passes.varied, passes.full) << rows;
    }
    EXPECT_GT(table.measured().at(4).varied_experts, table.measured().at(4).experts) << "different tokens have different experts";
    EXPECT_EQ(round_costs(table).experts_used(), 2);
  }
}

// What is not waiting for the device: choosing, recording, submitting, reading back.
TEST(HostWork, IsASmallPartOfARound) {
  EngineOptions options;
  options.model_path = std::string(SKIPSTONE_MODELS) + "/skipstone-py.gguf";
  const auto engine = Engine::load(options);
  if (!engine->device().is_cpu()) GTEST_SKIP() << "the aim is for CPU devices";
  SessionOptions how;
  how.draft = "exit:10";
  Session session(engine, how);
  const std::vector<text::Token> prompt = engine->tokenizer().encode("def binary_search(items, target):", true, true);
  session.generate(prompt, 8, {});  // records the passes
  const speculation::Stats stats = session.generate(engine->tokenizer().encode("\n\ndef main():", false, true), 24, {}).stats;
  ASSERT_GT(stats.rounds, 0u);
  EXPECT_GT(stats.device_seconds, 0);
  EXPECT_LE(stats.device_seconds, stats.draft_seconds + stats.verify_seconds + stats.round_seconds);
  EXPECT_LT(stats.generation_seconds - stats.device_seconds, 0.05 * stats.generation_seconds);
}

}  // namespace
}  // namespace skipstone::engine
