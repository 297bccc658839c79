// A model's bigram table: what the reference says after every single token; made once, kept, made again where its file is damaged.
#include "engine/bigram_table.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/env.h"
#include "fixtures/system.h"
#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_model.h"
#include "gpu/test_device.h"
#include "ref/model.h"
#include "speculation/bigrams.h"

namespace skipstone::engine {
namespace {

class BigramTable : public testing::Test {
 protected:
  BigramTable() {
    fixtures::write_tiny_model({.layers = 2}, path());
    fixtures::set_variable("SKIPSTONE_CACHE", directory_.file("cache"));
  }
  ~BigramTable() override {
    if (cache_) {
      fixtures::set_variable("SKIPSTONE_CACHE", *cache_);
    } else {
      fixtures::unset_variable("SKIPSTONE_CACHE");
    }
  }

  std::string path() const { return directory_.file("tiny.gguf"); }
  std::shared_ptr<Engine> load() const {
    EngineOptions options;
    options.kernels = fixtures::TestDevice::get().kernels;
    options.model_path = path();
    options.kv = KvType::f32;
    return Engine::load(options);
  }
  /// The table of an engine that has not asked for it yet.
  std::shared_ptr<const speculation::Bigrams> table() {
    const auto engine = load();
    steps_ = 0;
    const auto count = [this](const std::string& stage, double) { steps_ += stage == "making bigram table" ? 1 : 0; };
    auto bigrams = bigrams_of(engine->state(), count);
    EXPECT_EQ(bigrams_of(engine->state(), {}), bigrams) << "the engine keeps it";
    EXPECT_EQ(engine->validation_messages(), 0u);
    return bigrams;
  }
  std::vector<std::string> files() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(directory_.file("cache"))) {
      if (entry.path().string().find(".bigrams") != std::string::npos) found.push_back(entry.path());
    }
    return found;
  }

  fixtures::TemporaryDirectory directory_;
  const std::optional<std::string> cache_ = env::get("SKIPSTONE_CACHE");
  std::size_t steps_ = 0;
};

TEST_F(BigramTable, IsWhatTheReferenceSaysBehindEveryToken) {
  const auto bigrams = table();
  EXPECT_GT(steps_, 5u);
  const gguf::File file = gguf::File::open(path());
  const ref::Model oracle(file, KvFormat::f32);
  const std::uint32_t vocabulary = oracle.config().vocabulary;
  ASSERT_EQ(bigrams->vocabulary(), vocabulary);
  ASSERT_EQ(bigrams->width(), 25u);
  for (std::uint32_t token = 0; token < vocabulary; ++token) {
    ref::Sequence text = oracle.new_sequence();
    const std::vector<std::int32_t> tokens = {static_cast<std::int32_t>(token)};
    const std::vector<float> logits = oracle.forward(text, tokens, 0, exec::LayerPlan::full(oracle.config().layer_count())).logits[0];
    const auto after = bigrams->after(tokens[0]);
    std::set<speculation::Token> listed(after.begin(), after.end());
    ASSERT_EQ(listed.size(), after.size()) << "a token stands twice behind " << token;
    const float tolerance = 2e-5f * std::abs(*std::ranges::max_element(logits, {}, [](float logit) { return std::abs(logit); }));
    float last = std::numeric_limits<float>::infinity();
    for (const speculation::Token next : after) {
      const float logit = logits.at(static_cast<std::size_t>(next));
      ASSERT_LE(logit, last + tolerance) << "behind " << token;
      last = std::min(last, logit);
    }
    for (std::uint32_t other = 0; other < vocabulary; ++other) {
      if (!listed.contains(static_cast<speculation::Token>(other))) {
        ASSERT_LE(logits[other], last + tolerance) << other << " is missing behind " << token;
      }
    }
  }
}

TEST_F(BigramTable, IsMadeOnceAndAgainWhereItsFileIsDamaged) {
  const auto first = table();
  EXPECT_GT(steps_, 0u);
  ASSERT_EQ(files().size(), 1u) << "and nothing half-written beside it";
  const auto second = table();
  EXPECT_EQ(steps_, 0u) << "it is in the cache";
  EXPECT_TRUE(std::ranges::equal(first->all(), second->all()));

  std::ifstream in(files()[0], std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(in), {}};
  EXPECT_GT(whole.size(), std::size_t{100} * first->vocabulary());
  std::string changed = whole, version = whole, model = whole;
  changed[whole.size() / 2] ^= 1;
  version[8] ^= 1;
  model[24] ^= 1;
  const BigramFile file(directory_.file("cache"), load()->model_fingerprint(), first->vocabulary());
  ASSERT_EQ(file.path(), files()[0]);
  ASSERT_NE(file.read(), nullptr);
  for (const std::string& bad : {version, model, whole.substr(0, whole.size() - 1), whole + "x", std::string(), changed}) {
    std::ofstream(files()[0], std::ios::binary | std::ios::trunc) << bad;
    EXPECT_EQ(file.read(), nullptr) << "of " << bad.size() << " bytes";
  }
  EXPECT_TRUE(std::ranges::equal(first->all(), table()->all()));
  EXPECT_GT(steps_, 0u) << "a damaged file is as if it were not there";
  std::ifstream again(files()[0], std::ios::binary);
  EXPECT_EQ(whole, std::string(std::istreambuf_iterator<char>(again), {}));
}

// Of a vocabulary of hundreds of thousands of tokens.
TEST_F(BigramTable, IsCutOffAtItsLimits) {
  const auto whole = table();
  const auto engine = load();
  exec::Executor passes(*engine->state().passes);
  const speculation::Bigrams few = make_bigrams(passes, engine->state().model->config, {.tokens = 40}, {});
  ASSERT_EQ(few.vocabulary(), 40u);
  EXPECT_TRUE(std::ranges::equal(few.all(), whole->all().first(few.all().size())));
  EXPECT_FALSE(few.after(39).empty());
  EXPECT_TRUE(few.after(40).empty());
  EXPECT_EQ(make_bigrams(passes, engine->state().model->config, {.time = std::chrono::seconds(0)}, {}).vocabulary(), 32u) << "one pass";
  const BigramFile file(directory_.file("cache"), engine->model_fingerprint(), whole->vocabulary());
  file.write(few);
  const auto read = file.read();
  ASSERT_NE(read, nullptr);
  EXPECT_TRUE(std::ranges::equal(read->all(), few.all()));
}

// The embeddings as the device has them are the file's, so the ranking is that of the file.
TEST_F(BigramTable, UnigramsComeFromTheEmbeddings) {
  const auto engine = load();
  const auto unigrams = unigrams_of(engine->state(), {});
  EXPECT_EQ(unigrams_of(engine->state(), {}), unigrams);
  const ref::Model oracle(gguf::File::open(path()), KvFormat::f32);
  exec::LayerPlan none = exec::LayerPlan::full(oracle.config().layer_count());
  none.end = 0;
  std::vector<float> rows;
  const auto read = [&](std::uint32_t first, std::uint32_t count) {
    rows.clear();
    for (std::uint32_t i = 0; i < count; ++i) {
      ref::Sequence text = oracle.new_sequence();
      const std::vector<std::int32_t> token = {static_cast<std::int32_t>(first + i)};
      const auto hidden = oracle.forward(text, token, 0, none).hidden[0];
      rows.insert(rows.end(), hidden.begin(), hidden.end());
    }
    return std::span<const float>(rows);
  };
  EXPECT_EQ(unigrams, speculation::unigram_ranking(oracle.config().vocabulary, oracle.config().width, 25, read, {}));
}

TEST_F(BigramTable, IsMadeWithoutACacheToo) {
  const auto first = table();
  std::ofstream(directory_.file("file")) << "no folder";
  fixtures::set_variable("SKIPSTONE_CACHE", directory_.file("file") + "/cache");
  EXPECT_TRUE(std::ranges::equal(first->all(), table()->all()));
  EXPECT_GT(steps_, 0u);
}

}  // namespace
}  // namespace skipstone::engine
