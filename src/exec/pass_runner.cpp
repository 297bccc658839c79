#include "exec/pass_runner.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <exception>

#include "base/status.h"
#include "base/stopwatch.h"
#include "exec/stage_request.h"
#include "exec/stage_ring.h"

namespace skipstone::exec {

PassRunner::PassRunner(const std::shared_ptr<vk::Device>& device, kernels::Library& library, const PassBuilder& builder,
                       const model::Config& config, const model::Weights& weights, const SequenceShape& shape, CacheBuffers& cache,
                       StageRing* ring)
    : device_(device),
      library_(library),
      builder_(builder),
      config_(config),
      weights_(weights),
      shape_(shape),
      kv_(cache),
      ring_(ring),
      number_(ring == nullptr ? 0 : ring->new_runner()),
      buffers_(device, config, shape),
      queue_(device),
      cache_([this](const PassSpec& spec) { return record(spec); }),
      slices_([this](const PassSpec& spec) { return record_slices(spec); }) {}

vk::Slice PassRunner::resolve(const kernels::Resource& resource) const {
  switch (resource.kind) {
    case kernels::ResourceKind::weight:
      return weights_.slice(resource);
    case kernels::ResourceKind::k_cache:
    case kernels::ResourceKind::v_cache:
      return kv_.of_layer(resource.index).slice(resource.kind, resource.index);
    default:
      return buffers_.slice(resource);
  }
}

void PassRunner::warm_up(std::span<const kernels::Dispatch> dispatches, const PageLists& pages,
                         const std::function<void(double)>& progress) {
  // Several submissions without waiting: the driver compiles what it has while the next pipelines are created.
  constexpr std::size_t at_once = 4;
  ++passes_;
  const auto held = kv_.hold();
  const kernels::Resolver resolver = [this](const kernels::Resource& resource) { return resolve(resource); };
  abi::StepState& state = buffers_.state();
  state.rows = 1;
  state.sequences.fill(0);
  state.bases[0] = state.first_rows[0] = 0;
  state.depths.fill(0);
  state.tables[0] = table_of(pages, 0);
  std::vector<vk::Commands> running;
  std::uint64_t last = 0;
  for (std::size_t first = 0; first < dispatches.size(); first += at_once) {
    vk::Recorder recorder(device_);
    for (std::size_t i = first; i < std::min(first + at_once, dispatches.size()); ++i) {
      kernels::Dispatch single = dispatches[i];
      single.groups = {1, 1, 1};
      single.indirect_offset.reset();
      kernels::record(recorder, library_, single, resolver);
    }
    running.push_back(recorder.finish());
    last = queue_.submit(running.back());
    progress(static_cast<double>(first) / static_cast<double>(dispatches.size()));
  }
  if (last > 0) queue_.wait(last);
}

vk::Commands PassRunner::record(const PassSpec& spec) {
  const bool own_clock = device_->caps().timestamps && !device_->caps().is_cpu();
  vk::Recorder recorder(device_, timed_ && own_clock ? vk::Timestamps::whole : vk::Timestamps::none);
  const kernels::Resolver resolver = [this](const kernels::Resource& resource) { return resolve(resource); };
  const Plan plan = builder_.build(spec, slots());
  const std::size_t conditional = plan.condition && device_->caps().conditional_dispatch ? plan.condition->dispatches : 0;
  if (conditional > 0) {
    const std::size_t word = offsetof(abi::RoundState, conditions) + plan.condition->word * sizeof(std::uint32_t);
    recorder.begin_condition(buffers_.slice({kernels::ResourceKind::round}).part(word, sizeof(std::uint32_t)));
  }
  begin_record(recorder, spec);
  for (std::size_t i = 0; i < plan.dispatches.size(); ++i) {
    kernels::record(recorder, library_, plan.dispatches[i], resolver);
    if (i + 1 == conditional) recorder.end_condition();
  }
  read_back(recorder, plan);
  return recorder.finish();
}

PassSlices PassRunner::record_slices(const PassSpec& spec) {
  const kernels::Resolver resolver = [this](const kernels::Resource& resource) { return resolve(resource); };
  const Plan plan = builder_.build(spec, slots());
  PassSlices slices;
  std::size_t next = 0;
  for (const std::size_t end : slice_ends(plan)) {
    vk::Recorder recorder(device_, vk::Timestamps::none);
    if (next == 0) begin_record(recorder, spec);
    for (; next < end; ++next) kernels::record(recorder, library_, plan.dispatches[next], resolver);
    if (end == plan.dispatches.size()) read_back(recorder, plan);
    slices.recordings.push_back(recorder.finish());
  }
  slices.seconds.resize(slices.recordings.size());
  return slices;
}

void PassRunner::read_back(vk::Recorder& recorder, const Plan& plan) {
  const PassSpec& spec = plan.spec;
  const StageWork work = work_of(spec, builder_.begin(), builder_.end());
  if (spec.direction == Direction::outbound && (work.hands_on || builder_.begin() > 0)) {
    const std::uint64_t bytes = std::uint64_t{spec.bucket} * kernels::padded(config_.width) * sizeof(float);
    recorder.copy(buffers_.slice(plan.handed_on).part(0, bytes), buffers_.rows_out().part(0, bytes));
    return;
  }
  if (spec.output != Output::logits) return;
  const std::uint64_t bytes = std::uint64_t{spec.output_rows()} * kernels::padded(config_.vocabulary) * sizeof(float);
  recorder.copy(buffers_.logits().part(0, bytes), buffers_.logits_readback().part(0, bytes));
}

void PassRunner::refresh() {
  if (generation_ == kv_.generation()) return;
  generation_ = kv_.generation();
  cache_.clear();
  slices_.clear();
  move_.reset();
}

void PassRunner::check(const PassSpec& spec, std::span<const SequenceRows> sequences) const {
  if (spec.step != RoundStep::none) fail(Code::internal, "a {} pass of a round cannot run by itself", to_string(spec.step));
  const bool alone = spec.prompt || spec.last_row_only || spec.keep_after > 0 || spec.layers.begin > 0;
  if (sequences.empty() || sequences.size() > (alone ? 1 : STEP_VERIFY_ROWS)) {
    fail(Code::internal, "a pass over rows of {} sequences", sequences.size());
  }
  std::size_t all = 0;
  for (const SequenceRows& sequence : sequences) {
    const Rows& rows = sequence.rows;
    const std::size_t count = rows.tokens.size();
    if (spec.keep_after > 0 && rows.kept + count > STEP_VERIFY_ROWS) {
      fail(Code::internal, "{} rows from row {} on cannot be kept; there is room for {}", count, rows.kept, STEP_VERIFY_ROWS);
    }
    all += count;
    if (count == 0 || all > spec.bucket || rows.base + rows.computed + count > shape_.context) {
      fail(Code::internal, "{} tokens at position {} do not fit a bucket of {} rows and a context of {}", count, rows.base, spec.bucket,
           shape_.context);
    }
    if (spec.tree && !rows.parents.empty() && rows.parents.size() != rows.computed + count) {
      fail(Code::internal, "a tree of {} rows has {} parents", rows.computed + count, rows.parents.size());
    }
    if (rows.computed > 0 && (!spec.tree || !stays_here(spec) || rows.computed + count > STEP_VERIFY_ROWS)) {
      fail(Code::internal, "a pass over {} rows after {} of a tree", count, rows.computed);
    }
    if (spec.output == Output::candidates && (spec.last_row_only || rows.candidates.size() != count)) {
      fail(Code::internal, "{} rows have {} requests for candidates", count, rows.candidates.size());
    }
    if (spec.window && rows.window.recent == 0) fail(Code::internal, "a window without the row itself");
    if (sequence.pages.full.size() * KV_PAGE < rows.base + rows.computed + count)
      fail(Code::internal, "rows at {} have no pages", rows.base);
  }
}

void PassRunner::run(const PassSpec& spec, std::span<const SequenceRows> sequences, PassSlicer* slicer, const Meanwhile& meanwhile) {
  check(spec, sequences);
  seconds_ = remote_seconds_ = 0;
  ++passes_;
  last_ = nullptr;
  if (stays_here(spec)) return run_here(spec, sequences, slicer);
  run_around(spec, sequences, slicer, meanwhile);
}

void PassRunner::run_here(const PassSpec& spec, std::span<const SequenceRows> sequences, PassSlicer* slicer) {
  if (slicer != nullptr) {
    write_state(sequences, spec);
    return run_in_slices(spec, *slicer);
  }
  const auto held = kv_.hold();
  refresh();
  const vk::Commands& commands = cache_.get(spec);
  write_state(sequences, spec);
  wait(queue_.submit(commands));
  last_ = &commands;
}

void PassRunner::run(const PassSpec& spec, const SequenceRows& sequence, PassResults& results, PassSlicer* slicer,
                     const Meanwhile& meanwhile) {
  if (spec.cosines != Cosines::none) std::ranges::copy(results.cosine_sums, cosine_totals().begin());
  run(spec, {&sequence, 1}, slicer, meanwhile);
  collect(spec, 0, static_cast<std::uint32_t>(sequence.rows.tokens.size()), results);
  if (spec.cosines != Cosines::none) results.cosine_sums.assign(cosine_totals().begin(), cosine_totals().end());
}

// The cache may get other buffers between slices: the pass continues in the new ones.
void PassRunner::run_in_slices(const PassSpec& spec, PassSlicer& slicer) {
  const auto slices = [&]() -> PassSlices& {
    refresh();
    return slices_.get(spec);
  };
  std::size_t count = 0, all = 1;
  for (std::size_t first = 0; first < all; first += count) {
    {
      const auto held = kv_.hold();
      all = slices().recordings.size();
    }
    count = slicer.next(std::span(slices_.get(spec).seconds).subspan(first));
    const Stopwatch watch;
    const std::uint64_t submission = [&] {
      const auto held = kv_.hold();
      several_.clear();
      for (std::size_t i = first; i < first + count; ++i) several_.push_back(&slices().recordings[i]);
      return queue_.submit(several_);
    }();
    std::exception_ptr failed;
    slicer.submitted();
    try {
      wait(submission);
      slices_.get(spec).record_time(first, count, watch.seconds());
    } catch (...) {
      failed = std::current_exception();
    }
    slicer.done();  // in any case: from here on the host continues
    if (failed) std::rethrow_exception(failed);
  }
}

void PassRunner::collect(const PassSpec& spec, std::uint32_t first, std::uint32_t count, PassResults& results) {
  results.seconds = seconds_;
  results.remote_seconds = remote_seconds_;
  results.device_microseconds.reset();
  if (timed_ && last_ != nullptr) {
    const std::vector<vk::LabelTime> times = last_->times();
    if (!times.empty()) results.device_microseconds = times.front().microseconds;
  }
  if (spec.last_row_only) first = 0, count = 1;
  results.candidates.clear();
  results.pass = passes_;
  results.first_row = first;
  switch (spec.output) {
    case Output::none:
      break;
    case Output::argmax:
      results.rows.assign(buffers_.results() + first, buffers_.results() + first + count);
      break;
    case Output::logits: {
      results.logits_stride = kernels::padded(config_.vocabulary);
      const auto* all = reinterpret_cast<const float*>(buffers_.logits_readback().mapped);
      results.logits.assign(all + first * results.logits_stride, all + (first + count) * results.logits_stride);
      break;
    }
    case Output::candidates:
      results.candidates.assign(buffers_.candidates() + first, buffers_.candidates() + first + count);
      break;
    case Output::hidden: {
      const std::uint64_t bytes = kernels::padded(config_.width) * sizeof(float);
      results.hidden = download(buffers_.slice({kernels::ResourceKind::normed}).part(first * bytes, count * bytes), count);
    }
  }
}

std::vector<float> PassRunner::logits_of(std::uint64_t pass, std::uint32_t row) {
  if (pass != passes_) return {};
  const std::uint64_t bytes = kernels::padded(config_.vocabulary) * sizeof(float);
  std::vector<float> logits(config_.vocabulary);
  vk::Uploader(device_).download(buffers_.logits().part(row * bytes, bytes), std::as_writable_bytes(std::span(logits)));
  return logits;
}

void PassRunner::move(std::uint32_t base, std::span<const std::uint32_t> path, const PageLists& pages) {
  if (ring_ != nullptr)
    ring_->post(
        {.command = StageCommand::move, .request = move_request(number_, base, path, pages), .rows = {}, .cosines = {}, .bytes = {}});
  move_here(base, path, 0, pages, false);
}

void PassRunner::move_here(std::uint32_t base, std::span<const std::uint32_t> path, std::uint32_t to, const PageLists& pages, bool kept) {
  const auto held = kv_.hold();
  refresh();
  abi::StepState& state = buffers_.state();
  state.bases[0] = base + to;
  state.first_rows[0] = 0;
  state.sequences[0] = 0;
  state.tables[0] = table_of(pages, 0);
  state.rows = static_cast<std::uint32_t>(path.size());
  std::ranges::transform(path, state.depths.begin(), [&](std::uint32_t row) { return row - to; });
  if (!move_) {
    vk::Recorder recorder(device_, vk::Timestamps::none);
    for (const kernels::Dispatch& dispatch : builder_.build_move(slots())) {
      kernels::record(recorder, library_, dispatch, [this](const kernels::Resource& resource) { return resolve(resource); });
    }
    move_ = recorder.finish();
  }
  several_.assign(1, &*move_);
  std::optional<vk::Commands> copies;
  if (kept) several_.push_back(&copies.emplace(copy_of_kept(path)));
  wait(queue_.submit(several_));
  last_ = nullptr;
}

vk::Commands PassRunner::copy_of_kept(std::span<const std::uint32_t> path) const {
  const vk::Slice rows = buffers_.slice({kernels::ResourceKind::kept});
  const std::uint64_t bytes = kernels::padded(config_.width) * sizeof(float);
  vk::Recorder recorder(device_, vk::Timestamps::none);
  for (std::uint32_t i = 0; i < path.size(); ++i) recorder.copy(rows.part(path[i] * bytes, bytes), rows.part(i * bytes, bytes));
  return recorder.finish();
}

void PassRunner::wait(std::uint64_t submission) {
  const Stopwatch watch;
  queue_.wait(submission);
  seconds_ += watch.seconds();
}

void PassRunner::set_timed(bool timed) {
  timed_ = timed;
  last_ = nullptr;
  cache_.clear();  // they have the other setting
}

void PassRunner::run(const RoundSpec& round, const PageLists& pages, PassResults& results) {
  if (round.most == 0 || round.most >= STEP_VERIFY_ROWS || round.base + round.most >= shape_.context) {
    fail(Code::internal, "a round of {} drafts at position {} does not fit {} rows and a context of {}", round.most, round.base,
         STEP_VERIFY_ROWS, shape_.context);
  }
  seconds_ = 0;
  ++passes_;
  const auto held = kv_.hold();
  refresh();
  const bool conditional = device_->caps().conditional_dispatch;
  const PassSpec draft{.layers = round.draft, .keep_after = round.kept_layers, .step = RoundStep::draft};
  PassSpec verify{.layers = LayerPlan::full(config_.layer_count()), .step = RoundStep::verify};
  several_.assign(round.most, &cache_.get(draft));
  if (round.kept_layers > 0) {
    PassSpec kept_row{.layers = verify.layers, .output = Output::none, .keep_after = round.kept_layers, .step = RoundStep::kept_row};
    kept_row.layers.end = verify.layers.begin = round.kept_layers;
    several_.push_back(&cache_.get(kept_row));
  }
  // The device decides how many rows the round has. With conditions, it chooses one of all possible buckets.
  const std::uint32_t largest = std::bit_ceil(round.most + 1);  // advance.comp chooses among powers of two
  for (verify.bucket = conditional ? 2 : largest; verify.bucket <= largest; verify.bucket *= 2) several_.push_back(&cache_.get(verify));

  const SequenceRows first{pages, {.tokens = {&round.pending, 1}, .base = round.base}};
  write_state({&first, 1}, draft);
  std::fill_n(buffers_.state().sequences.begin(), STEP_VERIFY_ROWS, 0u);
  abi::RoundState& state = buffers_.round();
  state.base = round.base;
  state.most = round.most;
  state.least_probability = round.least_probability;
  state.drafted = 0;
  state.conditions = {};
  state.conditions[ROUND_DRAFTING] = 1;
  state.attention_groups[ROUND_DRAFTING] = builder_.attention_groups(1);
  for (std::uint32_t b = 1; std::uint32_t{1} << b <= STEP_VERIFY_ROWS; ++b) {
    state.attention_groups[1 + b] = builder_.attention_groups(conditional ? std::uint32_t{1} << b : largest);
  }
  state.tokens[0] = static_cast<std::uint32_t>(round.pending);
  wait(queue_.submit(several_));
  last_ = nullptr;
  results.seconds = seconds_;
  results.round = buffers_.round_result();
  results.drafts.assign(buffers_.drafts(), buffers_.drafts() + results.round.drafted);
  results.rows.assign(buffers_.results(), buffers_.results() + results.round.drafted + 1);
}

std::vector<float> PassRunner::read_embeddings(std::span<const std::int32_t> tokens, const PageLists& pages) {
  PassSpec spec;
  spec.prompt = true;
  spec.bucket = kernels::prompt_bucket_for(static_cast<std::uint32_t>(tokens.size()));
  spec.output = Output::none;
  spec.layers = LayerPlan::full(config_.layer_count());
  spec.layers.end = 0;
  const SequenceRows rows{pages, {.tokens = tokens}};
  run(spec, {&rows, 1});
  return download(buffers_.slice({kernels::ResourceKind::residual, 0}), tokens.size());
}

/// The first `count` rows of an activation, without the padding after each.
std::vector<float> PassRunner::download(const vk::Slice& from, std::size_t count) {
  const std::size_t stride = kernels::padded(config_.width);
  std::vector<float> rows(count * stride);
  vk::Uploader downloader(device_);
  downloader.download(from.part(0, rows.size() * sizeof(float)), std::as_writable_bytes(std::span(rows)));
  for (std::size_t row = 1; row < count; ++row) {
    std::copy_n(rows.begin() + static_cast<std::ptrdiff_t>(row * stride), config_.width,
                rows.begin() + static_cast<std::ptrdiff_t>(row * config_.width));
  }
  rows.resize(count * config_.width);
  return rows;
}

}  // namespace skipstone::exec
