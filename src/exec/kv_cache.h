// The keys and values of all sequences of an engine, full and sliding-window layers apart: pages of sliding-window layers are released when
// no row can see them any more, while those of full layers stay for as long as the text.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "exec/kv_pool.h"
#include "exec/pass_builder.h"

namespace skipstone::exec {

/// Positions that full and sliding-window layers initially have room for.
std::uint32_t full_positions(const SequenceShape& shape);
std::uint32_t sliding_positions(const model::Config& config, const SequenceShape& shape);
CacheBuffers::Pages first_pages(const model::Config& config, const SequenceShape& shape);

/// Thread-safe.
class KvCache {
 public:
  /// Throws out_of_memory.
  KvCache(const std::shared_ptr<vk::Device>& device, const model::Config& config, const SequenceShape& shape);

  /// The pages of full layers, and of sliding-window layers.
  KvPool& full() { return full_; }
  KvPool& sliding() { return sliding_; }
  bool has_windows() const { return window_ > 0; }
  bool is_sliding(std::uint32_t layer) const { return buffers_.is_sliding(layer); }
  /// Buffers of the layers on this device.
  CacheBuffers& buffers() { return buffers_; }

  /// The first page of sliding-window layers that a row at `position`, or one up to `margin` positions before it, reads. Without such
  /// layers: the page of the row.
  std::uint32_t first_page(std::uint32_t position, std::uint32_t margin = 0) const;

 private:
  std::uint32_t chunk_;
  std::uint32_t window_ = 0;  ///< the largest of all layers; 0: none has one
  CacheBuffers buffers_;
  KvPool full_, sliding_;
};

/// The pages of a sequence as a pass reads them: in the order of the text, 0 in place of a released one.
struct PageLists {
  std::span<const std::uint32_t> full, sliding;
  std::uint32_t left = 0;  ///< leading pages of `sliding` that were released
};

/// The pages of one sequence. Used by one thread at a time.
class SequencePages {
 public:
  /// Sliding-window layers keep the pages that this many rows before the next one see, so that a text may be rolled back that far.
  static constexpr std::uint32_t kept_margin = STEP_MAX_ROWS;

  explicit SequencePages(KvCache& cache) : cache_(&cache), full_(cache.full()), sliding_(cache.sliding()) {}

  /// As PageTable::reserve. Releases what rows from `first` - kept_margin on do not see; with `all`, nothing. Throws internal if pages that
  /// the rows see were released (is_complete).
  void reserve(std::uint32_t first, std::uint32_t end, bool all = false);
  /// Whether the pages that a row at `position` sees are there, if the text up to it is.
  bool is_complete(std::uint32_t position) const { return sliding_.first() <= cache_->first_page(position); }
  void share(const SequencePages& from, std::uint32_t positions);
  void truncate(std::uint32_t positions);
  /// The table, which is empty, gets room for `positions` positions; sliding-window layers get none of their first `pages` pages.
  void begin_after(std::uint32_t pages, std::uint32_t positions);

  PageTable& full() { return full_; }
  PageTable& sliding() { return sliding_; }
  const PageTable& full() const { return full_; }
  const PageTable& sliding() const { return sliding_; }
  KvCache& cache() const { return *cache_; }
  PageLists lists() const { return {full_.pages(), sliding_.pages(), sliding_.first()}; }

 private:
  KvCache* cache_;
  PageTable full_, sliding_;
};

}  // namespace skipstone::exec
