// The oracle's recurrent layers: their operations by hand, and texts that are cut, rolled back and forked.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "edited_model.h"
#include "ref/model.h"
#include "ref/recurrent.h"

namespace skipstone {
namespace {

using exec::LayerPlan;
using tests::EditedModel;
using Tokens = std::vector<std::int32_t>;

TEST(OracleRecurrent, ConvolutionsSeeTheRowsBeforeThem) {
  // Two channels of inputs 1, 2, 3, ... and 10, 20, 30, ...
  const auto row = [](std::uint32_t position) {
    static std::array<float, 2> inputs;
    inputs = {static_cast<float>(position + 1), static_cast<float>(10 * (position + 1))};
    return std::span<const float>(inputs);
  };
  const std::vector<float> taps{1.0f, 100.0f, 10000.0f, 0.0f, 0.0f, 1.0f}, bias{0.5f, 0.25f};
  std::vector<float> out(2);
  ref::causal_convolution(taps, {}, 0, row, out);
  EXPECT_EQ(out, (std::vector<float>{10000.0f, 10.0f}));
  ref::causal_convolution(taps, {}, 1, row, out);
  EXPECT_EQ(out, (std::vector<float>{20100.0f, 20.0f}));
  ref::causal_convolution(taps, bias, 4, row, out);
  EXPECT_EQ(out, (std::vector<float>{50403.5f, 50.25f}));
}

TEST(OracleRecurrent, TheDeltaRuleReplacesWhatAKeyHolds) {
  std::vector<float> state(6), out(3);
  const std::vector<float> x{1.0f, 0.0f}, y{0.0f, 1.0f}, first{1.0f, 2.0f, 3.0f}, second{-4.0f, 5.0f, 6.0f};
  ref::delta_step(state, {.query = x, .key = x, .value = first, .decay = 1.0, .beta = 1.0}, out);
  EXPECT_EQ(out, first);
  ref::delta_step(state, {.query = x, .key = y, .value = second, .decay = 1.0, .beta = 1.0}, out);
  EXPECT_EQ(out, first) << "another key";
  ref::delta_step(state, {.query = x, .key = x, .value = second, .decay = 1.0, .beta = 0.5}, out);
  EXPECT_EQ(out, (std::vector<float>{-1.5f, 3.5f, 4.5f})) << "half of the way";
  ref::delta_step(state, {.query = y, .key = x, .value = second, .decay = 0.5, .beta = 0.0}, out);
  EXPECT_EQ(out, (std::vector<float>{-2.0f, 2.5f, 3.0f})) << "what decays is what was held";
}

TEST(OracleRecurrent, MambaAddsToWhatDecays) {
  std::vector<float> state(4), out(2);
  const std::vector<float> x{2.0f, 3.0f}, b{1.0f, 10.0f}, c{1.0f, 1.0f};
  ref::mamba_step(state, {.x = x, .b = b, .c = c, .decay = 0.5, .dt = 2.0, .skip = 4.0}, out);
  EXPECT_EQ(state, (std::vector<float>{4.0f, 40.0f, 6.0f, 60.0f}));
  EXPECT_EQ(out, (std::vector<float>{52.0f, 78.0f}));
  ref::mamba_step(state, {.x = x, .b = b, .c = c, .decay = 0.5, .dt = 0.0, .skip = 0.0}, out);
  EXPECT_EQ(out, (std::vector<float>{22.0f, 33.0f}));
}

TEST(OracleRecurrent, FunctionsStayFinite) {
  EXPECT_EQ(ref::softplus(1000.0), 1000.0);
  EXPECT_EQ(ref::softplus(-1000.0), 0.0);
  EXPECT_NEAR(ref::softplus(0.0), std::log(2.0), 1e-15);
  EXPECT_EQ(ref::silu(-1000.0), 0.0);
  std::vector<float> zeros(4);
  ref::l2_normalise(zeros);
  EXPECT_EQ(zeros, std::vector<float>(4));
}

std::vector<std::string> hybrids() {
  std::vector<std::string> names;
  for (const model::Architecture& row : model::architectures()) {
    if (!std::holds_alternative<std::monostate>(row.recurrent)) names.emplace_back(row.name);
  }
  return names;
}

class OracleHybrid : public testing::TestWithParam<std::string> {
 protected:
  OracleHybrid() : model_(EditedModel(fixtures::tiny_family(GetParam())).open(), KvFormat::f32), sequence_(model_.new_sequence()) {
    for (std::int32_t i = 0; i < 30; ++i) text_.push_back(3 + i * i * 7 % 300);
  }
  /// The logits of the rows.
  std::vector<std::vector<float>> read(ref::Sequence& sequence, std::size_t first, std::size_t count, const LayerPlan& plan) const {
    return model_.forward(sequence, std::span(text_).subspan(first, count), static_cast<std::uint32_t>(first), plan).logits;
  }
  std::vector<std::vector<float>> read(ref::Sequence& sequence, std::size_t first, std::size_t count) const {
    return read(sequence, first, count, LayerPlan::full(model_.config().layer_count()));
  }

  ref::Model model_;
  ref::Sequence sequence_;
  Tokens text_;
};

TEST_P(OracleHybrid, RowsDoNotDependOnHowATextIsCut) {
  const auto whole = read(sequence_, 0, text_.size());
  for (const std::size_t piece : {std::size_t{1}, std::size_t{2}, std::size_t{7}}) {
    ref::Sequence pieces = model_.new_sequence();
    for (std::size_t at = 0; at < text_.size(); at += piece) {
      const auto rows = read(pieces, at, std::min(piece, text_.size() - at));
      for (std::size_t r = 0; r < rows.size(); ++r) EXPECT_EQ(rows[r], whole[at + r]) << "row " << at + r << ", cut by " << piece;
    }
  }
}

TEST_P(OracleHybrid, RowsThatAreRolledBackLeaveNoTrace) {
  const auto whole = read(sequence_, 0, text_.size());
  ref::Sequence sequence = model_.new_sequence();
  read(sequence, 0, 12);
  ref::Sequence fork = sequence;
  const Tokens right = text_;
  for (std::size_t i = 12; i < 20; ++i) text_[i] = text_[i] % 250 + 4;  // a draft that is refused
  read(sequence, 12, 8);
  text_ = right;
  EXPECT_EQ(read(sequence, 12, 18).back(), whole.back());
  EXPECT_EQ(read(sequence, 29, 1).back(), whole.back()) << "a call once more";
  EXPECT_EQ(read(sequence, 20, 10).back(), whole.back()) << "after a rollback within the text";
  EXPECT_EQ(read(fork, 12, 18).back(), whole.back());
}

TEST_P(OracleHybrid, TheTextBeforeCounts) {
  const auto first = read(sequence_, 0, 20).back();
  text_[3] = text_[3] % 250 + 4;
  ref::Sequence other = model_.new_sequence();
  EXPECT_NE(read(other, 0, 20).back(), first);
}

TEST_P(OracleHybrid, SkippedSublayersNeitherComputeNorStore) {
  const std::uint32_t layers = model_.config().layer_count();
  LayerPlan skipping = LayerPlan::full(layers);
  skipping.skip_attention[0] = true;
  const auto whole = read(sequence_, 0, 10);
  ref::Sequence sequence = model_.new_sequence();
  EXPECT_NE(read(sequence, 0, 10, skipping), whole);
  EXPECT_TRUE(sequence.recurrent[0].records.empty());
  EXPECT_THROW(read(sequence, 10, 1), Error) << "the first layer has stored nothing";
}

TEST(OracleRecurrent, HeadsThatAreNotThereAreRefused) {
  fixtures::TinyConfig tiny = fixtures::tiny_family("qwen35");
  const ref::Model with(EditedModel(tiny).open(), KvFormat::f32);
  tiny.prediction_layers = 0;
  const ref::Model without(EditedModel(tiny).open(), KvFormat::f32);
  const Tokens token{5};
  const std::vector<float> hidden(tiny.dim, 0.5f);
  ref::Sequence sequence = with.new_sequence(), other = without.new_sequence();
  EXPECT_EQ(with.predict(sequence, token, 0, hidden).logits.size(), 1u);
  EXPECT_THROW(with.predict(sequence, token, 2, hidden), Error) << "one position is stored";
  EXPECT_THROW(with.predict(sequence, token, 0, {}), Error);
  EXPECT_THROW(with.predict(sequence, token, 0, hidden, 1), Error);
  EXPECT_THROW(without.predict(other, token, 0, hidden), Error);
}

INSTANTIATE_TEST_SUITE_P(Families, OracleHybrid, testing::ValuesIn(hybrids()), [](const auto& name) { return name.param; });

}  // namespace
}  // namespace skipstone
