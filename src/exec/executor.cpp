#include "exec/executor.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <exception>

#include "base/status.h"
#include "base/stopwatch.h"

namespace skipstone::exec {

Executor::Executor(const std::shared_ptr<vk::Device>& device, kernels::Library& library, const PassBuilder& builder,
                   const model::Config& config, const model::Weights& weights, const SequenceShape& shape)
    : device_(device),
      library_(library),
      builder_(builder),
      config_(config),
      weights_(weights),
      shape_(shape),
      buffers_(device, config, shape),
      queue_(device),
      cache_([this](const PassSpec& spec) { return record(spec); }),
      pieces_([this](const PassSpec& spec) { return record_pieces(spec); }) {}

vk::Slice Executor::resolve(const kernels::Resource& resource) const {
  return resource.kind == kernels::ResourceKind::weight ? weights_.slice(resource) : buffers_.slice(resource);
}

void Executor::warm_up(std::span<const kernels::Dispatch> dispatches, const std::function<void(double)>& progress) {
  // Several submissions, none waited for: the driver compiles what it has while the next pipelines are being made.
  constexpr std::size_t at_once = 4;
  const kernels::Resolver resolver = [this](const kernels::Resource& resource) { return resolve(resource); };
  buffers_.state().rows = 1;
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

vk::Commands Executor::record(const PassSpec& spec) {
  const bool own_clock = device_->caps().timestamps && !device_->caps().is_cpu();
  vk::Recorder recorder(device_, timed_ && own_clock ? vk::Timestamps::whole : vk::Timestamps::none);
  const kernels::Resolver resolver = [this](const kernels::Resource& resource) { return resolve(resource); };
  const Plan plan = builder_.build(spec);
  const std::size_t conditional = plan.condition && device_->caps().conditional_dispatch ? plan.condition->dispatches : 0;
  if (conditional > 0) {
    const std::size_t word = offsetof(abi::RoundState, conditions) + plan.condition->word * sizeof(std::uint32_t);
    recorder.begin_condition(buffers_.slice({kernels::ResourceKind::round}).part(word, sizeof(std::uint32_t)));
  }
  for (std::size_t i = 0; i < plan.dispatches.size(); ++i) {
    kernels::record(recorder, library_, plan.dispatches[i], resolver);
    if (i + 1 == conditional) recorder.end_condition();
  }
  read_back(recorder, spec);
  return recorder.finish();
}

PassPieces Executor::record_pieces(const PassSpec& spec) {
  const kernels::Resolver resolver = [this](const kernels::Resource& resource) { return resolve(resource); };
  const Plan plan = builder_.build(spec);
  PassPieces pieces;
  std::size_t next = 0;
  for (const std::size_t end : piece_ends(plan)) {
    vk::Recorder recorder(device_, vk::Timestamps::none);
    for (; next < end; ++next) kernels::record(recorder, library_, plan.dispatches[next], resolver);
    if (end == plan.dispatches.size()) read_back(recorder, spec);
    pieces.recordings.push_back(recorder.finish());
  }
  pieces.seconds.resize(pieces.recordings.size());
  return pieces;
}

void Executor::read_back(vk::Recorder& recorder, const PassSpec& spec) {
  if (spec.output != Output::logits) return;
  const std::uint64_t bytes = std::uint64_t{spec.output_rows()} * kernels::padded(config_.vocabulary) * sizeof(float);
  recorder.copy(buffers_.logits().part(0, bytes), buffers_.logits_readback().part(0, bytes));
}

void Executor::write_state(const Rows& rows, const PassSpec& spec) {
  const auto count = static_cast<std::uint32_t>(rows.tokens.size());
  abi::StepState& state = buffers_.state();
  state.base = rows.base;
  state.rows = count;
  state.kept = rows.kept;
  state.window = {rows.window.sink, rows.window.recent};
  const std::uint32_t last = rows.base + count - 1, keys = spec.window ? rows.window.keys(last) : last + 1;
  state.attention_groups = {(keys - 1) / shape_.chunk + 1, builder_.attention_groups(spec.bucket), count};
  for (std::uint32_t i = 0; i < spec.bucket; ++i) {
    // Padding rows embed the last token once more; nothing of theirs is stored or read.
    const std::int32_t token = rows.tokens[std::min(i, count - 1)];
    if (token < 0 || static_cast<std::uint32_t>(token) >= config_.vocabulary)
      fail(Code::invalid_argument, "token {} is outside the vocabulary of {}", token, config_.vocabulary);
    state.tokens[i] = static_cast<std::uint32_t>(token);
  }
}

// A row's ancestors by position, itself last: what its attention reads behind the text.
void Executor::write_paths(std::span<const std::uint32_t> parents) {
  abi::StepState& state = buffers_.state();
  constexpr std::size_t words = STEP_PATH_WORDS;
  for (std::uint32_t row = 0; row < parents.size(); ++row) {
    const std::uint32_t parent = parents[row];
    if (parent > row) fail(Code::internal, "row {} of a tree stands before its parent {}", row, parent);
    const std::uint32_t depth = parent == row ? 0 : state.depths[parent] + 1;
    if (parent != row) std::copy_n(&state.paths[parent * words], words, &state.paths[row * words]);
    std::uint32_t& word = state.paths[row * words + depth / 4];
    const std::uint32_t shift = 8 * (depth % 4);
    word = (word & ~(0xffu << shift)) | row << shift;
    state.depths[row] = depth;
  }
}

void Executor::run(const PassSpec& spec, const Rows& rows) {
  const std::size_t count = rows.tokens.size();
  if (spec.keep_after > 0 && rows.kept + count > STEP_VERIFY_ROWS) {
    fail(Code::internal, "{} rows from row {} on cannot be kept; there is room for {}", count, rows.kept, STEP_VERIFY_ROWS);
  }
  if (count == 0 || count > spec.bucket || rows.base + count > shape_.context) {
    fail(Code::internal, "{} tokens at position {} do not fit a bucket of {} rows and a context of {}", count, rows.base, spec.bucket,
         shape_.context);
  }
  if (spec.tree && rows.parents.size() != count) fail(Code::internal, "a tree of {} rows has {} parents", count, rows.parents.size());
  if (spec.window && rows.window.recent == 0) fail(Code::internal, "a window without the row itself");
  if (spec.step != RoundStep::none) fail(Code::internal, "a {} pass of a round cannot run by itself", to_string(spec.step));
  const vk::Commands* commands = pacer_ == nullptr ? &cache_.get(spec) : nullptr;
  ++runs_;
  write_state(rows, spec);
  if (spec.tree) write_paths(rows.parents);
  if (commands == nullptr) {
    run_in_pieces(spec);
  } else {
    wait(queue_.submit(*commands));
  }
  last_ = commands;
}

void Executor::run_in_pieces(const PassSpec& spec) {
  PassPieces& pieces = pieces_.get(spec);
  std::size_t count = 0;
  for (std::size_t first = 0; first < pieces.recordings.size(); first += count) {
    count = pacer_->next(std::span(pieces.seconds).subspan(first));
    several_.clear();
    for (std::size_t i = first; i < first + count; ++i) several_.push_back(&pieces.recordings[i]);
    const Stopwatch watch;
    const std::uint64_t submission = queue_.submit(several_);
    std::exception_ptr failed;
    pacer_->submitted();
    try {
      wait(submission);
      pieces.took(first, count, watch.seconds());
    } catch (...) {
      failed = std::current_exception();
    }
    pacer_->done();  // whatever came of it: from here on the host goes on
    if (failed) std::rethrow_exception(failed);
  }
}

void Executor::keep_path(std::uint32_t base, std::span<const std::uint32_t> path) {
  std::uint32_t in_place = 0;
  while (in_place < path.size() && path[in_place] == in_place) ++in_place;
  if (in_place == path.size()) return;
  abi::StepState& state = buffers_.state();
  state.base = base;
  state.rows = static_cast<std::uint32_t>(path.size());
  std::ranges::copy(path, state.depths.begin());
  if (!move_) {
    vk::Recorder recorder(device_, vk::Timestamps::none);
    for (const kernels::Dispatch& dispatch : builder_.build_move()) {
      kernels::record(recorder, library_, dispatch, [this](const kernels::Resource& resource) { return resolve(resource); });
    }
    move_ = recorder.finish();
  }
  wait(queue_.submit(*move_));
  last_ = nullptr;
}

void Executor::wait(std::uint64_t submission) {
  const Stopwatch watch;
  queue_.wait(submission);
  device_seconds_ += watch.seconds();
}

std::optional<double> Executor::device_microseconds() const {
  if (!timed_ || last_ == nullptr) return std::nullopt;
  const std::vector<vk::LabelTime> times = last_->times();
  return times.empty() ? std::nullopt : std::optional(times.front().microseconds);
}

void TimedPasses::set(bool timed) {
  sequence_.timed_ = timed;
  sequence_.last_ = nullptr;
  sequence_.cache_.clear();  // recordings of the other kind
}

void Executor::run(const RoundSpec& round) {
  if (round.most == 0 || round.most >= STEP_VERIFY_ROWS || round.base + round.most >= shape_.context) {
    fail(Code::internal, "a round of {} drafts at position {} does not fit {} rows and a context of {}", round.most, round.base,
         STEP_VERIFY_ROWS, shape_.context);
  }
  const bool conditional = device_->caps().conditional_dispatch;
  const PassSpec draft{.layers = round.draft, .keep_after = round.kept_layers, .step = RoundStep::draft};
  PassSpec verify{.layers = LayerPlan::full(config_.layers), .step = RoundStep::verify};
  several_.assign(round.most, &cache_.get(draft));
  if (round.kept_layers > 0) {
    PassSpec kept_row{.layers = verify.layers, .output = Output::none, .keep_after = round.kept_layers, .step = RoundStep::kept_row};
    kept_row.layers.end = verify.layers.begin = round.kept_layers;
    several_.push_back(&cache_.get(kept_row));
  }
  // How many rows there will be is decided on the device. With conditions, the one bucket of all that may come is chosen there.
  const std::uint32_t largest = std::bit_ceil(round.most + 1);  // advance.comp chooses among powers of two
  for (verify.bucket = conditional ? 2 : largest; verify.bucket <= largest; verify.bucket *= 2) several_.push_back(&cache_.get(verify));

  ++runs_;
  write_state({.tokens = {&round.pending, 1}, .base = round.base}, draft);
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
}

std::span<const float> Executor::logits(std::uint32_t row) const {
  const auto* all = reinterpret_cast<const float*>(buffers_.logits_readback().mapped);
  return {all + std::size_t{row} * kernels::padded(config_.vocabulary), config_.vocabulary};
}

void Executor::clear_cosines() { std::fill_n(buffers_.cosine_total(), 2 * config_.layers, 0.0f); }

std::vector<float> Executor::cosine_sums() const {
  const float* total = buffers_.cosine_total();
  return {total, total + std::size_t{2} * config_.layers};
}

std::vector<std::byte> Executor::read_kv(std::uint32_t layer) {
  vk::Uploader downloader(device_);
  const vk::Slice k = buffers_.slice({kernels::ResourceKind::k_cache, layer}), v = buffers_.slice({kernels::ResourceKind::v_cache, layer});
  std::vector<std::byte> bytes(k.bytes + v.bytes);
  downloader.download(k, std::span(bytes).first(k.bytes));
  downloader.download(v, std::span(bytes).last(v.bytes));
  return bytes;
}

std::vector<float> Executor::read_embeddings(std::span<const std::int32_t> tokens) {
  PassSpec spec;
  spec.bucket = kernels::bucket_for(static_cast<std::uint32_t>(tokens.size()));
  spec.output = Output::none;
  spec.layers = LayerPlan::full(config_.layers);
  spec.layers.end = 0;
  run(spec, {.tokens = tokens});
  return download(buffers_.slice({kernels::ResourceKind::residual, 0}), tokens.size());
}

std::vector<float> Executor::hidden(std::uint32_t row) {
  const std::uint64_t bytes = kernels::padded(config_.width) * sizeof(float);
  return download(buffers_.slice({kernels::ResourceKind::normed}).part(row * bytes, bytes), 1);
}

/// The first `count` rows of an activation, without the padding behind each.
std::vector<float> Executor::download(const vk::Slice& from, std::size_t count) {
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
