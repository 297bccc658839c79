// Files of the cache folder, damaged: each is ignored and replaced, and the text stays the same. On the stub driver, which makes a start
// cheap.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>

#include "faults/stub_driver.h"
#include "fixtures/tiny_checkpoint.h"
#include "fixtures/tiny_model.h"
#include "fuzz/mutator.h"
#include "skipstone/skipstone_experimental.hpp"

namespace skipstone::faults {
namespace {

namespace fs = std::filesystem;

/// Everything that reads the cache folder: pipelines and choices at the start, costs, the bigram table. What it says.
std::string use_all_caches(const std::string& model) {
  skipstone_engine_params params = skipstone::engine_params();
  params.model_path = model.c_str();
  const Engine engine(params);
  std::string said = std::to_string(costs(engine).size() > 0);
  skipstone_session_params with_bigrams = skipstone::session_params();
  with_bigrams.draft = "ngram";
  Session session(engine, with_bigrams);
  session.generate({1, 300, 301}, 6);
  for (const skipstone_token token : session.tokens()) said += " " + std::to_string(token);
  return said;
}

std::map<std::string, std::string> files_of(const std::string& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::directory_iterator(folder)) files[entry.path().string()] = fixtures::bytes_of(entry.path().string());
  return files;
}

TEST(CacheFiles, AreIgnoredWhereTheyAreDamaged) {
  skipstone_set_log(nullptr, nullptr);
  StubDriver driver;
  const fixtures::TemporaryDirectory folder;
  const std::string model = folder.file("tiny.gguf");
  fixtures::write_tiny_model({.layers = 2, .dim = 32, .heads = 2, .kv_heads = 1, .ffn = 64, .context = 64}, model);
  const std::string expected = use_all_caches(model);
  const auto sound = files_of(driver.cache());
  ASSERT_GE(sound.size(), 3u);  // pipelines, costs, bigrams
  const std::uint64_t each = std::getenv("SKIPSTONE_FULL_TESTS") != nullptr ? 300 : 30;
  for (const auto& [path, bytes] : sound) {
    const fuzz::Kind kind = path.ends_with(".json") ? fuzz::Kind::json : fuzz::Kind::words;
    for (std::uint64_t seed = 0; seed < each; ++seed) {
      fixtures::write_text(path, fuzz::mutate(kind, bytes, seed));
      EXPECT_EQ(use_all_caches(model), expected) << path << ", seed " << seed;
      ASSERT_FALSE(testing::Test::HasFailure());
    }
    fixtures::write_text(path, "damaged");
    use_all_caches(model);
    EXPECT_NE(fixtures::bytes_of(path), "damaged") << path << " was not replaced";
  }
}

}  // namespace
}  // namespace skipstone::faults
