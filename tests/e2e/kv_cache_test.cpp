// What a quantised cache costs in the text, next to the half-precision cache on the bundled model; and that drafts change no text of any
// cache.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "fixtures/slow_device.h"
#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_model.h"
#include "gguf/gguf.h"
#include "gpu/test_device.h"
#include "model/config.h"

namespace skipstone::engine {
namespace {

using text::Token;

const std::string bundled_model = std::string(SKIPSTONE_MODELS) + "/skipstone-py.gguf";

std::uint64_t planned_bytes(const std::string& path, std::uint32_t context, const KvTypes& kv) {
  const gguf::File file = gguf::File::open(path);
  return plan_memory(file, model::Config::from(file), context, kv).kv;
}

std::shared_ptr<Engine> load(const KvTypes& kv, std::uint32_t context = 512,
                             const std::shared_ptr<kernels::Library>& kernels = fixtures::TestDevice::get().kernels) {
  EngineOptions options;
  options.kernels = kernels;
  options.model_path = bundled_model;
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
  const auto half = load(KvType::f16, 4096, nullptr), blocks = load(KvType::q8_0, 4096, nullptr);  // a device each, which counts
  EXPECT_EQ(blocks->memory().kv * 64, half->memory().kv * 34);
  EXPECT_EQ(planned_bytes(bundled_model, 4096, {KvType::q8_0, KvType::q4_0}) * 64, half->memory().kv * 26);
  EXPECT_EQ(blocks->memory().weights, half->memory().weights);
  const Session one(half, {}), other(blocks, {});
  // Memory is taken in blocks of which up to a fifth is not used.
  EXPECT_LT(blocks->device_bytes_held() + (half->memory().kv - blocks->memory().kv) / 2, half->device_bytes_held());
}

/// A text of `tokens` tokens after `prompt`, and how many of them were drafted and accepted.
std::pair<std::vector<Token>, std::uint64_t> drafted_text(const std::shared_ptr<Engine>& engine, const sample::SamplerParams& sampling,
                                                          const std::string& draft, const std::vector<Token>& prompt,
                                                          std::uint32_t tokens) {
  SessionOptions options;
  options.sampling = sampling;
  options.draft = draft;
  Session session(engine, options);
  const speculation::Outcome outcome = session.generate(prompt, tokens, {});
  return {outcome.tokens, outcome.stats.accepted};
}

TEST(KvCache, DraftsChangeNoTextWhateverTheTypesOfKeysAndValues) {
  std::vector<KvTypes> caches = {{KvType::q4_0, KvType::q4_0}, {KvType::q8_0, KvType::q4_0}, {KvType::f16, KvType::q5_1}};
  if (fixtures::full_sweep()) {
    constexpr KvType types[] = {KvType::f32, KvType::f16, KvType::q8_0, KvType::q4_0, KvType::q5_1};
    caches.clear();
    for (const KvType k : types) {
      for (const KvType v : types) caches.emplace_back(k, v);
    }
  }
  if (fixtures::slow_device()) caches.erase(caches.begin() + 1, caches.end());
  sample::SamplerParams seeded;
  seeded.temperature = 0.7f;
  seeded.seed = 11;
  for (const KvTypes& kv : caches) {
    const auto engine = load(kv);
    const std::string name = to_string(engine->memory().kv_format);
    const std::vector<Token> prompt = engine->tokenizer().encode(prompts[1], true, true);
    std::uint64_t accepted = 0;
    for (const sample::SamplerParams& sampling : {sample::SamplerParams{}, seeded}) {
      const auto [plain, none] = drafted_text(engine, sampling, "none", prompt, 24);
      for (const char* draft : {"exit:7,k=5", "asd", "ngram"}) {  // chains of the model's own layers, and trees
        const auto [tokens, taken] = drafted_text(engine, sampling, draft, prompt, 24);
        EXPECT_EQ(tokens, plain) << name << ", " << draft << ", temperature " << sampling.temperature;
        accepted += taken;
      }
    }
    EXPECT_GT(accepted, 5u) << name << ": nothing was drafted";
    EXPECT_EQ(engine->validation_messages(), 0u);
  }
}

// In the sweep 64k tokens, else 4k: of a small model, whose heads fill whole words of scales.
TEST(KvCache, ALongTextIsTheSameWithDraftsAndTakesLittleMoreThanAQuarter) {
  const std::uint32_t context = fixtures::full_sweep() ? 65536 : fixtures::slow_device() ? 1024 : 4096;
  const fixtures::TemporaryDirectory directory;
  EngineOptions options;
  options.kernels = fixtures::TestDevice::get().kernels;
  options.model_path = directory.file("tiny.gguf");
  fixtures::TinyConfig tiny;
  tiny.layers = 2;
  tiny.head_dim = 64;
  tiny.context = context;
  fixtures::write_tiny_model(tiny, options.model_path);
  options.context = context;
  options.kv = KvType::q4_0;
  options.prefixes = PrefixMode::exact;  // the prompt is read once
  const auto engine = Engine::load(options);
  EXPECT_EQ(engine->memory().kv * 64, planned_bytes(options.model_path, context, KvType::f16) * 18);  // 4.5 bits of 16
  std::vector<Token> prompt;
  for (std::uint32_t i = 0; i < context - 40; ++i) prompt.push_back(static_cast<Token>(5 + i * i % 97 % 40));
  const std::vector<Token> plain = drafted_text(engine, {}, "none", prompt, 32).first;
  std::uint64_t accepted = 0;
  for (const char* draft : {"exit:1,k=5", "lookup:k=7", "ngram"}) {
    const auto [tokens, taken] = drafted_text(engine, {}, draft, prompt, 32);
    EXPECT_EQ(tokens, plain) << draft;
    accepted += taken;
  }
  EXPECT_GT(accepted, 0u) << "nothing was drafted";
}

}  // namespace
}  // namespace skipstone::engine
