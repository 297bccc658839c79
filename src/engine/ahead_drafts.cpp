#include "engine/ahead_drafts.h"

#include "base/stopwatch.h"

namespace skipstone::engine {

using spec::Choice;
using spec::Token;

bool AheadDrafts::can_make(const spec::LayerPass& pass, std::uint32_t near_layers) const {
  return wanted_ && pass.plan.begin == 0 && pass.plan.whole_prefix() == pass.plan.end && pass.plan.end <= near_layers;
}

void AheadDrafts::begin(const spec::LayerPass& pass, bool keeps) {
  begun_ = true;
  keeps_ = keeps;
  plan_ = pass.plan;
}

void AheadDrafts::clear() {
  begun_ = false;
  made_.clear();
}

Choice AheadDrafts::draft(exec::PassRunner& runner, const exec::SequencePages& pages, RowChooser& chooser, Token input,
                          std::uint32_t position, std::uint32_t kept, bool keep) {
  exec::PassSpec spec;
  spec.layers = plan_;
  spec.output = chooser.output();
  if (keep) spec.keep_after = plan_.whole_prefix();
  chooser.put(position, input);
  runner.run(spec, {pages.lists(), {.tokens = {&input, 1}, .base = position, .kept = kept}}, results_);
  return number_or_none([&] {
    if (spec.output == exec::Output::argmax) return choice_of(results_.rows.front());
    return chooser.choose_by_logits(std::span(results_.logits).first(vocabulary_), position);
  });
}

void AheadDrafts::make(exec::PassRunner& runner, const exec::SequencePages& pages, RowChooser& chooser, const spec::TokenTree& rows,
                       std::uint32_t base) {
  made_.clear();
  if (runner.is_back()) return;
  const Stopwatch guessing;
  base_ = base + rows.rows();
  Choice last = draft(runner, pages, chooser, rows.tokens().back(), base_ - 1, 0, false);
  guess_seconds_ = guessing.seconds();
  while (last.token >= 0 && made_.size() < rows.drafts() && !runner.is_back()) {
    const Stopwatch watch;
    const auto offset = static_cast<std::uint32_t>(made_.size());
    const Token input = last.token;
    last = draft(runner, pages, chooser, input, base_ + offset, offset, keeps_);
    made_.push_back({input, last, watch.seconds()});
  }
}

void AheadDrafts::check(const spec::TokenTree& rows, std::span<const Choice> choices) {
  bool right = !made_.empty() && choices.back().token == made_.front().input;
  for (std::uint32_t row = 1; row < rows.rows(); ++row) right = right && choices[row - 1].token == rows.tokens()[row];
  if (!right) made_.clear();
}

const Choice* AheadDrafts::take(const spec::LayerPass& pass, Token input, std::uint32_t offset, std::uint32_t position) {
  if (offset >= made_.size() || pass.plan != plan_ || made_[offset].input != input || position != base_ + offset) {
    made_.clear();
    return nullptr;
  }
  ++used_;
  used_seconds_ += made_[offset].seconds + (offset == 0 ? guess_seconds_ : 0.0);
  return &made_[offset].choice;
}

}  // namespace skipstone::engine
