// PassSpec -> Plan: pure CPU code. Full, layer-skipped, early-exit and late-only passes are LayerPlans through this one builder.
#pragma once

#include "exec/plan.h"
#include "kernels/operations.h"
#include "model/config.h"
#include "model/weight_layout.h"

namespace skipstone::exec {

/// What fixes the size of a sequence's buffers.
struct SequenceShape {
  std::uint32_t context = 0;
  KvFormat kv_format = KvFormat::f16;
  std::uint32_t chunk = 64;       ///< keys per attention split
  std::uint32_t pool_tokens = 0;  ///< positions that the cache of all sequences has room for at first, if more than one context

  /// 64 keys, doubled until the partial results of a 16-row pass fit 32 MiB: long contexts have enough chunks to fill a device anyway.
  static std::uint32_t chunk_for(const model::Config& config, std::uint32_t context);
};

kernels::AttentionShape attention_shape(const model::Config& config, const SequenceShape& sequence);

class PassBuilder {
 public:
  PassBuilder(const model::Config& config, const model::WeightLayout& weights, const SequenceShape& sequence,
              const kernels::Selector& select);
  /// `slots`: positions that the KV cache has room for; 0: a context's.
  Plan build(const PassSpec& spec, std::uint32_t slots = 0) const;
  /// Moves K and V of an accepted path in every layer (shaders/move_kv.comp).
  std::vector<kernels::Dispatch> build_move(std::uint32_t slots = 0) const;
  /// y of the indirect attention dispatch of passes with this bucket: what the host writes into the state.
  std::uint32_t attention_groups(std::uint32_t bucket) const;

 private:
  const model::Config& config_;
  const model::WeightLayout& weights_;
  kernels::AttentionShape attention(std::uint32_t slots) const;
  kernels::AttentionShape attention_;
  const kernels::Selector& select_;
};

}  // namespace skipstone::exec
