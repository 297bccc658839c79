// Creates a model's pipelines before its first token, in parallel with the loading of its weights.
#pragma once

#include <atomic>
#include <functional>
#include <set>
#include <span>
#include <thread>
#include <tuple>
#include <vector>

#include "exec/pass_builder.h"
#include "kernels/library.h"

namespace skipstone::exec {

/// Passes of greedy decoding of one sequence without drafts, in a model with `layers` layers: prompts, and one row at a time. Larger prompt
/// buckets use the pipelines of the last one.
std::vector<PassSpec> plain_passes(std::uint32_t layers);
/// Additional passes of drafts, their verification and concurrent sequences, all greedy: each row bucket once, and the dispatches between
/// the passes of a round.
std::vector<PassSpec> verification_passes(std::uint32_t layers);

/// Passes that a session may run besides plain_passes().
struct SessionPasses {
  bool verification = false;  ///< the session drafts, or has concurrent sequences
  bool logits = false;        ///< of the rows: the session samples, or its drafter considers several tokens
  bool trees = false;         ///< of drafts
  bool candidates = false;    ///< of the rows: the session samples, and the device selects the candidates
  /// Whether these passes cover all that `other` needs.
  bool cover(const SessionPasses& other) const {
    return (verification || !other.verification) && (logits || !other.logits) && (trees || !other.trees) &&
           (candidates || !other.candidates);
  }
};
std::vector<PassSpec> session_passes(std::uint32_t layers, const SessionPasses& needs);
/// Of drafts by a head for multi-token prediction.
std::vector<PassSpec> prediction_passes(const SessionPasses& needs);
/// Appends to `passes` the outputs of their rows that return from other devices, for models with remote layers.
void add_way_back(std::vector<PassSpec>& passes);
/// Passes of a model that only drafts: the text in full buckets, and an output after its last token.
std::vector<PassSpec> drafting_passes(std::uint32_t layers);

/// What distinguishes pipelines: kernel, constants, lanes of a subgroup.
using PipelineKey = std::tuple<kernels::KernelId, std::vector<std::uint32_t>, std::uint32_t>;
inline PipelineKey pipeline_key(const kernels::Dispatch& dispatch) { return {dispatch.kernel, dispatch.constants, dispatch.subgroup}; }

/// What pipelines are made for.
struct PipelineUsers {
  std::vector<PassSpec> passes;
  bool moves = false;  ///< LocalRunner::move too
};

/// Dispatches of `users` that cover each of their pipelines (kernel and constants) but those of `ready`, in the order of the passes.
/// `slots`: as in PassBuilder::build.
std::vector<kernels::Dispatch> distinct_pipelines(const PassBuilder& builder, const PipelineUsers& users,
                                                  const std::set<PipelineKey>& ready = {}, const ByKind<std::uint32_t>& slots = {});

/// Dispatches for a cache that has room for the given positions of each kind.
using CacheDispatches = std::function<std::vector<kernels::Dispatch>(const ByKind<std::uint32_t>& slots)>;

/// Creates the pipelines of `dispatches` on threads of its own; a caller that needs a missing pipeline waits for it, or creates it. If the
/// driver refuses a pipeline, the caller that requests it gets the error. The library must outlive the maker.
class PipelineMaker {
 public:
  /// `threads`: 0 for one per core, at most 8.
  PipelineMaker(kernels::Library& library, std::span<const kernels::Dispatch> dispatches, unsigned threads = 0);
  ~PipelineMaker();  ///< creates no further ones and waits for those in progress

 private:
  void work(const std::stop_token& stop);

  kernels::Library& library_;
  std::vector<kernels::Dispatch> dispatches_;
  std::atomic<std::size_t> next_{0};
  std::vector<std::jthread> threads_;
};

}  // namespace skipstone::exec
