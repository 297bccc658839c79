#include "engine/early_exits.h"

#include <vector>

namespace skipstone::engine {

using speculation::Token;

void EarlyExits::run_segment(Token pending, std::uint32_t base, std::uint32_t begin, std::uint32_t end) {
  exec::PassSpec spec;
  spec.layers = exec::LayerPlan::full(layers_);
  spec.layers.begin = begin;
  spec.layers.end = end;
  spec.output = exec::Output::logits;
  if (end < layers_) spec.keep_after = end;
  passes_.run(spec, {.tokens = {&pending, 1}, .base = base});
}

void EarlyExits::fill(speculation::TokenHistory& text, Token pending) {
  if (holes_ == 0) return;
  const std::span<const Token> holes = text.committed().last(holes_);
  std::vector<Token> rows(holes.begin(), holes.end());
  if (pending >= 0) rows.push_back(pending);
  exec::PassSpec spec;
  spec.layers = exec::LayerPlan::full(layers_);
  spec.bucket = kernels::bucket_for(static_cast<std::uint32_t>(rows.size()));
  spec.output = pending >= 0 ? exec::Output::logits : exec::Output::none;
  spec.last_row_only = pending >= 0;
  passes_.run(spec, {.tokens = rows, .base = text.committed_size() - holes_});
  holes_ = 0;
}

void EarlyExits::propagate(Token pending, std::uint32_t base, std::uint32_t begin) {
  exec::PassSpec spec;
  spec.layers = exec::LayerPlan::full(layers_);
  spec.layers.begin = begin;
  spec.output = exec::Output::none;
  spec.kv_only = true;
  passes_.run(spec, {.tokens = {&pending, 1}, .base = base});
}

speculation::EarlyExit EarlyExits::run(const speculation::EarlyExitRequest& request, Token pending, speculation::TokenHistory& text,
                                       Verifier& verifier) {
  left_layers_out_ = true;
  passes_.hidden_states().acquire(true);
  speculation::EarlyExit exit = leave(request, pending, text, verifier);
  passes_.hidden_states().release();
  return exit;
}

speculation::EarlyExit EarlyExits::leave(const speculation::EarlyExitRequest& request, Token pending, speculation::TokenHistory& text,
                                         Verifier& verifier) {
  if (holes_ + 1 >= STEP_VERIFY_ROWS) fill(text);
  const std::uint32_t base = text.committed_size();
  speculation::EarlyExit exit;
  for (const std::uint32_t check : request.checks) {
    if (exit.layers > 0 && holes_ > 0) break;  // the layers after the first check would read keys and values that are missing yet
    run_segment(pending, base, exit.layers, check);
    exit.layers = check;
    const std::span<const float> logits = passes_.logits(0);
    const double guess = request.drafted < 0 ? 0.0 : static_cast<double>(sample::Sampler::describe(logits, request.drafted).probability);
    const double top = static_cast<double>(sample::Sampler::likeliest(logits).probability);
    if (!speculation::leaves(request, top, guess, exit.rejected, exit.reason)) continue;
    exit.choice = verifier.choose_by_logits(text, {&pending, 1}, passes_.logits(0));
    pending_hole_ = request.fill == speculation::HoleFill::recompute;
    if (!pending_hole_) propagate(pending, base, check);
    return exit;
  }
  if (holes_ > 0) {
    fill(text, pending);
  } else {
    run_segment(pending, base, exit.layers, layers_);
  }
  exit.layers = layers_;
  exit.reason = speculation::ExitReason::full;
  exit.choice = verifier.choose_by_logits(text, {&pending, 1}, passes_.logits(0));
  return exit;
}

}  // namespace skipstone::engine
