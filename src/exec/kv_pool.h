// The keys and values of all sequences in some layers, in pages (PagedAttention, Kwon et al. 2023, arXiv 2309.06180, section 4): a sequence
// takes memory as it grows, and sequences with a common prefix share pages.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "exec/kv_buffers.h"

namespace skipstone::exec {

/// Assigns pages to sequences. KvStores have the contents: those of this device, and of remote devices with more of the layers.
/// Thread-safe.
class KvPool {
 public:
  /// A pool of the `pages` pages of `store`, all free.
  KvPool(KvStore& store, std::uint32_t pages);
  /// Adds a store of the same pages, for remote layers; only while the pool is not in use.
  void add(KvStore& store) { stores_.push_back(&store); }

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
  /// Takes `count` pages, with one reference each. Grows the pool if it has too few; throws out_of_memory if it cannot.
  void take(std::uint32_t count, std::vector<std::uint32_t>& pages);
  void copy(std::uint32_t from, std::uint32_t to);
  /// Grows the stores until `count` pages are free.
  void grow(std::uint32_t count);

  std::vector<KvStore*> stores_;
  std::mutex growth_mutex_;  ///< one thread at a time makes the stores larger
  mutable std::mutex pages_mutex_;
  std::vector<std::uint32_t> references_;  ///< by page
  std::vector<std::uint32_t> free_;        ///< the last one is taken next
  std::function<bool()> reclaim_;
};

/// The pages of one sequence, in the order of its text; the leading ones may have been released. Used by one thread at a time.
class PageTable {
 public:
  explicit PageTable(KvPool& pool) : pool_(&pool) {}
  ~PageTable() { truncate(0); }
  PageTable(PageTable&& other) noexcept
      : pool_(other.pool_), pages_(std::exchange(other.pages_, {})), first_(std::exchange(other.first_, 0)) {}
  PageTable& operator=(PageTable&& other) noexcept {
    truncate(0);
    pool_ = other.pool_;
    pages_ = std::exchange(other.pages_, {});
    first_ = std::exchange(other.first_, 0);
    return *this;
  }

  /// Makes the positions from `first` to before `end` writable: there are pages for all positions below `end`, and those with such a
  /// position are not shared. Throws out_of_memory and then changes nothing.
  void reserve(std::uint32_t first, std::uint32_t end);
  /// The table becomes the pages of the first `positions` positions of `from`, which has them; both share them until one writes.
  void share(const PageTable& from, std::uint32_t positions);
  /// The table becomes these pages, without the first `first` of them, which need not be there.
  void share(std::span<const std::uint32_t> pages, std::uint32_t first = 0);
  /// Releases the pages that have no position below `positions`.
  void truncate(std::uint32_t positions);
  /// Releases the first `pages` pages, or all if there are fewer; their entries stay empty. Never takes any.
  void leave(std::uint32_t pages);

  /// 0 in place of a released page.
  std::span<const std::uint32_t> pages() const { return pages_; }
  /// Number of leading pages that were released.
  std::uint32_t first() const { return first_; }
  KvPool& pool() const { return *pool_; }

 private:
  KvPool* pool_;
  std::vector<std::uint32_t> pages_;
  std::uint32_t first_ = 0;
};

}  // namespace skipstone::exec
