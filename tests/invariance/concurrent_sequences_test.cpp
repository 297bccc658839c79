// Sequences share pages and passes, and none knows of the others: every row has the bits that it has alone.
#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "base/philox.h"
#include "device_model.h"
#include "fixtures/slow_device.h"

namespace skipstone::fixtures {
namespace {

TinyConfig tiny_of(std::uint32_t context, const KvFormats& formats) {
  TinyConfig tiny;
  tiny.layers = 2;
  tiny.kv_heads = 2;
  tiny.type = gguf::Type::q8_0;
  tiny.head_dim = formats.have_blocks() ? 32 : 0;
  tiny.context = context;
  return tiny;
}

using Logits = std::vector<std::vector<float>>;

bool same(const Logits& a, const Logits& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].size() != b[i].size() || std::memcmp(a[i].data(), b[i].data(), a[i].size() * sizeof(float)) != 0) return false;
  }
  return true;
}

/// Reads the first `prompt` tokens as a prompt, the others in passes of one to `most` rows, some of them trees whose branches are wrong.
Logits read(DeviceModel& model, const Tokens& text, std::uint32_t prompt, std::uint32_t most, std::uint32_t seed) {
  const auto sequence = model.sequence();
  std::uint32_t counter = 0;
  const auto random = [&](std::uint32_t limit) { return philox({counter++, seed, 0, 0}, {21, 22})[0] % limit; };
  Logits logits;
  sequence->run({.layers = model.layers(),
                 .bucket = kernels::prompt_bucket_for(prompt),
                 .prompt = true,
                 .output = exec::Output::logits,
                 .last_row_only = true},
                {.tokens = std::span(text).first(prompt)});
  logits.emplace_back(sequence->logits(0).begin(), sequence->logits(0).end());
  for (std::uint32_t base = prompt; base < text.size();) {
    const std::uint32_t rows = std::min(1 + random(most), static_cast<std::uint32_t>(text.size()) - base);
    Tokens tokens(text.begin() + base, text.begin() + base + rows);
    std::vector<std::uint32_t> parents(rows);
    for (std::uint32_t i = 1; i < rows; ++i) parents[i] = i - 1;
    const bool tree = random(2) == 0;
    if (tree) {
      tokens.push_back(3);
      parents.push_back(rows - 1);  // a row after the last one that no sequence takes
    }
    sequence->run(
        {.layers = model.layers(),
         .bucket = kernels::bucket_for(static_cast<std::uint32_t>(tokens.size())),
         .output = exec::Output::logits,
         .tree = tree},
        {.tokens = tokens, .base = base, .parents = tree ? std::span<const std::uint32_t>(parents) : std::span<const std::uint32_t>{}});
    for (std::uint32_t row = 0; row < rows; ++row) logits.emplace_back(sequence->logits(row).begin(), sequence->logits(row).end());
    base += rows;
  }
  return logits;
}

class Company : public ::testing::TestWithParam<KvFormats> {};

TEST_P(Company, ChangesNoBitOfAnyRow) {
  if (left_to_sweep(GetParam())) GTEST_SKIP() << fixtures::left_to_the_sweep;
  DeviceModel model(tiny_of(256, GetParam()), GetParam());
  const std::uint32_t sequences = slow_device() ? 4 : 12, length = slow_device() ? 60 : 150;
  std::vector<Tokens> texts;
  std::vector<Logits> alone;
  for (std::uint32_t i = 0; i < sequences; ++i) {
    texts.push_back(model.tokens(length - 7 * (i % 3), 100 + i));
    alone.push_back(read(model, texts[i], 5 + 9 * i, 1 + i % 5, i));
  }
  const std::uint64_t batched_before = model.passes().scheduler().totals().batched;
  EXPECT_EQ(batched_before, 0u);
  std::vector<Logits> together(sequences);
  {
    std::vector<std::jthread> threads;
    for (std::uint32_t i = 0; i < sequences; ++i) {
      threads.emplace_back([&, i] { together[i] = read(model, texts[i], 5 + 9 * i, 1 + (i + 2) % 5, 50 + i); });
    }
  }
  for (std::uint32_t i = 0; i < sequences; ++i) EXPECT_TRUE(same(alone[i], together[i])) << "sequence " << i;
  EXPECT_GT(model.passes().scheduler().totals().batched, 5u);
  EXPECT_EQ(model.passes().cache().pool(exec::MemoryKind::full).use().used, 0u);
  EXPECT_EQ(TestDevice::get().messages(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Formats, Company,
                         ::testing::Values(KvFormats{KvFormat::f16}, KvFormats{KvFormat::q8_0}, KvFormats{KvFormat::f32},
                                           KvFormats{KvFormat::q5_1, KvFormat::q4_0}),
                         [](const auto& formats) { return name_of(formats.param); });

// One context of 64 tokens has one page; four sequences need the pool to grow while others run.
TEST(Pages, GrowWhileOthersRun) {
  std::vector<KvFormats> formats{KvFormat::q8_0, KvFormat::f16, {KvFormat::q4_0, KvFormat::q5_1}};
  if (slow_device()) formats.erase(formats.begin() + 1, formats.end());
  for (const KvFormats& format : formats) {
    DeviceModel model(tiny_of(128, format), format);
    const Tokens text = model.tokens(120, 9);
    const Logits alone = read(model, text, 30, 3, 1);
    EXPECT_EQ(model.passes().cache().pool(exec::MemoryKind::full).use().pages, 2u);
    std::vector<Logits> together(6);
    {
      std::vector<std::jthread> threads;
      for (Logits& logits : together) threads.emplace_back([&] { logits = read(model, text, 30, 3, 2); });
    }
    for (const Logits& logits : together) EXPECT_TRUE(same(alone, logits));
    EXPECT_GT(model.passes().cache().pool(exec::MemoryKind::full).use().pages, 2u);
    EXPECT_EQ(model.passes().cache().pool(exec::MemoryKind::full).use().used, 0u);
  }
  EXPECT_EQ(TestDevice::get().messages(), 0u);
}

void expect_shared_until_one_writes(const KvFormats& formats) {
  DeviceModel model(tiny_of(256, formats), formats);
  const Tokens text = model.tokens(150, 4), other = model.tokens(150, 5);
  const auto first = model.sequence(), second = model.sequence();
  const exec::PassSpec prompt{.layers = model.layers(), .bucket = 128, .prompt = true, .output = exec::Output::none};
  first->run(prompt, {.tokens = std::span(text).first(100)});
  second->pages().share(first->pages(), 100);
  exec::KvPool& pool = model.passes().cache().pool(exec::MemoryKind::full);
  EXPECT_EQ(pool.use().used, 2u);
  EXPECT_EQ(pool.use().shared, 2u);
  const auto before = model.kv(*first, 1, 100);
  model.logits(*second, std::span(other).subspan(100, 8), 100, model.layers());  // another text from here on
  EXPECT_EQ(pool.use().used, 3u);
  EXPECT_EQ(pool.use().shared, 1u);
  EXPECT_EQ(model.kv(*first, 1, 100), before);
  EXPECT_EQ(model.kv(*second, 1, 100), before);
  const auto continued = model.logits(*first, std::span(text).subspan(100, 8), 100, model.layers());
  const auto alone = model.sequence();
  alone->run(prompt, {.tokens = std::span(text).first(100)});
  EXPECT_TRUE(same(continued, model.logits(*alone, std::span(text).subspan(100, 8), 100, model.layers())));
  second->pages().rollback(64);
  EXPECT_EQ(pool.use().used, 4u);
  second->pages().rollback(0);
  EXPECT_EQ(pool.use().shared, 0u);
}

TEST(Pages, AreSharedUntilOneWrites) {
  expect_shared_until_one_writes(KvFormat::f16);
  expect_shared_until_one_writes({KvFormat::q4_0, KvFormat::q5_1});
}

}  // namespace
}  // namespace skipstone::fixtures
