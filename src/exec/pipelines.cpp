#include "exec/pipelines.h"

#include <algorithm>
#include <iterator>

#include "abi/step_state.h"
#include "base/log.h"
#include "base/status.h"

namespace skipstone::exec {

// From the largest bucket on: its pipelines take the longest to create, and all threads should have work until the end.
std::vector<PassSpec> plain_passes(std::uint32_t layers) {
  std::vector<PassSpec> passes;
  for (auto at = std::rbegin(kernels::prompt_buckets); at != std::rend(kernels::prompt_buckets); ++at) {
    passes.push_back({.layers = LayerPlan::full(layers), .bucket = *at, .prompt = true, .last_row_only = true});
  }
  passes.push_back({.layers = LayerPlan::full(layers)});
  return passes;
}

std::vector<PassSpec> verification_passes(std::uint32_t layers) {
  std::vector<PassSpec> passes;
  for (auto at = std::rbegin(kernels::row_buckets); at != std::rend(kernels::row_buckets); ++at) {
    if (*at <= STEP_VERIFY_ROWS) passes.push_back({.layers = LayerPlan::full(layers), .bucket = *at, .keep_after = 1});
  }
  // Some drafters need the prompt's cosines.
  passes.push_back({.layers = LayerPlan::full(layers),
                    .bucket = kernels::prompt_buckets[0],
                    .prompt = true,
                    .last_row_only = true,
                    .cosines = Cosines::attention});
  // The dispatches between the passes of a round in one submission.
  passes.push_back({.layers = LayerPlan::full(layers), .step = RoundStep::draft});
  passes.push_back({.layers = LayerPlan::full(layers), .bucket = 2, .step = RoundStep::verify});
  return passes;
}

std::vector<PassSpec> session_passes(std::uint32_t layers, const SessionPasses& needs) {
  std::vector<PassSpec> passes;
  if (needs.verification) passes = verification_passes(layers);
  const std::uint32_t most_rows = needs.verification ? STEP_VERIFY_ROWS : 1;
  for (auto at = std::rbegin(kernels::row_buckets); at != std::rend(kernels::row_buckets); ++at) {
    const std::uint32_t bucket = *at;
    if (bucket > most_rows) continue;
    PassSpec spec{.layers = LayerPlan::full(layers), .bucket = bucket};
    if (needs.trees && bucket > 2) {  // two rows are a chain
      spec.tree = true;
      passes.push_back(spec);
    }
    if (needs.logits) passes.push_back({.layers = spec.layers, .bucket = bucket, .output = Output::logits});
  }
  if (needs.candidates) passes.push_back({.layers = LayerPlan::full(layers), .output = Output::candidates});
  if (!needs.logits) return passes;
  // In a prompt the LM head reads one row, which is already normalised: this is a kernel of its own.
  passes.push_back({.layers = LayerPlan::full(layers),
                    .bucket = kernels::prompt_buckets[0],
                    .prompt = true,
                    .output = Output::logits,
                    .last_row_only = true});
  passes.push_back({.layers = LayerPlan::full(layers), .bucket = most_rows, .output = Output::logits, .last_row_only = true});
  return passes;
}

std::vector<PassSpec> prediction_passes(const SessionPasses& needs) {
  std::vector<PassSpec> passes{{.layers = {}, .predicts = true}, {.layers = {}, .predicts = true, .step = RoundStep::draft}};
  if (needs.logits) passes.push_back({.layers = {}, .output = Output::logits, .predicts = true});
  if (needs.candidates) passes.push_back({.layers = {}, .output = Output::candidates, .predicts = true});
  return passes;
}

void add_way_back(std::vector<PassSpec>& passes) {
  for (std::size_t i = 0, count = passes.size(); i < count; ++i) {
    PassSpec back = passes[i];
    if (back.output == Output::none || back.step != RoundStep::none) continue;
    back.direction = Direction::returning;
    back.cosines = Cosines::none;
    back.keep_after = 0;
    passes.push_back(back);
  }
}

std::vector<PassSpec> drafting_passes(std::uint32_t layers) {
  std::vector<PassSpec> passes;
  for (const Output output : {Output::argmax, Output::logits}) {
    passes.push_back({.layers = LayerPlan::full(layers), .output = output});
    for (const std::uint32_t bucket : kernels::prompt_buckets) {
      passes.push_back({.layers = LayerPlan::full(layers), .bucket = bucket, .prompt = true, .output = output, .last_row_only = true});
    }
  }
  return passes;
}

std::vector<kernels::Dispatch> distinct_pipelines(const PassBuilder& builder, const PipelineUsers& users,
                                                  const std::set<PipelineKey>& ready, const ByKind<std::uint32_t>& slots) {
  std::set<PipelineKey> seen = ready;
  std::vector<kernels::Dispatch> distinct;
  const auto add = [&](std::vector<kernels::Dispatch> dispatches) {
    for (kernels::Dispatch& dispatch : dispatches) {
      if (seen.insert(pipeline_key(dispatch)).second) distinct.push_back(std::move(dispatch));
    }
  };
  for (const PassSpec& pass : users.passes) add(builder.build(pass, slots).dispatches);
  if (users.moves) add(builder.build_move(slots));
  return distinct;
}

PipelineMaker::PipelineMaker(kernels::Library& library, std::span<const kernels::Dispatch> dispatches, unsigned threads)
    : library_(library), dispatches_(dispatches.begin(), dispatches.end()) {
  if (threads == 0) threads = std::clamp(std::thread::hardware_concurrency(), 1u, 8u);
  threads = std::min(threads, static_cast<unsigned>(dispatches_.size()));
  for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this](const std::stop_token& stop) { work(stop); });
}

PipelineMaker::~PipelineMaker() {
  for (std::jthread& thread : threads_) thread.request_stop();
}

void PipelineMaker::work(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const std::size_t turn = next_++;
    if (turn >= dispatches_.size()) return;
    try {
      const kernels::Dispatch& dispatch = dispatches_[turn];
      library_.pipeline(dispatch.kernel, dispatch.constants, dispatch.subgroup);
    } catch (const std::exception& error) {
      log::debug("a pipeline could not be made beforehand: {}", error.what());
    }
  }
}

}  // namespace skipstone::exec
