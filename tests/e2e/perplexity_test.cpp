// What decoding on matrix units and quantised caches cost in precision: the perplexity of the bundled models on text that they were not
// trained on, by passes of 16 rows, against that of products in floats and of a cache of halves.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "engine/engine_state.h"
#include "fixtures/slow_device.h"
#include "gpu/matrix_math.h"
#include "json/json.h"
#include "json/parse_json.h"

namespace skipstone::engine {
namespace {

using text::Token;

constexpr std::uint32_t context = 512, rows = 16;

std::string read_prompts() {
  std::ifstream file(std::string(SKIPSTONE_MODELS) + "/prompts/code_editing.jsonl");
  std::string all, line;
  while (std::getline(file, line)) all += Json::parse(line).at("prompt").get<std::string>() + "\n";
  return all;
}

std::shared_ptr<Engine> load(const std::string& name, MathMode math, const KvTypes& kv = {}) {
  EngineOptions options;
  options.kernels = fixtures::TestDevice::get().kernels;
  options.model_path = std::string(SKIPSTONE_MODELS) + "/" + name + ".gguf";
  options.context = context;
  options.math = math;
  options.kv = kv;
  return Engine::load(options);
}

double negative_log_likelihood(std::span<const float> logits, Token next) {
  const double largest = static_cast<double>(*std::ranges::max_element(logits));
  double sum = 0.0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - largest);
  return std::log(sum) + largest - static_cast<double>(logits[static_cast<std::size_t>(next)]);
}

/// Over texts of a context each; every token but the first of each is predicted.
double perplexity(const Engine::State& state, const std::vector<Token>& tokens) {
  exec::Executor passes(*state.passes);
  double sum = 0.0;
  std::size_t predicted = 0;
  for (std::size_t first = 0; first + 1 < tokens.size(); first += context) {
    const auto text = std::span(tokens).subspan(first, std::min<std::size_t>(context, tokens.size() - first));
    for (std::size_t base = 0; base + 1 < text.size(); base += rows) {
      const auto piece = text.subspan(base, std::min<std::size_t>(rows, text.size() - base));
      passes.run({.layers = exec::LayerPlan::full(state.model->config.layer_count()), .bucket = rows, .output = exec::Output::logits},
                 {.tokens = piece, .base = static_cast<std::uint32_t>(base)});
      for (std::size_t row = 0; row < piece.size() && base + row + 1 < text.size(); ++row, ++predicted) {
        sum += negative_log_likelihood(passes.logits(static_cast<std::uint32_t>(row)), text[base + row + 1]);
      }
    }
    passes.pages().rollback(0);
  }
  return std::exp(sum / static_cast<double>(predicted));
}

TEST(Perplexity, OnMatrixUnitsIsThatOfFloats) {
  if (!fixtures::on_matrices()) GTEST_SKIP() << "of the variant `matrix`";
  for (const char* name : {"skipstone-py", "skipstone-py-plain"}) {
    const auto floats = load(name, MathMode::f32), matrix = load(name, MathMode::matrix);
    const std::vector<Token> tokens = floats->tokenizer().encode(read_prompts(), true, false);
    ASSERT_GT(tokens.size(), 2000u);
    const double in_floats = perplexity(floats->state(), tokens), on_matrices = perplexity(matrix->state(), tokens);
    fmt::print("{}: {} tokens, perplexity {:.5f} in floats, {:.5f} on matrix units ({:+.4f} %)\n", name, tokens.size(), in_floats,
               on_matrices, 100 * (on_matrices / in_floats - 1));
    EXPECT_NEAR(on_matrices / in_floats, 1.0, 1e-3) << name;
    EXPECT_NE(on_matrices, in_floats) << "the products are the same ones";
  }
}

double perplexity_with(const KvTypes& kv) {
  const auto engine = load("skipstone-py", MathMode::f32, kv);
  return perplexity(engine->state(), engine->tokenizer().encode(read_prompts(), true, false));
}

class PerplexityOfCaches : public testing::TestWithParam<std::tuple<KvType, KvType>> {};

// docs/results/kv_types.md has the numbers.
TEST_P(PerplexityOfCaches, IsNearThatOfHalves) {
  if (!fixtures::full_sweep() || fixtures::on_matrices()) GTEST_SKIP() << "left to the long sweep (SKIPSTONE_FULL_TESTS=1)";
  static const double in_halves = perplexity_with(KvType::f16);
  const auto [k, v] = GetParam();
  const double own = perplexity_with({k, v});
  fmt::print("perplexity {:.4f}, of f16 {:.4f} ({:+.2f} %)\n", own, in_halves, 100 * (own / in_halves - 1));
  EXPECT_NEAR(own / in_halves, 1.0, 0.1);
}

const auto all_types = testing::Values(KvType::f32, KvType::f16, KvType::q8_0, KvType::q5_1, KvType::q4_0);
INSTANTIATE_TEST_SUITE_P(All, PerplexityOfCaches, testing::Combine(all_types, all_types), [](const auto& test) {
  const auto name = [](KvType type) { return std::string(to_string(kv_type_formats.at(static_cast<std::size_t>(type) - 1))); };
  return name(std::get<0>(test.param)) + "_" + name(std::get<1>(test.param));
});

}  // namespace
}  // namespace skipstone::engine
