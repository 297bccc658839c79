#include "exec/local_runner.h"

#include <algorithm>
#include <exception>
#include <optional>

#include "base/status.h"
#include "base/stopwatch.h"

namespace skipstone::exec {

LocalRunner::LocalRunner(const LoadedModel& model, KvBuffers& cache)
    : model_(model),
      cache_(cache),
      buffers_(model.device, model.config, model.shape),
      queue_(model.device),
      recordings_(model, cache, buffers_),
      writer_(model, buffers_),
      readback_(model, buffers_) {}

void LocalRunner::begin_pass(const PassSpec& spec, std::span<const SequenceRows> sequences) {
  check_rows(spec, sequences, model_.shape.context);
  seconds_ = 0;
  ++passes_;
  last_ = nullptr;
}

void LocalRunner::run(const PassSpec& spec, std::span<const SequenceRows> sequences, const PassControl& control) {
  begin_pass(spec, sequences);
  run_direction(spec, sequences, control.slicer);
}

double LocalRunner::run_direction(const PassSpec& spec, std::span<const SequenceRows> sequences, PassSlicer* slicer) {
  const double seconds = slicer == nullptr ? run_at_once(spec, sequences) : run_in_slices(spec, sequences, *slicer);
  seconds_ += seconds;
  return seconds;
}

double LocalRunner::run_at_once(const PassSpec& spec, std::span<const SequenceRows> sequences) {
  const auto held = cache_.hold();
  recordings_.refresh();
  const vk::Commands& commands = recordings_.pass(spec);
  writer_.write(spec, sequences);
  const double seconds = wait(queue_.submit(commands));
  last_ = &commands;
  return seconds;
}

// The cache may get other buffers between slices: the pass continues in the new ones.
double LocalRunner::run_in_slices(const PassSpec& spec, std::span<const SequenceRows> sequences, PassSlicer& slicer) {
  writer_.write(spec, sequences);
  const auto slices = [&]() -> PassSlices& {
    recordings_.refresh();
    return recordings_.slices(spec);
  };
  double seconds = 0;
  std::size_t count = 0, all = 1;
  for (std::size_t first = 0; first < all; first += count) {
    {
      const auto held = cache_.hold();
      all = slices().recordings.size();
    }
    count = slicer.next(std::span(recordings_.slices(spec).seconds).subspan(first));
    const Stopwatch watch;
    const std::uint64_t submission = [&] {
      const auto held = cache_.hold();
      several_.clear();
      for (std::size_t i = first; i < first + count; ++i) several_.push_back(&slices().recordings[i]);
      return queue_.submit(several_);
    }();
    std::exception_ptr failed;
    slicer.submitted();
    try {
      seconds += wait(submission);
      recordings_.slices(spec).record_time(first, count, watch.seconds());
    } catch (...) {
      failed = std::current_exception();
    }
    slicer.done();  // in any case: from here on the host continues
    if (failed) std::rethrow_exception(failed);
  }
  return seconds;
}

double LocalRunner::wait(std::uint64_t submission) {
  const Stopwatch watch;
  queue_.wait(submission);
  return watch.seconds();
}

void LocalRunner::put_rows(std::span<const float> rows, std::size_t first) {
  std::ranges::copy(rows, buffers_.rows_in() + first * kernels::padded(model_.config.width));
}

double LocalRunner::run_layers(const PassSpec& spec, std::span<const SequenceRows> sequences, std::vector<float>& rows,
                               std::vector<float>& cosines, PassSlicer* slicer) {
  const PassBuilder& builder = *model_.builder;
  if (work_of(spec, builder.begin(), builder.end()).takes) put_rows(rows, 0);
  if (spec.cosines != Cosines::none) std::ranges::copy(cosines, cosine_totals().begin());
  const double seconds = run_direction(spec, sequences, slicer);
  std::size_t count = 0;
  for (const SequenceRows& sequence : sequences) count += sequence.rows.tokens.size();
  rows = readback_.rows_out(count);
  if (spec.cosines == Cosines::none) return seconds;
  const std::size_t layers = model_.config.layer_count();
  for (std::size_t layer = builder.begin(); layer < builder.end(); ++layer) {
    for (const std::size_t at : {layer, layers + layer}) cosines[at] = cosine_totals()[at];
  }
  return seconds;
}

double LocalRunner::run_output(PassSpec spec, std::span<const SequenceRows> sequences, std::span<const float> rows, std::size_t first,
                               PassSlicer* slicer) {
  put_rows(rows, first);
  spec.direction = Direction::returning;
  spec.cosines = Cosines::none;
  spec.keep_after = 0;
  return run_direction(spec, sequences, slicer);
}

void LocalRunner::collect(const PassSpec& spec, std::uint32_t first, std::uint32_t count, PassResults& results) {
  results.seconds = seconds_;
  results.remote_seconds = 0;
  results.device_microseconds.reset();
  if (recordings_.timed() && last_ != nullptr) {
    const std::vector<vk::LabelTime> times = last_->times();
    if (!times.empty()) results.device_microseconds = times.front().microseconds;
  }
  if (spec.last_row_only) first = 0, count = 1;
  results.pass = passes_;
  results.first_row = first;
  results.experts = readback_.experts(spec.layers);
  readback_.output(spec, first, count, results);
}

std::vector<float> LocalRunner::logits_of(std::uint64_t pass, std::uint32_t row) const {
  return pass == passes_ ? readback_.logits(row) : std::vector<float>();
}

void LocalRunner::move(std::uint32_t base, std::span<const std::uint32_t> path, std::uint32_t to, const PageLists& pages, bool kept) {
  const auto held = cache_.hold();
  recordings_.refresh();
  writer_.write_move(base, path, to, pages);
  several_.assign(1, &recordings_.move());
  std::optional<vk::Commands> copies;
  if (kept) several_.push_back(&copies.emplace(recordings_.copy_of_hidden_states(path)));
  wait(queue_.submit(several_));
  last_ = nullptr;
}

void LocalRunner::run(const RoundSpec& round, const PageLists& pages, PassResults& results) {
  if (round.most == 0 || round.most >= STEP_VERIFY_ROWS || round.base + round.most >= model_.shape.context) {
    fail(Code::internal, "a round of {} drafts at position {} does not fit {} rows and a context of {}", round.most, round.base,
         STEP_VERIFY_ROWS, model_.shape.context);
  }
  ++passes_;
  const auto held = cache_.hold();
  recordings_.refresh();
  const PassSpec draft{.layers = round.draft, .keep_after = round.kept_layers, .predicts = round.predicts, .step = RoundStep::draft};
  PassSpec verify{.layers = LayerPlan::full(model_.config.layer_count()), .step = RoundStep::verify};
  several_.assign(round.most, &recordings_.pass(draft));
  if (round.kept_layers > 0) {
    PassSpec kept_row{.layers = verify.layers, .output = Output::none, .keep_after = round.kept_layers, .step = RoundStep::kept_row};
    kept_row.layers.end = verify.layers.begin = round.kept_layers;
    several_.push_back(&recordings_.pass(kept_row));
  }
  // The device decides how many rows the round has. With conditions, it chooses one of all possible buckets.
  const std::uint32_t largest = round.largest_bucket();
  verify.bucket = model_.device->caps().conditional_dispatch ? 2 : largest;
  for (; verify.bucket <= largest; verify.bucket *= 2) several_.push_back(&recordings_.pass(verify));
  writer_.write(round, draft, pages);
  results.seconds = seconds_ = wait(queue_.submit(several_));
  last_ = nullptr;
  results.experts = readback_.experts(verify.layers);
  readback_.round(results);
}

void LocalRunner::warm_up(const CacheDispatches& dispatches_for, const PageLists& pages, const std::function<void(double)>& progress) {
  // Several submissions without waiting: the driver compiles what it has while the next pipelines are created.
  constexpr std::size_t at_once = 4;
  ++passes_;
  const auto held = cache_.hold();
  const std::vector<kernels::Dispatch> all = dispatches_for(cache_.slots());
  const std::span<const kernels::Dispatch> dispatches = all;
  writer_.write_first_row(pages);
  std::vector<vk::Commands> running;
  std::uint64_t last = 0;
  for (std::size_t first = 0; first < dispatches.size(); first += at_once) {
    running.push_back(recordings_.one_workgroup_of_each(dispatches.subspan(first, std::min(at_once, dispatches.size() - first))));
    last = queue_.submit(running.back());
    progress(static_cast<double>(first) / static_cast<double>(dispatches.size()));
  }
  if (last > 0) queue_.wait(last);
}

std::vector<float> LocalRunner::read_embeddings(std::span<const std::int32_t> tokens, const PageLists& pages) {
  PassSpec spec;
  spec.prompt = true;
  spec.bucket = kernels::prompt_bucket_for(static_cast<std::uint32_t>(tokens.size()));
  spec.output = Output::none;
  spec.layers = LayerPlan::full(model_.config.layer_count());
  spec.layers.end = 0;
  const SequenceRows rows{pages, {.tokens = tokens}};
  run(spec, {&rows, 1}, PassControl{});
  return readback_.embeddings(tokens.size());
}

void LocalRunner::set_timed(bool timed) {
  recordings_.set_timed(timed);
  last_ = nullptr;
}

}  // namespace skipstone::exec
