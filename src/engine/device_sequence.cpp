#include "engine/device_sequence.h"

#include <cmath>
#include <limits>

#include "base/status.h"
#include "sample/top_k.h"

namespace skipstone::engine {

using speculation::Choice;
using speculation::Token;

namespace {

/// The least float that is not below `bound`: comparing a float with it gives the same result as comparing with `bound` in double
/// precision, as the generation loop does.
float float_from(double bound) {
  const auto nearest = static_cast<float>(bound);
  return static_cast<double>(nearest) < bound ? std::nextafter(nearest, std::numeric_limits<float>::infinity()) : nearest;
}

}  // namespace

DeviceSequence::DeviceSequence(exec::Executor& passes, const model::Config& config, const sample::SamplerParams& sampling,
                               sample::Verification verification, Rounds rounds, bool candidates, bool pipelined_drafts)
    : passes_(passes),
      config_(config),
      chooser_(sampling, verification, candidates ? config.vocabulary : 0),
      exits_(passes, config.layer_count()),
      pipelined_(pipelined_drafts, config.vocabulary),
      round_mode_(rounds) {}

speculation::SequenceTimes DeviceSequence::times() const {
  return {slicer_ == nullptr ? std::chrono::steady_clock::now() : slicer_->now(), passes_.device_seconds(), passes_.remote_seconds(),
          pipelined_.used_seconds(), pipelined_.used()};
}

void DeviceSequence::set_slicer(exec::PassSlicer* slicer) {
  slicer_ = slicer;
  passes_.set_slicer(slicer);
  for (const auto& model : draft_models_) model->set_slicer(slicer);
}

void DeviceSequence::end_round(bool predicted_kept) {
  exits_.drop();
  chooser_.next_round();
  kept_.begin(0);
  predicted_kept_ = predicted_kept;
  if (!predicted_kept) passes_.release_hidden_states();
  round_watch_.reset();
}

exec::PassSpec DeviceSequence::pass(const exec::LayerPlan& layers, std::size_t rows) const {
  exec::PassSpec spec;
  spec.layers = layers;
  spec.bucket = kernels::bucket_for(static_cast<std::uint32_t>(rows));
  spec.output = chooser_.output();
  return spec;
}

std::vector<float> DeviceSequence::mean_attention_cosine(std::size_t tokens) const {
  std::vector<float> cosines = passes_.cosine_sums();
  cosines.resize(config_.layer_count());
  for (float& sum : cosines) sum /= static_cast<float>(tokens);
  return cosines;
}

std::vector<float> DeviceSequence::attention_cosine(std::uint32_t tokens) {
  if (tokens == 0 || tokens > std::min<std::uint32_t>(STEP_VERIFY_ROWS, committed())) {
    fail(Code::internal, "cosines of {} tokens cannot be measured in one pass after {}", tokens, committed());
  }
  exits_.fill(text_);
  const std::span<const Token> rows = text_.tokens().last(tokens);
  exec::PassSpec spec = pass(exec::LayerPlan::full(config_.layer_count()), rows.size());
  spec.output = exec::Output::none;
  spec.cosines = exec::Cosines::attention;
  passes_.clear_cosines();
  passes_.run(spec, {.tokens = rows, .base = committed() - tokens});
  return mean_attention_cosine(tokens);
}

void DeviceSequence::begin_kept(const speculation::LayerPass& by) {
  exits_.fill(text_);
  // With concurrent sequences, a batched pass over all layers costs less than one that starts from saved hidden states.
  const bool alone = !passes_.has_concurrent_sequences();
  predicted_kept_ = predicted_kept_ && passes_.holds_hidden_states();
  kept_.begin(by.keep_prefix && alone && passes_.hold_hidden_states(false) ? by.plan.whole_prefix() : 0);
  if (alone && slicer_ == nullptr && !chooser_.rejects() && pipelined_.can_make(by, passes_.local_layers())) {
    pipelined_.begin(by);
  } else {
    pipelined_.clear();
  }
}

const Choice* DeviceSequence::predicted_draft(const speculation::DraftPass& pass, Token input, std::uint32_t offset) {
  const auto* by = std::get_if<speculation::LayerPass>(&pass);
  if (by == nullptr) {
    pipelined_.clear();
    return nullptr;
  }
  if (offset == 0) begin_kept(*by);
  const Choice* made = pipelined_.take(*by, input, offset, committed() + offset);
  if (made != nullptr && predicted_kept_) kept_.take(by->plan.whole_prefix(), offset, input);
  return made;
}

exec::Executor& DeviceSequence::run_draft(const speculation::LayerPass& by, Token input, std::uint32_t offset) {
  exec::PassSpec spec = pass(by.plan, 1);
  const std::uint32_t prefix = by.plan.whole_prefix();
  if (kept_.take(prefix, offset, input)) spec.keep_after = prefix;
  exec::Rows rows{.tokens = std::span(&input, 1), .base = committed() + offset, .kept = offset};
  if (pipelined_.begun()) {
    spec.output = exec::Output::logits;
  } else {
    chooser_.request(spec, rows);
  }
  const double before = passes_.device_seconds();
  passes_.run(spec, rows);
  if (pipelined_.begun()) pipelined_.record_time(spec.bucket, passes_.device_seconds() - before);
  return passes_;
}

exec::Executor& DeviceSequence::run_draft(const exec::KeyWindow& window, Token input, std::uint32_t offset) {
  if (offset == 0) exits_.fill(text_);
  exec::PassSpec spec = pass(exec::LayerPlan::full(config_.layer_count()), 1);
  spec.window = true;
  exec::Rows row{.tokens = std::span(&input, 1), .base = committed() + offset, .window = window};
  chooser_.request(spec, row);
  passes_.run(spec, row);
  return passes_;
}

exec::Executor& DeviceSequence::run_draft(const speculation::SecondModel& model, Token, std::uint32_t offset) {
  return draft_models_.at(model.number)->follow(chooser_.text(committed() + offset + 1), chooser_.output());
}

Choice DeviceSequence::draft(const speculation::DraftPass& pass, Token input, std::uint32_t offset) {
  const std::size_t position = committed() + offset;
  chooser_.set_token(position, input);
  if (const Choice* made = predicted_draft(pass, input, offset)) return *made;
  chooser_.begin_rows();
  chooser_.add_row(position);
  const auto run = [&](const auto& by) { return &run_draft(by, input, offset); };
  exec::Executor& passes = *std::visit(run, pass);
  if (!pipelined_.begun()) return chooser_.draft(passes, offset, position);
  Choice choice = number_or_none([&] { return chooser_.choose_by_logits(passes.logits(0), position); });
  pipelined_.observe(offset, passes.logits(0));
  return choice;
}

/// Completes the round's saved hidden states to all of `rows`: rows that no draft pass has read (the last draft) go through the first
/// layers now. Returns the number of layers that the verification need not run; 0 if nothing was saved.
std::uint32_t DeviceSequence::complete_kept(const speculation::TokenTree& rows) {
  if (kept_.layers() == 0 || !rows.is_chain()) return 0;
  const std::uint32_t known = kept_.known(rows.tokens());
  if (known == 0) return 0;
  if (known < rows.rows()) {
    const std::span<const Token> rest = rows.tokens().subspan(known);
    exec::LayerPlan first = exec::LayerPlan::full(config_.layer_count());
    first.end = kept_.layers();
    exec::PassSpec spec = pass(first, rest.size());
    spec.output = exec::Output::none;
    spec.keep_after = kept_.layers();
    passes_.run(spec, {.tokens = rest, .base = committed() + known, .kept = known});
  }
  return kept_.layers();
}

void DeviceSequence::verify(const speculation::TokenTree& rows, std::uint32_t top, speculation::Verified& out) {
  exits_.fill(text_);
  exec::LayerPlan layers = exec::LayerPlan::full(config_.layer_count());
  layers.begin = complete_kept(rows);
  exec::PassSpec spec = pass(layers, rows.rows());
  spec.tree = !rows.is_chain();
  exec::Rows pass_rows{.tokens = rows.tokens(), .base = committed(), .parents = rows.parents()};
  if (top > 0) {
    spec.output = exec::Output::logits;
  } else {
    ask_for(rows, spec, pass_rows);
  }
  const bool ahead =
      pipelined_.begun() && rows.is_chain() && rows.drafts() > 0 && committed() + PipelinedDrafts::most_rows() < passes_.shape().context;
  exec::Meanwhile meanwhile;
  if (ahead) {
    passes_.reserve(committed(), committed() + PipelinedDrafts::most_rows());
    meanwhile = [&](exec::PassRunner& runner) { pipelined_.make(runner, passes_.pages(), chooser_, rows, committed(), kept_.layers()); };
  }
  const double remote_before = passes_.remote_seconds();
  passes_.run(spec, pass_rows, meanwhile);
  out.choices.resize(rows.rows());
  out.top.resize(std::size_t{rows.rows()} * top);
  for (std::uint32_t row = 0; row < rows.rows(); ++row) {
    chooser_.set_token(rows, row, committed());
    const std::span<Token> likeliest = std::span(out.top).subspan(std::size_t{row} * top, top);
    if (top > 0) sample::top_k(passes_.logits(row), likeliest);
    out.choices[row] = top > 0 && !chooser_.needs_logits()
                           ? choose_of_top(passes_.logits(row), likeliest)
                           : chooser_.verified(passes_, row, committed() + rows.depths()[row], chooser_.drawn_after(rows, row));
  }
  if (round_watch_) round_mode_.record_time(round_watch_->seconds(), rows.rows());
  const PipelinedDrafts::Made made = pipelined_.check(rows, out.choices, passes_.remote_seconds() - remote_before);
  const bool predicted_kept = !made.path.empty() && kept_.layers() > 0;
  if (!made.path.empty()) passes_.move_here(committed(), made.path, made.to, predicted_kept);
  end_round(predicted_kept);
  verified_ = rows;
}

void DeviceSequence::ask_for(const speculation::TokenTree& rows, exec::PassSpec& spec, exec::Rows& pass_rows) {
  chooser_.begin_rows();
  for (std::uint32_t row = 0; row < rows.rows(); ++row) {
    chooser_.set_token(rows, row, committed());
    chooser_.add_row(committed() + rows.depths()[row]);
  }
  chooser_.request(spec, pass_rows);
}

bool DeviceSequence::round(const speculation::RoundRequest& request, speculation::DraftedRound& out) {
  if (chooser_.needs_logits() || slicer_ != nullptr || passes_.local_layers() < config_.layer_count()) return false;
  exits_.fill(text_);
  const Stopwatch watch;
  end_round();
  const bool has_concurrent_sequences =
      passes_.has_concurrent_sequences();  // then passes can be batched with the round's, so times are not comparable
  if (has_concurrent_sequences || !round_mode_.on_device()) {
    if (round_mode_.measures() && !has_concurrent_sequences) round_watch_ = watch;
    return false;
  }
  exec::RoundSpec round;
  round.draft = request.pass.plan;
  round.kept_layers = request.pass.keep_prefix ? request.pass.plan.whole_prefix() : 0;
  if (round.kept_layers > 0 && !passes_.hold_hidden_states(false)) return false;
  round.pending = request.pending;
  round.base = committed();
  round.most = request.most;
  round.least_probability = float_from(request.least_probability);
  passes_.run(round);
  passes_.release_hidden_states();

  out.drafts.clear();
  speculation::TokenTree& rows = verified_.emplace(request.pending);
  for (const abi::RowResult& draft : passes_.drafts()) {
    out.drafts.push_back(choice_of(draft));
    rows.add(rows.drafts(), out.drafts.back().token);
  }
  out.verified.clear();
  for (std::uint32_t row = 0; row < rows.rows(); ++row) out.verified.push_back(choice_of(passes_.result(row)));
  if (round_mode_.measures()) round_mode_.record_time(watch.seconds(), rows.rows());
  return true;
}

speculation::EarlyExit DeviceSequence::exit_early(const speculation::EarlyExitRequest& request, Token pending) {
  end_round();
  verified_.emplace(pending);
  return exits_.run(request, pending, text_, chooser_);
}

void DeviceSequence::commit(std::span<const std::uint32_t> path) {
  if (!verified_ || path.size() > verified_->rows()) {
    fail(Code::internal, "{} rows cannot be kept of a verification of {}", path.size(), verified_ ? verified_->rows() : 0);
  }
  passes_.keep_path(committed(), path);
  for (const std::uint32_t row : path) {
    const Token token = verified_->tokens()[row];
    chooser_.set_token(committed(), token);  // another branch's tokens may be there
    text_.append(token);
  }
  exits_.commit();
  verified_.reset();
}

void DeviceSequence::score(const exec::LayerPlan& plan, std::span<const Token> rows, std::span<Choice> out) {
  pipelined_.clear();
  end_round();
  chooser_.begin_rows();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    chooser_.set_token(committed() + i, rows[i]);
    chooser_.add_row(committed() + i);
  }
  exec::PassSpec spec = pass(plan, rows.size());
  exec::Rows pass_rows{.tokens = rows, .base = committed()};
  chooser_.request(spec, pass_rows);
  passes_.run(spec, pass_rows);
  for (std::uint32_t i = 0; i < rows.size(); ++i) out[i] = number_or_none([&] { return chooser_.choose(passes_, i, committed() + i); });
}

void DeviceSequence::copy_from(DeviceSequence& from) {
  const CommittedText& text = from.finish();
  passes_.share(from.passes_.pages(), text.size());
  continue_from(text, from.left_layers_out());
}

const CommittedText& DeviceSequence::finish() {
  exits_.fill(text_);
  return text_;
}

void DeviceSequence::continue_from(CommittedText text, bool left_layers_out) {
  text_ = std::move(text);
  pipelined_.clear();
  end_round();
  chooser_.restart();
  exits_.reset(left_layers_out);
  for (const auto& model : draft_models_) model->forget();
}

void DeviceSequence::rollback(std::uint32_t tokens) {
  if (tokens > committed()) fail(Code::internal, "{} tokens cannot be taken back of {}", tokens, committed());
  text_.rollback(tokens);
  exits_.rollback(tokens);
  passes_.truncate(committed());
  verified_.reset();
  pipelined_.clear();
  end_round();
  if (!passes_.pages().is_complete(committed())) read_again();
}

// Runs the last token again with the kernels that have read it, which does not change its keys and values: a row has the same bits in every
// pass.
void DeviceSequence::rerun_last_row(exec::Output output) {
  if (text_.size() == 0) fail(Code::invalid_argument, "the conversation is empty: there is nothing that logits could follow");
  if (exits_.left_layers_out()) {
    fail(Code::unsupported, "a lossy drafter left layers out, so there are no logits of the whole model after its text");
  }
  exits_.fill(text_);
  exec::PassSpec spec = text_.ends_in_continuation() ? pass(exec::LayerPlan::full(config_.layer_count()), 1) : prompt_pass(1);
  spec.output = output;
  passes_.run(spec, {.tokens = text_.tokens().last(1), .base = committed() - 1});
}

std::vector<float> DeviceSequence::logits() {
  rerun_last_row(exec::Output::logits);
  const std::span<const float> row = passes_.logits(0);
  return {row.begin(), row.end()};
}

std::vector<float> DeviceSequence::hidden() {
  rerun_last_row(exec::Output::hidden);
  return passes_.hidden(0);
}

}  // namespace skipstone::engine
