// Acceptance by given probabilities instead of by the model: what the runtime does with a drafter that is right so often. For benchmarks.
#pragma once

#include <span>
#include <vector>

#include "spec/executor.h"

namespace skipstone::spec {

/// Throws invalid_argument unless these are 1 to most_drafts probabilities.
void check_synthetic_acceptance(std::span<const double> probabilities);

/// All passes are `executor`'s and run as ever; what a verification says of the drafts is replaced. The i-th draft of a round is accepted
/// with probabilities[i], given that those before it were (the last one holds for all further drafts); of a tree these are the first
/// child of row 0, the first child of that, and so on, and of a block its first row. Where drawing says no the model's token stands,
/// or the next one that is no draft. A draw is a function of the place in the text, the pending token and the draft's depth, so the same
/// generation comes out the same each time. The text says nothing. Not for verification by rejection, nor for lossy rounds.
class SyntheticAcceptance : public Executor {
 public:
  SyntheticAcceptance(Executor& executor, std::vector<double> probabilities, std::uint32_t vocabulary);

  std::uint32_t layers() const override { return executor_.layers(); }
  std::uint32_t context() const override { return executor_.context(); }
  std::uint32_t max_rows() const override { return executor_.max_rows(); }
  std::uint32_t committed() const override { return executor_.committed(); }
  Prefilled prefill(std::span<const Token> tokens, bool attention_cosine) override { return executor_.prefill(tokens, attention_cosine); }
  Choice draft(const exec::LayerPlan& plan, Token input, std::uint32_t offset, bool keep_prefix) override {
    return executor_.draft(plan, input, offset, keep_prefix);
  }
  Choice draft_in_window(const exec::KeyWindow& window, Token input, std::uint32_t offset) override {
    return executor_.draft_in_window(window, input, offset);
  }
  Choice draft_by_model(std::uint32_t model, Token input, std::uint32_t offset) override {
    return executor_.draft_by_model(model, input, offset);
  }
  void verify(const TokenTree& rows, std::span<Choice> out) override;
  void keep_top(std::uint32_t count) override { executor_.keep_top(count); }
  std::span<const Token> top() const override { return executor_.top(); }
  void verify_block(std::span<const std::vector<Token>> rows, std::span<std::vector<Choice>> out) override;
  void commit_row(std::span<const std::vector<Token>> rows, std::uint32_t row, std::uint32_t tokens) override {
    executor_.commit_row(rows, row, tokens);
  }
  bool round(const RoundRequest& request, Round& out) override;
  EarlyExit exit_early(const EarlyExitRequest& request, Token pending) override { return executor_.exit_early(request, pending); }
  void commit(std::span<const std::uint32_t> path) override { executor_.commit(path); }
  void score(const exec::LayerPlan& plan, std::span<const Token> rows, std::span<Choice> out) override { executor_.score(plan, rows, out); }
  std::vector<float> attention_cosine(std::uint32_t tokens) override { return executor_.attention_cosine(tokens); }
  void take_back(std::uint32_t tokens) override { executor_.take_back(tokens); }
  std::chrono::steady_clock::time_point now() const override { return executor_.now(); }
  double device_seconds() const override { return executor_.device_seconds(); }

 private:
  bool accepts(Token pending, std::uint32_t depth) const;
  /// The model's choice behind row `row` becomes none of its children.
  void reject(const TokenTree& rows, std::uint32_t row, std::span<Choice> verified) const;
  void decide(const TokenTree& rows, std::span<Choice> verified) const;

  Executor& executor_;
  std::vector<double> probabilities_;
  std::uint32_t vocabulary_;
};

}  // namespace skipstone::spec
