// Each operation of the oracle against numbers worked out by hand.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "base/status.h"
#include "ref/operations.h"

namespace skipstone {
namespace {

using Floats = std::vector<float>;

const float infinite = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();

TEST(OracleOperations, MultipliesRowsWithTails) {
  for (const std::size_t k : {1u, 7u, 8u, 9u, 172u}) {
    Floats weights(3 * k), x(2 * k);
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i % 13) - 6.0f;
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7) - 3.0f;
    Floats y(6), one(3);
    ref::multiply(weights, x, y, 2);
    for (std::size_t r = 0; r < 2; ++r) {
      for (std::size_t n = 0; n < 3; ++n) {
        float sum = 0;  // small integers: exact in any order
        for (std::size_t i = 0; i < k; ++i) sum += weights[n * k + i] * x[r * k + i];
        EXPECT_EQ(y[r * 3 + n], sum);
      }
    }
    ref::matvec(gguf::Type::f32, std::as_bytes(std::span(weights)), std::span(x).first(k), one);
    EXPECT_EQ(one, Floats(y.begin(), y.begin() + 3));
  }
}

TEST(OracleOperations, SumsKeepWhatFloatsWouldLose) {
  const Floats weights{1e8f, 1.0f, -1e8f, 1.0f}, x{1.0f, 1.0f, 1.0f, 1.0f};
  Floats y(1);
  ref::multiply(weights, x, y);
  EXPECT_EQ(y[0], 2.0f);
}

TEST(OracleOperations, MatvecExpandsBlocks) {
  Floats weights(2 * 64), x(64, 1.0f), y(2);
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(static_cast<int>(i % 64) - 32) / 8.0f;
  for (const gguf::Type type :
       {gguf::Type::f16, gguf::Type::bf16, gguf::Type::q8_0, gguf::Type::q4_0, gguf::Type::q5_1, gguf::Type::iq4_nl}) {
    std::vector<std::byte> bytes(2 * gguf::row_bytes(type, 64));
    Floats expanded(weights.size());
    gguf::quantize(type, weights, bytes);
    gguf::dequantize(type, bytes, expanded);
    ref::matvec(type, bytes, x, y);
    for (std::size_t n = 0; n < 2; ++n) {
      double sum = 0;
      for (std::size_t i = 0; i < 64; ++i) sum += static_cast<double>(expanded[n * 64 + i]);
      EXPECT_FLOAT_EQ(y[n], static_cast<float>(sum)) << gguf::traits(type).name;
    }
    EXPECT_THROW(ref::matvec(type, std::span(bytes).first(bytes.size() - 1), x, y), Error);
  }
}

TEST(OracleOperations, RowsOfATensor) {
  const Floats weights{1, 2, 3, 4, 5, 6, 7, 8};
  gguf::Tensor tensor;
  tensor.dimensions = 2;
  tensor.shape = {4, 2, 1, 1};
  tensor.data = std::as_bytes(std::span(weights));
  EXPECT_EQ(ref::row(tensor, 1), (Floats{5, 6, 7, 8}));
  EXPECT_EQ(ref::weights(tensor), weights);
  EXPECT_THROW(ref::row(tensor, 2), Error);
}

TEST(OracleOperations, RmsNorm) {
  const Floats x{3.0f, -4.0f, 0.0f, 0.0f}, weight{1.0f, 2.0f, 1.0f, 1.0f};
  Floats out(4);
  ref::rms_norm(x, weight, 0.0f, out);  // the root of the mean square is 2.5
  EXPECT_FLOAT_EQ(out[0], 1.2f);
  EXPECT_FLOAT_EQ(out[1], -3.2f);
  EXPECT_EQ(out[2], 0.0f);
  ref::rms_norm(x, weight, 93.75f, out);  // 6.25 + 93.75: a root of 10
  EXPECT_FLOAT_EQ(out[0], 0.3f);
}

TEST(OracleOperations, RopeRotatesPairs) {
  model::Config config;
  config.rope_dim = 4;
  config.rope_base = 100.0f;  // the second pair turns by a tenth of a radian per position
  Floats x{1, 0, 1, 0, 8, 9, 0, 2, 0, 2, 8, 9};
  ref::rope(x, 6, 3, config);
  const auto c = [](double angle) { return static_cast<float>(std::cos(angle)); };
  const auto s = [](double angle) { return static_cast<float>(std::sin(angle)); };
  const Floats expected{c(3), s(3), c(0.3), s(0.3), 8, 9, -2 * s(3), 2 * c(3), -2 * s(0.3), 2 * c(0.3), 8, 9};
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_FLOAT_EQ(x[i], expected[i]) << i;

  config.rope_pairs = model::RopePairs::halves;
  Floats halves{1, 1, 0, 0, 8, 9};  // pairs (0, 2) and (1, 3)
  ref::rope(halves, 6, 3, config);
  const Floats expected_halves{c(3), c(0.3), s(3), s(0.3), 8, 9};
  for (std::size_t i = 0; i < halves.size(); ++i) EXPECT_FLOAT_EQ(halves[i], expected_halves[i]) << i;
}

TEST(OracleOperations, RopeScalesPositionsAndFrequencies) {
  model::Config config;
  config.rope_dim = 4;
  config.rope_base = 100.0f;
  config.rope_scale = 2.0f;
  config.rope_factors = {1.0f, 4.0f};
  Floats x{1, 0, 1, 0};
  ref::rope(x, 4, 8, config);
  EXPECT_FLOAT_EQ(x[0], static_cast<float>(std::cos(4.0)));
  EXPECT_FLOAT_EQ(x[1], static_cast<float>(std::sin(4.0)));
  EXPECT_FLOAT_EQ(x[2], static_cast<float>(std::cos(0.1)));
  EXPECT_FLOAT_EQ(x[3], static_cast<float>(std::sin(0.1)));
}

TEST(OracleOperations, AttentionWeighsValues) {
  // Two query heads share one KV head of 4 dimensions, so scores are halved; e^0 : e^(2 ln 3 / 2) = 1 : 3.
  const float two_ln3 = 2.0f * std::log(3.0f);
  const Floats keys{0, 0, 0, 0, two_ln3, 0, 0, 0, 50, 0, 0, 0}, values{4, 0, 0, 0, 8, 4, 0, 0, 100, 100, 100, 100};
  const ref::KvView cache{keys, values, 1, 4};
  const Floats q{1, 0, 0, 0, 0, 1, 1, 1};
  Floats out(8), listed(8);
  ref::attention(q, cache, 1u, out);
  const Floats expected{7, 3, 0, 0, 6, 2, 0, 0};
  for (std::size_t i = 0; i < 8; ++i) EXPECT_NEAR(out[i], expected[i], 1e-6) << i;
  ref::attention(q, cache, std::array<std::uint32_t, 2>{0, 1}, listed);
  EXPECT_EQ(listed, out);
  ref::attention(q, cache, std::array<std::uint32_t, 1>{2}, listed);  // one key: its value, whatever the score
  EXPECT_EQ(listed, Floats(8, 100.0f));
  EXPECT_THROW(ref::attention(q, cache, 3u, out), Error);
  EXPECT_THROW(ref::attention(q, cache, std::span<const std::uint32_t>{}, out), Error);
}

TEST(OracleOperations, SinksTakeAShareAndHaveNoValue) {
  // Two query heads of one KV head; their keys' scores are 0, so that a key's share is 1 and a sink's e^sink.
  const Floats keys(8, 0.0f), values{4, 0, 0, 0, 8, 4, 0, 0}, sinks{std::log(2.0f), -200.0f};
  Floats out(8);
  ref::attention(Floats(8, 1.0f), {.keys = keys, .values = values, .kv_heads = 1, .head_dim = 4, .sinks = sinks}, 1u, out);
  const Floats expected{3, 1, 0, 0, 6, 2, 0, 0};
  for (std::size_t i = 0; i < 8; ++i) EXPECT_NEAR(out[i], expected[i], 1e-6) << i;
  const Floats high{200.0f, 200.0f}, three(3, 0.0f);
  ref::attention(Floats(8, 1.0f), {.keys = keys, .values = values, .kv_heads = 1, .head_dim = 4, .sinks = high}, 1u, out);
  EXPECT_EQ(out, Floats(8, 0.0f));
  EXPECT_THROW(ref::attention(Floats(8, 1.0f), {.keys = keys, .values = values, .kv_heads = 1, .head_dim = 4, .sinks = three}, 1u, out),
               Error);
}

TEST(OracleOperations, AttentionSurvivesLargeScores) {
  const Floats keys{1000, 0, 0, 0, 999, 0, 0, 0}, values{1, 0, 0, 0, 0, 1, 0, 0};
  Floats out(4);
  ref::attention(Floats{1000, 0, 0, 0}, {keys, values, 1, 4}, 1u, out);
  EXPECT_EQ(out, (Floats{1, 0, 0, 0}));
}

TEST(OracleOperations, QueryHeadsReadTheirKvHead) {
  const Floats keys(4 * 2, 0.0f), values{1, 1, 1, 1, 2, 2, 2, 2};
  Floats out(16);
  ref::attention(Floats(16, 1.0f), {keys, values, 2, 4}, 0u, out);
  EXPECT_EQ(out, (Floats{1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2}));
}

TEST(OracleOperations, Swiglu) {
  Floats out(4);
  ref::swiglu(Floats{0.0f, 1.0f, -200.0f, 200.0f}, Floats{5.0f, 2.0f, 3.0f, 0.5f}, out);
  EXPECT_EQ(out[0], 0.0f);
  EXPECT_FLOAT_EQ(out[1], static_cast<float>(2.0 / (1.0 + std::exp(-1.0))));
  EXPECT_NEAR(out[2], 0.0f, 1e-30);
  EXPECT_FLOAT_EQ(out[3], 100.0f);
}

TEST(OracleOperations, Cosine) {
  EXPECT_FLOAT_EQ(ref::cosine(Floats{1, 0}, Floats{5, 5}), std::sqrt(0.5f));
  EXPECT_FLOAT_EQ(ref::cosine(Floats{1, 2}, Floats{-2, -4}), -1.0f);
  EXPECT_EQ(ref::cosine(Floats{0, 0}, Floats{1, 2}), 0.0f);
  EXPECT_EQ(ref::cosine(Floats{1, 2}, Floats{0, 0}), 0.0f);
}

TEST(OracleOperations, ArgmaxTakesTheFirstOfEquals) {
  const ref::Argmax tie = ref::argmax(Floats{1, 3, 2, 3});
  EXPECT_EQ(tie.token, 1);
  EXPECT_EQ(tie.margin, 0.0f);
  EXPECT_FLOAT_EQ(tie.probability, static_cast<float>(1.0 / (2.0 + std::exp(-1.0) + std::exp(-2.0))));
  const ref::Argmax falling = ref::argmax(Floats{5, 4.5f, 1});
  EXPECT_EQ(falling.token, 0);
  EXPECT_EQ(falling.margin, 0.5f);
  EXPECT_EQ(ref::argmax(Floats{1, 4.5f, 5}).margin, 0.5f);
}

TEST(OracleOperations, ArgmaxAndNumbersThatAreNone) {
  EXPECT_EQ(ref::argmax(Floats{nan, -7, nan, -8}).token, 1);
  EXPECT_EQ(ref::argmax(Floats{nan, -infinite}).token, 1);
  EXPECT_EQ(ref::argmax(Floats{nan, -infinite}).margin, infinite);
  EXPECT_EQ(ref::argmax(Floats{-infinite, -infinite}).token, 0);
  EXPECT_EQ(ref::argmax(Floats{-infinite, -infinite}).probability, 0.5f);
  EXPECT_EQ(ref::argmax(Floats{1, infinite, infinite}).token, 1);
  EXPECT_EQ(ref::argmax(Floats{1, infinite, infinite}).margin, 0.0f);
  EXPECT_EQ(ref::argmax(Floats{nan, nan}).token, -1);
  EXPECT_EQ(ref::argmax({}).token, -1);
}

}  // namespace
}  // namespace skipstone
