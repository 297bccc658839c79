// Rounds in one submission and rounds stepped by the host: the same tokens, margins and statistics, whatever ends the text; and the same
// with both in turn.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/device_sequence.h"
#include "engine/engine_state.h"
#include "fixtures/slow_device.h"
#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_model.h"
#include "gpu/test_device.h"
#include "speculation/registry.h"

namespace skipstone::engine {
namespace {

using text::Token;

struct Conversation {
  std::string facts;  ///< tokens, whether they were drafted, margins to the last bit, stops and counts
  std::uint64_t rounds = 0, device_rounds = 0, accepted = 0;
  std::set<speculation::StopReason> stops;
};

struct Turn {
  std::vector<Token> tokens;
  std::uint32_t most = 0;
  bool ends = false;
};

Conversation converse(Engine& engine, const std::string& draft, Rounds rounds, const std::vector<Turn>& turns) {
  exec::Executor passes(*engine.state().passes);
  DeviceSequence sequence(passes, engine.config(), {.rounds = rounds});
  const auto drafter = speculation::make_drafter(draft);
  speculation::ModelFacts facts{.layers = engine.config().layer_count()};
  facts.heads = static_cast<std::uint32_t>(engine.config().prediction_layers.size());
  drafter->attach(facts);
  speculation::Limits limits;
  Conversation all;
  std::vector<Token> text;
  for (const Turn& turn : turns) {
    text.insert(text.end(), turn.tokens.begin(), turn.tokens.end());
    limits.max_tokens = turn.most;
    // Random weights end no text by themselves: some of their tokens do it here, in the middle of drafts too.
    limits.ends_generation = [&](Token token) { return turn.ends && token % 13 == 3; };
    const speculation::Outcome outcome = speculation::generate(sequence, *drafter, text, limits, [&](const speculation::Emitted& emitted) {
      all.facts += fmt::format(" {}{}:{:a}", emitted.drafted ? "d" : "m", emitted.token, emitted.margin);
      return true;
    });
    text.insert(text.end(), outcome.tokens.begin(), outcome.tokens.end());
    const speculation::Stats& s = outcome.stats;
    all.facts += fmt::format(" | {} {} rounds {}/{}", to_string(outcome.stop), s.rounds, s.accepted, s.drafted);
    for (const speculation::DraftPosition& at : s.by_position) all.facts += fmt::format(" {}/{}", at.accepted, at.drafted);
    all.rounds += s.rounds;
    all.device_rounds += s.device_rounds;
    all.accepted += s.accepted;
    all.stops.insert(outcome.stop);
  }
  return all;
}

TEST(Rounds, GiveOneTextAndOneStatisticWhoeverStepsThem) {
  const fixtures::TemporaryDirectory directory;
  const std::string path = directory.file("tiny.gguf");
  fixtures::TinyConfig config;
  config.layers = 5;
  config.tied = false;  // a text that does not repeat one token
  config.type = gguf::Type::q8_0;
  fixtures::write_tiny_model(config, path);
  EngineOptions options;
  options.kernels = fixtures::TestDevice::get().kernels;
  options.model_path = path;
  options.context = 120;
  const auto engine = Engine::load(options);
  const auto encode = [&](const char* piece, bool first) { return engine->tokenizer().encode(piece, first, false); };
  const std::vector<Turn> turns = {{encode("the quick brown fox", true), 30, true},
                                   {encode(" and then", false), 2},
                                   {encode(" they", false), 30, true},
                                   {encode(" saw", false), 1000}};
  std::vector<const char*> drafters = {"exit:4,k=15",
                                       "exit:2,k=5,gamma=0.2,adaptive=1,reuse=0",
                                       "skip:attn:2,4;mlp:3,gamma=0.01,k=7",
                                       "asd:n=2,m=1,gamma=0",
                                       "exit:4,k=1,reuse=0",
                                       "exit:4,k=2,gamma=0.99",
                                       "asd:c=-1,rule1=0,rule2=0,k=15,gamma=0,adaptive=0"};
  if (fixtures::slow_device()) drafters.resize(3);
  std::uint64_t accepted = 0;
  std::set<speculation::StopReason> stops;
  for (const char* draft : drafters) {
    SCOPED_TRACE(draft);
    const Conversation host = converse(*engine, draft, Rounds::host, turns), device = converse(*engine, draft, Rounds::device, turns),
                       both = converse(*engine, draft, Rounds::automatic, turns);
    EXPECT_EQ(host.device_rounds, 0u);
    EXPECT_GT(device.device_rounds, 0u);
    EXPECT_GT(both.device_rounds, 0u);
    EXPECT_LT(both.device_rounds, both.rounds);
    EXPECT_EQ(device.facts, host.facts);
    EXPECT_EQ(both.facts, host.facts);
    accepted += host.accepted;
    stops.insert(host.stops.begin(), host.stops.end());
  }
  EXPECT_GT(accepted, 10u);
  EXPECT_EQ(stops.size(), 3u) << "of end token, most tokens and full context one did not come up";
  EXPECT_EQ(engine->validation_messages(), 0u);
}

// Drafts leave records that the verification replays or writes again, and only it leaves states.
TEST(Rounds, OfRecurrentLayersGiveOneTextWhoeverStepsThem) {
  for (const char* family : {"lfm2", "qwen35", "granitehybrid"}) {
    if (fixtures::slow_device() && std::string_view(family) != "qwen35") continue;
    SCOPED_TRACE(family);
    const fixtures::TemporaryDirectory directory;
    EngineOptions options;
    options.kernels = fixtures::TestDevice::get().kernels;
    options.model_path = directory.file("tiny.gguf");
    options.context = 120;
    fixtures::TinyConfig config = fixtures::tiny_family(family);
    const bool head = std::string_view(family) == "qwen35";
    if (head) config.prediction_layers = 1;
    fixtures::write_tiny_model(config, options.model_path);
    const auto engine = Engine::load(options);
    const std::vector<Turn> turns = {{engine->tokenizer().encode("the quick brown fox", true, false), 30},
                                     {engine->tokenizer().encode(" and then", false, false), 40}};
    for (const char* draft : {"exit:4,k=15", "exit:2,k=5,gamma=0.2,adaptive=1,reuse=0", "skip:attn:1,3;mlp:3,gamma=0.01,k=7", "mtp:k=3"}) {
      if (std::string_view(draft) == "mtp:k=3" && !head) continue;
      SCOPED_TRACE(draft);
      const Conversation host = converse(*engine, draft, Rounds::host, turns), device = converse(*engine, draft, Rounds::device, turns),
                         both = converse(*engine, draft, Rounds::automatic, turns);
      EXPECT_GT(device.device_rounds, 0u);
      EXPECT_EQ(device.facts, host.facts);
      EXPECT_EQ(both.facts, host.facts);
    }
    EXPECT_EQ(engine->validation_messages(), 0u);
  }
}

// A layer of plain decoding reads as many experts as its row chooses; one of a verification at most as many as its rows do.
TEST(Rounds, ExpertsThatAreReadAreCounted) {
  const fixtures::TemporaryDirectory directory;
  EngineOptions options;
  options.model_path = directory.file("tiny.gguf");
  const fixtures::TinyConfig config = fixtures::tiny_family("qwen3moe");
  fixtures::write_tiny_model(config, options.model_path);
  const auto engine = Engine::load(options);
  const std::vector<Token> prompt = engine->tokenizer().encode("the quick brown fox", true, false);
  const auto experts_of = [&](const char* draft, Rounds rounds) {
    SessionOptions session;
    session.draft = draft;
    session.rounds = rounds;
    return Session(engine, session).generate(prompt, 20, {}).stats.experts;
  };
  const exec::ExpertUse plain = experts_of("none", Rounds::automatic);
  EXPECT_EQ(plain.layers, std::uint64_t{19} * config.layers) << "the first token is the prompt's";
  EXPECT_EQ(plain.choices, 2 * plain.layers);
  EXPECT_EQ(plain.distinct, plain.choices);
  const exec::ExpertUse host = experts_of("exit:2,k=5,reuse=0", Rounds::host), device = experts_of("exit:2,k=5,reuse=0", Rounds::device);
  EXPECT_GT(host.choices, 2 * host.layers) << "several rows";
  EXPECT_LT(host.distinct, host.choices) << "six experts for the choices of several rows";
  EXPECT_GE(host.distinct, 2 * host.layers);
  EXPECT_EQ(device.layers, host.layers);
  EXPECT_EQ(device.distinct, host.distinct);
  EXPECT_EQ(device.choices, host.choices);
}

TEST(Rounds, ASamplerStaysWithTheHost) {
  const fixtures::TemporaryDirectory directory;
  const std::string path = directory.file("tiny.gguf");
  fixtures::write_tiny_model({}, path);
  EngineOptions options;
  options.kernels = fixtures::TestDevice::get().kernels;
  options.model_path = path;
  const auto engine = Engine::load(options);
  SessionOptions session;
  session.sampling.temperature = 0.8f;
  session.draft = "exit:1,k=3";
  session.rounds = Rounds::device;
  const speculation::Outcome outcome = Session(engine, session).generate(engine->tokenizer().encode("one two", true, false), 10, {});
  EXPECT_EQ(outcome.stats.device_rounds, 0u);
  EXPECT_GT(outcome.stats.drafted, 0u);
}

}  // namespace
}  // namespace skipstone::engine
