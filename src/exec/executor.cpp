#include "exec/executor.h"

#include <algorithm>
#include <utility>

#include "base/status.h"

namespace skipstone::exec {
namespace {

/// Verification and plain decoding, not prompts, and not drafts by a part of the model.
bool chooses_tokens(const PassSpec& spec, std::uint32_t layers) {
  const LayerPlan& plan = spec.layers;
  const bool whole = plan.end == layers && plan.experts == 0 && plan.skip_attention.none() && plan.skip_mlp.none();
  return whole && !spec.prompt && !spec.window && spec.output != Output::none;
}

}  // namespace

bool HiddenStatesReservation::acquire(bool wait) {
  if (!shared_) return true;
  if (!held_) held_ = scheduler_.acquire_hidden_states(client_, wait);
  return held_;
}

void HiddenStatesReservation::release() {
  if (std::exchange(held_, false)) scheduler_.release_hidden_states(client_);
}

Executor::Executor(Worker& worker)
    : worker_(worker), client_(worker.scheduler()), hidden_states_(worker.scheduler(), client_), pages_(worker.cache()) {
  clear_cosines();
}

void Executor::run_alone(const std::function<void(Runner&)>& work) {
  if (slicer_ == nullptr) return worker_.scheduler().run_alone(client_, work);
  if (!own_runner_) own_runner_ = worker_.new_runner();
  work(*own_runner_);
}

void Executor::run(const PassSpec& spec, const Rows& rows, const Meanwhile& meanwhile) {
  const auto count = static_cast<std::uint32_t>(rows.tokens.size());
  const std::uint32_t end = rows.base + rows.computed + count, context = model().shape.context;
  if (count == 0 || count > spec.bucket || end > context) {
    fail(Code::internal, "{} tokens at position {} do not fit a bucket of {} rows and a context of {}", count, rows.base, spec.bucket,
         context);
  }
  if (spec.tree && rows.parents.size() != rows.computed + count) {
    fail(Code::internal, "a tree of {} rows has {} parents", rows.computed + count, rows.parents.size());
  }
  pages_.reserve(rows.base, end, keeps_all_pages_);
  begin_pass(spec, rows.base, spec.prompt ? end : rows.base);
  const SequenceRows own{pages_.lists(), rows};
  if (slicer_ != nullptr) {
    const auto pass = [&](Runner& runner) { runner.run(spec, own, results_, {slicer_, &meanwhile}); };
    run_alone(std::ref(pass));
  } else {
    worker_.scheduler().run(client_, spec, own, results_, meanwhile);
  }
  pages_.states().end_pass();
  times_.device_seconds += results_.seconds;
  times_.remote_seconds += results_.remote_seconds;
  if (chooses_tokens(spec, model().config.layer_count())) times_.experts += results_.experts;
  if (!results_.candidates.empty()) remember(spec, rows);
}

void Executor::begin_pass(const PassSpec& spec, std::uint32_t base, std::uint32_t written) {
  const bool writes = writes_states(spec, model().config, model().shape);
  pages_.begin_pass(base, writes ? std::optional(written) : std::nullopt);
}

void Executor::remember(const PassSpec& spec, const Rows& rows) {
  again_.spec = spec;
  again_.spec.output = Output::logits;
  again_.spec.keep_after = 0;  // already saved
  again_.spec.cosines = Cosines::none;
  again_.tokens.assign(rows.tokens.begin(), rows.tokens.end());
  again_.parents.assign(rows.parents.begin(), rows.parents.end());
  again_.rows = rows;
  again_.rows.tokens = again_.tokens;
  again_.rows.parents = again_.parents;
  again_.rows.candidates = {};
}

std::span<const float> Executor::logits(std::uint32_t row) {
  if (row < results_.candidates.size()) {
    run_alone([&](Runner& runner) {
      whole_row_ = runner.local().logits_of(results_.pass, results_.first_row + row);
      if (!whole_row_.empty()) return;
      runner.run(again_.spec, {pages_.lists(), again_.rows}, results_, {.slicer = slicer_});
      times_.device_seconds += results_.seconds;
    });
    if (!whole_row_.empty()) return whole_row_;
  }
  return std::span(results_.logits).subspan(row * results_.logits_stride, model().config.vocabulary);
}

void Executor::keep_path(std::uint32_t base, std::span<const std::uint32_t> path) {
  std::uint32_t in_place = 0;
  while (in_place < path.size() && path[in_place] == in_place) ++in_place;
  if (in_place == path.size()) return;
  run_alone([&](Runner& runner) { runner.move(base, path, pages_.lists()); });
}

void Executor::move_here(std::uint32_t base, std::span<const std::uint32_t> path, std::uint32_t to, bool kept) {
  run_alone([&](Runner& runner) { runner.local().move(base, path, to, pages_.lists(), kept); });
}

void Executor::run(const RoundSpec& round) {
  pages_.reserve(round.base, std::min(round.base + round.most + 1, model().shape.context), keeps_all_pages_);
  begin_pass({.layers = LayerPlan::full(model().config.layer_count()), .step = RoundStep::verify}, round.base, round.base);
  run_alone([&](Runner& runner) { runner.local().run(round, pages_.lists(), results_); });
  pages_.states().end_pass();
  times_.device_seconds += results_.seconds;
  times_.experts += results_.experts;
}

std::vector<float> Executor::hidden(std::uint32_t row) const {
  const std::size_t width = model().config.width;
  const auto first = results_.hidden.begin() + static_cast<std::ptrdiff_t>(row * width);
  return {first, first + static_cast<std::ptrdiff_t>(width)};
}

void Executor::clear_cosines() { results_.cosine_sums.assign(std::size_t{2} * model().config.layer_count(), 0.0f); }

std::size_t Executor::recorded_passes() {
  std::size_t count = 0;
  run_alone([&](Runner& runner) { count = runner.local().recorded_passes(); });
  return count;
}

void TimedPasses::set(bool timed) {
  sequence_.results_.device_microseconds.reset();
  sequence_.run_alone([&](Runner& runner) { runner.local().set_timed(timed); });
}

}  // namespace skipstone::exec
