// The committed text of a sequence from outside a generation: taken back, and asked for what stands behind it.
#include <algorithm>
#include <utility>

#include "base/status.h"
#include "engine/sequence_executor.h"

namespace skipstone::engine {

using spec::Token;

void SequenceExecutor::pace(exec::Pacer* pacer) {
  pacer_ = pacer;
  passes_.pace(pacer);
  for (const auto& model : draft_models_) model->pace(pacer);
}

void SequenceExecutor::run(const exec::PassSpec& spec, const exec::Rows& rows) {
  last_prefill_.reset();
  passes_.run(spec, rows);
}

void SequenceExecutor::run(const exec::Round& round) {
  last_prefill_.reset();
  passes_.run(round);
}

void SequenceExecutor::resume(std::vector<Token> text, std::vector<Prompt> prompts) {
  text_ = std::move(text);
  prompts_ = std::move(prompts);
  last_prefill_.reset();
  lossy_ = false;
  forget_round();
  holes_ = 0;
  for (const auto& model : draft_models_) model->forget();
  if (rejection_) rejection_.emplace(sampler_.params().seed);  // the same conversation, the same draws
}

void SequenceExecutor::note_prompt(std::size_t tokens) {
  if (!prompts_.empty() && prompts_.back().end == text_.size()) {
    prompts_.back().end += tokens;
  } else {
    prompts_.push_back({text_.size(), text_.size() + tokens});
  }
}

void SequenceExecutor::take_back(std::uint32_t tokens) {
  if (tokens > text_.size()) fail(Code::internal, "{} tokens cannot be taken back of {}", tokens, text_.size());
  text_.resize(text_.size() - tokens);
  holes_ -= std::min(holes_, tokens);
  while (!prompts_.empty() && prompts_.back().begin >= text_.size()) prompts_.pop_back();
  if (!prompts_.empty()) prompts_.back().end = std::min(prompts_.back().end, text_.size());
  verified_ = false;
  last_prefill_.reset();
  forget_round();
}

// A continuation's token is run over once more, which leaves the keys and values that stand there: a pass has the same bits over one row as
// over several. Those of a prompt come from kernels of their own, so there the output alone is made, of what the prompt's last pass left.
void SequenceExecutor::look(exec::Output output) {
  if (text_.empty()) fail(Code::invalid_argument, "the conversation is empty: there is nothing that logits could stand behind");
  if (lossy_) fail(Code::unsupported, "a lossy drafter left layers out, so there are no logits of the whole model behind its text");
  if (ends_in_continuation()) {
    fill_holes(-1);
    exec::PassSpec spec;
    spec.layers = exec::LayerPlan::full(config_.layers);
    spec.output = output;
    run(spec, {.tokens = std::span(text_).last(1), .base = committed() - 1});
    return;
  }
  if (!last_prefill_) {
    fail(Code::invalid_argument,
         "logits behind a prompt are there until the session does something else; ask for them before, or read a token more");
  }
  exec::PassSpec spec = *last_prefill_;
  spec.output = output;
  spec.output_only = true;
  spec.cosines = exec::Cosines::none;
  passes_.run(spec, {.tokens = std::span(text_).last(last_prefill_rows_), .base = committed() - last_prefill_rows_});
}

std::vector<float> SequenceExecutor::logits() {
  look(exec::Output::logits);
  const std::span<const float> row = passes_.logits(0);
  return {row.begin(), row.end()};
}

std::vector<float> SequenceExecutor::hidden() {
  look(exec::Output::hidden);
  return passes_.hidden(0);
}

}  // namespace skipstone::engine
