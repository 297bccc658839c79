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
  /// Layers with a window have room for as many positions at first as the others, for beginnings of texts that are kept; else for what one
  /// sequence has of them.
  bool keeps_windows = false;

  /// 64 keys, doubled until the partial results of a 16-row pass fit 32 MiB: long contexts have enough chunks to fill a device anyway.
  static std::uint32_t chunk_for(const model::Config& config, std::uint32_t context);
};

kernels::AttentionShape attention_shape(const model::Config& config, const SequenceShape& sequence);

/// Entries of the page tables of layers of one kind. Those of layers that see the whole text come first.
constexpr std::uint32_t table_entries(std::uint32_t context) { return STEP_VERIFY_ROWS * kernels::pages_for(context); }

/// Positions that the cache has room for, by the kind of a layer; 0: a context's.
struct CacheSlots {
  std::uint32_t whole = 0, windowed = 0;
};

class PassBuilder {
 public:
  PassBuilder(const model::Config& config, const model::WeightLayout& weights, const SequenceShape& sequence,
              const kernels::Selector& select);
  Plan build(const PassSpec& spec, const CacheSlots& slots = {}) const;
  /// Moves K and V of an accepted path in every layer (shaders/move_kv.comp).
  std::vector<kernels::Dispatch> build_move(const CacheSlots& slots = {}) const;
  /// y of the indirect attention dispatch of passes with this bucket: what the host writes into the state.
  std::uint32_t attention_groups(std::uint32_t bucket) const;

 private:
  const model::Config& config_;
  const model::WeightLayout& weights_;
  kernels::AttentionShape attention_;
  const kernels::Selector& select_;
};

}  // namespace skipstone::exec
