// The device memory that passes work in, besides the KV cache: activations, state, results. Sizes are known beforehand (plan_bytes);
// everything is allocated at once.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <span>

#include "exec/pass_builder.h"
#include "kernels/abi.h"
#include "vk/memory.h"

namespace skipstone::exec {

/// Memory of an engine that runs one sequence of a full context.
struct SequenceBytes {
  std::uint64_t kv = 0, activations = 0;
  std::uint64_t kv_without_windows = 0;  ///< `kv`, if no layer had a sliding window
  std::uint64_t largest_buffer = 0;      ///< must not exceed Caps::max_storage_range
};
SequenceBytes plan_bytes(const model::Config& config, const SequenceShape& shape);

class PassBuffers {
 public:
  PassBuffers(const std::shared_ptr<vk::Device>& device, const model::Config& config, const SequenceShape& shape);

  /// Any resource but weights and the cache; empty for those. Of a kind with one buffer, the index says what is used of it.
  const vk::Slice& slice(const kernels::Resource& resource) const { return slices_[place_of(resource.kind, resource.index)]; }

  abi::StepState& state() { return *at<abi::StepState>(Kind::state); }
  /// The page tables, which follow the state.
  std::span<std::uint32_t> pages() {
    const vk::Slice& state = slice({Kind::state});
    return {reinterpret_cast<std::uint32_t*>(state.mapped + sizeof(abi::StepState)), (state.bytes - sizeof(abi::StepState)) / 4};
  }
  abi::RoundState& round() { return *at<abi::RoundState>(Kind::round); }
  const abi::RoundResult& round_result() const { return *at<const abi::RoundResult>(Kind::round_result); }
  const abi::RowResult* drafts() const { return at<const abi::RowResult>(Kind::drafts); }
  const abi::RowResult* results() const { return at<const abi::RowResult>(Kind::result); }
  abi::CandidateRequest* candidate_requests() { return at<abi::CandidateRequest>(Kind::candidate_requests); }
  const abi::CandidateResult* candidates() const { return at<const abi::CandidateResult>(Kind::candidates); }
  const float* logits() const { return at<const float>(Kind::logits_readback); }
  float* cosine_total() { return at<float>(Kind::cosine_total); }
  const abi::ExpertUse* expert_use() const { return at<const abi::ExpertUse>(Kind::expert_use); }  ///< by layer
  /// Rows of the residual stream, `padded(width)` floats each, in transfer from one device to the next; only devices with a part of the
  /// layers have them.
  float* rows_in() { return at<float>(Kind::rows_in); }
  const float* rows_out() const { return at<const float>(Kind::rows_out); }

 private:
  using Kind = kernels::ResourceKind;
  static constexpr std::size_t most_of_a_kind = 2;
  static std::size_t place_of(Kind kind, std::uint32_t index) {
    return most_of_a_kind * static_cast<std::size_t>(kind) + std::min<std::size_t>(index, most_of_a_kind - 1);
  }
  vk::Slice& slice_of(Kind kind, std::uint32_t index = 0) { return slices_[place_of(kind, index)]; }
  template <typename T>
  T* at(Kind kind) const {
    return reinterpret_cast<T*>(slices_[place_of(kind, 0)].mapped);
  }

  vk::Arena activation_arena_, state_arena_, readback_arena_;
  std::array<vk::Slice, most_of_a_kind * kernels::resource_kinds> slices_;
};

}  // namespace skipstone::exec
