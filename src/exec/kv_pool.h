// The keys and values of all sequences in some layers, in pages (PagedAttention, Kwon et al. 2023, arXiv 2309.06180, section 4): a sequence
// takes memory as it grows, and sequences that begin alike share pages.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "exec/kv_buffers.h"

namespace skipstone::exec {

/// Which pages are whose. KvStores have what they hold: those of this device, and of others that have more of the layers. From any thread.
class KvPool {
 public:
  /// Of the pages that `store` has, all free.
  KvPool(KvStore& store, std::uint32_t pages);
  /// Another store of the same pages, for layers elsewhere; while nobody uses the pool.
  void add(KvStore& store) { stores_.push_back(&store); }

  struct Use {
    std::uint32_t pages = 0, used = 0, shared = 0;  ///< shared: used by more than one table
  };
  Use use() const;

  /// Asked where pages run out, before the pool grows: gives a page back that it keeps, and says whether there was one. Set before others
  /// use the pool, or while none does.
  void reclaim_by(std::function<bool()> reclaim) { reclaim_ = std::move(reclaim); }

  /// For who keeps pages without a table.
  void add_references(std::span<const std::uint32_t> pages);
  void give_back(std::span<const std::uint32_t> pages);
  bool is_shared(std::uint32_t page) const;

 private:
  friend class PageTable;
  /// One reference each. Makes the pool larger where it has too few; throws out_of_memory where that cannot be.
  void take(std::uint32_t count, std::vector<std::uint32_t>& pages);
  void copy(std::uint32_t from, std::uint32_t to);
  /// Until `count` pages are free.
  void grow(std::uint32_t count);

  std::vector<KvStore*> stores_;
  std::mutex growth_mutex_;  ///< one thread at a time makes the stores larger
  mutable std::mutex pages_mutex_;
  std::vector<std::uint32_t> references_;  ///< by page
  std::vector<std::uint32_t> free_;        ///< the next one last
  std::function<bool()> reclaim_;
};

/// The pages of one sequence, in the order of its text; the first ones may have been given back. One thread at a time.
class PageTable {
 public:
  explicit PageTable(KvPool& pool) : pool_(&pool) {}
  ~PageTable() { cut(0); }
  PageTable(PageTable&& other) noexcept
      : pool_(other.pool_), pages_(std::exchange(other.pages_, {})), first_(std::exchange(other.first_, 0)) {}
  PageTable& operator=(PageTable&& other) noexcept {
    cut(0);
    pool_ = other.pool_;
    pages_ = std::exchange(other.pages_, {});
    first_ = std::exchange(other.first_, 0);
    return *this;
  }

  /// The positions from `first` to before `end` may be written: there are pages for all positions below `end`, and those with such a position
  /// are this table's alone. Throws out_of_memory; then the table is what it was.
  void reserve(std::uint32_t first, std::uint32_t end);
  /// The table becomes the pages of the first `positions` positions of `from`, which has them; both share them until one writes.
  void share(const PageTable& from, std::uint32_t positions);
  /// The table becomes these pages, without the first `first` of them, which need not be there.
  void share(std::span<const std::uint32_t> pages, std::uint32_t first = 0);
  /// Gives back the pages of which no position below `positions` is.
  void cut(std::uint32_t positions);
  /// Gives back the first `pages` pages, or so many as there are; what takes their place has none of them either. Never takes any.
  void leave(std::uint32_t pages);

  /// 0 in the place of one that was given back.
  std::span<const std::uint32_t> pages() const { return pages_; }
  /// How many were given back at the beginning.
  std::uint32_t first() const { return first_; }
  KvPool& pool() const { return *pool_; }

 private:
  KvPool* pool_;
  std::vector<std::uint32_t> pages_;
  std::uint32_t first_ = 0;
};

}  // namespace skipstone::exec
