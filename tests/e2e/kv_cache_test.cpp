// What a quantised cache costs in the text: next to the half-precision cache, on the bundled model.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace skipstone::engine {
namespace {

using text::Token;

std::shared_ptr<Engine> load(KvType kv, std::uint32_t context = 512) {
  EngineOptions options;
  options.model_path = std::string(SKIPSTONE_MODELS) + "/skipstone-py.gguf";
  options.context = context;
  options.kv = kv;
  return Engine::load(options);
}

std::vector<Token> continued(const std::shared_ptr<Engine>& engine, const std::vector<Token>& prompt, std::uint32_t tokens) {
  Session session(engine, {});
  return session.generate(prompt, tokens, {}).tokens;
}

/// At how many places of `text` another token than its own is the most likely one. What follows such a place is read as a prompt, so
/// that one difference counts once.
std::uint32_t differences(const std::shared_ptr<Engine>& engine, std::vector<Token> prompt, const std::vector<Token>& text) {
  std::uint32_t count = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto rest = static_cast<std::uint32_t>(text.size() - at);
    const std::vector<Token> mine = continued(engine, prompt, rest);
    const auto first = text.begin() + static_cast<std::ptrdiff_t>(at);
    const auto agreed = std::mismatch(first, text.end(), mine.begin(), mine.end()).first;
    prompt.insert(prompt.end(), first, agreed);
    at += static_cast<std::size_t>(agreed - first);
    if (at == text.size()) break;
    ++count;
    prompt.push_back(text[at++]);
  }
  return count;
}

const char* const prompts[] = {
    "def binary_search(items, target):\n", "class Matrix:\n    def __init__(self, rows):\n        self.rows = rows\n\n    def ",
    "import os\nimport sys\n\n\ndef main(arguments):\n    \"\"\"Print the size of every file that is named.\"\"\"\n",
    "def test_reading_and_writing(tmp_path):\n    path = tmp_path / 'data.json'\n"};

// Measured: see docs/results/kv_q8_0.md. A cache that is read wrongly agrees nowhere.
TEST(KvCache, BlocksSeldomChangeTheLikeliestToken) {
  constexpr std::uint32_t tokens = 48;
  const auto half = load(KvType::f16), blocks = load(KvType::q8_0);
  std::size_t places = 0, different = 0;
  for (const char* prompt : prompts) {
    const std::vector<Token> read = half->tokenizer().encode(prompt, true, true);
    const std::vector<Token> text = continued(half, read, tokens);
    EXPECT_EQ(differences(half, read, text), 0u) << prompt;  // counts nothing where nothing differs
    different += differences(blocks, read, text);
    places += text.size();
  }
  EXPECT_GT(places, 100u);
  EXPECT_LE(different * 20, places) << different << " of " << places;
  RecordProperty("different", static_cast<int>(different));
  RecordProperty("places", static_cast<int>(places));
}

TEST(KvCache, TakesWhatThePlanSays) {
  const auto half = load(KvType::f16, 4096), blocks = load(KvType::q8_0, 4096);
  EXPECT_EQ(blocks->memory().kv * 64, half->memory().kv * 34);
  EXPECT_EQ(blocks->memory().weights, half->memory().weights);
  const Session one(half, {}), other(blocks, {});
  // Memory is taken in blocks of which up to a fifth is not used.
  EXPECT_LT(blocks->device_bytes_held() + (half->memory().kv - blocks->memory().kv) / 2, half->device_bytes_held());
}

}  // namespace
}  // namespace skipstone::engine
