// Queries and caches for the attention kernels, and the oracle's results for them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "exec/layer_plan.h"
#include "kernels/operations.h"
#include "model/config.h"
#include "selftest/bench.h"
#include "selftest/data.h"

namespace skipstone::selftest {

/// The part of a model's configuration that rotation needs; of a model that rotates some layers by angles of their own.
model::Config rope_config(const kernels::AttentionShape& shape);
/// (cos, sin) of every position and pair, as the kernel reads them: context rows, then as many with the local base.
std::vector<float> make_rope_table(const kernels::AttentionShape& shape);

/// The words of a cache of keys or values that holds `rows` (each kv_heads * head_dim floats) at positions `base`, `base` + 1, ...; all
/// others untouched.
std::vector<std::uint32_t> kv_words(const kernels::KvLayout& layout, std::uint32_t base, std::span<const float> rows);
/// Appends to `to` one KV head's cache contents for a position: its vector's words, and the words of scales where it has any.
void append_position(const kernels::KvLayout& layout, std::span<const std::uint32_t> cache, std::uint32_t kv_head, std::uint32_t position,
                     std::vector<std::uint32_t>& to);

/// One position of a cache, all KV heads, goes to another position of another one.
void copy_position(const kernels::KvLayout& layout, std::span<const std::uint32_t> from, std::uint32_t from_position,
                   std::span<std::uint32_t> to, std::uint32_t to_position);

struct AttentionShapeRows {
  kernels::AttentionShape shape;
  std::uint32_t base = 0, rows = 1;
  std::optional<exec::KeyWindow> window = {};  ///< none: rows attend to all keys up to their own
  std::vector<std::uint32_t> parents = {};     ///< of a tree's rows; empty: they follow each other
  std::uint32_t layer_window = 0;              ///< kernels::AttentionLayer::window: of the keys left the last ones, this many; 0: all
  bool sinks = false;                          ///< each query head has one (kernels::AttentionLayer::sinks)
  bool tree() const { return !parents.empty(); }
  kernels::Keys keys() const { return window ? kernels::Keys::window : tree() ? kernels::Keys::tree : kernels::Keys::text; }
  kernels::AttentionLayer layer() const;
  std::uint32_t keys_of(std::uint32_t row) const;   ///< keys up to a row's own, without the layer's window: they have the chunks
  std::uint32_t first_of(std::uint32_t row) const;  ///< of these keys the first that the layer's window leaves
  std::vector<std::uint32_t> visible(std::uint32_t row) const;  ///< the slots that a row reads, in the order of their positions
  std::string text() const;  ///< "f16 H=8/2 D=64 base=60 rows=9", "... tree", "... window=4,80", "... layer-window=7",
                             ///< "... sinks"
};

/// The sinks of query heads, on both sides of their scores, far from them in some cases; and their buffer.
std::vector<float> make_sinks(const AttentionShapeRows& work);
void put_sinks(Bench& bench, std::span<const float> sinks);

/// A filled cache for slots 0 .. base + rows - 1 and the queries of the rows. Slots after these, and those that no row sees, hold
/// NaN.
class AttentionData {
 public:
  AttentionData(const AttentionShapeRows& work, std::string_view seed);

  const AttentionShapeRows& work() const { return work_; }
  /// Of query heads; empty without sinks.
  const std::vector<float>& sinks() const { return sinks_; }
  /// Puts q_rotated (for `bucket` rows), caches of layer 0, sinks and the state, with the arguments of the indirect dispatch.
  void put(Bench& bench, std::uint32_t bucket) const;
  /// The oracle's answer for a row, heads * head_dim floats, and how far a device may be from it.
  void expect(std::uint32_t row, std::vector<float>& wanted, std::vector<double>& tolerance) const;

 private:
  double relative_error(std::span<const float> q, std::uint32_t head, std::span<const std::uint32_t> visible) const;

  AttentionShapeRows work_;
  std::vector<float> sinks_;
  std::vector<float> q_, keys_, values_;  ///< [row][head][dim]; [slot][kv_head][dim] as rounded by the cache
};

}  // namespace skipstone::selftest
