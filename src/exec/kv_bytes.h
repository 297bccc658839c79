// Keys and values of the first positions of a sequence as bytes on the host, bit by bit: what conversations in files are made of.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "exec/kv_cache.h"
#include "vk/recorder.h"

namespace skipstone::exec {

/// Of one sequence, whose pages `pages` has, in buffers of this device. Not while it runs a pass. Layers with a window have the positions
/// from their first page on alone.
class KvBytes {
 public:
  /// Of one layer: K, then V; of each KV head in turn `positions` vectors and then, of q8_0, their scales.
  static std::uint64_t layer_bytes(const kernels::AttentionShape& shape, std::uint32_t positions);

  KvBytes(const std::shared_ptr<vk::Device>& device, const kernels::AttentionShape& shape, const CacheBuffers& buffers,
          const PageLists& pages, std::uint32_t positions);
  std::uint64_t layer_bytes(std::uint32_t layer) const { return layer_bytes(shape_, positions_ - first_of(layer)); }
  void read(std::uint32_t layer, std::span<std::byte> to);
  /// The pages are the sequence's own (PageTable::reserve).
  void write(std::uint32_t layer, std::span<const std::byte> from);

 private:
  /// Calls `visit(slice)` for each run of bytes that lie side by side, in order.
  template <typename Visit>
  void for_each_run(std::uint32_t layer, const Visit& visit);

  std::uint32_t first_of(std::uint32_t layer) const {
    return buffers_.is_windowed(layer) ? std::min(positions_, pages_.left * KV_PAGE) : 0;
  }

  const CacheBuffers& buffers_;
  PageLists pages_;
  kernels::AttentionShape shape_;
  std::uint32_t positions_;
  vk::Uploader uploader_;
};

}  // namespace skipstone::exec
