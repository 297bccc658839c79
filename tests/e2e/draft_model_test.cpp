// Two-model speculation: the text is plain decoding's, the second model reads what was accepted, and one that does not fit is refused.
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "engine/engine.h"
#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_model.h"
#include "gpu/test_device.h"

namespace skipstone::engine {
namespace {

using text::Token;

constexpr std::uint32_t context = 256, tokens_per_turn = 30;

struct Result {
  std::vector<Token> tokens;
  std::uint64_t drafted = 0, accepted = 0;
};

Result generate(const std::shared_ptr<Engine>& engine, const sample::SamplerParams& sampling, const std::string& draft,
                const std::vector<std::vector<Token>>& turns, sample::Verification verification = sample::Verification::coupled) {
  SessionOptions options;
  options.sampling = sampling;
  options.draft = draft;
  options.verification = verification;
  Session session(engine, options);
  Result result;
  for (const std::vector<Token>& turn : turns) {
    const speculation::Outcome outcome = session.generate(turn, tokens_per_turn, {});
    result.tokens.insert(result.tokens.end(), outcome.tokens.begin(), outcome.tokens.end());
    result.drafted += outcome.stats.drafted;
    result.accepted += outcome.stats.accepted;
  }
  return result;
}

sample::SamplerParams sampled(std::uint64_t seed, float penalty) {
  sample::SamplerParams params;
  params.temperature = 0.8f;
  params.repeat_penalty = penalty;
  params.seed = seed;
  return params;
}

/// A model, a smaller one of the same vocabulary, and the model's engine.
class SecondModel : public testing::Test {
 protected:
  SecondModel() {
    fixtures::TinyConfig config;
    config.layers = 5;
    config.type = gguf::Type::q8_0;
    fixtures::write_tiny_model(config, own);
    config.layers = 2;
    config.dim = 32;
    config.heads = 2;
    config.kv_heads = 1;
    config.seed = 2;
    fixtures::write_tiny_model(config, small);
    EngineOptions options;
    options.kernels = fixtures::TestDevice::get().kernels;
    options.model_path = own;
    options.context = context;
    engine = Engine::load(options);
    turns = {engine->tokenizer().encode("the quick brown fox jumps over the lazy dog", true, false),
             engine->tokenizer().encode(" And then they", false, false)};
  }

  fixtures::TemporaryDirectory directory;
  const std::string own = directory.file("own.gguf"), small = directory.file("small.gguf");
  std::shared_ptr<Engine> engine;
  std::vector<std::vector<Token>> turns;
};

TEST_F(SecondModel, GivesPlainText) {
  for (const sample::SamplerParams& sampling : {sample::SamplerParams{}, sampled(2, 1.0f), sampled(4, 1.15f)}) {
    const Result plain = generate(engine, sampling, "none", turns);
    for (const std::string& draft : {"model:" + small + ",k=4,gamma=0,adaptive=0", "model:" + own + ",k=15",
                                     "suffix:min=4+model:" + small + "+model:" + own + ",gamma=0", "lookup:min=2+model:" + own + ",k=5"}) {
      const Result run = generate(engine, sampling, draft, turns);
      EXPECT_EQ(run.tokens, plain.tokens) << draft << ", temperature " << sampling.temperature;
      EXPECT_GT(run.drafted, 0u) << draft;
    }
    // A draft model that is the model itself agrees with it, if it reads the same text: after rejections and in a second turn as well.
    const Result itself = generate(engine, sampling, "model:" + own + ",k=5,gamma=0,adaptive=0", turns);
    EXPECT_GE(itself.accepted, 0.9 * static_cast<double>(itself.drafted)) << "temperature " << sampling.temperature;
  }
  EXPECT_EQ(engine->validation_messages(), 0u);
}

TEST_F(SecondModel, IsJudgedByItsOwnDistributionWhereDraftsMayBeRejected) {
  const std::string draft = "model:" + own + ",k=5,gamma=0,adaptive=0";
  const Result run = generate(engine, sampled(3, 1.0f), draft, turns, sample::Verification::rejection);
  EXPECT_GE(run.accepted, 0.9 * static_cast<double>(run.drafted));  // p = q but for roundings: min(1, p / q) is 1
  EXPECT_EQ(run.tokens, generate(engine, sampled(3, 1.0f), draft, turns, sample::Verification::rejection).tokens);
  const Result other =
      generate(engine, sampled(3, 1.0f), "model:" + small + ",k=5,gamma=0,adaptive=0", turns, sample::Verification::rejection);
  EXPECT_LT(other.accepted, other.drafted);
}

TEST_F(SecondModel, TakesMemoryThatIsReportedAndGivenBack) {
  const std::uint64_t alone = engine->device_bytes_held();
  {
    SessionOptions options;
    options.draft = "model:" + small;
    const Session session(engine, options);
    EXPECT_GT(engine->device_bytes_held(), alone);
  }
  SessionOptions options;
  options.draft = "none";
  const Session plain(engine, options);
  EXPECT_LT(engine->device_bytes_held(), alone + engine->memory().total());
}

TEST_F(SecondModel, HasToHaveTheSameVocabularyAndContext) {
  const auto error_of = [&](const std::string& file) {
    SessionOptions options;
    options.draft = "model:" + file;
    try {
      const Session session(engine, options);
    } catch (const Error& error) {
      return std::pair(error.code(), std::string(error.what()));
    }
    return std::pair(Code::ok, std::string());
  };
  const auto [missing, why] = error_of(directory.file("none.gguf"));
  EXPECT_EQ(missing, Code::bad_file);
  EXPECT_EQ(why.rfind("drafter model: ", 0), 0u) << why;

  const std::string other = directory.file("other.gguf");
  fixtures::TinyConfig config;
  config.vocab = fixtures::tiny_vocabulary_size() + 32;
  fixtures::write_tiny_model(config, other);
  EXPECT_EQ(error_of(other).first, Code::invalid_argument);
  EXPECT_NE(error_of(other).second.find("has another vocabulary: " + std::to_string(config.vocab) + " tokens"), std::string::npos)
      << error_of(other).second;

  std::string bytes = fixtures::bytes_of(small);
  const std::size_t at = bytes.find("\xE2\x96\x81the");
  ASSERT_NE(at, std::string::npos);
  bytes[at + 3] = 'T';
  std::ofstream(other, std::ios::binary) << bytes;
  EXPECT_EQ(error_of(other).first, Code::invalid_argument);
  EXPECT_NE(error_of(other).second.find("' of type 1 there, and '"), std::string::npos) << error_of(other).second;

  config = {};
  config.context = context / 2;
  fixtures::write_tiny_model(config, other);
  EXPECT_EQ(error_of(other).second, "drafter model: '" + other +
                                        "' was trained for texts of 128 tokens, and the context is 256; ask for a smaller one (--ctx 128)");
  EXPECT_EQ(error_of(small).first, Code::ok);
}

}  // namespace
}  // namespace skipstone::engine
