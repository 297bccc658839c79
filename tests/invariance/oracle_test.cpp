// Whole passes on a device against the scalar oracle: every kind of pass, logits, choices and cosines.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "device_model.h"
#include "fixtures/slow_device.h"
#include "gpu/matrix_math.h"
#include "kernels/weight_format.h"
#include "ref/operations.h"

namespace skipstone::fixtures {
namespace {

double largest_of(const std::vector<float>& logits) {
  double largest = 0.0;
  for (const float logit : logits) largest = std::max(largest, std::abs(static_cast<double>(logit)));
  return largest;
}

// Relative to the largest logit. Rounding errors of a layer's operations add up over layers: measured 1.5e-6 with a binary32 cache. A key
// or value that lies on the border between two halves may round the other way than the oracle's, which is 2^-11 of it: measured 8e-5 with a
// binary16 cache; between two quants of a Q8_0 cache it is up to 2^-7 of the block's largest, but seldom: measured 7e-5, and nothing on
// drivers that add as the oracle does. A cache that is not quantised differs by 2.7e-3 at every position, a wrong operand by 1e-2 and more.
double tolerance_of(const DeviceModel& model, const std::vector<float>& logits) {
  const double largest = largest_of(logits);
  if (on_matrices()) return largest * 5e-3;  // both factors of every product in half precision: measured 2.1e-3
  const KvFormats& formats = model.shape().kv_format;
  constexpr double tolerances[] = {2e-5, 4e-4, 1e-3, 2e-2, 1e-2};  // by KvFormat
  return largest * std::max(tolerances[static_cast<std::size_t>(formats.k)], tolerances[static_cast<std::size_t>(formats.v)]);
}

// After a prompt. In half precision its factors are off by up to 2^-11: measured 2.3e-4; more of a quantised cache's keys and values then
// round the other way: measured 2.7e-3.
double tolerance_after_prompt(const DeviceModel& model, const std::vector<float>& logits) {
  if (on_matrices() || !model.prompts_in_halves()) return tolerance_of(model, logits);
  return largest_of(logits) * (model.shape().kv_format == KvFormat::q8_0 ? 6e-3 : 6e-4);
}

void expect_near(const std::vector<float>& got, const std::vector<float>& wanted, double tolerance, const std::string& where) {
  ASSERT_EQ(got.size(), wanted.size());
  double worst = 0.0;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    worst = std::max(worst, std::abs(static_cast<double>(got[i]) - static_cast<double>(wanted[i])));
  EXPECT_LE(worst, tolerance) << where;
}

void expect_near(const DeviceModel& model, const std::vector<float>& got, const std::vector<float>& wanted, const std::string& where) {
  expect_near(got, wanted, tolerance_of(model, wanted), where);
}

TinyConfig tiny_of(gguf::Type type) {
  TinyConfig tiny;
  tiny.layers = 3;
  if (gguf::traits(type).block == 256) {
    tiny.layers = 2;
    tiny.dim = 256;
    tiny.ffn = 512;
  }
  tiny.type = type;
  tiny.context = 160;
  tiny.rope_freqs = type == gguf::Type::f32;
  tiny.tied = type != gguf::Type::f32;
  tiny.biases = type == gguf::Type::f32;
  return tiny;
}

void expect_logits_of_oracle(const TinyConfig& tiny, const KvFormats& kv_format) {
  DeviceModel model(tiny, kv_format);
  const Tokens text = model.tokens(70, 3);
  const auto sequence = model.sequence();
  ref::Sequence oracle = model.oracle().new_sequence();
  for (std::uint32_t base = 0; base < text.size(); base += base < 64 ? 4 : 1) {  // over a chunk's border, then one by one
    const std::uint32_t rows = base < 64 ? 4 : 1;
    const std::span<const std::int32_t> piece = std::span(text).subspan(base, rows);
    const auto got = model.logits(*sequence, piece, base, model.layers());
    const auto wanted = model.oracle().forward(oracle, piece, base, model.layers());
    for (std::uint32_t row = 0; row < rows; ++row) {
      expect_near(model, got[row], wanted.logits[row],
                  std::string(gguf::traits(tiny.type).name) + " position " + std::to_string(base + row));
    }
  }
}

TEST(DeviceAgainstOracle, LogitsOfAllFormats) {
  const bool slow = fixtures::slow_device();  // there every format is kernel_test's
  for (const kernels::WeightFormat& format : kernels::weight_formats()) {
    if (!gguf::traits(format.type).writable()) continue;  // kernel_test has those that are only read
    if (slow && format.type != gguf::Type::f16 && format.type != gguf::Type::q4_k && format.type != gguf::Type::sparse_q8_0) continue;
    const bool half = format.type == gguf::Type::f16 || format.type == gguf::Type::q8_0;
    expect_logits_of_oracle(tiny_of(format.type), half ? KvFormat::f16 : KvFormat::f32);
  }
}

TEST(DeviceAgainstOracle, LogitsOfExperts) {
  for (const char* family : {"qwen3moe", "nemotron_h_moe", "granitehybrid", "qwen35moe", "qwen3next", "lfm2moe", "gpt-oss"}) {
    SCOPED_TRACE(family);
    TinyConfig tiny = fixtures::tiny_family(family);
    tiny.experts = 6;
    expect_logits_of_oracle(tiny, KvFormat::f32);
    if (fixtures::slow_device()) break;
  }
}

TEST(DeviceAgainstOracle, LogitsWithAQuantisedCache) {
  for (const std::uint32_t head_dim : {32u, 96u}) {
    TinyConfig tiny = tiny_of(gguf::Type::f32);
    tiny.head_dim = head_dim;
    expect_logits_of_oracle(tiny, KvFormat::q8_0);
    expect_logits_of_oracle(tiny, {KvFormat::q4_0, KvFormat::q5_1});
  }
}

TEST(DeviceAgainstOracle, PartialPlans) {
  DeviceModel model(tiny_of(gguf::Type::bf16), KvFormat::f32);
  const Tokens text = model.tokens(20, 4);
  for (const char* plan :
       {"attn:1", "mlp:1", "attn:0,2;mlp:1", "layers:0", "layers:0-1;attn:1", "attn:0-2", "mlp:0-2", "attn:0-2;mlp:0-2"}) {
    const auto sequence = model.sequence();
    ref::Sequence oracle = model.oracle().new_sequence();
    const auto got = model.logits(*sequence, std::span(text).first(4), 0, model.layers(plan));
    const auto wanted = model.oracle().forward(oracle, std::span(text).first(4), 0, model.layers(plan));
    for (std::uint32_t row = 0; row < 4; ++row) expect_near(model, got[row], wanted.logits[row], plan);
    const auto next = model.logits(*sequence, std::span(text).subspan(4, 1), 4, model.layers(plan));
    expect_near(model, next[0], model.oracle().forward(oracle, std::span(text).subspan(4, 1), 4, model.layers(plan)).logits[0], plan);
  }
}

TEST(DeviceAgainstOracle, PrefillInTwoChunksThenDecode) {
  for (const KvFormat format : {KvFormat::f16, KvFormat::f32, KvFormat::q8_0}) {
    SCOPED_TRACE(to_string(format));
    TinyConfig tiny = tiny_of(gguf::Type::q8_0);
    tiny.head_dim = 32;
    DeviceModel model(tiny, format);
    const Tokens text = model.tokens(90, 5);
    const auto sequence = model.sequence();
    sequence->clear_cosines();
    const exec::PassSpec first{
        .layers = model.layers(), .bucket = 64, .prompt = true, .output = exec::Output::none, .cosines = exec::Cosines::all};
    const exec::PassSpec last{.layers = model.layers(),
                              .bucket = 32,
                              .prompt = true,
                              .output = exec::Output::argmax,
                              .last_row_only = true,
                              .cosines = exec::Cosines::all};
    sequence->run(first, {.tokens = std::span(text).first(64)});
    sequence->run(last, {.tokens = std::span(text).subspan(64, 25), .base = 64});
    const abi::RowResult choice = sequence->result(0);

    ref::Sequence oracle = model.oracle().new_sequence();
    const ref::Result wanted = model.oracle().forward(oracle, std::span(text).first(89), 0, model.layers());
    const std::vector<float>& logits = wanted.logits.back();
    ASSERT_LT(choice.token, logits.size());
    const ref::Argmax best = ref::argmax(logits);
    const double tolerance = tolerance_after_prompt(model, logits);
    EXPECT_NEAR(logits[choice.token], logits[static_cast<std::size_t>(best.token)], tolerance);
    EXPECT_NEAR(choice.logit, logits[static_cast<std::size_t>(best.token)], tolerance);
    EXPECT_NEAR(choice.probability, best.probability,
                4 * tolerance * static_cast<double>(best.probability));  // softmax: error of its argument
    EXPECT_NEAR(choice.margin, best.margin, 2 * tolerance);
    const std::vector<float> cosines = sequence->results().cosine_sums;
    const std::uint32_t layers = model.config().layer_count();
    ASSERT_EQ(cosines.size(), 2 * layers);
    for (std::uint32_t layer = 0; layer < layers; ++layer) {
      double attention = 0.0, mlp = 0.0;
      for (const float cosine : wanted.attention_cosine[layer]) attention += static_cast<double>(cosine);
      for (const float cosine : wanted.mlp_cosine[layer]) mlp += static_cast<double>(cosine);
      EXPECT_NEAR(cosines[layer], attention, 89 * 1e-4) << "layer " << layer;
      EXPECT_NEAR(cosines[layers + layer], mlp, 89 * 1e-4) << "layer " << layer;
    }
    const auto next = model.logits(*sequence, std::span(text).subspan(89, 1), 89, model.layers());
    const std::vector<float> after = model.oracle().forward(oracle, std::span(text).subspan(89, 1), 89, model.layers()).logits[0];
    expect_near(next[0], after, tolerance_after_prompt(model, after), "decode after prefill");
  }
  EXPECT_EQ(TestDevice::get().messages(), 0u);
}

}  // namespace
}  // namespace skipstone::fixtures
