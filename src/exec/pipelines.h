// Making a model's pipelines before its first token, and beside the loading of its weights.
#pragma once

#include <atomic>
#include <functional>
#include <span>
#include <thread>
#include <vector>

#include "exec/pass_builder.h"
#include "kernels/library.h"

namespace skipstone::exec {

/// The greedy passes of plain decoding, verification, drafts and prompts of a model with `layers` layers: each row bucket once. Larger
/// prompt buckets use the pipelines of the last one.
std::vector<PassSpec> usual_passes(std::uint32_t layers);
/// What a session may run besides: `logits` of the rows, where it samples or its drafter looks at several tokens; `trees` of drafts.
std::vector<PassSpec> session_passes(std::uint32_t layers, bool logits, bool trees);
/// Of a model that only drafts: the text in whole buckets, and an output behind its last token.
std::vector<PassSpec> drafting_passes(std::uint32_t layers);

/// Dispatches of `passes` such that each of their pipelines (kernel and constants) is in one of them, in the order of the passes.
std::vector<kernels::Dispatch> distinct_pipelines(const PassBuilder& builder, std::span<const PassSpec> passes);

/// Makes the pipelines of `dispatches` on threads of its own; whoever needs one that is not there yet waits for that one, or makes it.
/// What a driver refuses is left to whoever asks for the pipeline, who gets the error. The library must outlive it.
class PipelineMaker {
 public:
  /// `threads`: 0 for one per core, at most 8.
  PipelineMaker(kernels::Library& library, std::span<const kernels::Dispatch> dispatches, unsigned threads = 0);
  ~PipelineMaker();  ///< makes no further ones and waits for those being made

 private:
  void work(const std::stop_token& stop);

  kernels::Library& library_;
  std::vector<kernels::Dispatch> dispatches_;
  std::atomic<std::size_t> next_{0};
  std::vector<std::jthread> threads_;
};

}  // namespace skipstone::exec
