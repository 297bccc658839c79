// PassSpec -> Plan: pure CPU code. Full, layer-skipped, early-exit and late-only passes are LayerPlans through this one builder.
#pragma once

#include "exec/memory_kind.h"
#include "exec/plan.h"
#include "kernels/operations.h"
#include "model/config.h"
#include "model/weight_layout.h"

namespace skipstone::exec {

/// Parameters that fix the size of a sequence's buffers.
struct SequenceShape {
  std::uint32_t context = 0;
  KvFormats kv_format = KvFormat::f16;
  std::uint32_t chunk = 64;       ///< keys per attention split
  std::uint32_t pool_tokens = 0;  ///< positions that the cache of all sequences initially has room for, if more than one context
  /// Sliding-window layers initially have room for as many positions as full layers, for cached prefixes; else for those that one sequence
  /// needs.
  bool keeps_windows = false;
  /// Layers on this device; end 0: up to the last one. The device with the first layer has embedding, last norm and head too.
  std::uint32_t begin = 0, end = 0;

  std::uint32_t end_of(std::uint32_t layers) const { return end == 0 ? layers : end; }
  bool is_part_of(std::uint32_t layers) const { return begin > 0 || end_of(layers) < layers; }

  /// 64 keys, doubled until the partial results of a 16-row pass fit 32 MiB: long contexts have enough chunks to fill a device anyway.
  static std::uint32_t chunk_for(const model::Config& config, std::uint32_t context);
};

/// Of a layer; without its slots and page tables, which differ between full and sliding-window layers.
kernels::AttentionShape attention_shape(const model::Config& config, const model::Attention& attention, const SequenceShape& sequence);
/// Of the first layer with attention.
kernels::AttentionShape attention_shape(const model::Config& config, const SequenceShape& sequence);
/// The most bytes that partial results of attention to the chunks of a context take in a layer.
std::uint64_t partial_bytes(const model::Config& config, const SequenceShape& sequence);

/// Of the recurrent layers of a model, which are alike: floats of a row of what their input matrix gives, of a record, and of a row before
/// their output matrix; positions that a row sees, its own included; floats of a slot of a layer's state, if it has one. All are 0 without
/// such layers, but record and window of a model with a head for multi-token prediction.
struct RecurrentShape {
  std::uint32_t input = 0, record = 0, output = 0, window = 0, state = 0;
};
RecurrentShape recurrent_shape(const model::Config& config);

/// Whether a pass does what follows from whole layers, from its first one to the model's last: no draft's, and no sublayer is left out,
/// since that changes what all layers after it see.
bool runs_whole_layers(const PassSpec& spec, const model::Config& config);
/// Whether a pass leaves the states of recurrent layers: all sublayers run in it, or precede it on its device. Passes of drafts do not.
bool writes_states(const PassSpec& spec, const model::Config& config, const SequenceShape& sequence);

/// Entries of the page tables of one kind.
constexpr std::uint32_t table_entries(std::uint32_t context) { return STEP_VERIFY_ROWS * kernels::pages_for(context); }
/// The first of them: the kinds follow each other.
constexpr std::uint32_t first_table_entry(MemoryKind kind, std::uint32_t context) {
  return static_cast<std::uint32_t>(kind) * table_entries(context);
}
/// Of MemoryKind::states: the slots of each sequence (StateSlots::pass).
constexpr std::uint32_t scan_entries = STEP_VERIFY_ROWS * SCAN_WORDS;

/// The work of a pass on a device with some of the layers. All are false if the device has none.
struct StageWork {
  bool begins = false;    ///< starts with tokens, or with saved hidden states
  bool takes = false;     ///< starts with rows from the previous stage
  bool hands_on = false;  ///< forwards its rows, because later layers run too
  bool runs() const { return begins || takes; }
};
/// Work of a pass on the device with the layers [begin, end).
StageWork work_of(const PassSpec& spec, std::uint32_t begin, std::uint32_t end);

/// What all passes have in common.
struct PassContext {
  const model::Config& config;
  const model::WeightLayout& weights;
  const kernels::Selector& select;
  SequenceShape sequence;
};

/// A part of the model's layers that passes do not have yet ("norms of all of Q beside gates"); nullptr if there is none.
const char* missing_on_devices(const model::Config& config);

class PassBuilder {
 public:
  /// Throws unsupported where the model has layers that passes do not have.
  PassBuilder(const model::Config& config, const model::WeightLayout& weights, const SequenceShape& sequence,
              const kernels::Selector& select);
  /// `slots`: positions that the cache has room for; 0: a context's.
  Plan build(const PassSpec& spec, const ByKind<std::uint32_t>& slots = {}) const;
  /// Moves K and V of an accepted path in every layer (shaders/move_kv.comp).
  std::vector<kernels::Dispatch> build_move(const ByKind<std::uint32_t>& slots = {}) const;
  /// y of the indirect attention dispatch of passes with this bucket, which the host writes into the state: that of the layers where it is
  /// largest; elsewhere workgroups past the last head end at once.
  std::uint32_t attention_groups(std::uint32_t bucket) const;
  std::uint32_t begin() const { return begin_; }
  std::uint32_t end() const { return end_; }

 private:
  PassContext context_;
  std::uint32_t begin_, end_;  ///< layers on this device
};

}  // namespace skipstone::exec
