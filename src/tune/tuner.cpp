#include "tune/tuner.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "base/stopwatch.h"
#include "kernels/abi.h"
#include "vk/memory.h"
#include "vk/recorder.h"

namespace skipstone::tune {
namespace {

constexpr double drop_beyond = 1.25;  // a candidate that much slower than the best is not timed again
constexpr double must_win_by = 1.03;  // the difference that noise may make between equals
constexpr double run_seconds = 1e-3;  // shorter recordings would time the submission

/// The buffers of all contests, and the clock.
class Bench {
 public:
  Bench(std::shared_ptr<vk::Device> device, kernels::Library& library, const Workload& work, const kernels::Resolver& weights)
      : device_(std::move(device)),
        library_(library),
        weights_(weights),
        arena_(device_, vk::Role::activations),
        state_arena_(device_, vk::Role::state),
        queue_(device_) {
    for (const Buffer& buffer : buffers(work)) {
      const bool state = buffer.resource.kind == kernels::ResourceKind::state;
      slices_.emplace_back(buffer.resource, (state ? state_arena_ : arena_).allocate(buffer.bytes));
      if (!state) continue;
      auto& values = *reinterpret_cast<abi::StepState*>(slices_.back().second.mapped);
      values.bases[0] = work.attention.context - STEP_VERIFY_ROWS;  // as much text as there can be
      values.rows = STEP_VERIFY_ROWS;
      auto* pages = reinterpret_cast<std::uint32_t*>(&values + 1);
      for (std::uint32_t page = 0; page < kernels::pages_for(work.attention.context); ++page) pages[page] = page * KV_PAGE;
    }
  }

  /// Records `repeats` runs.
  vk::Commands record(const std::vector<kernels::Dispatch>& run, std::uint32_t repeats) {
    const kernels::Resolver resolve = [this](const kernels::Resource& resource) { return find(resource); };
    vk::Recorder recorder(device_);
    for (std::uint32_t i = 0; i < repeats; ++i) {
      for (const kernels::Dispatch& dispatch : run) kernels::record(recorder, library_, dispatch, resolve);
    }
    return recorder.finish();
  }

  double seconds(const vk::Commands& commands) {
    const Stopwatch watch;
    queue_.submit_and_wait(commands);
    return watch.seconds();
  }

 private:
  vk::Slice find(const kernels::Resource& resource) const {
    if (resource.kind == kernels::ResourceKind::weight) return weights_(resource);
    const auto found = std::find_if(slices_.begin(), slices_.end(), [&](const auto& entry) { return entry.first == resource; });
    return found == slices_.end() ? vk::Slice{} : found->second;
  }

  std::shared_ptr<vk::Device> device_;
  kernels::Library& library_;
  const kernels::Resolver& weights_;
  vk::Arena arena_, state_arena_;
  vk::Queue queue_;
  std::vector<std::pair<kernels::Resource, vk::Slice>> slices_;
};

/// One contest: every candidate once for its pipelines, then rounds in turn. Drivers may take a second for one pipeline: candidates whose
/// turn comes when `watch` has run for the effort's seconds are not tried.
Result hold(Bench& bench, const Contest& contest, const Effort& effort, const Stopwatch& watch) {
  Result result{contest.operation, contest.subject, contest.rows, {}, 0};
  std::vector<vk::Commands> recordings;
  std::uint32_t repeats = 1;
  for (std::size_t i = 0; i < contest.names.size() && (i < 2 || watch.seconds() < effort.seconds); ++i) {
    const std::vector<kernels::Dispatch> run = contest.run(i);
    if (i == 0) {
      // The built-in choice determines how long a run is: once for its pipeline, once for the clock.
      const vk::Commands once = bench.record(run, 1);
      bench.seconds(once);
      repeats = static_cast<std::uint32_t>(std::clamp(run_seconds / std::max(bench.seconds(once), 1e-6), 1.0, 64.0));
    }
    recordings.push_back(bench.record(run, repeats));
    bench.seconds(recordings.back());
    result.candidates.push_back({contest.names[i], std::numeric_limits<double>::infinity(), false});
  }
  for (std::uint32_t round = 0; round < effort.rounds; ++round) {
    double best = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < recordings.size(); ++i) {
      Timed& timed = result.candidates[i];
      if (!timed.dropped) timed.microseconds = std::min(timed.microseconds, 1e6 * bench.seconds(recordings[i]) / repeats);
      best = std::min(best, timed.microseconds);
    }
    for (std::size_t i = 1; i < recordings.size(); ++i) {
      if (result.candidates[i].microseconds > drop_beyond * best) result.candidates[i].dropped = true;
    }
  }
  const auto faster = [](const Timed& a, const Timed& b) { return a.microseconds < b.microseconds; };
  const auto best = std::min_element(result.candidates.begin(), result.candidates.end(), faster);
  if (best->microseconds * must_win_by < result.candidates.front().microseconds)
    result.chosen = static_cast<std::size_t>(best - result.candidates.begin());
  return result;
}

}  // namespace

Report tune(std::shared_ptr<vk::Device> device, kernels::Library& library, const kernels::Selector& select, const Workload& work,
            const kernels::Resolver& weights, const Effort& effort, const std::function<void(double)>& progress) {
  const Stopwatch watch;
  Report report;
  Bench bench(std::move(device), library, work, weights);
  const std::vector<Contest> all = contests(select, work);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (progress) progress(static_cast<double>(i) / static_cast<double>(all.size()));
    // A contest is not begun if those before it predict that it would not end in time.
    const double spent = watch.seconds(), usual = i == 0 ? 0 : spent / static_cast<double>(i);
    if (spent + usual > effort.seconds) {
      report.left_out = all.size() - i;
      break;
    }
    report.results.push_back(hold(bench, all[i], effort, watch));
    if (const std::size_t chosen = report.results.back().chosen; chosen != 0) all[i].take(chosen, report.choices);
  }
  if (progress) progress(1.0);
  report.seconds = watch.seconds();
  return report;
}

}  // namespace skipstone::tune
