#include "exec/pipeline_runner.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "base/stopwatch.h"
#include "exec/stage_request.h"

namespace skipstone::exec {

PipelineRunner::PipelineRunner(const LoadedModel& model, KvBuffers& cache, StageRing& ring)
    : model_(model), ring_(ring), number_(ring.new_runner()), local_(model, cache) {}

PipelineRunner::~PipelineRunner() {
  try {
    ring_.post({.command = StageCommand::forget, .request = runner_request(number_), .rows = {}, .cosines = {}, .bytes = {}});
  } catch (const std::exception& error) {  // the caller that used the ring has already got the error
    log::debug("a runner was not forgotten: {}", error.what());
  }
}

bool PipelineRunner::is_local(const PassSpec& spec) const {
  const StageWork work = work_of(spec, model_.builder->begin(), model_.builder->end());
  return work.runs() && !work.hands_on;
}

void PipelineRunner::run(const PassSpec& spec, std::span<const SequenceRows> sequences, const PassControl& control) {
  returned_ = false;
  if (is_local(spec)) return local_.run(spec, sequences, control);
  for (const SequenceRows& sequence : sequences) {
    const Rows& rows = sequence.rows;
    if (rows.computed > 0) fail(Code::internal, "a pass over {} rows after {} of a tree", rows.tokens.size(), rows.computed);
  }
  run_around(spec, sequences, control);
}

void PipelineRunner::run_around(const PassSpec& spec, std::span<const SequenceRows> sequences, const PassControl& control) {
  local_.begin_pass(spec, sequences);
  const bool cosines = spec.cosines != Cosines::none;
  PassSpec asked = spec;  // the output is computed on this device
  if (asked.output != Output::none) asked.output = Output::argmax;
  StageMessage message{.request = pass_request(number_, asked, sequences), .rows = {}, .cosines = {}, .bytes = {}};
  if (cosines) message.cosines.assign(local_.cosine_totals().begin(), local_.cosine_totals().end());
  std::vector<float> own = message.cosines;  // sums of cosines, of which only those of local layers are used
  double seconds = 0;
  if (work_of(spec, model_.builder->begin(), model_.builder->end()).runs()) {
    seconds = local_.run_layers(spec, sequences, message.rows, own, control.slicer);
  }
  if (spec.output == Output::none && !cosines) return ring_.post(std::move(message));
  const Stopwatch wait;
  const auto sent = std::chrono::steady_clock::now().time_since_epoch();
  StageMessage reply = ring_.exchange(std::move(message), [&] {
    if (control.meanwhile != nullptr && *control.meanwhile) (*control.meanwhile)(*this);
  });
  const double remote = std::chrono::duration<double>(std::chrono::steady_clock::duration(reply.not_before) - sent).count();
  seconds += wait.seconds();
  if (cosines) {
    const std::size_t layers = model_.config.layer_count();
    for (std::size_t layer = model_.builder->begin(); layer < model_.builder->end(); ++layer) {
      for (const std::size_t at : {layer, layers + layer}) reply.cosines[at] = own[at];
    }
    std::ranges::copy(reply.cosines, local_.cosine_totals().begin());
  }
  if (spec.output != Output::none) {
    const std::size_t stride = kernels::padded(model_.config.width), last = sequences.back().rows.tokens.size() - 1;
    const bool last_alone = spec.last_row_only && reply.rows.size() == stride;
    seconds += local_.run_output(spec, sequences, reply.rows, last_alone ? last : 0, control.slicer);
  }
  returned_ = true;
  seconds_ = seconds;
  remote_seconds_ = remote;
}

void PipelineRunner::collect(const PassSpec& spec, std::uint32_t first, std::uint32_t count, PassResults& results) {
  local_.collect(spec, first, count, results);
  if (!returned_) return;
  results.seconds = seconds_;
  results.remote_seconds = remote_seconds_;
  results.device_microseconds.reset();  // the clock of a single device does not have its time
}

void PipelineRunner::move(std::uint32_t base, std::span<const std::uint32_t> path, const PageLists& pages) {
  ring_.post({.command = StageCommand::move, .request = move_request(number_, base, path, pages), .rows = {}, .cosines = {}, .bytes = {}});
  local_.move(base, path, pages);
}

}  // namespace skipstone::exec
