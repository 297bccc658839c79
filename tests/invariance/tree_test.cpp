// Token trees on every device: whichever branch a row is on, it has the bits of straight decoding, and so has the cache once the
// accepted path is kept.
#include <gtest/gtest.h>

#include <cstring>

#include "base/philox.h"
#include "device_model.h"
#include "fixtures/slow_device.h"

namespace skipstone::fixtures {
namespace {

using Parents = std::vector<std::uint32_t>;

Tokens path_to(std::uint32_t row, const Tokens& tokens, const Parents& parents) {
  Tokens path{tokens[row]};
  while (row != 0) path.insert(path.begin(), tokens[row = parents[row]]);
  return path;
}

std::vector<std::vector<float>> tree_logits(exec::Executor& sequence, const DeviceModel& model, const Tokens& tokens,
                                            const Parents& parents, std::uint32_t base) {
  const auto rows = static_cast<std::uint32_t>(tokens.size());
  sequence.run({.layers = model.layers(), .bucket = kernels::bucket_for(rows), .output = exec::Output::logits, .tree = true},
               {.tokens = tokens, .base = base, .parents = parents});
  std::vector<std::vector<float>> out;
  for (std::uint32_t row = 0; row < rows; ++row) out.emplace_back(sequence.logits(row).begin(), sequence.logits(row).end());
  return out;
}

const bool full = fixtures::full_sweep(), slow = fixtures::slow_device_or_validation();  // a few rounds there

class TreesOf : public ::testing::TestWithParam<KvFormats> {};

/// How many rounds moved rows of the cache, and how long the text became: whether anything was tried.
struct Tried {
  std::uint32_t moved = 0, base = 0;
};

void expect_same_branches(DeviceModel& model, std::uint32_t rounds, std::uint32_t most_rows, Tried& tried) {
  const auto straight = model.sequence(), speculative = model.sequence();
  std::uint32_t counter = 0;
  const auto random = [&](std::uint32_t limit) { return philox({counter++, 0, 0, 0}, {9, 1})[0] % limit; };
  const Tokens pool = model.tokens(400, 5);
  auto& [moved, base] = tried;
  for (std::uint32_t round = 0; round < rounds; ++round) {
    const std::uint32_t rows = round == 0 ? most_rows : 1 + random(most_rows - 1);
    Tokens tokens;
    Parents parents;
    for (std::uint32_t row = 0; row < rows; ++row) {
      tokens.push_back(pool[random(400)]);
      // Deep and bushy ones take turns.
      parents.push_back(row == 0 ? 0 : round % 2 == 0 && random(4) != 0 ? row - 1 : random(row));
    }
    const auto together = tree_logits(*speculative, model, tokens, parents, base);
    for (std::uint32_t row = 0; row < rows; ++row) {
      const Tokens path = path_to(row, tokens, parents);
      const auto alone = model.logits(*straight, path, base, model.layers());
      ASSERT_EQ(std::memcmp(together[row].data(), alone.back().data(), alone.back().size() * sizeof(float)), 0)
          << "row " << row << " of " << rows << " in round " << round << " at position " << base;
    }
    // The path to some row wins.
    Parents path{random(rows)};
    while (path.front() != 0) path.insert(path.begin(), parents[path.front()]);
    speculative->keep_path(base, path);
    moved += path.back() + 1 != path.size() ? 1 : 0;
    Tokens kept;
    for (const std::uint32_t row : path) kept.push_back(tokens[row]);
    model.logits(*straight, kept, base, model.layers());
    base += static_cast<std::uint32_t>(path.size());
    for (std::uint32_t layer = 0; layer < model.config().layer_count(); ++layer) {
      ASSERT_EQ(model.kv(*straight, layer, base), model.kv(*speculative, layer, base)) << "layer " << layer << " below position " << base;
    }
  }
  EXPECT_EQ(TestDevice::get().messages(), 0u);
}

TEST_P(TreesOf, EveryBranchHasTheBitsOfStraightDecoding) {
  if (left_to_sweep(GetParam())) GTEST_SKIP() << fixtures::left_to_the_sweep;
  TinyConfig tiny;
  tiny.type = gguf::Type::q8_0;
  tiny.head_dim = 32;  // a block of the q8_0 cache
  DeviceModel model(tiny, GetParam());
  Tried tried;
  expect_same_branches(model, slow ? 4 : 24, 32, tried);
  if (slow) return;
  EXPECT_GT(tried.moved, 10u);
  EXPECT_GT(tried.base, 64u);  // more than a chunk of keys
}

TEST(Trees, AreTheSameInEveryFamily) {
  if (slow) GTEST_SKIP() << fixtures::left_to_the_sweep << "; kernel_test has trees, windows and softcaps";
  for (const model::Architecture& row : model::architectures()) {
    SCOPED_TRACE(row.name);
    DeviceModel model(tiny_family(row.name), KvFormat::f16);
    Tried tried;
    expect_same_branches(model, full ? 24 : 12, full ? 32 : 8, tried);
    EXPECT_GT(tried.moved, 0u);
    EXPECT_GT(tried.base, 20u);  // beyond the windows
  }
}

INSTANTIATE_TEST_SUITE_P(Caches, TreesOf,
                         ::testing::Values(KvFormats{KvFormat::f32}, KvFormats{KvFormat::f16}, KvFormats{KvFormat::q8_0},
                                           KvFormats{KvFormat::q4_0, KvFormat::q5_1}, KvFormats{KvFormat::f16, KvFormat::q4_0}),
                         [](const auto& formats) { return name_of(formats.param); });

// Rows that are their own parents are at the base, each alone: many one-token texts in one pass.
TEST(Trees, RowsWithoutParentsAreTextsOfTheirOwn) {
  TinyConfig tiny;
  tiny.type = gguf::Type::f16;
  DeviceModel model(tiny, KvFormat::f16);
  const auto together = model.sequence(), alone = model.sequence();
  const Tokens tokens = model.tokens(20, 8);
  Parents parents;
  for (std::uint32_t row = 0; row < tokens.size(); ++row) parents.push_back(row);
  const auto logits = tree_logits(*together, model, tokens, parents, 0);
  for (std::uint32_t row = 0; row < tokens.size(); ++row) {
    const auto one = model.logits(*alone, std::span(&tokens[row], 1), 0, model.layers());
    ASSERT_EQ(std::memcmp(logits[row].data(), one[0].data(), one[0].size() * sizeof(float)), 0) << row;
  }
}

// Several chains after the same text that share nothing, as a block of candidates has them; then one of them is kept.
TEST(Trees, ChainsSideBySideAreTextsOfTheirOwn) {
  TinyConfig tiny;
  tiny.type = gguf::Type::q8_0;
  DeviceModel model(tiny, KvFormat::f16);
  const auto together = model.sequence(), alone = model.sequence();
  const Tokens text = model.tokens(70, 3);
  const std::uint32_t base = 70, chains = 4, length = 7;
  for (exec::Executor* sequence : {together.get(), alone.get()}) {
    for (std::uint32_t at = 0; at < base; at += 14) model.logits(*sequence, std::span(text).subspan(at, 14), at, model.layers());
  }
  const Tokens tokens = model.tokens(chains * length, 8);
  Parents parents;
  for (std::uint32_t row = 0; row < tokens.size(); ++row) parents.push_back(row % length == 0 ? row : row - 1);
  const auto logits = tree_logits(*together, model, tokens, parents, base);
  for (std::uint32_t chain = 0; chain < chains; ++chain) {
    const auto expected = model.logits(*alone, std::span(tokens).subspan(chain * length, length), base, model.layers());
    for (std::uint32_t i = 0; i < length; ++i) {
      ASSERT_EQ(std::memcmp(logits[chain * length + i].data(), expected[i].data(), expected[i].size() * sizeof(float)), 0) << chain << i;
    }
  }
  Parents path;  // of the last chain, which `alone` has in its cache now
  for (std::uint32_t i = 0; i < length; ++i) path.push_back((chains - 1) * length + i);
  together->keep_path(base, path);
  for (std::uint32_t layer = 0; layer < model.config().layer_count(); ++layer) {
    EXPECT_EQ(model.kv(*alone, layer, base + length), model.kv(*together, layer, base + length)) << layer;
  }
}

/// A tree whose rows run in three passes, and save their hidden states after the first layer; the logits are those of one pass over all of
/// them.
void expect_same_in_parts(DeviceModel& model, exec::Executor& whole, exec::Executor& parts, const Tokens& tokens, const Parents& parents,
                          std::uint32_t base) {
  const auto together = tree_logits(whole, model, tokens, parents, base);
  const auto rows = static_cast<std::uint32_t>(tokens.size());
  std::uint32_t first = 0;
  for (const std::uint32_t end : {rows / 4, rows / 2 + 1, rows}) {
    const std::uint32_t count = end - first;
    parts.run(
        {.layers = model.layers(), .bucket = kernels::bucket_for(count), .output = exec::Output::logits, .keep_after = 1, .tree = true},
        {.tokens = std::span(tokens).subspan(first, count),
         .base = base,
         .kept = first,
         .parents = std::span(parents).first(end),
         .computed = first});
    for (std::uint32_t row = first; row < end; ++row) {
      const auto got = parts.logits(row - first);
      ASSERT_EQ(std::memcmp(got.data(), together[row].data(), got.size() * sizeof(float)), 0) << "row " << row << " of " << rows;
    }
    first = end;
  }
}

// As pipelined drafts do: already computed rows are not run again, and those after the path that came true move to where a text has them.
TEST(Trees, RowsThatStandNeedNotRunAgain) {
  std::vector<const char*> families{"gemma2", "llama"};
  if (slow) families.resize(1);
  for (const char* family : families) {
    SCOPED_TRACE(family);
    DeviceModel model(tiny_family(family), KvFormat::f16);
    const auto whole = model.sequence(), parts = model.sequence(), straight = model.sequence();
    const Tokens text = model.tokens(70, 3), tokens = model.tokens(16, 8);
    const std::uint32_t base = 70, to = 2;
    for (exec::Executor* sequence : {whole.get(), parts.get(), straight.get()}) {
      for (std::uint32_t at = 0; at < base; at += 14) model.logits(*sequence, std::span(text).subspan(at, 14), at, model.layers());
    }
    ASSERT_TRUE(parts->hidden_states().acquire(false));
    const Parents parents{0, 0, 1, 2, 1, 0, 3, 4, 4, 6, 7, 8, 8, 10, 11, 13}, path{4, 7, 10, 13};  // rows 0 and 1, then those of the path
    expect_same_in_parts(model, *whole, *parts, tokens, parents, base);
    parts->move_here(base, path, to, true);
    Tokens straight_tokens{tokens[0], tokens[1]}, moved;
    for (const std::uint32_t row : path) moved.push_back(tokens[row]);
    straight_tokens.insert(straight_tokens.end(), moved.begin(), moved.end());
    const auto expected = model.logits(*straight, straight_tokens, base, model.layers());
    const std::uint32_t end = base + static_cast<std::uint32_t>(straight_tokens.size());
    for (std::uint32_t layer = 0; layer < model.config().layer_count(); ++layer) {
      EXPECT_EQ(model.kv(*straight, layer, end), model.kv(*parts, layer, end)) << "layer " << layer;
    }
    exec::LayerPlan rest = model.layers();
    rest.begin = 1;  // from the saved hidden states
    parts->run({.layers = rest, .bucket = kernels::bucket_for(4), .output = exec::Output::logits}, {.tokens = moved, .base = base + to});
    for (std::uint32_t i = 0; i < path.size(); ++i) {
      const auto got = parts->logits(i);
      EXPECT_EQ(std::memcmp(got.data(), expected[to + i].data(), got.size() * sizeof(float)), 0) << "row " << path[i];
    }
  }
  EXPECT_EQ(TestDevice::get().messages(), 0u);
}

}  // namespace
}  // namespace skipstone::fixtures
