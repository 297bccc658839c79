// Keys and values of the first positions of a sequence as bytes on the host, bit by bit: the contents of conversation files.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "exec/kv_cache.h"
#include "vk/recorder.h"

namespace skipstone::exec {

/// For one sequence with the pages `pages`, in buffers of this device. Not while it runs a pass. Sliding-window layers have only the
/// positions from their first page on.
class KvBytes {
 public:
  /// Bytes of one layer: K, then V; for each KV head `positions` vectors and then, for q8_0, their scales.
  static std::uint64_t layer_bytes(const kernels::AttentionShape& shape, std::uint32_t positions);

  KvBytes(const std::shared_ptr<vk::Device>& device, const kernels::AttentionShape& shape, const CacheBuffers& buffers,
          const PageLists& pages, std::uint32_t positions);
  std::uint64_t layer_bytes(std::uint32_t layer) const { return layer_bytes(shape_, positions_ - first_of(layer)); }
  void read(std::uint32_t layer, std::span<std::byte> to);
  /// The pages are not shared (PageTable::reserve).
  void write(std::uint32_t layer, std::span<const std::byte> from);

 private:
  /// Calls `visit(slice)` for each run of contiguous bytes, in order.
  template <typename Visit>
  void for_each_run(std::uint32_t layer, const Visit& visit);

  std::uint32_t first_of(std::uint32_t layer) const { return buffers_.is_sliding(layer) ? std::min(positions_, pages_.left * KV_PAGE) : 0; }

  const CacheBuffers& buffers_;
  PageLists pages_;
  kernels::AttentionShape shape_;
  std::uint32_t positions_;
  vk::Uploader uploader_;
};

}  // namespace skipstone::exec
