// A session's pipelines are made, and each run once, while other sessions' texts are in the cache: those texts do not change. Engines may
// share their pipelines.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "drafted_texts.h"
#include "engine/engine.h"
#include "engine/engine_state.h"
#include "fixtures/system.h"
#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_model.h"
#include "gpu/test_device.h"

namespace skipstone::engine {
namespace {

/// On one device, and with the layers on three.
class PipelinesOfSessions : public testing::TestWithParam<std::string> {};

TEST_P(PipelinesOfSessions, AreMadeBesideTextsThatStayTheSame) {
  constexpr std::uint32_t texts = 7, tokens = 12;
  fixtures::set_variable("SKIPSTONE_SAME_DEVICE", "1");
  const fixtures::TemporaryDirectory directory;
  const std::string path = directory.file("tiny.gguf");
  fixtures::write_tiny_model(fixtures::tiny_family("qwen35"), path);
  EngineOptions options;
  options.model_path = path;
  options.context = 128;
  options.devices = GetParam();
  options.prefixes = PrefixMode::off;  // nothing but the texts has pages
  const auto engine = Engine::load(options);
  const auto ready = [&] { return engine->state().caches.pipelines->ready(); };

  // So many that the cache has grown: then its layout is not that of a cache for one context.
  std::vector<std::unique_ptr<Session>> sessions;
  for (std::uint32_t i = 0; i < texts; ++i) {
    sessions.push_back(std::make_unique<Session>(engine, with("none")));
    sessions.back()->generate(prompt_of(*engine, 40 + i, i), 2, {});
  }
  const std::size_t before = ready();
  {
    Session other(engine, with("suffix:alpha=4,k=31,p=0", 7));
    other.generate(prompt_of(*engine, 9, texts), tokens, {});
  }
  EXPECT_GT(ready(), before) << "no pipeline was made: the test tested nothing";

  for (std::uint32_t i = 0; i < texts; ++i) {
    const Tokens prompt = prompt_of(*engine, 40 + i, i);
    const Tokens more = sessions[i]->generate(prompt_of(*engine, 3, i), tokens, {}).tokens;
    sessions[i].reset();
    Session alone(engine, with("none"));
    alone.generate(prompt, 2, {});
    EXPECT_EQ(more, alone.generate(prompt_of(*engine, 3, i), tokens, {}).tokens) << "text " << i;
  }
}

TEST(PipelinesOfEngines, AreMadeOnceWhereTheyFollowEachOther) {
  const fixtures::TemporaryDirectory directory;
  EngineOptions options;
  options.model_path = directory.file("tiny.gguf");
  options.kernels = std::make_shared<kernels::Library>(fixtures::TestDevice::get().device, "");
  fixtures::write_tiny_model(fixtures::tiny_family("llama"), options.model_path);
  const auto text = [&] {
    const auto engine = Engine::load(options);
    Session session(engine, with("asd:k=4"));
    return session.generate(prompt_of(*engine, 20, 1), 12, {}).tokens;
  };
  const Tokens first = text();
  const std::size_t made = options.kernels->size();
  EXPECT_GT(made, 10u);
  EXPECT_EQ(text(), first);
  EXPECT_EQ(options.kernels->size(), made);
}

INSTANTIATE_TEST_SUITE_P(On, PipelinesOfSessions, testing::Values("", "0,0,0"),
                         [](const auto& test) { return test.param.empty() ? "OneDevice" : "ThreeStages"; });

}  // namespace
}  // namespace skipstone::engine
