// Making a model's pipelines before its first token, and beside the loading of its weights.
#pragma once

#include <atomic>
#include <functional>
#include <span>
#include <thread>
#include <tuple>
#include <vector>

#include "exec/pass_builder.h"
#include "kernels/library.h"

namespace skipstone::exec {

/// Greedy decoding of one text without drafts, of a model with `layers` layers: its prompts, and a row at a time. Larger prompt buckets use
/// the pipelines of the last one.
std::vector<PassSpec> plain_passes(std::uint32_t layers);
/// What drafts, their verification and several texts side by side take besides, greedily: each row bucket once, and what goes between the
/// passes of a round.
std::vector<PassSpec> verification_passes(std::uint32_t layers);

/// What a session may run beside plain_passes().
struct SessionPasses {
  bool verification = false;  ///< it drafts, or has company
  bool logits = false;        ///< of the rows: it samples, or its drafter looks at several tokens
  bool trees = false;         ///< of drafts
  bool candidates = false;    ///< of the rows: it samples, and the device finds what sampling looks at
  /// Whether a session that has these has all that `other` needs.
  bool cover(const SessionPasses& other) const {
    return (verification || !other.verification) && (logits || !other.logits) && (trees || !other.trees) && (candidates || !other.candidates);
  }
};
std::vector<PassSpec> session_passes(std::uint32_t layers, const SessionPasses& needs);
/// Behind `passes`, the outputs of their rows that have come back from other devices, where those have some of the layers.
void add_way_back(std::vector<PassSpec>& passes);
/// Of a model that only drafts: the text in whole buckets, and an output behind its last token.
std::vector<PassSpec> drafting_passes(std::uint32_t layers);

/// What makes two pipelines the same one: kernel, constants, lanes of a subgroup.
using PipelineKey = std::tuple<kernels::KernelId, std::vector<std::uint32_t>, std::uint32_t>;
inline PipelineKey pipeline_key(const kernels::Dispatch& dispatch) { return {dispatch.kernel, dispatch.constants, dispatch.subgroup}; }

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
