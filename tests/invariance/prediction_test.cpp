// Heads for multi-token prediction: drafts against the oracle, and what passes store for them against passes of single rows.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "base/philox.h"
#include "device_model.h"
#include "fixtures/slow_device.h"
#include "gpu/matrix_math.h"

namespace skipstone::fixtures {
namespace {

TinyConfig tiny_with_head(const char* family, gguf::Type type) {
  TinyConfig tiny = tiny_family(family);
  tiny.type = type;
  tiny.prediction_layers = 1;
  tiny.context = 192;
  return tiny;
}

std::vector<float> draft(exec::Executor& sequence, std::int32_t token, std::uint32_t position) {
  sequence.run({.layers = {}, .output = exec::Output::logits, .predicts = true}, {.tokens = {&token, 1}, .base = position});
  const auto logits = sequence.logits(0);
  return {logits.begin(), logits.end()};
}

void expect_draft(const std::vector<float>& got, const std::vector<float>& wanted, double relative, const std::string& where) {
  ASSERT_EQ(got.size(), wanted.size());
  double largest = 0, worst = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(wanted[i])));
    worst = std::max(worst, std::abs(static_cast<double>(got[i]) - static_cast<double>(wanted[i])));
  }
  EXPECT_LE(worst, relative * largest) << where;
}

// The head sees pairs of a hidden state and the token after it; its rows here are counted by the token, in the oracle by the hidden state:
// rotations are by distances, so that only their rounding differs.
void expect_drafts_of_oracle(DeviceModel& model, std::initializer_list<std::uint32_t> passes) {
  const double tolerance = on_matrices() ? 1e-2 : 1e-4;
  const Tokens text = model.tokens(80, 11);
  const auto sequence = model.sequence();
  ref::Sequence oracle = model.oracle().new_sequence();
  std::vector<float> hidden;  // of all positions
  std::uint32_t base = 0;
  // A prompt, rows of every number, single ones; each time three drafts, of which the last two follow drafts.
  for (const std::uint32_t rows : passes) {
    const auto piece = std::span<const std::int32_t>(text).subspan(base, rows);
    if (base == 0 && !on_matrices() && !model.prompts_in_halves()) {
      sequence->run({.layers = model.layers(), .bucket = 32, .prompt = true, .output = exec::Output::none, .last_row_only = true},
                    {.tokens = piece, .base = base});
    } else {
      model.logits(*sequence, piece, base, model.layers());
    }
    const ref::Result passed = model.oracle().forward(oracle, piece, base, model.layers());
    for (const std::vector<float>& row : passed.hidden) {
      const std::vector<float> normed = model.oracle().normalised(row);
      hidden.insert(hidden.end(), normed.begin(), normed.end());
    }
    base += rows;
    const Tokens after(text.begin() + 1, text.begin() + base + 1);
    ref::Result wanted = model.oracle().predict(oracle, after, 0, hidden);
    std::int32_t token = text[base];
    for (std::uint32_t offset = 0; offset < 3; ++offset) {
      const std::vector<float>& logits = wanted.logits.back();
      expect_draft(draft(*sequence, token, base + offset), logits, tolerance,
                   "after " + std::to_string(base) + " tokens, draft " + std::to_string(offset));
      token = static_cast<std::int32_t>(std::ranges::max_element(logits) - logits.begin());
      const std::vector<float> own = wanted.hidden.back();
      if (offset < 2) wanted = model.oracle().predict(oracle, {&token, 1}, base + offset, own);
    }
  }
  EXPECT_EQ(TestDevice::get().messages(), 0u);
}

TEST(PredictionHead, DraftsAsTheOracleDoes) {
  DeviceModel model(tiny_with_head("qwen35", gguf::Type::f32), KvFormat::f32);
  expect_drafts_of_oracle(model, {23, 1, 4, 7, 1, 13, 1});
}

TEST(PredictionHead, MayHaveMatricesOfItsOwn) {
  TinyConfig tiny = tiny_with_head("llama", gguf::Type::f32);
  tiny.own_head_matrices = true;
  DeviceModel model(tiny, KvFormat::f32);
  EXPECT_EQ(model.config().prediction_layers.size(), 1u);
  expect_drafts_of_oracle(model, {9, 4, 1});
}

/// The head's keys, values and hidden states of a text of which `step(base)` rows are in a pass, with drafts between the passes.
std::vector<std::byte> kept_after(DeviceModel& model, const Tokens& text, bool drafts,
                                  const std::function<std::uint32_t(std::uint32_t)>& step) {
  const auto sequence = model.sequence();
  sequence->keep_all_pages();
  for (std::uint32_t base = 0; base < text.size();) {
    const std::uint32_t rows = std::min(step(base), static_cast<std::uint32_t>(text.size()) - base);
    if (drafts && base > 0) {
      for (std::uint32_t offset = 0; offset < 3 && base + offset < text.size(); ++offset)
        draft(*sequence, text[base + offset], base + offset);
    }
    model.logits(*sequence, std::span(text).subspan(base, rows), base, model.layers());
    base += rows;
  }
  return model.kv(*sequence, model.config().layer_count(), static_cast<std::uint32_t>(text.size()));
}

TEST(PredictionHead, KeepsTheBitsOfSingleRows) {
  DeviceModel model(tiny_with_head("qwen35", gguf::Type::f16), KvFormat::f16);
  const Tokens text = model.tokens(slow_device_or_validation() ? 40 : 100, 12);
  const std::vector<std::byte> alone = kept_after(model, text, false, [](std::uint32_t) { return 1u; });
  EXPECT_GT(alone.size(), 0u);
  std::uint32_t turn = 0;
  const std::vector<std::byte> together = kept_after(model, text, false, [&](std::uint32_t) { return 32 - turn++ % 32; });
  EXPECT_TRUE(together == alone) << "passes of several rows";
  const std::vector<std::byte> drafted = kept_after(model, text, true, [&](std::uint32_t base) {
    return 1 + philox({base, 0, 0, 0}, {21, 22})[0] % 9;
  });
  EXPECT_TRUE(drafted == alone) << "after drafts";
  EXPECT_EQ(TestDevice::get().messages(), 0u);
}

// The accepted branch of a tree leaves what a chain of its tokens does.
TEST(PredictionHead, KeepsTheBitsOfAcceptedBranches) {
  DeviceModel model(tiny_with_head("qwen35", gguf::Type::f16), KvFormat::f16);
  const Tokens text = model.tokens(70, 13);
  const auto straight = model.sequence(), branches = model.sequence();
  // Every second row is on the text's branch, the others are wrong.
  for (std::uint32_t base = 0; base + 4 <= text.size(); base += 4) {
    Tokens rows;
    std::vector<std::uint32_t> parents, path;
    for (std::uint32_t i = 0; i < 4; ++i) {
      if (i > 0) {
        rows.push_back((text[base + i] + 5) % static_cast<std::int32_t>(model.config().vocabulary));
        parents.push_back(path.back());
      }
      parents.push_back(i == 0 ? 0 : path.back());
      path.push_back(static_cast<std::uint32_t>(rows.size()));
      rows.push_back(text[base + i]);
    }
    branches->run({.layers = model.layers(), .bucket = 8, .output = exec::Output::logits, .tree = true},
                  {.tokens = rows, .base = base, .parents = parents});
    branches->keep_path(base, path);
    model.logits(*straight, std::span(text).subspan(base, 4), base, model.layers());
  }
  const std::uint32_t head = model.config().layer_count();
  EXPECT_TRUE(model.kv(*branches, head, 68) == model.kv(*straight, head, 68));
  EXPECT_EQ(draft(*branches, text[68], 68), draft(*straight, text[68], 68));
  EXPECT_EQ(TestDevice::get().messages(), 0u);
}

}  // namespace
}  // namespace skipstone::fixtures
