// Losslessness at the bottom: whole passes give every row the bits that it gets when tokens are decoded one at a time, whatever was in
// the cache after the text.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <initializer_list>

#include "base/philox.h"
#include "device_model.h"
#include "fixtures/slow_device.h"

namespace skipstone::fixtures {
namespace {

struct Variant {
  const char* name;
  gguf::Type type;
  std::uint32_t kv_heads, most_rows;
  bool biases;
  KvFormats kv_format;
  std::uint32_t head_dim = 0;  ///< 0: the tiny model's own
};

TinyConfig tiny_of(const Variant& v) {
  TinyConfig tiny;
  tiny.layers = 3;
  if (gguf::traits(v.type).block == 256) {
    tiny.layers = 1;
    tiny.dim = tiny.ffn = 256;
  }
  tiny.type = v.type;
  tiny.kv_heads = v.kv_heads;
  tiny.biases = v.biases;
  tiny.head_dim = v.head_dim;
  tiny.context = 160;
  return tiny;
}

class RowsOf : public ::testing::TestWithParam<Variant> {
  void SetUp() override {
    using enum gguf::Type;
    // On slow devices the other formats are kernel_test's; under the validation layers they are the sweep's, as kernel_test is there.
    const std::initializer_list<gguf::Type> everywhere{f16, q8_0, q4_k, sparse_f16};
    if (slow_device_or_validation() && std::ranges::find(everywhere, GetParam().type) == everywhere.end())
      GTEST_SKIP() << left_to_the_sweep;
  }
};

std::vector<std::vector<float>> decode_one_by_one(DeviceModel& model, exec::Executor& sequence, const Tokens& text) {
  std::vector<std::vector<float>> logits;
  for (std::uint32_t i = 0; i < text.size(); ++i)
    logits.push_back(model.logits(sequence, std::span(&text[i], 1), i, model.layers()).front());
  return logits;
}

void expect_same_rows(DeviceModel& model, std::uint32_t most_rows, std::uint32_t tokens = 100) {
  const Tokens text = model.tokens(tokens, 1);
  const auto straight = model.sequence(), together = model.sequence();
  const auto alone = decode_one_by_one(model, *straight, text);
  std::uint32_t base = 0, step = 0;
  while (base < text.size()) {
    // Every length comes up, then random ones.
    const std::uint32_t wanted = step < most_rows ? most_rows - step : 1 + philox({step, 0, 0, 0}, {3, 4})[0] % most_rows;
    const std::uint32_t rows = std::min(wanted, static_cast<std::uint32_t>(text.size()) - base);
    const auto logits = model.logits(*together, std::span(text).subspan(base, rows), base, model.layers());
    for (std::uint32_t row = 0; row < rows; ++row) {
      ASSERT_EQ(std::memcmp(logits[row].data(), alone[base + row].data(), logits[row].size() * sizeof(float)), 0)
          << "row " << row << " of " << rows << " at position " << base + row;
    }
    base += rows;
    ++step;
  }
  for (std::uint32_t layer = 0; layer < model.config().layer_count(); ++layer)
    EXPECT_EQ(model.kv(*straight, layer, base), model.kv(*together, layer, base)) << layer;
  EXPECT_EQ(TestDevice::get().messages(), 0u);
}

TEST_P(RowsOf, AreTheSameInPassesOfAnyLength) {
  if (left_to_sweep(GetParam().kv_format)) GTEST_SKIP() << fixtures::left_to_the_sweep;
  DeviceModel model(tiny_of(GetParam()), GetParam().kv_format);
  expect_same_rows(model, GetParam().most_rows);
}

// 100 tokens reach past every window. SwiftShader takes a quarter of a second for a token: there some families, and windows are
// kernel_test's.
TEST(Rows, AreTheSameInEveryFamily) {
  const bool full = fixtures::full_sweep(), slow = fixtures::slow_device(), brief = fixtures::slow_device_or_validation();
  std::size_t families = 0;
  for (const model::Architecture& row : model::architectures()) {
    if (slow && families++ % 4 != 0) continue;
    SCOPED_TRACE(row.name);
    TinyConfig tiny = tiny_family(row.name);
    tiny.context = 160;
    DeviceModel model(tiny, KvFormat::f16);
    expect_same_rows(model, full ? 32 : 4, brief ? 16 : 100);
  }
}

// Wide buckets take drivers long to compile: one format has them all here, every format has them in the kernels' own
// tests.
INSTANTIATE_TEST_SUITE_P(
    Formats, RowsOf,
    ::testing::Values(
        Variant{"q8_0", gguf::Type::q8_0, 2, 16, false, KvFormat::f16}, Variant{"f16_biases", gguf::Type::f16, 4, 4, true, KvFormat::f16},
        Variant{"q4_0", gguf::Type::q4_0, 1, 4, false, KvFormat::f16}, Variant{"q4_k", gguf::Type::q4_k, 2, 4, false, KvFormat::f16},
        Variant{"q6_k", gguf::Type::q6_k, 2, 4, false, KvFormat::f16},
        Variant{"sparse_f16", gguf::Type::sparse_f16, 2, 16, false, KvFormat::f16},
        Variant{"sparse_q8_0", gguf::Type::sparse_q8_0, 2, 4, true, KvFormat::f16},
        Variant{"bf16_f32_cache", gguf::Type::bf16, 2, 4, false, KvFormat::f32}, Variant{"f32", gguf::Type::f32, 2, 4, true, KvFormat::f16},
        Variant{"q8_0_cache", gguf::Type::q8_0, 2, 16, false, KvFormat::q8_0, 32},
        Variant{"q8_0_cache_three_blocks", gguf::Type::f32, 1, 4, false, KvFormat::q8_0, 96},
        Variant{"mixed_cache", gguf::Type::q8_0, 2, 16, false, {KvFormat::q4_0, KvFormat::q5_1}, 32},
        Variant{"mixed_cache_three_blocks", gguf::Type::f32, 1, 4, false, {KvFormat::q5_1, KvFormat::q4_0}, 96}),
    [](const auto& variant) { return std::string(variant.param.name); });

struct Read {
  std::vector<float> logits;               ///< after the last token
  std::vector<std::vector<std::byte>> kv;  ///< of each layer
};

/// Reads `text` as a prompt, in parts that `next(left)` gives.
Read read_prompt(DeviceModel& model, const Tokens& text, const std::function<std::uint32_t(std::uint32_t)>& next) {
  const auto sequence = model.sequence();
  sequence->keep_all_pages();  // all are compared
  const auto count = static_cast<std::uint32_t>(text.size());
  for (std::uint32_t base = 0; base < count;) {
    const std::uint32_t rows = next(count - base);
    sequence->run({.layers = model.layers(),
                   .bucket = kernels::prompt_bucket_for(rows),
                   .prompt = true,
                   .output = base + rows == count ? exec::Output::logits : exec::Output::none,
                   .last_row_only = true},
                  {.tokens = std::span(text).subspan(base, rows), .base = base});
    base += rows;
  }
  Read read;
  read.logits.assign(sequence->logits(0).begin(), sequence->logits(0).end());
  for (std::uint32_t layer = 0; layer < model.config().layer_count(); ++layer) read.kv.push_back(model.kv(*sequence, layer, count));
  return read;
}

void expect_same_prompts(DeviceModel& model, std::uint32_t tokens, std::uint32_t tries) {
  const Tokens text = model.tokens(tokens, 5);
  const Read whole = read_prompt(model, text, [](std::uint32_t left) { return left; });
  std::uint32_t counter = 0;
  const auto random = [&](std::uint32_t limit) { return philox({counter++, 0, 0, 0}, {11, 12})[0] % limit; };
  for (std::uint32_t attempt = 0; attempt < tries; ++attempt) {
    const std::uint32_t most = attempt == 0 ? 1 : attempt == 1 ? 7 : 1 + random(tokens);
    const Read cut = read_prompt(model, text, [&](std::uint32_t left) { return std::min(left, attempt < 2 ? most : 1 + random(most)); });
    EXPECT_EQ(std::memcmp(cut.logits.data(), whole.logits.data(), whole.logits.size() * sizeof(float)), 0) << "pieces of at most " << most;
    for (std::uint32_t layer = 0; layer < model.config().layer_count(); ++layer)
      ASSERT_EQ(cut.kv[layer], whole.kv[layer]) << "layer " << layer << ", pieces of at most " << most;
  }
  EXPECT_EQ(TestDevice::get().messages(), 0u);
}

TEST_P(RowsOf, OfPromptsAreTheSameWhereverTheyAreCut) {
  if (left_to_sweep(GetParam().kv_format)) GTEST_SKIP() << fixtures::left_to_the_sweep;
  DeviceModel model(tiny_of(GetParam()), GetParam().kv_format);
  expect_same_prompts(model, fixtures::slow_device() ? 40 : 150, fixtures::full_sweep() ? 12 : 4);
}

TEST(Rows, OfPromptsAreTheSameWhereverTheyAreCutInEveryFamily) {
  const bool slow = fixtures::slow_device(), brief = fixtures::slow_device_or_validation();
  std::size_t families = 0;
  for (const model::Architecture& row : model::architectures()) {
    if (slow && families++ % 4 != 0) continue;
    SCOPED_TRACE(row.name);
    TinyConfig tiny = tiny_family(row.name);
    tiny.context = 160;
    DeviceModel model(tiny, KvFormat::f16);
    expect_same_prompts(model, brief ? 20 : 140, 3);
  }
}

// Draft passes through part of the layers leave K and V of tokens that are never accepted; verification must see none of it.
class Rollback : public ::testing::TestWithParam<KvFormats> {};

TEST_P(Rollback, RejectedDraftsLeaveNoTrace) {
  if (left_to_sweep(GetParam())) GTEST_SKIP() << fixtures::left_to_the_sweep;
  const Variant variant{"", gguf::Type::q8_0, 2, 16, false, GetParam(), 32};
  DeviceModel model(tiny_of(variant), variant.kv_format);
  const Tokens text = model.tokens(120, 2);
  const auto straight = model.sequence(), speculative = model.sequence();
  const auto alone = decode_one_by_one(model, *straight, text);
  const std::vector<exec::LayerPlan> plans{model.layers("attn:1"),   model.layers("mlp:0-2"),    model.layers("attn:0-1;mlp:2"),
                                           model.layers("layers:0"), model.layers("layers:0-1"), model.layers("attn:0-2;mlp:0-2")};
  std::uint32_t base = 0, rejected = 0, counter = 0;
  const auto random = [&](std::uint32_t limit) { return philox({counter++, 0, 0, 0}, {5, 6})[0] % limit; };
  while (base < text.size()) {
    const std::uint32_t room = static_cast<std::uint32_t>(text.size()) - base;
    const std::uint32_t drafts = random(std::min(room, 16u));
    Tokens proposal{text[base]};
    for (std::uint32_t i = 0; i < drafts; ++i) {
      speculative->run({.layers = plans[random(static_cast<std::uint32_t>(plans.size()))]},
                       {.tokens = {&proposal.back(), 1}, .base = base + i});
      proposal.push_back(random(5) == 0 ? static_cast<std::int32_t>(random(model.config().vocabulary)) : text[base + i + 1]);
    }
    const auto logits = model.logits(*speculative, proposal, base, model.layers());
    std::uint32_t accepted = 0;
    while (accepted < drafts && proposal[accepted + 1] == text[base + accepted + 1]) ++accepted;
    for (std::uint32_t row = 0; row <= accepted; ++row) {
      ASSERT_EQ(std::memcmp(logits[row].data(), alone[base + row].data(), logits[row].size() * sizeof(float)), 0)
          << "row " << row << " of " << proposal.size() << " at position " << base + row;
    }
    rejected += drafts - accepted;
    base += accepted + 1;
    for (std::uint32_t layer = 0; layer < model.config().layer_count(); ++layer) {
      ASSERT_EQ(model.kv(*straight, layer, base), model.kv(*speculative, layer, base)) << "layer " << layer << " below position " << base;
    }
  }
  EXPECT_GT(rejected, 20u);  // else nothing was tried
}

INSTANTIATE_TEST_SUITE_P(Formats, Rollback,
                         ::testing::Values(KvFormats{KvFormat::f16}, KvFormats{KvFormat::q8_0}, KvFormats{KvFormat::q5_1, KvFormat::q4_0}),
                         [](const auto& formats) { return name_of(formats.param); });

// The exit query cache: drafts save the residual stream after the first layers, what they have not read goes through these layers once,
// and the rest of the model continues from there. Every row has the bits of a full pass, in any split between drafts and rest.
TEST(HiddenStates, GiveTheFullModelsBits) {
  const Variant variant{"", gguf::Type::q8_0, 2, 16, false, KvFormat::f16};
  DeviceModel model(tiny_of(variant), variant.kv_format);
  const Tokens text = model.tokens(100, 3);
  const auto straight = model.sequence(), speculative = model.sequence();
  const auto alone = decode_one_by_one(model, *straight, text);
  const exec::LayerPlan drafts[] = {model.layers("layers:0"), model.layers("layers:0-1"), model.layers("attn:2"), model.layers("mlp:1")};
  std::uint32_t base = 0, counter = 0;
  const auto random = [&](std::uint32_t limit) { return philox({counter++, 0, 0, 0}, {7, 8})[0] % limit; };
  while (base < text.size()) {
    const std::uint32_t rows = 1 + random(std::min(16u, static_cast<std::uint32_t>(text.size()) - base)), drafted = random(rows + 1);
    const exec::LayerPlan& draft = drafts[random(4)];
    const std::uint32_t prefix = draft.whole_prefix();
    const auto part = [&](std::uint32_t first, std::uint32_t count) { return std::span(text).subspan(base + first, count); };
    for (std::uint32_t i = 0; i < drafted; ++i)
      speculative->run({.layers = draft, .keep_after = prefix}, {.tokens = part(i, 1), .base = base + i, .kept = i});
    exec::LayerPlan first = model.layers(), late = model.layers();
    first.end = late.begin = prefix;
    const auto bucket = [](std::uint32_t count) { return kernels::bucket_for(count); };
    if (drafted < rows) {
      speculative->run({.layers = first, .bucket = bucket(rows - drafted), .output = exec::Output::none, .keep_after = prefix},
                       {.tokens = part(drafted, rows - drafted), .base = base + drafted, .kept = drafted});
    }
    const auto logits = model.logits(*speculative, part(0, rows), base, late);
    for (std::uint32_t row = 0; row < rows; ++row) {
      ASSERT_EQ(std::memcmp(logits[row].data(), alone[base + row].data(), logits[row].size() * sizeof(float)), 0)
          << "row " << row << " of " << rows << ", " << drafted << " drafted with " << draft.print(3) << ", at position " << base + row;
    }
    base += rows;
    for (std::uint32_t layer = 0; layer < model.config().layer_count(); ++layer)
      ASSERT_EQ(model.kv(*straight, layer, base), model.kv(*speculative, layer, base)) << "layer " << layer << " below position " << base;
  }
}

}  // namespace
}  // namespace skipstone::fixtures
