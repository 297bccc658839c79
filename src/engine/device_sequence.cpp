#include "engine/device_sequence.h"

#include <cmath>
#include <limits>

#include "base/status.h"
#include "sample/top_k.h"

namespace skipstone::engine {

using spec::Choice;
using spec::Token;

namespace {

/// The least float that is not below `bound`: comparing floats with it is comparing them with `bound` in double precision, as the loop
/// does.
float float_from(double bound) {
  const auto nearest = static_cast<float>(bound);
  return static_cast<double>(nearest) < bound ? std::nextafter(nearest, std::numeric_limits<float>::infinity()) : nearest;
}

}  // namespace

DeviceSequence::DeviceSequence(exec::Executor& passes, const model::Config& config, const sample::SamplerParams& sampling,
                               sample::Verification verification, Rounds rounds, bool candidates, bool drafts_ahead)
    : passes_(passes),
      config_(config),
      chooser_(sampling, verification, candidates ? config.vocabulary : 0),
      exits_(passes, config.layers),
      ahead_(drafts_ahead, config.vocabulary),
      switch_(rounds) {}

spec::SequenceTimes DeviceSequence::times() const {
  return {pacer_ == nullptr ? std::chrono::steady_clock::now() : pacer_->now(), passes_.device_seconds(), passes_.away_seconds(),
          ahead_.used_seconds(), ahead_.used()};
}

void DeviceSequence::pace(exec::Pacer* pacer) {
  pacer_ = pacer;
  passes_.pace(pacer);
  for (const auto& model : draft_models_) model->pace(pacer);
}

void DeviceSequence::end_round(bool ahead_kept) {
  exits_.drop();
  chooser_.next_round();
  kept_.begin(0);
  ahead_kept_ = ahead_kept;
  if (!ahead_kept) passes_.give_kept_rows();
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
  cosines.resize(config_.layers);
  for (float& sum : cosines) sum /= static_cast<float>(tokens);
  return cosines;
}

std::vector<float> DeviceSequence::attention_cosine(std::uint32_t tokens) {
  if (tokens == 0 || tokens > std::min<std::uint32_t>(STEP_VERIFY_ROWS, committed())) {
    fail(Code::internal, "cosines of {} tokens cannot be measured in one pass behind {}", tokens, committed());
  }
  exits_.fill(text_);
  const std::span<const Token> rows = text_.tokens().last(tokens);
  exec::PassSpec spec = pass(exec::LayerPlan::full(config_.layers), rows.size());
  spec.output = exec::Output::none;
  spec.cosines = exec::Cosines::attention;
  passes_.clear_cosines();
  passes_.run(spec, {.tokens = rows, .base = committed() - tokens});
  return mean_attention_cosine(tokens);
}

void DeviceSequence::begin_kept(const spec::LayerPass& by) {
  exits_.fill(text_);
  // In company a pass over all layers, which others share, costs less than one that starts from kept rows.
  const bool alone = !passes_.in_company();
  ahead_kept_ = ahead_kept_ && passes_.holds_kept_rows();
  kept_.begin(by.keep_prefix && alone && passes_.hold_kept_rows(false) ? by.plan.whole_prefix() : 0);
  if (alone && pacer_ == nullptr && !chooser_.rejects() && ahead_.can_make(by, passes_.near_layers())) {
    ahead_.begin(by);
  } else {
    ahead_.clear();
  }
}

const Choice* DeviceSequence::made_ahead(const spec::DraftPass& pass, Token input, std::uint32_t offset) {
  const auto* by = std::get_if<spec::LayerPass>(&pass);
  if (by == nullptr) {
    ahead_.clear();
    return nullptr;
  }
  if (offset == 0) begin_kept(*by);
  const Choice* made = ahead_.take(*by, input, offset, committed() + offset);
  if (made != nullptr && ahead_kept_) kept_.take(by->plan.whole_prefix(), offset, input);
  return made;
}

exec::Executor& DeviceSequence::run_draft(const spec::LayerPass& by, Token input, std::uint32_t offset) {
  exec::PassSpec spec = pass(by.plan, 1);
  const std::uint32_t prefix = by.plan.whole_prefix();
  if (kept_.take(prefix, offset, input)) spec.keep_after = prefix;
  exec::Rows rows{.tokens = std::span(&input, 1), .base = committed() + offset, .kept = offset};
  if (ahead_.begun()) {
    spec.output = exec::Output::logits;
  } else {
    chooser_.ask(spec, rows);
  }
  const double before = passes_.device_seconds();
  passes_.run(spec, rows);
  if (ahead_.begun()) ahead_.took(spec.bucket, passes_.device_seconds() - before);
  return passes_;
}

exec::Executor& DeviceSequence::run_draft(const exec::KeyWindow& window, Token input, std::uint32_t offset) {
  if (offset == 0) exits_.fill(text_);
  exec::PassSpec spec = pass(exec::LayerPlan::full(config_.layers), 1);
  spec.window = true;
  exec::Rows row{.tokens = std::span(&input, 1), .base = committed() + offset, .window = window};
  chooser_.ask(spec, row);
  passes_.run(spec, row);
  return passes_;
}

exec::Executor& DeviceSequence::run_draft(const spec::SecondModel& model, Token, std::uint32_t offset) {
  return draft_models_.at(model.number)->follow(chooser_.text(committed() + offset + 1), chooser_.output());
}

Choice DeviceSequence::draft(const spec::DraftPass& pass, Token input, std::uint32_t offset) {
  const std::size_t position = committed() + offset;
  chooser_.put(position, input);
  if (const Choice* made = made_ahead(pass, input, offset)) return *made;
  chooser_.begin_rows();
  chooser_.add_row(position);
  const auto run = [&](const auto& by) { return &run_draft(by, input, offset); };
  exec::Executor& passes = *std::visit(run, pass);
  if (!ahead_.begun()) return chooser_.draft(passes, offset, position);
  Choice choice = number_or_none([&] { return chooser_.choose_by_logits(passes.logits(0), position); });
  ahead_.saw(offset, passes.logits(0));
  return choice;
}

/// Completes the kept rows of a round to all of `rows`: those that no draft pass has read (the last draft) go through the first layers now.
/// Returns the layers that the verification need not run; 0 where nothing was kept.
std::uint32_t DeviceSequence::complete_kept(const spec::TokenTree& rows) {
  if (kept_.layers() == 0 || !rows.is_chain()) return 0;
  const std::uint32_t known = kept_.known(rows.tokens());
  if (known == 0) return 0;
  if (known < rows.rows()) {
    const std::span<const Token> rest = rows.tokens().subspan(known);
    exec::LayerPlan first = exec::LayerPlan::full(config_.layers);
    first.end = kept_.layers();
    exec::PassSpec spec = pass(first, rest.size());
    spec.output = exec::Output::none;
    spec.keep_after = kept_.layers();
    passes_.run(spec, {.tokens = rest, .base = committed() + known, .kept = known});
  }
  return kept_.layers();
}

void DeviceSequence::verify(const spec::TokenTree& rows, std::uint32_t top, spec::Verified& out) {
  exits_.fill(text_);
  exec::LayerPlan layers = exec::LayerPlan::full(config_.layers);
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
      ahead_.begun() && rows.is_chain() && rows.drafts() > 0 && committed() + AheadDrafts::most_rows() < passes_.shape().context;
  exec::Meanwhile meanwhile;
  if (ahead) {
    passes_.reserve(committed(), committed() + AheadDrafts::most_rows());
    meanwhile = [&](exec::PassRunner& runner) { ahead_.make(runner, passes_.pages(), chooser_, rows, committed(), kept_.layers()); };
  }
  const double away_before = passes_.away_seconds();
  passes_.run(spec, pass_rows, meanwhile);
  out.choices.resize(rows.rows());
  out.top.resize(std::size_t{rows.rows()} * top);
  for (std::uint32_t row = 0; row < rows.rows(); ++row) {
    chooser_.put(rows, row, committed());
    const std::span<Token> likeliest = std::span(out.top).subspan(std::size_t{row} * top, top);
    if (top > 0) sample::top_k(passes_.logits(row), likeliest);
    out.choices[row] = top > 0 && !chooser_.needs_logits()
                           ? choose_of_top(passes_.logits(row), likeliest)
                           : chooser_.verified(passes_, row, committed() + rows.depths()[row], chooser_.drawn_behind(rows, row));
  }
  if (round_watch_) switch_.took(round_watch_->seconds(), rows.rows());
  const AheadDrafts::Made made = ahead_.check(rows, out.choices, passes_.away_seconds() - away_before);
  const bool ahead_kept = !made.path.empty() && kept_.layers() > 0;
  if (!made.path.empty()) passes_.move_here(committed(), made.path, made.to, ahead_kept);
  end_round(ahead_kept);
  verified_ = rows;
}

void DeviceSequence::ask_for(const spec::TokenTree& rows, exec::PassSpec& spec, exec::Rows& pass_rows) {
  chooser_.begin_rows();
  for (std::uint32_t row = 0; row < rows.rows(); ++row) {
    chooser_.put(rows, row, committed());
    chooser_.add_row(committed() + rows.depths()[row]);
  }
  chooser_.ask(spec, pass_rows);
}

bool DeviceSequence::round(const spec::RoundRequest& request, spec::DraftedRound& out) {
  if (chooser_.needs_logits() || pacer_ != nullptr || passes_.near_layers() < config_.layers) return false;
  exits_.fill(text_);
  const Stopwatch watch;
  end_round();
  const bool in_company = passes_.in_company();  // where passes of others can be merged with the round's, and times say nothing
  if (in_company || !switch_.on_device()) {
    if (switch_.measures() && !in_company) round_watch_ = watch;
    return false;
  }
  exec::RoundSpec round;
  round.draft = request.pass.plan;
  round.kept_layers = request.pass.keep_prefix ? request.pass.plan.whole_prefix() : 0;
  if (round.kept_layers > 0 && !passes_.hold_kept_rows(false)) return false;
  round.pending = request.pending;
  round.base = committed();
  round.most = request.most;
  round.least_probability = float_from(request.least_probability);
  passes_.run(round);
  passes_.give_kept_rows();

  out.drafts.clear();
  spec::TokenTree& rows = verified_.emplace(request.pending);
  for (const abi::RowResult& draft : passes_.drafts()) {
    out.drafts.push_back(choice_of(draft));
    rows.add(rows.drafts(), out.drafts.back().token);
  }
  out.verified.clear();
  for (std::uint32_t row = 0; row < rows.rows(); ++row) out.verified.push_back(choice_of(passes_.result(row)));
  if (switch_.measures()) switch_.took(watch.seconds(), rows.rows());
  return true;
}

spec::EarlyExit DeviceSequence::exit_early(const spec::EarlyExitRequest& request, Token pending) {
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
    chooser_.put(committed(), token);  // another branch's tokens may stand there
    text_.append(token);
  }
  exits_.commit();
  verified_.reset();
}

void DeviceSequence::score(const exec::LayerPlan& plan, std::span<const Token> rows, std::span<Choice> out) {
  ahead_.clear();
  end_round();
  chooser_.begin_rows();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    chooser_.put(committed() + i, rows[i]);
    chooser_.add_row(committed() + i);
  }
  exec::PassSpec spec = pass(plan, rows.size());
  exec::Rows pass_rows{.tokens = rows, .base = committed()};
  chooser_.ask(spec, pass_rows);
  passes_.run(spec, pass_rows);
  for (std::uint32_t i = 0; i < rows.size(); ++i) out[i] = number_or_none([&] { return chooser_.choose(passes_, i, committed() + i); });
}

void DeviceSequence::copy_from(DeviceSequence& from) {
  const CommittedText& text = from.settle();
  passes_.share(from.passes_.pages(), text.size());
  resume(text, from.left_layers_out());
}

const CommittedText& DeviceSequence::settle() {
  exits_.fill(text_);
  return text_;
}

void DeviceSequence::resume(CommittedText text, bool left_layers_out) {
  text_ = std::move(text);
  ahead_.clear();
  end_round();
  chooser_.restart();
  exits_.reset(left_layers_out);
  for (const auto& model : draft_models_) model->forget();
}

void DeviceSequence::take_back(std::uint32_t tokens) {
  if (tokens > committed()) fail(Code::internal, "{} tokens cannot be taken back of {}", tokens, committed());
  text_.take_back(tokens);
  exits_.take_back(tokens);
  passes_.cut(committed());
  verified_.reset();
  ahead_.clear();
  end_round();
  if (!passes_.pages().is_complete(committed())) read_again();
}

// The last token is run over once more by the kernels that have read it, which leaves the keys and values that stand there: a row has the
// same bits in every pass.
void DeviceSequence::look(exec::Output output) {
  if (text_.size() == 0) fail(Code::invalid_argument, "the conversation is empty: there is nothing that logits could stand behind");
  if (exits_.left_layers_out()) {
    fail(Code::unsupported, "a lossy drafter left layers out, so there are no logits of the whole model behind its text");
  }
  exits_.fill(text_);
  exec::PassSpec spec = text_.ends_in_continuation() ? pass(exec::LayerPlan::full(config_.layers), 1) : prompt_pass(1);
  spec.output = output;
  passes_.run(spec, {.tokens = text_.tokens().last(1), .base = committed() - 1});
}

std::vector<float> DeviceSequence::logits() {
  look(exec::Output::logits);
  const std::span<const float> row = passes_.logits(0);
  return {row.begin(), row.end()};
}

std::vector<float> DeviceSequence::hidden() {
  look(exec::Output::hidden);
  return passes_.hidden(0);
}

}  // namespace skipstone::engine
