// The device memory that passes work in, besides the KV cache: activations, state, results. Sizes are known beforehand (plan_bytes);
// everything is allocated at once.
#pragma once

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
  std::uint64_t largest_buffer = 0;  ///< must not exceed Caps::max_storage_range
};
SequenceBytes plan_bytes(const model::Config& config, const SequenceShape& shape);

class PassBuffers {
 public:
  PassBuffers(const std::shared_ptr<vk::Device>& device, const model::Config& config, const SequenceShape& shape);

  /// Any resource but weights and the cache; empty for those.
  vk::Slice slice(const kernels::Resource& resource) const;

  abi::StepState& state() { return *reinterpret_cast<abi::StepState*>(state_.mapped); }
  /// The page tables, which follow the state.
  std::span<std::uint32_t> pages() {
    return {reinterpret_cast<std::uint32_t*>(state_.mapped + sizeof(abi::StepState)), (state_.bytes - sizeof(abi::StepState)) / 4};
  }
  abi::RoundState& round() { return *reinterpret_cast<abi::RoundState*>(round_.mapped); }
  const abi::RoundResult& round_result() const { return *reinterpret_cast<const abi::RoundResult*>(round_result_.mapped); }
  const abi::RowResult* drafts() const { return reinterpret_cast<const abi::RowResult*>(drafts_.mapped); }
  const abi::RowResult* results() const { return reinterpret_cast<const abi::RowResult*>(result_.mapped); }
  abi::CandidateRequest* candidate_requests() { return reinterpret_cast<abi::CandidateRequest*>(candidate_requests_.mapped); }
  const abi::CandidateResult* candidates() const { return reinterpret_cast<const abi::CandidateResult*>(candidates_.mapped); }
  float* cosine_total() { return reinterpret_cast<float*>(cosine_total_.mapped); }
  /// Rows of the residual stream, `padded(width)` floats each, in transfer from one device to the next; only devices with a part of the
  /// layers have them.
  const vk::Slice& rows_in() const { return rows_in_; }
  const vk::Slice& rows_out() const { return rows_out_; }
  const vk::Slice& logits() const { return logits_; }
  const vk::Slice& logits_readback() const { return logits_readback_; }

 private:
  vk::Arena activation_arena_, state_arena_, readback_arena_;
  vk::Slice residual_[2], kept_, normed_, qkv_, q_rotated_, attended_, gate_up_, activated_, half_rows_;
  vk::Slice attention_partial_, logits_, argmax_partial_, cosines_, rope_table_, state_, result_, cosine_total_, logits_readback_;
  vk::Slice round_, round_result_, drafts_, rows_in_, rows_out_, candidate_requests_, candidate_groups_, candidates_;
};

}  // namespace skipstone::exec
