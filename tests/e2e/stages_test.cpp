// A model's layers on several devices give the texts of one: here several instances of the test's device in one process.
#include "engine/stages.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/env.h"
#include "base/log.h"
#include "base/status.h"
#include "drafted_texts.h"
#include "engine/engine.h"
#include "engine/engine_state.h"
#include "fixtures/slow_device.h"
#include "fixtures/system.h"
#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_model.h"
#include "gpu/test_device.h"

namespace skipstone::engine {
namespace {

const bool full = fixtures::full_sweep(), slow = fixtures::slow_device_or_validation();

// Every kind of lossless drafter: local exits, exits after the boundary of stages, skip sets over all of them, windows, chains, trees,
// blocks.
const std::vector<std::string> drafters{"none",
                                        "asd:c=0.9,m=1,gamma=0",
                                        "exit:1,k=4",
                                        "exit:3,k=7",
                                        "exit:2,k=5,reuse=0",
                                        "exit:auto",
                                        "skip:attn:1,4;mlp:3,gamma=0,adaptive=0,k=5",
                                        "window:2,9,k=4,gamma=0,adaptive=0",
                                        "suffix:alpha=4,k=31,p=0",
                                        "jacobi:k=3",
                                        "lookahead:w=4,n=3,g=2",
                                        "recycle:n=11",
                                        "ngram:k=5,w=4,rows=block",
                                        "auto"};

EngineOptions options_for(const std::string& file, std::uint32_t stages) {
  EngineOptions options;
  options.model_path = file;
  options.context = 128;
  for (std::uint32_t i = 0; i < stages && stages > 1; ++i) options.devices += i == 0 ? "0" : ",0";
  return options;
}

/// All layers on the test's device.
std::shared_ptr<Engine> whole(const std::string& file) {
  EngineOptions options = options_for(file, 1);
  options.kernels = fixtures::TestDevice::get().kernels;
  return Engine::load(options);
}

/// Two turns.
Tokens text_of(const std::shared_ptr<Engine>& engine, const SessionOptions& options, std::uint32_t tokens) {
  Session session(engine, options);
  Tokens all;
  for (const std::uint32_t seed : {1u, 2u}) {
    const Tokens more = session.generate(prompt_of(*engine, 37, seed), tokens, {}).tokens;
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

class Stages : public testing::Test {
 protected:
  static void SetUpTestSuite() { fixtures::set_variable("SKIPSTONE_SAME_DEVICE", "1"); }

  /// Compares drafters, greedy and sampled, on three stages, in the long sweep also on two, with plain decoding on one device; returns
  /// how many texts that were.
  static int compare(const std::string& file, const std::vector<std::string>& which, std::uint32_t tokens) {
    int cases = 0;
    const auto one = whole(file);
    for (const std::uint32_t stages : full ? std::vector{2u, 3u} : std::vector{3u}) {
      const auto several = Engine::load(options_for(file, stages));
      EXPECT_EQ(several->stages().size(), stages);
      for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{7}}) {
        const Tokens expected = text_of(one, with("none", seed), tokens);
        for (const std::string& draft : which) {
          EXPECT_EQ(text_of(several, with(draft, seed), tokens), expected)
              << file << ": " << draft << ", seed " << seed << ", " << stages << " stages";
          ++cases;
        }
      }
      EXPECT_EQ(several->validation_messages(), 0u);
    }
    return cases;
  }

  std::string tiny(const char* family) {
    fixtures::TinyConfig config = fixtures::tiny_family(family);
    config.context = 256;
    const std::string file = directory_.file(std::string(family) + ".gguf");
    fixtures::write_tiny_model(config, file);
    return file;
  }

  fixtures::TemporaryDirectory directory_;
};

TEST_F(Stages, HaveTheTypesOfKeysAndValuesOfTheWhole) {
  fixtures::TinyConfig config;
  config.head_dim = 32;
  const std::string file = directory_.file("blocks.gguf");
  fixtures::write_tiny_model(config, file);
  EngineOptions alone = options_for(file, 1), parts = options_for(file, 2);
  alone.kv = parts.kv = {KvType::q8_0, KvType::q4_0};
  const auto one = Engine::load(alone), two = Engine::load(parts);
  const Tokens expected = text_of(one, with("none"), 12);
  for (const char* draft : {"none", "exit:1,k=4", "recycle:n=11"}) EXPECT_EQ(text_of(two, with(draft), 12), expected) << draft;
  std::uint64_t kv = 0;
  for (const auto& stage : two->stages()) kv += stage.kv;
  EXPECT_EQ(kv, one->memory().kv);
}

// Gemma 4's last layers read the keys and values of earlier ones, in the tiny model layers 3 and 4 those of 1 and 2.
TEST_F(Stages, HaveLayersThatShareKeysAndValuesTogether) {
  fixtures::TinyConfig config = fixtures::tiny_family("gemma4");
  config.context = 256;
  config.token_input = 0;
  const std::string file = directory_.file("shared.gguf");
  fixtures::write_tiny_model(config, file);
  const auto refusal = [&](const std::string& model, const char* devices) {
    EngineOptions options = options_for(model, 1);
    options.devices = devices;
    try {
      Engine::load(options);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::unsupported) << error.what();
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(refusal(file, "0:2,0:3").find("layer 3 reads the keys and values of layer 1"), std::string::npos);
  EngineOptions parts = options_for(file, 1);
  parts.devices = "0:1,0:4";
  const auto one = whole(file), two = Engine::load(parts);
  const Tokens expected = text_of(one, with("none"), 12);
  for (const char* draft : {"none", "exit:1,k=4", "skip:attn:1;mlp:3,gamma=0,adaptive=0,k=5"}) {
    EXPECT_EQ(text_of(two, with(draft), 12), expected) << draft;
  }
  EXPECT_NE(refusal(tiny("gemma4"), "0:1,0:4").find("per-layer embeddings"), std::string::npos);
}

class StagesOfFamilies : public Stages, public testing::WithParamInterface<const char*> {};

TEST_P(StagesOfFamilies, GiveTheTextsOfOneDevice) {
  if (slow && std::string_view(GetParam()) != "gemma2")
    GTEST_SKIP() << fixtures::left_to_the_sweep << "; Gemma 2 has most of what families differ in";
  const std::vector<std::string> some{drafters[0], drafters[2], drafters[6], drafters[11]};
  EXPECT_GT(compare(tiny(GetParam()), slow ? some : drafters, 12), 0);
}

// Gemma 2 has windows, norms after sublayers and soft caps; Qwen 2 biases; Phi-3 other layouts of its tensors.
INSTANTIATE_TEST_SUITE_P(All, StagesOfFamilies, testing::Values("llama", "gemma2", "qwen2", "phi3", "lfm2", "qwen35"));

TEST_F(Stages, OfBundledModelsGiveTheTextsOfOneDevice) {
  if (slow) GTEST_SKIP() << fixtures::left_to_the_sweep;
  const std::vector<std::string> all{"none",   "asd",    "exit:7",    "exit:12,k=4", "exit:auto", "skip:", "window:4,60",
                                     "suffix", "jacobi", "lookahead", "recycle",     "ngram",     "auto"};
  const std::string models = SKIPSTONE_MODELS;
  // The layer that `exit` means is in this model alone.
  compare(models + "/skipstone-py.gguf", {"exit", "auto"}, 8);
  if (!full) return;
  for (const char* name : {"/skipstone-py.gguf", "/skipstone-py-plain.gguf"}) compare(models + name, all, 24);
}

TEST_F(Stages, DraftAheadChangesNoText) {
  const std::string file = tiny("llama");
  const auto one = whole(file);
  EngineOptions options = options_for(file, 2);
  options.devices = "0:4,0:1";
  options.transfer_microseconds = 20000;
  const auto several = Engine::load(options);
  std::uint64_t used = 0;
  std::vector<std::uint64_t> seeds{3, 0, 4};
  std::vector<const char*> drafts{"exit:4,k=3", "exit:3,k=2", "exit:4,k=3,reuse=0"};
  if (!full) seeds.resize(2);
  if (slow) seeds.resize(1), drafts.resize(1);
  for (const std::uint64_t seed : seeds) {
    const Tokens expected = text_of(one, with("none", seed), 20);
    for (const char* draft : drafts) {
      for (const bool ahead : {true, false}) {
        SessionOptions session_options = with(draft, seed);
        session_options.pipeline_drafts = ahead;
        Session session(several, session_options);
        Tokens text;
        for (const std::uint32_t turn : {1u, 2u}) {
          const speculation::Outcome outcome = session.generate(prompt_of(*several, 37, turn), 20, {});
          text.insert(text.end(), outcome.tokens.begin(), outcome.tokens.end());
          EXPECT_GT(outcome.stats.remote_seconds, 0.0);
          if (!ahead) {
            EXPECT_EQ(outcome.stats.pipelined_drafts, 0u);
          }
          used += outcome.stats.pipelined_drafts;
        }
        EXPECT_EQ(text, expected) << draft << ", seed " << seed << ", ahead " << ahead;
      }
    }
  }
  EXPECT_GT(used, 0u) << "no draft was made ahead: the test tested nothing";
}

// Its entry of ctest has both drivers' devices, the first one's first.
TEST_F(Stages, OfTwoDriversSayThatTextsMayDiffer) {
  if (!env::flag("SKIPSTONE_TEST_TWO_DRIVERS")) GTEST_SKIP() << "needs devices of two drivers: an entry of ctest of its own";
  std::vector<std::string> warnings;
  log::set_sink([&](log::Level level, std::string_view text) {
    if (level == log::Level::warning) warnings.emplace_back(text);
  });
  for (const char* family : {"llama", "gemma2"}) {
    const std::string file = tiny(family);
    for (const char* devices : {"0,1", "1,0", "0:2,1:2,0:1"}) {
      // SwiftShader compiles for every engine: without the long sweep, each order of devices with one of the families.
      if (!full && (family == std::string_view("llama")) != (devices == std::string_view("0,1"))) continue;
      EngineOptions options = options_for(file, 1);
      options.devices = devices;
      warnings.clear();
      const auto engine = Engine::load(options);
      const std::vector<StageState> stages = engine->stages();
      EXPECT_NE(stages[0].place, stages[1].place);
      ASSERT_EQ(warnings.size(), 1u) << devices;
      EXPECT_NE(warnings[0].find("different drivers, so texts may differ from those of one device"), std::string::npos) << warnings[0];
      // With and without drafts the text is the same all the same.
      for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{7}}) {
        const Tokens expected = text_of(engine, with("none", seed), 12);
        for (const char* draft : {"exit:1,k=4", "exit:3,k=5", "suffix:alpha=4,k=31,p=0", "recycle:n=11"}) {
          EXPECT_EQ(text_of(engine, with(draft, seed), 12), expected) << family << " on " << devices << ": " << draft << ", seed " << seed;
        }
      }
    }
  }
  log::set_sink({});
}

TEST_F(Stages, RowsHaveTheLogitsOfOneDevice) {
  for (const char* family : {"llama", "gemma2", "lfm2", "qwen35"}) {
    const std::string file = tiny(family);
    std::vector<std::vector<float>> logits, hidden;
    for (const std::uint32_t stages : {1u, 3u}) {
      const auto engine = Engine::load(options_for(file, stages));
      Session session(engine, with("none"));
      session.prefill(prompt_of(*engine, 50));
      logits.push_back(session.logits());
      hidden.push_back(session.hidden());
      session.generate({5}, 6, {});
      logits.push_back(session.logits());
    }
    EXPECT_EQ(logits[0], logits[2]) << family;
    EXPECT_EQ(logits[1], logits[3]) << family;
    EXPECT_EQ(hidden[0], hidden[1]) << family;
  }
}

TEST_F(Stages, ConversationsAreForkedTakenBackAndSaved) {
  const auto run = [&](const char* family, std::uint32_t stages) {
    const std::string file = tiny(family), saved = directory_.file("saved");
    const auto engine = Engine::load(options_for(file, stages));
    Session session(engine, with("exit:2,k=3"));
    Tokens text = session.generate(prompt_of(*engine, 40), 10, {}).tokens;
    const auto add = [&](Session& to, Tokens prompt) {
      const Tokens more = to.generate(prompt, 8, {}).tokens;
      text.insert(text.end(), more.begin(), more.end());
    };
    const auto fork = session.fork();
    add(*fork, {9, 8, 7});
    session.rewind(4);
    add(session, {});
    session.save(saved);
    add(session, {11});
    Session other(engine, with("none"));
    other.load(saved);
    add(other, {11});
    return text;
  };
  for (const char* family : {"gemma2", "lfm2", "qwen35"}) {
    const Tokens one = run(family, 1);
    EXPECT_EQ(run(family, 2), one) << family;
    EXPECT_EQ(run(family, 3), one) << family;
  }
}

TEST_F(Stages, PagesGrowOnAllDevices) {
  const std::string file = tiny("llama");
  const auto texts = [&](std::uint32_t stages) {
    const auto engine = Engine::load(options_for(file, stages));
    std::vector<std::unique_ptr<Session>> sessions;
    Tokens all;
    for (std::uint32_t i = 0; i < 6; ++i) {  // six contexts where there is room for one
      sessions.push_back(std::make_unique<Session>(engine, with("recycle:n=11")));
      const Tokens text = sessions.back()->generate(prompt_of(*engine, 80, i), 20, {}).tokens;
      all.insert(all.end(), text.begin(), text.end());
    }
    for (const auto& session : sessions) {
      const Tokens text = session->generate({4}, 6, {}).tokens;
      all.insert(all.end(), text.begin(), text.end());
    }
    EXPECT_GT(engine->state().passes->cache().pool(exec::MemoryKind::full).use().pages, 8u);
    return all;
  };
  EXPECT_EQ(texts(2), texts(1));
}

TEST_F(Stages, TextsSideBySideAreThoseOfOne) {
  const std::string file = tiny("llama");
  const auto engine = Engine::load(options_for(file, 2));
  const std::vector<std::string> drafts{"none", "exit:1,k=4", "recycle:n=11", "suffix"};
  std::vector<Tokens> alone, together(drafts.size());
  for (const std::string& draft : drafts) alone.push_back(text_of(engine, with(draft), 16));
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < drafts.size(); ++i) threads.emplace_back([&, i] { together[i] = text_of(engine, with(drafts[i]), 16); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(together, alone);
}

TEST_F(Stages, GenerationsGoInSteps) {
  const std::string file = tiny("llama");
  const auto engine = Engine::load(options_for(file, 2));
  for (const char* draft : {"none", "exit:1,k=4"}) {
    Session at_once(engine, with(draft)), in_steps(engine, with(draft));
    const Tokens prompt = prompt_of(*engine, 40), expected = at_once.generate(prompt, 12, {}).tokens;
    in_steps.begin(prompt, 12, {});
    std::optional<speculation::Outcome> outcome;
    while (!outcome) outcome = in_steps.step(std::chrono::microseconds(500), StepMode::wait);
    EXPECT_EQ(outcome->tokens, expected) << draft;
  }
}

TEST_F(Stages, TakeTheMemoryOfTheirLayers) {
  const auto engine = Engine::load(options_for(tiny("llama"), 3));
  const auto one = whole(tiny("llama"));
  std::uint64_t weights = 0;
  std::uint32_t next = 0;
  for (const StageState& stage : engine->stages()) {
    EXPECT_EQ(stage.begin, next);
    next = stage.end;
    weights += stage.weights;
    EXPECT_LE(stage.held, stage.weights + stage.kv + (std::uint64_t{64} << 20)) << stage.place;
  }
  EXPECT_EQ(next, engine->config().layer_count());
  EXPECT_EQ(weights, one->memory().weights);
}

TEST_F(Stages, WhatCannotBeIsRefused) {
  const std::string file = tiny("llama");
  const auto refused = [&](const std::string& devices, Code code, const std::string& part) {
    EngineOptions options = options_for(file, 1);
    options.devices = devices;
    try {
      Engine::load(options);
      ADD_FAILURE() << devices << " was taken";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << error.what();
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  };
  refused("0", Code::invalid_argument, "one device");
  refused("0,99", Code::not_found, "99");
  refused("99,0", Code::not_found, "99");
  refused("0:1,0:1", Code::invalid_argument, "gives out 2 layers");
  refused("0:1,0", Code::invalid_argument, "not all");
  refused("0,0,0,0,0,0,0,0,0,0,0,0", Code::invalid_argument, "too many");
  EngineOptions options = options_for(file, 2);
  options.memory_limit = 1 << 20;
  EXPECT_THROW(Engine::load(options), Error);
}

}  // namespace
}  // namespace skipstone::engine
