// The keys and values of all sequences of an engine, by what layers see: pages of layers with a window are given back when no row can see them
// any more, while those of the others stay for as long as the text.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "exec/kv_pool.h"
#include "exec/pass_builder.h"

namespace skipstone::exec {

/// Positions for which these have room at first.
std::uint32_t whole_positions(const SequenceShape& shape);
std::uint32_t windowed_positions(const model::Config& config, const SequenceShape& shape);
CacheBuffers::Pages first_pages(const model::Config& config, const SequenceShape& shape);

/// From any thread.
class KvCache {
 public:
  /// Throws out_of_memory.
  KvCache(const std::shared_ptr<vk::Device>& device, const model::Config& config, const SequenceShape& shape);

  /// Of the layers that see the whole text, and of those that see a window.
  KvPool& whole() { return whole_; }
  KvPool& windowed() { return windowed_; }
  bool has_windows() const { return window_ > 0; }
  bool is_windowed(std::uint32_t layer) const { return buffers_.is_windowed(layer); }
  /// Of the layers on this device.
  CacheBuffers& buffers() { return buffers_; }

  /// The first page of layers with a window that a row at `position` reads; `behind`: or the rows up to so many positions before it. Without
  /// such layers: the page of the row.
  std::uint32_t first_page(std::uint32_t position, std::uint32_t behind = 0) const;

 private:
  std::uint32_t chunk_;
  std::uint32_t window_ = 0;  ///< the largest of a layer; 0: none has one
  CacheBuffers buffers_;
  KvPool whole_, windowed_;
};

/// The pages of a sequence as a pass reads them: in the order of the text, 0 in the place of one that was given back.
struct PageLists {
  std::span<const std::uint32_t> whole, windowed;
  std::uint32_t left = 0;  ///< of `windowed`, given back at the beginning
};

/// The pages of one sequence. One thread at a time.
class SequencePages {
 public:
  /// Pages that layers with a window have kept last: of what this many rows before the next one see, so that a text may be taken back so far.
  static constexpr std::uint32_t kept_behind = STEP_MAX_ROWS;

  explicit SequencePages(KvCache& cache) : cache_(&cache), whole_(cache.whole()), windowed_(cache.windowed()) {}

  /// As PageTable::reserve. Gives back what rows from `first` - kept_behind on do not see; `all`: nothing.
  /// Throws internal where what the rows see was given back (is_complete).
  void reserve(std::uint32_t first, std::uint32_t end, bool all = false);
  /// Whether what a row at `position` sees is there, if the text up to it is.
  bool is_complete(std::uint32_t position) const { return windowed_.first() <= cache_->first_page(position); }
  void share(const SequencePages& from, std::uint32_t positions);
  void cut(std::uint32_t positions);
  /// The table, which is empty, gets room for `positions` positions; layers with a window do without their first `pages` pages.
  void begin_behind(std::uint32_t pages, std::uint32_t positions);

  PageTable& whole() { return whole_; }
  PageTable& windowed() { return windowed_; }
  const PageTable& whole() const { return whole_; }
  const PageTable& windowed() const { return windowed_; }
  KvCache& cache() const { return *cache_; }
  PageLists lists() const { return {whole_.pages(), windowed_.pages(), windowed_.first()}; }

 private:
  KvCache* cache_;
  PageTable whole_, windowed_;
};

}  // namespace skipstone::exec
