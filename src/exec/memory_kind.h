// Kinds of memory that the layers of a model have for a sequence, each a row of facts. Caches, page tables, conversation files, messages
// between stages and statistics are loops over the kinds.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "kernels/abi.h"
#include "model/config.h"

namespace skipstone::exec {

struct SequenceShape;

/// The numbers are part of messages between stages, and the order of the page tables in the state of a pass.
enum class MemoryKind : std::uint8_t {
  full,       ///< keys and values of a text's positions
  sliding,    ///< keys and values of the positions that rows still see in layers with a sliding window
  recurrent,  ///< records of the positions that the convolutions of recurrent layers still see, and of those after their states
  states,     ///< states of recurrent layers: a page is a slot (StateSlots), and belongs to no positions
};
inline constexpr std::array memory_kinds{MemoryKind::full, MemoryKind::sliding, MemoryKind::recurrent, MemoryKind::states};

/// A value of each kind.
template <typename T>
struct ByKind {
  std::array<T, memory_kinds.size()> values = {};  ///< in the order of memory_kinds

  constexpr T& operator[](MemoryKind kind) & { return values[static_cast<std::size_t>(kind)]; }
  constexpr const T& operator[](MemoryKind kind) const& { return values[static_cast<std::size_t>(kind)]; }
  /// Of a temporary: a copy, which a range-based for keeps.
  constexpr T operator[](MemoryKind kind) && { return std::move(values[static_cast<std::size_t>(kind)]); }
};

/// The values of `make(kind)`, which may be of a type that cannot be moved.
template <typename Make>
auto by_kind(const Make& make) {
  const auto all = [&]<std::size_t... I>(std::index_sequence<I...>) {
    return ByKind<decltype(make(MemoryKind{}))>{{make(memory_kinds[I])...}};
  };
  return all(std::make_index_sequence<memory_kinds.size()>{});
}

struct MemoryKindRow {
  const char* pages_key;     ///< of its pages in reports
  const char* released_key;  ///< of the number of released pages in conversation files; null: none is released while the text has them
  bool by_chunks;            ///< pages are released in whole chunks of keys, as attention reads them
  /// Cached prefixes have pages at some positions only, at which the reading of a text with such a prefix can begin: a position takes more
  /// memory than one of keys and values.
  bool sparse_prefixes;
  /// Whether a layer has this kind in a context of `context` tokens. Recurrent layers may have states besides records;
  /// other layers have one kind.
  bool (*has_layer)(const model::Config& config, std::uint32_t context, std::uint32_t layer);
  /// Number of positions that a row sees, the row's own included, in the layer of the model where they are most; 0: all. Pages before them
  /// may be released.
  std::uint32_t (*window)(const model::Config& config, std::uint32_t context);
  /// Positions that the memory initially has room for; 0: the model has none of this kind.
  std::uint32_t (*initial_positions)(const model::Config& config, const SequenceShape& shape);
};
const MemoryKindRow& row_of(MemoryKind kind);

/// Calls `visit(kind, released_key)` for the kinds whose pages may be released.
template <typename Visit>
void for_each_releasing_kind(const Visit& visit) {
  for (const MemoryKind kind : memory_kinds) {
    if (const char* key = row_of(kind).released_key; key != nullptr) visit(kind, key);
  }
}

/// The kinds of a layer's positions in a context of `context` tokens: none without memory; of a head keys and values, and hidden states,
/// which are records.
std::vector<MemoryKind> position_kinds_of(const model::Config& config, std::uint32_t context, std::uint32_t layer);
/// The first of them; full for a layer without memory.
MemoryKind memory_kind_of(const model::Config& config, std::uint32_t context, std::uint32_t layer);
/// The local layers with this kind, ascending; then the model's heads, which are on the device with the first layer.
std::vector<std::uint32_t> layers_of(MemoryKind kind, const model::Config& config, const SequenceShape& shape);

/// Whether the layer keeps records.
bool is_recurrent(const model::Mixer& mixer);

/// Pages for the initial positions of a kind.
std::uint32_t initial_pages(MemoryKind kind, const model::Config& config, const SequenceShape& shape);

/// Of kinds with sparse prefixes: one of this many pages is cached besides those at the ends of prompts.
inline constexpr std::uint32_t prefix_stride = 4;

/// A sequence can be rolled back by this many positions at least: what a row this far before the next one sees is not released.
inline constexpr std::uint32_t rollback_margin = STEP_MAX_ROWS;

/// The same of a model with states: where it is rolled back further, its text may be read again. It is shorter, because the records since
/// then are kept, and those of all layers take much memory.
inline constexpr std::uint32_t state_rollback_margin = 128;

}  // namespace skipstone::exec
