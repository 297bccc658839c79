// The keys and values of all sequences in some layers, in pages (PagedAttention, Kwon et al. 2023, arXiv 2309.06180, section 4): a sequence
// takes memory as it grows, and sequences that begin alike share pages.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <utility>
#include <vector>

#include "kernels/dispatch.h"
#include "kernels/operations.h"
#include "vk/memory.h"
#include "vk/recorder.h"

namespace skipstone::exec {

using kernels::pages_for;

/// One buffer for K and one for V of each layer, [KV head][slots] as shaders/lib/kv_read.glsl has them. A page is KV_PAGE slots of every layer
/// of the pool. From any thread.
class KvPool {
 public:
  /// Of the layers `layers`, with room for `positions` positions at first. Throws out_of_memory.
  KvPool(std::shared_ptr<vk::Device> device, const kernels::AttentionShape& shape, std::vector<std::uint32_t> layers, std::uint32_t positions);

  /// While it is held the buffers stay what they are: from looking at what follows to the end of a submission.
  std::shared_lock<std::shared_mutex> hold() const { return std::shared_lock(buffers_mutex_); }
  std::uint32_t slots() const { return slots_; }
  /// `kind`: k_cache or v_cache; `layer`: of the pool's.
  vk::Slice slice(kernels::ResourceKind kind, std::uint32_t layer) const;
  /// Changes with the buffers: recordings that name older ones are of no use.
  std::uint64_t generation() const { return generation_; }

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
  struct Buffers {
    std::unique_ptr<vk::Arena> arena;
    std::vector<vk::Slice> slices;  ///< K, V of the first layer, K, V of the next one, ...
  };
  Buffers allocate(std::uint32_t pages) const;

  std::shared_ptr<vk::Device> device_;
  kernels::AttentionShape shape_;  ///< its slots change
  std::vector<std::uint32_t> layers_;
  mutable std::shared_mutex buffers_mutex_;
  Buffers buffers_;
  std::uint32_t slots_ = 0;
  std::uint64_t generation_ = 0;
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
