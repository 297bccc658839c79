#include "exec/recordings.h"

#include <numeric>

#include "abi/step_state.h"

namespace skipstone::exec {
namespace {

/// Ends of the slices of `plan`, as numbers of dispatches: each layer is one slice, and so is the output. In chunks of a prompt every
/// dispatch is one slice: a layer of theirs takes longer than a full pass over one row.
std::vector<std::size_t> slice_ends(const Plan& plan) {
  std::vector<std::size_t> ends;
  if (plan.spec.bucket <= STEP_VERIFY_ROWS) {
    for (const std::size_t start : plan.layer_starts) {
      if (start > 0) ends.push_back(start);
    }
  } else {
    ends.resize(plan.dispatches.size());
    std::iota(ends.begin(), ends.end(), std::size_t{1});
  }
  if (ends.empty() || ends.back() < plan.dispatches.size()) ends.push_back(plan.dispatches.size());
  return ends;
}

}  // namespace
namespace {

using Kind = kernels::ResourceKind;

bool has_own_clock(const vk::Caps& caps) { return caps.timestamps && !caps.is_cpu(); }

}  // namespace

void PassSlices::record_time(std::size_t first, std::size_t count, double measured) {
  const std::span<double> slices = std::span(seconds).subspan(first, count);
  const bool known = std::ranges::all_of(slices, [](double slice) { return slice > 0; });
  const double sum = std::accumulate(slices.begin(), slices.end(), 0.0);
  for (double& slice : slices) {
    // One submission has one time: its slices share it in proportion to their earlier times, evenly at first. A new time counts as much as
    // all before it.
    slice = known ? 0.5 * (slice + measured * slice / sum) : measured / static_cast<double>(count);
  }
}

Recordings::Recordings(const LoadedModel& model, KvBuffers& cache, const PassBuffers& buffers)
    : model_(model),
      cache_(cache),
      buffers_(buffers),
      resolver_([this](const kernels::Resource& resource) { return resolve(resource); }),
      passes_([this](const PassSpec& spec) { return record_pass(spec); }),
      slices_([this](const PassSpec& spec) { return record_slices(spec); }) {}

void Recordings::refresh() {
  if (generation_ == cache_.generation()) return;
  generation_ = cache_.generation();
  passes_.clear();
  slices_.clear();
  move_.reset();
}

void Recordings::set_timed(bool timed) {
  timed_ = timed;
  passes_.clear();  // they have the other setting
}

vk::Slice Recordings::resolve(const kernels::Resource& resource) const {
  switch (resource.kind) {
    case Kind::weight:
      return model_.weights->slice(resource);
    case Kind::k_cache:
    case Kind::v_cache:
    case Kind::records:
    case Kind::states:
      return cache_.slice(resource.kind, resource.index);
    default:
      return buffers_.slice(resource);
  }
}

void Recordings::record(vk::Recorder& recorder, const kernels::Dispatch& dispatch) const {
  kernels::record(recorder, *model_.kernel_library, dispatch, resolver_);
}

vk::Commands Recordings::record_pass(const PassSpec& spec) const {
  const vk::Caps& caps = model_.device->caps();
  vk::Recorder recorder(model_.device, timed_ && has_own_clock(caps) ? vk::Timestamps::whole : vk::Timestamps::none);
  const Plan plan = model_.builder->build(spec, cache_.slots());
  const std::size_t conditional = plan.condition && caps.conditional_dispatch ? plan.condition->dispatches : 0;
  if (conditional > 0) {
    const std::size_t word = offsetof(abi::RoundState, conditions) + plan.condition->word * sizeof(std::uint32_t);
    recorder.begin_condition(buffers_.slice({Kind::round}).part(word, sizeof(std::uint32_t)));
  }
  begin_pass(recorder, spec);
  for (std::size_t i = 0; i < plan.dispatches.size(); ++i) {
    record(recorder, plan.dispatches[i]);
    if (i + 1 == conditional) recorder.end_condition();
  }
  end_pass(recorder, plan);
  return recorder.finish();
}

PassSlices Recordings::record_slices(const PassSpec& spec) const {
  const Plan plan = model_.builder->build(spec, cache_.slots());
  PassSlices slices;
  std::size_t next = 0;
  for (const std::size_t end : slice_ends(plan)) {
    vk::Recorder recorder(model_.device, vk::Timestamps::none);
    if (next == 0) begin_pass(recorder, spec);
    for (; next < end; ++next) record(recorder, plan.dispatches[next]);
    if (end == plan.dispatches.size()) end_pass(recorder, plan);
    slices.recordings.push_back(recorder.finish());
  }
  slices.seconds.resize(slices.recordings.size());
  return slices;
}

void Recordings::begin_pass(vk::Recorder& recorder, const PassSpec& spec) const {
  const StageWork work = work_of(spec, model_.builder->begin(), model_.builder->end());
  if (spec.direction == Direction::outbound && !work.takes) return;
  const std::uint64_t bytes = std::uint64_t{spec.bucket} * kernels::padded(model_.config.width) * sizeof(float);
  recorder.copy(buffers_.slice({Kind::rows_in}).part(0, bytes), buffers_.slice({Kind::residual, 0}).part(0, bytes));
}

void Recordings::end_pass(vk::Recorder& recorder, const Plan& plan) const {
  const PassSpec& spec = plan.spec;
  const PassBuilder& builder = *model_.builder;
  const StageWork work = work_of(spec, builder.begin(), builder.end());
  if (spec.direction == Direction::outbound && (work.hands_on || builder.begin() > 0)) {
    const std::uint64_t bytes = std::uint64_t{spec.bucket} * kernels::padded(model_.config.width) * sizeof(float);
    recorder.copy(buffers_.slice(plan.handed_on).part(0, bytes), buffers_.slice({Kind::rows_out}).part(0, bytes));
    return;
  }
  if (spec.output != Output::logits) return;
  const std::uint64_t bytes = std::uint64_t{spec.output_rows()} * kernels::padded(model_.config.vocabulary) * sizeof(float);
  recorder.copy(buffers_.slice({Kind::logits}).part(0, bytes), buffers_.slice({Kind::logits_readback}).part(0, bytes));
}

const vk::Commands& Recordings::move() {
  if (!move_) {
    vk::Recorder recorder(model_.device, vk::Timestamps::none);
    for (const kernels::Dispatch& dispatch : model_.builder->build_move(cache_.slots())) record(recorder, dispatch);
    move_ = recorder.finish();
  }
  return *move_;
}

vk::Commands Recordings::one_workgroup_of_each(std::span<const kernels::Dispatch> dispatches) const {
  vk::Recorder recorder(model_.device);
  for (kernels::Dispatch single : dispatches) {
    single.groups = {1, 1, 1};
    single.indirect_offset.reset();
    record(recorder, single);
  }
  return recorder.finish();
}

vk::Commands Recordings::copy_of_hidden_states(std::span<const std::uint32_t> path) const {
  const vk::Slice& rows = buffers_.slice({Kind::kept});
  const std::uint64_t bytes = kernels::padded(model_.config.width) * sizeof(float);
  vk::Recorder recorder(model_.device, vk::Timestamps::none);
  for (std::uint32_t i = 0; i < path.size(); ++i) recorder.copy(rows.part(path[i] * bytes, bytes), rows.part(i * bytes, bytes));
  return recorder.finish();
}

}  // namespace skipstone::exec
