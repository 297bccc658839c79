// The memory of all sequences of an engine, in pages (PagedAttention, Kwon et al. 2023, arXiv 2309.06180, section 4): a sequence takes
// memory as it grows, and sequences with a common prefix share pages.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "exec/kv_buffers.h"
#include "exec/pass_builder.h"

namespace skipstone::exec {

/// Assigns the pages of one kind to sequences. PageStores have the contents: those of this device, and of remote devices with more of the
/// layers. Thread-safe.
class KvPool {
 public:
  /// A pool of the `pages` pages that `store` has of this kind, all free.
  KvPool(MemoryKind kind, PageStore& store, std::uint32_t pages);
  /// Adds a store of the same pages, for remote layers; only while the pool is not in use.
  void add(PageStore& store) { stores_.push_back(&store); }

  struct Use {
    std::uint32_t pages = 0, used = 0, shared = 0;  ///< shared: used by more than one table
  };
  Use use() const;

  /// Called when pages run out, before the pool grows: the callee releases a page that it keeps, and returns whether there was one. Set
  /// before others use the pool, or while it is not in use.
  void reclaim_by(std::function<bool()> reclaim) { reclaim_ = std::move(reclaim); }

  /// For owners that keep pages without a table.
  void add_references(std::span<const std::uint32_t> pages);
  void give_back(std::span<const std::uint32_t> pages);
  bool is_shared(std::uint32_t page) const;

 private:
  friend class PageTable;
  friend class StateSlots;
  /// Takes `count` pages, with one reference each. Grows the pool if it has too few; throws out_of_memory if it cannot.
  void take(std::uint32_t count, std::vector<std::uint32_t>& pages);
  void copy(std::uint32_t from, std::uint32_t to);
  /// Grows the stores until `count` pages are free.
  void grow(std::uint32_t count);

  MemoryKind kind_;
  std::vector<PageStore*> stores_;
  std::mutex growth_mutex_;  ///< one thread at a time makes the stores larger
  mutable std::mutex pages_mutex_;
  std::vector<std::uint32_t> references_;  ///< by page
  std::vector<std::uint32_t> free_;        ///< the last one is taken next
  std::function<bool()> reclaim_;
};

/// Buffers of the layers on this device, and a pool of pages for each kind. Thread-safe.
class KvCache {
 public:
  /// Throws out_of_memory.
  KvCache(const std::shared_ptr<vk::Device>& device, const model::Config& config, const SequenceShape& shape);
  /// Adds a store for remote layers; only while the cache is not in use.
  void add(PageStore& store);

  KvPool& pool(MemoryKind kind) { return pools_[kind]; }
  /// Whether sequences of the model have pages of this kind.
  bool has(MemoryKind kind) const { return has_[kind]; }
  KvBuffers& buffers() { return buffers_; }

  /// The first page that a row at `position`, or one up to `margin` positions before it, reads.
  std::uint32_t first_page(MemoryKind kind, std::uint32_t position, std::uint32_t margin = 0) const;

 private:
  ByKind<std::uint32_t> released_pages_;  ///< number of pages that are released at once
  ByKind<std::uint32_t> windows_;         ///< MemoryKindRow::window
  ByKind<bool> has_;
  KvBuffers buffers_;
  ByKind<KvPool> pools_;
};

}  // namespace skipstone::exec
