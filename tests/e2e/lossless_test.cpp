// Speculation changes nothing: for every drafter the text is plain decoding's, token for token, greedy and sampled, over several turns.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/status.h"
#include "engine/engine.h"
#include "fixtures/slow_device.h"
#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_model.h"
#include "gpu/matrix_math.h"

namespace skipstone::engine {
namespace {

using text::Token;

constexpr std::uint32_t context = 256, tokens_per_turn = 20;

// Skip sets from none to nearly everything, drafts from short to as many as a verification holds, and thresholds that never or always stop.
const char* const drafters[] = {"asd",
                                "asd:c=0.9,m=1,gamma=0",
                                "asd:c=-1,rule1=0,rule2=0,k=15,gamma=0,adaptive=0",
                                "asd:n=2,m=1,k=3,gamma=0.99",
                                "asd:c=0.9,m=1,gamma=0,k=4,refresh=5",
                                "exit:1,k=4",
                                "exit:3,k=15",
                                "exit:2,k=5,gamma=0.2,adaptive=1,reuse=0",
                                "skip:attn:2,4;mlp:3,gamma=0,adaptive=0,k=7",
                                "skip:mlp:2,gamma=0,adaptive=0,k=4",  // all recurrent layers run, after another input
                                "window:2,9,k=5,gamma=0,adaptive=0"};

/// As the environment says which products decoding makes.
EngineOptions engine_options() {
  EngineOptions options;
  options.kernels = fixtures::TestDevice::get().kernels;
  options.math = fixtures::on_matrices() ? MathMode::matrix : MathMode::f32;
  return options;
}

struct Run {
  std::vector<Token> tokens;
  std::vector<float> margins;
  std::uint64_t drafted = 0, accepted = 0;
};

Run generate(const std::shared_ptr<Engine>& engine, const sample::SamplerParams& sampling, const std::string& draft,
             const std::vector<std::vector<Token>>& turns) {
  SessionOptions options;
  options.sampling = sampling;
  options.draft = draft;
  // With every other seed drafters and their verifications choose from what the device finds in the rows, plain decoding always from all of
  // it.
  options.candidates = draft != "none" && sampling.seed / 7919 % 2 == 1;
  Session session(engine, options);
  Run run;
  for (const std::vector<Token>& turn : turns) {
    const speculation::Outcome outcome = session.generate(turn, tokens_per_turn, [&](const speculation::Emitted& emitted) {
      run.margins.push_back(emitted.margin);
      return true;
    });
    run.tokens.insert(run.tokens.end(), outcome.tokens.begin(), outcome.tokens.end());
    run.drafted += outcome.stats.drafted;
    run.accepted += outcome.stats.accepted;
  }
  return run;
}

// Those that have their tokens from anywhere but the model: chains, trees, and chains of drafters.
const char* const free_drafters[] = {"lookup:k=7",
                                     "suffix:alpha=4,k=31,p=0",
                                     "jacobi:k=3",
                                     "lookahead:w=8,n=4,g=2",
                                     "suffix:min=3+asd:k=4+jacobi",
                                     "ngram",
                                     "ngram:k=5,w=4,rows=block",
                                     "recycle:n=23",
                                     "ngram:k=25,w=2,q=2,context=0+recycle"};

const bool full = fixtures::full_sweep();   // more seeds, and all drafters with each
const bool slow = fixtures::slow_device();  // greedy texts of float and Q8_0 weights, of a hybrid, a bundled model and a trained one

void expect_lossless(const std::shared_ptr<Engine>& engine, const sample::SamplerParams& sampling,
                     const std::vector<std::vector<Token>>& turns, std::uint64_t* drafted) {
  const Run plain = generate(engine, sampling, "none", turns);
  ASSERT_FALSE(plain.tokens.empty());
  const auto compare = [&](const std::string& draft) {
    const Run run = generate(engine, sampling, draft, turns);
    *drafted += run.drafted;
    if (run.tokens == plain.tokens) return;
    const auto at = static_cast<std::size_t>(
        std::mismatch(run.tokens.begin(), run.tokens.end(), plain.tokens.begin(), plain.tokens.end()).first - run.tokens.begin());
    ADD_FAILURE() << draft << ", seed " << sampling.seed << ", temperature " << sampling.temperature << ": differs at token " << at
                  << ", top-2 margin " << (at < plain.margins.size() ? plain.margins[at] : -1.0f);
  };
  // Greedy all of them; sampled one for each seed (seeds are multiples of 7919), since their many rows take their time on CPU devices.
  for (std::size_t i = 0; i < std::size(free_drafters); ++i) {
    if (sampling.temperature == 0 || sampling.seed / 7919 % std::size(free_drafters) == i) compare(free_drafters[i]);
  }
  for (std::size_t i = 0; i < std::size(drafters); ++i) {
    if (sampling.temperature == 0 || full || sampling.seed / 7919 % 2 == i % 2) compare(drafters[i]);
  }
  const model::Experts* experts = engine->config().experts();
  if (experts != nullptr && experts->used > 1) compare("experts:1,k=4,gamma=0,adaptive=0");
}

sample::SamplerParams sampled(std::uint64_t seed) {
  sample::SamplerParams params;
  params.temperature = 0.5f + 0.1f * static_cast<float>(seed % 7);
  params.top_k = seed % 2 == 0 ? 0 : 30;
  params.top_p = 0.95f;
  params.min_p = seed % 3 == 0 ? 0.02f : 0.0f;
  params.repeat_penalty = seed % 4 == 0 ? 1.15f : 1.0f;
  params.seed = seed * 7919;
  return params;
}

using fixtures::left_to_the_sweep;

void check_model(const std::string& path, const std::string& prompt, std::uint64_t seeds, const KvTypes& kv = {}) {
  EngineOptions options = engine_options();
  options.kv = kv;
  options.model_path = path;
  options.context = context;
  const auto engine = Engine::load(options);
  const text::Tokenizer& tokenizer = engine->tokenizer();
  const std::vector<std::vector<Token>> turns = {tokenizer.encode(prompt, true, false), tokenizer.encode(" And then they", false, false)};
  std::uint64_t drafted = 0;
  expect_lossless(engine, {}, turns, &drafted);
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) expect_lossless(engine, sampled(seed), turns, &drafted);
  EXPECT_GT(drafted, 0u) << "nothing was drafted: the test tested nothing";
  EXPECT_EQ(engine->validation_messages(), 0u);
}

class LosslessFormats : public testing::TestWithParam<gguf::Type> {};

TEST_P(LosslessFormats, EveryDrafterGivesPlainText) {
  // The kernels of all formats have their own tests.
  if (!full && GetParam() != gguf::Type::f32 && GetParam() != gguf::Type::q8_0) GTEST_SKIP() << left_to_the_sweep;
  const fixtures::TemporaryDirectory directory;
  fixtures::TinyConfig config;
  config.layers = 5;
  config.type = GetParam();
  const std::string path = directory.file("tiny.gguf");
  fixtures::write_tiny_model(config, path);
  check_model(path, "the quick brown fox jumps over the lazy dog again and again", full ? 2 : slow ? 0 : 1);
}

INSTANTIATE_TEST_SUITE_P(Formats, LosslessFormats,
                         testing::Values(gguf::Type::f32, gguf::Type::q8_0, gguf::Type::q4_0, gguf::Type::sparse_f16),
                         [](const auto& test) { return std::string(gguf::traits(test.param).name); });

TEST(Lossless, QuantisedCache) {
  if (slow) GTEST_SKIP() << left_to_the_sweep;
  const fixtures::TemporaryDirectory directory;
  fixtures::TinyConfig config;
  config.layers = 5;
  config.head_dim = 32;
  config.type = gguf::Type::q8_0;
  const std::string path = directory.file("tiny.gguf");
  fixtures::write_tiny_model(config, path);
  check_model(path, "the quick brown fox jumps over the lazy dog again and again", 1, KvType::q8_0);
}

class LosslessFamilies : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string_view family = GetParam();
    const bool chosen =
        family == "qwen35" || (!slow && (family == "qwen35moe" || family == "nemotron_h" || family == "gemma4" || family == "deepseek2"));
    if (!full && !chosen) GTEST_SKIP() << left_to_the_sweep;
    fixtures::TinyConfig config = family == "gemma4, experts" ? fixtures::tiny_gemma4_with_experts() : fixtures::tiny_family(family);
    config.context = context;
    fixtures::write_tiny_model(config, path_);
  }

  fixtures::TemporaryDirectory directory_;
  std::string path_ = directory_.file("tiny.gguf");
};

TEST_P(LosslessFamilies, EveryDrafterGivesPlainText) {
  check_model(path_, "the quick brown fox jumps over the lazy dog again and again", full ? 10 : slow ? 0 : 1);
}

/// Two turns of random tokens, and how they are continued.
struct RandomText {
  std::string draft;
  sample::SamplerParams sampling;
  std::vector<std::vector<Token>> turns;
};

RandomText random_text(std::mt19937& random) {
  const std::size_t which = random() % (std::size(drafters) + std::size(free_drafters));
  RandomText text{which < std::size(drafters) ? drafters[which] : free_drafters[which - std::size(drafters)], {}, {}};
  if (random() % 2 == 0) text.sampling = sampled(1 + random() % 100);
  for (const std::size_t most : {std::size_t{90}, std::size_t{40}}) {
    std::vector<Token>& turn = text.turns.emplace_back(1 + random() % most);
    for (Token& token : turn) token = static_cast<Token>(3 + random() % 110);
  }
  return text;
}

TEST_P(LosslessFamilies, InRandomCompanyOfEight) {
  if (!full && (slow || std::string_view(GetParam()) != "qwen35"))
    GTEST_SKIP() << left_to_the_sweep << " everywhere; Qwen 3.5 has records and states";
  EngineOptions options = engine_options();
  options.model_path = path_;
  options.context = context;
  const auto engine = Engine::load(options);
  std::mt19937 random(static_cast<unsigned>(GetParam()[0]));
  std::uint64_t drafted = 0;
  for (int group = 0; group < (full ? 13 : 1); ++group) {
    std::vector<RandomText> texts(8);
    for (RandomText& text : texts) text = random_text(random);
    std::vector<engine::Run> runs(texts.size());
    {
      std::vector<std::jthread> threads;
      for (std::size_t i = 0; i < texts.size(); ++i)
        threads.emplace_back([&, i] { runs[i] = generate(engine, texts[i].sampling, texts[i].draft, texts[i].turns); });
    }
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const RandomText& text = texts[i];
      EXPECT_EQ(runs[i].tokens, generate(engine, text.sampling, "none", text.turns).tokens)
          << "text " << i << " of group " << group << ", " << text.draft << ", seed " << text.sampling.seed;
      drafted += runs[i].drafted;
    }
  }
  EXPECT_GT(drafted, 0u);
  EXPECT_EQ(engine->validation_messages(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Families, LosslessFamilies,
                         testing::Values("lfm2", "qwen35", "granitehybrid", "nemotron_h", "qwen3moe", "qwen35moe", "lfm2moe",
                                         "nemotron_h_moe", "cohere2", "gemma4", "gpt-oss", "deepseek2", "gemma4, experts"));

TEST(Session, GoesOnAfterAReaderThatThrew) {
  const fixtures::TemporaryDirectory directory;
  const std::string path = directory.file("tiny.gguf");
  fixtures::write_tiny_model({}, path);
  EngineOptions options = engine_options();
  options.model_path = path;
  const auto engine = Engine::load(options);
  const std::vector<Token> prompt = engine->tokenizer().encode("one two three", true, false);
  Session whole(engine, {});
  const std::vector<Token> expected = whole.generate(prompt, 30, {}).tokens;
  for (const char* draft : {"none", "asd:c=-1,rule1=0,rule2=0,k=7,gamma=0"}) {
    SessionOptions session_options;
    session_options.draft = draft;
    Session session(engine, session_options);
    std::size_t seen = 0;
    EXPECT_THROW(session.generate(prompt, 30,
                                  [&](const speculation::Emitted&) -> bool {
                                    if (++seen == 11) throw std::runtime_error("the reader has gone");
                                    return true;
                                  }),
                 std::runtime_error);
    std::vector<Token> text(session.history().begin() + static_cast<std::ptrdiff_t>(prompt.size()), session.history().end());
    EXPECT_EQ(text.size(), 11u);
    const std::vector<Token> rest = session.generate({}, 19, {}).tokens;
    text.insert(text.end(), rest.begin(), rest.end());
    EXPECT_EQ(text, expected) << draft;
  }
}

// A document and a corpus that are the model's own text but for a few words, so that most drafts are accepted.
TEST(Lossless, DocumentAndCorpus) {
  if (slow) GTEST_SKIP() << left_to_the_sweep;
  const fixtures::TemporaryDirectory directory;
  const std::string path = directory.file("tiny.gguf");
  fixtures::write_tiny_model({}, path);
  EngineOptions options = engine_options();
  options.model_path = path;
  options.context = context;
  const auto engine = Engine::load(options);
  const std::vector<std::vector<Token>> turns = {engine->tokenizer().encode("the quick brown fox", true, false)};
  for (const sample::SamplerParams& sampling : {sample::SamplerParams{}, sampled(3)}) {
    const auto generate_with = [&](const std::string& draft) {
      SessionOptions how;
      how.sampling = sampling;
      how.draft = draft;
      how.draft_corpus = {directory.file("text")};
      Session session(engine, how);
      const speculation::Outcome outcome = session.generate(turns[0], 100, {});
      EXPECT_EQ(session.corpus().tokens > 0, draft.starts_with("suffix"));
      return std::pair(outcome.tokens, outcome.stats.accepted);
    };
    const std::vector<Token> plain = generate_with("none").first;
    std::vector<Token> document = plain;
    document[20] = document[21], document.erase(document.begin() + 60);
    text::StreamDecoder decoder(engine->tokenizer(), true);
    std::ofstream file(directory.file("text"));
    for (const Token token : document) file << decoder.push(token);
    file << decoder.finish();
    file.close();
    for (const std::string& draft : {"copy:" + directory.file("text") + ",k=7", std::string("suffix:alpha=2,min=2")}) {
      const auto [tokens, accepted] = generate_with(draft);
      EXPECT_EQ(tokens, plain) << draft;
      EXPECT_GT(accepted, 10u) << draft;
    }
  }
  EXPECT_EQ(engine->validation_messages(), 0u);
}

// The models that are shipped, with drafts that pay on them: most of a draft is accepted there, unlike with random weights.
TEST(Lossless, BundledModels) {
  std::vector<std::string> names = {"skipstone-py", "skipstone-py-plain"};
  std::vector<std::string> paying = {"exit:7,k=5",
                                     "asd",
                                     "exit:10,k=3",
                                     "asd:c=0.97,refresh=8",
                                     "skip:attn:11,13,15;mlp:12,k=4,online=0.5",
                                     "suffix:min=2+exit:7,k=3",
                                     "lookahead",
                                     "ngram",
                                     "ngram:k=6,w=5,rows=block",
                                     "recycle"};
  std::vector<sample::SamplerParams> samplings = {{}, sampled(1)};
  if (slow) names.resize(1), paying.resize(1), samplings.resize(1);
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    if (!full && name != names.front()) paying.resize(4);
    EngineOptions options = engine_options();
    options.model_path = std::string(SKIPSTONE_MODELS) + "/" + name + ".gguf";
    options.context = context;
    const auto engine = Engine::load(options);
    const std::vector<std::vector<Token>> turns = {engine->tokenizer().encode("def add(self, other):\n", true, false)};
    std::uint64_t accepted = 0;
    for (const sample::SamplerParams& sampling : samplings) {
      if (sampling.temperature > 0 && !full && name != names.front()) continue;
      const auto plain = generate(engine, sampling, "none", turns);
      for (const std::string& draft : paying) {
        const auto run = generate(engine, sampling, draft, turns);
        EXPECT_EQ(run.tokens, plain.tokens) << draft << ", temperature " << sampling.temperature;
        accepted += run.accepted;
      }
    }
    EXPECT_GT(accepted, 5u);
    EXPECT_EQ(engine->validation_messages(), 0u);
  }
}

TEST(Lossless, BundledModelWithQuantisedCache) {
  if (slow) GTEST_SKIP() << left_to_the_sweep;
  EngineOptions options = engine_options();
  options.model_path = std::string(SKIPSTONE_MODELS) + "/skipstone-py.gguf";
  options.context = context;
  options.kv = KvType::q8_0;
  const auto engine = Engine::load(options);
  const std::vector<std::vector<Token>> turns = {engine->tokenizer().encode("def add(self, other):\n", true, false)};
  const auto plain = generate(engine, {}, "none", turns);
  std::uint64_t accepted = 0;
  for (const char* draft : {"exit:7,k=5", "asd"}) {
    const auto run = generate(engine, {}, draft, turns);
    EXPECT_EQ(run.tokens, plain.tokens) << draft;
    accepted += run.accepted;
  }
  EXPECT_GT(accepted, 2u);
  EXPECT_EQ(engine->validation_messages(), 0u);
}

TEST(Engine, RefusesBlocksThatHeadsDoNotDivideInto) {
  const fixtures::TemporaryDirectory directory;
  EngineOptions options = engine_options();
  options.model_path = directory.file("tiny.gguf");
  fixtures::write_tiny_model({}, options.model_path);  // heads of 16
  const std::pair<KvTypes, const char*> refused[] = {
      {KvType::q8_0, "q8_0"}, {{KvType::q4_0, KvType::f16}, "q4_0"}, {{KvType::f32, KvType::q5_1}, "q5_1"}};
  for (const auto& [kv, name] : refused) {
    options.kv = kv;
    try {
      Engine::load(options);
      ADD_FAILURE() << name << " was loaded";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::invalid_argument);
      for (const char* part : {name, "16", "--kv"})
        EXPECT_NE(std::string_view(error.what()).find(part), std::string_view::npos) << error.what();
    }
  }
}

TEST(Lossless, StoriesGreedyAndSampled) {
  const std::string path = std::string(SKIPSTONE_SHARED_DATA) + "/models/stories260K.gguf";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no reference data at " << path;
  if (slow) GTEST_SKIP() << left_to_the_sweep;
  check_model(path, "Once upon a time there was a little", full ? 10 : slow ? 0 : 1);
}

}  // namespace
}  // namespace skipstone::engine
