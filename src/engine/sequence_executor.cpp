#include "engine/sequence_executor.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/status.h"
#include "engine/prompt_chunks.h"
#include "exec/kv_snapshot.h"
#include "sample/top_k.h"

namespace skipstone::engine {

using spec::Choice;
using spec::Token;

namespace {

Choice choice_of(const abi::RowResult& result) { return {static_cast<Token>(result.token), result.probability, result.margin}; }

/// The least float that is not below `bound`: comparing floats with it is comparing them with `bound` in double precision, as the loop
/// does.
float float_from(double bound) {
  const auto nearest = static_cast<float>(bound);
  return static_cast<double>(nearest) < bound ? std::nextafter(nearest, std::numeric_limits<float>::infinity()) : nearest;
}

/// A pass with sublayers left out may overflow where the full model does not; the loop then drops the draft.
template <typename Choose>
Choice number_or_none(const Choose& choose) {
  try {
    return choose();
  } catch (const Error& error) {
    if (error.code() != Code::internal) throw;
    return {};
  }
}

std::uint32_t bucket_of(std::span<const Token> rows) { return kernels::bucket_for(static_cast<std::uint32_t>(rows.size())); }

}  // namespace

SequenceExecutor::SequenceExecutor(exec::Executor& passes, const model::Config& config, const sample::SamplerParams& sampling,
                                   sample::Verification verification, Rounds rounds)
    : passes_(passes), config_(config), sampler_(sampling), switch_(rounds) {
  if (verification == sample::Verification::rejection) rejection_.emplace(sampling.seed);
}

void SequenceExecutor::forget_round() {
  pending_hole_ = false;
  drawn_.clear();
  if (rejection_) rejection_->next_round();
  kept_.layers = 0;
  kept_.rows.clear();
  round_watch_.reset();
}

std::uint32_t SequenceExecutor::max_rows() const { return STEP_VERIFY_ROWS; }

exec::PassSpec SequenceExecutor::pass(const exec::LayerPlan& layers, std::uint32_t bucket) const {
  exec::PassSpec spec;
  spec.layers = layers;
  spec.bucket = bucket;
  spec.output = sampler_.params().needs_logits() ? exec::Output::logits : exec::Output::argmax;
  return spec;
}

void SequenceExecutor::set_window(std::size_t position, Token token) {
  if (window_.size() <= position) window_.resize(position + 1);
  window_[position] = token;
}

Choice SequenceExecutor::choose(const exec::Executor& passes, std::uint32_t row, std::size_t position) {
  if (sampler_.params().needs_logits()) {
    return sampler_.choose(passes.logits(row), std::span(window_).first(position + 1), position + 1);
  }
  return choice_of(passes.result(row));
}

Choice SequenceExecutor::choose_draft(const exec::Executor& passes, std::uint32_t offset, std::size_t position) {
  return number_or_none([&] { return rejects() ? draw_draft(passes, offset, position) : choose(passes, 0, position); });
}

Choice SequenceExecutor::draw_draft(const exec::Executor& passes, std::uint32_t offset, std::size_t position) {
  const std::span<const float> logits = passes.logits(0);
  drawn_.resize(offset);  // a draft made anew replaces what followed
  Drawn& drawn = drawn_.emplace_back();
  drawn.distribution = sampler_.distribution(logits, std::span(window_).first(position + 1));
  drawn.token = rejection_->draft(drawn.distribution, position + 1);
  return sample::Sampler::describe(logits, drawn.token);
}

/// The draft behind `row`, where a pass of this round has drawn it; null where it came from elsewhere or there is none.
const SequenceExecutor::Drawn* SequenceExecutor::draft_behind(const spec::TokenTree& rows, std::uint32_t row) const {
  if (!rows.is_chain() || row + 1 >= rows.rows() || row >= drawn_.size()) return nullptr;
  return rows.tokens()[row + 1] == drawn_[row].token ? &drawn_[row] : nullptr;
}

Choice SequenceExecutor::draw_verified(std::uint32_t row, std::size_t position, const Drawn* draft) {
  const std::span<const float> logits = passes_.logits(row);
  const std::vector<double> p = sampler_.distribution(logits, std::span(window_).first(position + 1));
  const Token token = draft != nullptr ? rejection_->verify(p, draft->distribution, draft->token, position + 1)
                                       : rejection_->verify(p, {}, -1, position + 1);
  return sample::Sampler::describe(logits, token);
}

Choice SequenceExecutor::prefill(std::span<const Token> tokens, exec::Cosines cosines) {
  fill_holes(-1);
  forget_round();
  passes_.clear_cosines();
  window_ = text_;
  std::size_t done = 0;
  while (done < tokens.size()) {
    const std::uint32_t chunk = next_chunk(tokens.size() - done);
    const bool last = done + chunk == tokens.size();
    exec::PassSpec spec = pass(exec::LayerPlan::full(config_.layers), kernels::bucket_for(chunk));
    if (!last) spec.output = exec::Output::none;
    spec.last_row_only = last;
    spec.cosines = cosines;
    run(spec, {.tokens = tokens.subspan(done, chunk), .base = committed()});
    last_prefill_ = spec;
    last_prefill_rows_ = chunk;
    note_prompt(chunk);
    text_.insert(text_.end(), tokens.begin() + static_cast<std::ptrdiff_t>(done),
                 tokens.begin() + static_cast<std::ptrdiff_t>(done + chunk));
    done += chunk;
  }
  window_ = text_;
  return rejects() ? draw_verified(0, text_.size() - 1, nullptr) : choose(0, text_.size() - 1);
}

std::vector<float> SequenceExecutor::mean_attention_cosine(std::size_t tokens) const {
  std::vector<float> cosines = passes_.cosine_sums();
  cosines.resize(config_.layers);
  for (float& sum : cosines) sum /= static_cast<float>(tokens);
  return cosines;
}

void SequenceExecutor::copy_from(SequenceExecutor& from) {
  from.fill_holes(-1);
  exec::KvSnapshot::copy(from.passes_, passes_);
  resume(from.text_, from.prompts_);
}

spec::Prefilled SequenceExecutor::prefill(std::span<const Token> tokens, bool attention_cosine) {
  spec::Prefilled result{prefill(tokens, attention_cosine ? exec::Cosines::attention : exec::Cosines::none), {}};
  if (attention_cosine) result.attention_cosine = mean_attention_cosine(tokens.size());
  return result;
}

std::vector<float> SequenceExecutor::attention_cosine(std::uint32_t tokens) {
  if (tokens == 0 || tokens > std::min(max_rows(), committed())) {
    fail(Code::internal, "cosines of {} tokens cannot be measured in one pass behind {}", tokens, committed());
  }
  fill_holes(-1);
  const std::span<const Token> rows = std::span<const Token>(text_).last(tokens);
  exec::PassSpec spec = pass(exec::LayerPlan::full(config_.layers), bucket_of(rows));
  spec.output = exec::Output::none;
  spec.cosines = exec::Cosines::attention;
  passes_.clear_cosines();
  run(spec, {.tokens = rows, .base = committed() - tokens});
  return mean_attention_cosine(tokens);
}

Choice SequenceExecutor::draft(const exec::LayerPlan& plan, Token input, std::uint32_t offset, bool keep_prefix) {
  if (offset == 0) fill_holes(-1);
  const std::uint32_t position = committed() + offset;
  set_window(position, input);
  exec::PassSpec spec = pass(plan, 1);
  if (offset == 0) {
    kept_.layers = keep_prefix ? plan.whole_prefix() : 0;
    kept_.rows.clear();
  }
  if (kept_.layers > 0 && kept_.layers == plan.whole_prefix() && kept_.rows.size() == offset) {
    spec.keep_after = kept_.layers;
    kept_.rows.push_back(input);
  }
  run(spec, {.tokens = std::span(&input, 1), .base = position, .kept = offset});
  return choose_draft(passes_, offset, position);
}

Choice SequenceExecutor::draft_in_window(const exec::KeyWindow& window, Token input, std::uint32_t offset) {
  if (offset == 0) fill_holes(-1);
  const std::uint32_t position = committed() + offset;
  set_window(position, input);
  exec::PassSpec spec = pass(exec::LayerPlan::full(config_.layers), 1);
  spec.window = true;
  run(spec, {.tokens = std::span(&input, 1), .base = position, .window = window});
  return choose_draft(passes_, offset, position);
}

Choice SequenceExecutor::draft_by_model(std::uint32_t model, Token input, std::uint32_t offset) {
  const std::uint32_t position = committed() + offset;
  set_window(position, input);
  const exec::Executor& passes = draft_models_.at(model)->follow(std::span(window_).first(position + 1), pass({}, 1).output);
  return choose_draft(passes, offset, position);
}

void SequenceExecutor::set_window(const spec::TokenTree& rows, std::uint32_t row) {
  for (;; row = rows.parents()[row]) {
    set_window(committed() + rows.depths()[row], rows.tokens()[row]);
    if (row == 0) return;
  }
}

void SequenceExecutor::verify(const spec::TokenTree& rows, std::span<Choice> out) {
  fill_holes(-1);
  rows_ = rows;
  verified_ = true;
  exec::LayerPlan layers = exec::LayerPlan::full(config_.layers);
  layers.begin = keep(rows);
  exec::PassSpec spec = pass(layers, bucket_of(rows.tokens()));
  spec.tree = !rows.is_chain();
  if (top_count_ > 0) spec.output = exec::Output::logits;
  run(spec, {.tokens = rows.tokens(), .base = committed(), .parents = rows.parents()});
  top_.resize(std::size_t{rows.rows()} * top_count_);
  for (std::uint32_t row = 0; row < rows.rows(); ++row) {
    set_window(rows, row);
    const std::size_t position = committed() + rows.depths()[row];
    if (top_count_ > 0) sample::top_k(passes_.logits(row), std::span(top_).subspan(std::size_t{row} * top_count_, top_count_));
    if (top_count_ > 0 && !sampler_.params().needs_logits()) {
      out[row] = choose_of_top(row);
    } else {
      out[row] = rejects() ? draw_verified(row, position, draft_behind(rows, row)) : choose(row, position);
    }
  }
  if (round_watch_) switch_.took(round_watch_->seconds(), rows.rows());
  forget_round();
}

Choice SequenceExecutor::choose_of_top(std::uint32_t row) const {
  const std::span<const float> logits = passes_.logits(row);
  std::array<Token, 2> best;
  if (top_count_ >= best.size()) {
    std::copy_n(top_.begin() + static_cast<std::ptrdiff_t>(std::size_t{row} * top_count_), best.size(), best.begin());
  } else {
    sample::top_k(logits, best);
  }
  if (best[0] < 0) return {};
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const auto logit = [&](Token token) { return logits[static_cast<std::size_t>(token)]; };
  if (best[1] < 0) return {best[0], 0.0f, infinity};
  return {best[0], 0.0f, logit(best[0]) == logit(best[1]) ? 0.0f : logit(best[0]) - logit(best[1])};
}

bool SequenceExecutor::round(const spec::RoundRequest& request, spec::Round& out) {
  if (sampler_.params().needs_logits() || pacer_ != nullptr) return false;
  fill_holes(-1);
  top_.clear();
  const Stopwatch watch;
  forget_round();
  if (!switch_.on_device()) {
    if (switch_.measures()) round_watch_ = watch;
    return false;
  }
  exec::Round round;
  round.draft = request.plan;
  round.kept_layers = request.keep_prefix ? request.plan.whole_prefix() : 0;
  round.pending = request.pending;
  round.base = committed();
  round.most = request.most;
  round.least_probability = float_from(request.least_probability);
  run(round);

  out.drafts.clear();
  rows_ = spec::TokenTree(request.pending);
  verified_ = true;
  for (const abi::RowResult& draft : passes_.drafts()) {
    out.drafts.push_back(choice_of(draft));
    rows_.add(rows_.drafts(), out.drafts.back().token);
  }
  out.verified.clear();
  for (std::uint32_t row = 0; row < rows_.rows(); ++row) out.verified.push_back(choice_of(passes_.result(row)));
  if (switch_.measures()) switch_.took(watch.seconds(), rows_.rows());
  return true;
}

/// Completes the kept rows of a round to all of `rows`: those that no draft pass has read (the last draft) go through the first layers now.
/// Returns the layers that the verification need not run; 0 where nothing was kept.
std::uint32_t SequenceExecutor::keep(const spec::TokenTree& rows) {
  if (kept_.layers == 0 || !rows.is_chain()) return 0;
  const auto known = static_cast<std::uint32_t>(std::ranges::mismatch(kept_.rows, rows.tokens()).in1 - kept_.rows.begin());
  if (known == 0) return 0;
  if (known < rows.rows()) {
    const std::span<const Token> rest = rows.tokens().subspan(known);
    exec::LayerPlan first = exec::LayerPlan::full(config_.layers);
    first.end = kept_.layers;
    exec::PassSpec spec = pass(first, bucket_of(rest));
    spec.output = exec::Output::none;
    spec.keep_after = kept_.layers;
    run(spec, {.tokens = rest, .base = committed() + known, .kept = known});
  }
  return kept_.layers;
}

void SequenceExecutor::run_segment(Token pending, std::uint32_t begin, std::uint32_t end) {
  exec::PassSpec spec;
  spec.layers = exec::LayerPlan::full(config_.layers);
  spec.layers.begin = begin;
  spec.layers.end = end;
  spec.output = exec::Output::logits;
  if (end < config_.layers) spec.keep_after = end;
  run(spec, {.tokens = {&pending, 1}, .base = committed()});
}

void SequenceExecutor::fill_holes(Token pending) {
  if (holes_ == 0) return;
  std::vector<Token> rows(text_.end() - holes_, text_.end());
  if (pending >= 0) rows.push_back(pending);
  exec::PassSpec spec;
  spec.layers = exec::LayerPlan::full(config_.layers);
  spec.bucket = bucket_of(rows);
  spec.output = pending >= 0 ? exec::Output::logits : exec::Output::none;
  spec.last_row_only = pending >= 0;
  run(spec, {.tokens = rows, .base = committed() - holes_});
  holes_ = 0;
}

void SequenceExecutor::propagate(Token pending, std::uint32_t begin) {
  exec::PassSpec spec;
  spec.layers = exec::LayerPlan::full(config_.layers);
  spec.layers.begin = begin;
  spec.output = exec::Output::none;
  spec.kv_only = true;
  run(spec, {.tokens = {&pending, 1}, .base = committed()});
}

spec::EarlyExit SequenceExecutor::exit_early(const spec::EarlyExitRequest& request, Token pending) {
  forget_round();
  lossy_ = true;
  if (holes_ + 1 >= STEP_VERIFY_ROWS) fill_holes(-1);
  rows_ = spec::TokenTree(pending);
  verified_ = true;
  window_ = text_;
  set_window(committed(), pending);
  spec::EarlyExit exit;
  for (const std::uint32_t check : request.checks) {
    if (exit.layers > 0 && holes_ > 0) break;  // the layers behind the first check read what is not there yet
    run_segment(pending, exit.layers, check);
    exit.layers = check;
    const std::span<const float> logits = passes_.logits(0);
    const double guess = request.drafted < 0 ? 0.0 : static_cast<double>(sample::Sampler::describe(logits, request.drafted).probability);
    const double top = static_cast<double>(sample::Sampler::likeliest(logits).probability);
    if (!spec::leaves(request, top, guess, exit.rejected, exit.reason)) continue;
    exit.choice = sampler_.choose(passes_.logits(0), window_, window_.size());
    pending_hole_ = request.fill == spec::HoleFill::recompute;
    if (!pending_hole_) propagate(pending, check);
    return exit;
  }
  if (holes_ > 0) {
    fill_holes(pending);
  } else {
    run_segment(pending, exit.layers, config_.layers);
  }
  exit.layers = config_.layers;
  exit.reason = spec::ExitReason::full;
  exit.choice = sampler_.choose(passes_.logits(0), window_, window_.size());
  return exit;
}

void SequenceExecutor::commit(std::span<const std::uint32_t> path) {
  if (!verified_ || path.size() > rows_.rows()) {
    fail(Code::internal, "{} rows cannot be kept of a verification of {}", path.size(), verified_ ? rows_.rows() : 0);
  }
  passes_.keep_path(committed(), path);
  for (const std::uint32_t row : path) {
    set_window(text_.size(), rows_.tokens()[row]);  // another branch's tokens may stand there
    text_.push_back(rows_.tokens()[row]);
  }
  holes_ += pending_hole_ ? 1 : 0;
  pending_hole_ = verified_ = false;
}

void SequenceExecutor::score(const exec::LayerPlan& plan, std::span<const Token> rows, std::span<Choice> out) {
  forget_round();
  for (std::size_t i = 0; i < rows.size(); ++i) set_window(committed() + i, rows[i]);
  run(pass(plan, bucket_of(rows)), {.tokens = rows, .base = committed()});
  for (std::uint32_t i = 0; i < rows.size(); ++i) out[i] = number_or_none([&] { return choose(i, committed() + i); });
}

}  // namespace skipstone::engine
