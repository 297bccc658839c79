#include "exec/executor.h"

#include <algorithm>
#include <utility>

#include "base/status.h"

namespace skipstone::exec {

Executor::Executor(BatchScheduler& passes) : passes_(passes), client_(passes), pages_(passes.cache()) { clear_cosines(); }

PassRunner& Executor::own_runner() {
  if (!own_runner_) own_runner_ = passes_.new_runner();
  return *own_runner_;
}

void Executor::run(const PassSpec& spec, const Rows& rows, const Meanwhile& meanwhile) {
  const auto count = static_cast<std::uint32_t>(rows.tokens.size());
  const std::uint32_t end = rows.base + rows.computed + count;
  if (count == 0 || count > spec.bucket || end > shape().context) {
    fail(Code::internal, "{} tokens at position {} do not fit a bucket of {} rows and a context of {}", count, rows.base, spec.bucket,
         shape().context);
  }
  if (spec.tree && rows.parents.size() != rows.computed + count) {
    fail(Code::internal, "a tree of {} rows has {} parents", rows.computed + count, rows.parents.size());
  }
  pages_.reserve(rows.base, end, keeps_all_pages_);
  const SequenceRows own{pages_.lists(), rows};
  if (slicer_ != nullptr) {
    own_runner().run(spec, own, results_, slicer_, meanwhile);
  } else {
    passes_.run(client_, spec, own, results_, meanwhile);
  }
  device_seconds_ += results_.seconds;
  remote_seconds_ += results_.remote_seconds;
  if (!results_.candidates.empty()) remember(spec, rows);
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
    const auto read = [&](PassRunner& runner) {
      whole_row_ = runner.logits_of(results_.pass, results_.first_row + row);
      if (!whole_row_.empty()) return;
      runner.run(again_.spec, {pages_.lists(), again_.rows}, results_, slicer_);
      device_seconds_ += results_.seconds;
    };
    if (slicer_ != nullptr) {
      read(own_runner());
    } else {
      passes_.run_alone(client_, read);
    }
    if (!whole_row_.empty()) return whole_row_;
  }
  return std::span(results_.logits).subspan(row * results_.logits_stride, passes_.config().vocabulary);
}

bool Executor::hold_hidden_states(bool wait) {
  if (slicer_ != nullptr) return true;  // its runner is not shared
  if (!holds_hidden_states_) holds_hidden_states_ = passes_.acquire_hidden_states(client_, wait);
  return holds_hidden_states_;
}

void Executor::release_hidden_states() {
  if (std::exchange(holds_hidden_states_, false)) passes_.release_hidden_states(client_);
}

void Executor::keep_path(std::uint32_t base, std::span<const std::uint32_t> path) {
  std::uint32_t in_place = 0;
  while (in_place < path.size() && path[in_place] == in_place) ++in_place;
  if (in_place == path.size()) return;
  const auto move = [&](PassRunner& runner) { runner.move(base, path, pages_.lists()); };
  if (slicer_ != nullptr) return move(own_runner());
  passes_.run_alone(client_, move);
}

void Executor::move_here(std::uint32_t base, std::span<const std::uint32_t> path, std::uint32_t to, bool kept) {
  passes_.run_alone(client_, [&](PassRunner& runner) { runner.move_here(base, path, to, pages_.lists(), kept); });
}

void Executor::run(const RoundSpec& round) {
  pages_.reserve(round.base, std::min(round.base + round.most + 1, shape().context), keeps_all_pages_);
  passes_.run_alone(client_, [&](PassRunner& runner) { runner.run(round, pages_.lists(), results_); });
  device_seconds_ += results_.seconds;
}

std::vector<float> Executor::hidden(std::uint32_t row) const {
  const std::size_t width = passes_.config().width;
  const auto first = results_.hidden.begin() + static_cast<std::ptrdiff_t>(row * width);
  return {first, first + static_cast<std::ptrdiff_t>(width)};
}

void Executor::clear_cosines() { results_.cosine_sums.assign(std::size_t{2} * passes_.config().layer_count(), 0.0f); }

std::size_t Executor::recorded_passes() {
  std::size_t count = 0;
  passes_.run_alone(client_, [&](const PassRunner& runner) { count = runner.recorded_passes(); });
  return count;
}

void Executor::warm_up(std::span<const kernels::Dispatch> dispatches, const std::function<void(double)>& progress) {
  SequencePages pages(passes_.cache());
  pages.reserve(0, 1);
  passes_.run_alone(client_, [&](PassRunner& runner) { runner.warm_up(dispatches, pages.lists(), progress); });
}

std::vector<float> Executor::read_embeddings(std::span<const std::int32_t> tokens) {
  SequencePages pages(passes_.cache());  // nothing is stored, but rows need pages
  pages.reserve(0, static_cast<std::uint32_t>(tokens.size()));
  std::vector<float> embeddings;
  passes_.run_alone(client_, [&](PassRunner& runner) { embeddings = runner.read_embeddings(tokens, pages.lists()); });
  return embeddings;
}

void TimedPasses::set(bool timed) {
  sequence_.results_.device_microseconds.reset();
  sequence_.passes_.run_alone(sequence_.client_, [&](PassRunner& runner) { runner.set_timed(timed); });
}

}  // namespace skipstone::exec
