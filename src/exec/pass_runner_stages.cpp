// Passes over layers on several devices: the first device's layers, the ring, the first device's head.
#include <algorithm>
#include <chrono>

#include "base/log.h"
#include "base/stopwatch.h"
#include "exec/pass_runner.h"
#include "exec/stage_request.h"
#include "exec/stage_ring.h"

namespace skipstone::exec {

PassRunner::~PassRunner() {
  if (ring_ == nullptr) return;
  try {
    ring_->post({.command = StageCommand::forget, .request = runner_request(number_), .rows = {}, .cosines = {}, .bytes = {}});
  } catch (const std::exception& error) {  // the caller that used the ring has already got the error
    log::debug("a runner was not forgotten: {}", error.what());
  }
}

bool PassRunner::stays_here(const PassSpec& spec) const {
  const StageWork work = work_of(spec, builder_.begin(), builder_.end());
  return ring_ == nullptr || (work.runs() && !work.hands_on);
}

bool PassRunner::is_back() const { return ring_ == nullptr || ring_->is_back(); }

void PassRunner::begin_record(vk::Recorder& recorder, const PassSpec& spec) {
  if (spec.direction == Direction::outbound && !work_of(spec, builder_.begin(), builder_.end()).takes) return;
  const std::uint64_t bytes = std::uint64_t{spec.bucket} * kernels::padded(config_.width) * sizeof(float);
  recorder.copy(buffers_.rows_in().part(0, bytes), buffers_.slice({kernels::ResourceKind::residual, 0}).part(0, bytes));
}

/// `first`: index in the pass of the first of `rows`.
void PassRunner::put_rows(std::span<const float> rows, std::size_t first) {
  float* to = reinterpret_cast<float*>(buffers_.rows_in().mapped) + first * kernels::padded(config_.width);
  std::ranges::copy(rows, to);
}

std::vector<float> PassRunner::handed_rows(std::span<const SequenceRows> sequences) const {
  std::size_t count = 0;
  for (const SequenceRows& sequence : sequences) count += sequence.rows.tokens.size();
  const auto* rows = reinterpret_cast<const float*>(buffers_.rows_out().mapped);
  return {rows, rows + count * kernels::padded(config_.width)};
}

void PassRunner::take_own_cosines(std::vector<float>& sums) {
  const std::span<const float> totals = cosine_totals();
  for (std::uint32_t layer = builder_.begin(); layer < builder_.end(); ++layer) {
    for (const std::size_t at : {std::size_t{layer}, std::size_t{config_.layer_count()} + layer}) sums[at] = totals[at];
  }
}

void PassRunner::run_leg(const PassSpec& spec, std::span<const SequenceRows> sequences, std::vector<float>& rows,
                         std::vector<float>& cosines) {
  check(spec, sequences);
  const StageWork work = work_of(spec, builder_.begin(), builder_.end());
  seconds_ = 0;
  ++passes_;
  if (work.takes) put_rows(rows, 0);
  if (spec.cosines != Cosines::none) std::ranges::copy(cosines, cosine_totals().begin());
  run_here(spec, sequences, nullptr);
  rows = handed_rows(sequences);
  if (spec.cosines != Cosines::none) take_own_cosines(cosines);
}

void PassRunner::run_around(const PassSpec& spec, std::span<const SequenceRows> sequences, PassSlicer* slicer, const Meanwhile& meanwhile) {
  PassSpec asked = spec;  // the output is computed on this device
  if (asked.output != Output::none) asked.output = Output::argmax;
  StageMessage message{.request = pass_request(number_, asked, sequences), .rows = {}, .cosines = {}, .bytes = {}};
  std::vector<float> own;  // sums of cosines, of which only those of local layers are used
  if (spec.cosines != Cosines::none) message.cosines.assign(cosine_totals().begin(), cosine_totals().end());
  own = message.cosines;
  if (work_of(spec, builder_.begin(), builder_.end()).runs()) {
    run_here(spec, sequences, slicer);
    message.rows = handed_rows(sequences);
    if (spec.cosines != Cosines::none) take_own_cosines(own);
  }
  if (spec.output == Output::none && spec.cosines == Cosines::none) return ring_->post(std::move(message));
  const double before = seconds_;
  const Stopwatch wait;
  const auto sent = std::chrono::steady_clock::now().time_since_epoch();
  StageMessage reply = ring_->exchange(std::move(message), [&] {
    if (meanwhile) meanwhile(*this);
  });
  remote_seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::duration(reply.not_before) - sent).count();
  seconds_ = before + wait.seconds();
  if (spec.cosines != Cosines::none) {
    for (std::uint32_t layer = builder_.begin(); layer < builder_.end(); ++layer) {
      for (const std::size_t at : {std::size_t{layer}, std::size_t{config_.layer_count()} + layer}) reply.cosines[at] = own[at];
    }
    std::ranges::copy(reply.cosines, cosine_totals().begin());
  }
  last_ = nullptr;  // the clock of a single device does not have its time
  if (spec.output == Output::none) return;
  const std::size_t stride = kernels::padded(config_.width), last = sequences.back().rows.tokens.size() - 1;
  put_rows(reply.rows, spec.last_row_only && reply.rows.size() == stride ? last : 0);
  PassSpec back = spec;
  back.direction = Direction::returning;
  back.cosines = Cosines::none;
  back.keep_after = 0;
  run_here(back, sequences, slicer);
  last_ = nullptr;
}

}  // namespace skipstone::exec
