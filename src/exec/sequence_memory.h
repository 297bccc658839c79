// The memory of one sequence: a page table for each kind of memory in a model's layers.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "exec/state_slots.h"

namespace skipstone::exec {

/// The pages of one kind of a sequence, in the order of its text; the leading ones may have been released. Used by one thread at a time.
class PageTable {
 public:
  explicit PageTable(KvPool& pool) : pool_(&pool) {}
  ~PageTable() { truncate(0); }
  PageTable(PageTable&& other) noexcept
      : pool_(other.pool_), pages_(std::exchange(other.pages_, {})), released_(std::exchange(other.released_, 0)) {}
  PageTable& operator=(PageTable&& other) noexcept {
    truncate(0);
    pool_ = other.pool_;
    pages_ = std::exchange(other.pages_, {});
    released_ = std::exchange(other.released_, 0);
    return *this;
  }

  /// Makes the positions from `first` to before `end` writable: there are pages for all positions below `end`, and those with such a
  /// position are not shared. Throws out_of_memory and then changes nothing.
  void reserve(std::uint32_t first, std::uint32_t end);
  /// The table becomes the pages of the first `positions` positions of `from`, which has them; both share them until one writes.
  void share(const PageTable& from, std::uint32_t positions);
  /// The table becomes the pages of `list`; the entries of its released pages may have any value.
  void share(PageList list);
  /// Releases the pages that have no position below `positions`.
  void truncate(std::uint32_t positions);
  /// Releases the first `pages` pages, or all if there are fewer; their entries stay empty. Never takes any.
  void release(std::uint32_t pages);

  PageList list() const { return {pages_, released_}; }

 private:
  KvPool* pool_;
  std::vector<std::uint32_t> pages_;  ///< 0 in place of a released one
  std::uint32_t released_ = 0;        ///< number of leading pages that were released
};

/// Used by one thread at a time.
class SequenceMemory {
 public:
  explicit SequenceMemory(KvCache& cache);

  /// Makes the positions from `first` to before `end` writable (PageTable::reserve). Releases what rows from `first` - rollback_margin on
  /// do not see; with `keep_all`, nothing. Of recurrent layers with states it keeps what their states need instead. Throws out_of_memory,
  /// and internal if pages that the rows see were released (is_complete).
  void reserve(std::uint32_t first, std::uint32_t end, bool keep_all = false);
  /// Whether the pages that a row at `position` sees are there, if the text up to it is.
  bool is_complete(std::uint32_t position) const;
  /// Releases what is past the first `positions` positions.
  void rollback(std::uint32_t positions);
  /// The memory becomes that of the first `positions` positions of `from`. Nothing is copied before one of the two writes there.
  void share(const SequenceMemory& from, std::uint32_t positions);
  /// The memory of the first `positions` positions, shared with this one.
  SequenceMemory snapshot(std::uint32_t positions) const;
  /// The memory, which is empty, gets room for `positions` positions of a saved sequence, without the leading pages that were released
  /// when it was saved. `state`: the position of its only state, 0 for none. KvBytes writes the contents.
  void restore(const ByKind<std::uint32_t>& released, std::uint32_t positions, std::uint32_t state);

  /// Chooses the states of a pass at `position`, which leaves one of `written` (StateSlots::begin_pass); lists() then has them.
  void begin_pass(std::uint32_t position, std::optional<std::uint32_t> written);
  StateSlots& states() { return states_; }
  const StateSlots& states() const { return states_; }

  PageTable& table(MemoryKind kind) { return tables_[kind]; }
  /// The pages as passes read them; of states StateSlots::pass.
  PageLists lists() const;
  KvCache& cache() const { return *cache_; }

 private:
  /// The first page that a row at `position` needs; that is kept for it, and for those that a text may be rolled back to.
  std::uint32_t first_page(MemoryKind kind, std::uint32_t position) const;
  std::uint32_t first_kept(MemoryKind kind, std::uint32_t position) const;

  KvCache* cache_;
  ByKind<PageTable> tables_;  ///< none of MemoryKind::states
  StateSlots states_;
};

}  // namespace skipstone::exec
