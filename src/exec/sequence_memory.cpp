#include "exec/sequence_memory.h"

#include <algorithm>
#include <vector>

#include "base/status.h"

namespace skipstone::exec {

void PageTable::reserve(std::uint32_t first, std::uint32_t end) {
  const std::uint32_t count = pages_for(end), have = static_cast<std::uint32_t>(pages_.size());
  if (count > have) pool_->take(count - have, pages_);
  for (std::uint32_t i = std::max(first / KV_PAGE, released_); i < std::min(count, have); ++i) {
    if (!pool_->is_shared(pages_[i])) continue;
    std::vector<std::uint32_t> own;
    pool_->take(1, own);
    pool_->copy(pages_[i], own[0]);
    pool_->give_back(std::span(&pages_[i], 1));
    pages_[i] = own[0];
  }
}

void PageTable::share(const PageTable& from, std::uint32_t positions) {
  share({from.list().pages.first(pages_for(positions)), from.released_});
}

void PageTable::share(PageList list) {
  const std::uint32_t released = std::min(list.released, static_cast<std::uint32_t>(list.pages.size()));
  std::vector<std::uint32_t> mine(list.pages.begin(), list.pages.end());
  std::fill_n(mine.begin(), released, 0u);
  pool_->add_references(std::span(mine).subspan(released));
  truncate(0);
  pages_ = std::move(mine);
  released_ = released;
}

void PageTable::truncate(std::uint32_t positions) {
  const std::uint32_t keep = pages_for(positions);
  if (keep >= pages_.size()) return;
  pool_->give_back(std::span(pages_).subspan(std::max(keep, released_)));
  pages_.resize(keep);
  released_ = std::min(released_, keep);
}

void PageTable::release(std::uint32_t pages) {
  const std::uint32_t end = std::min(pages, static_cast<std::uint32_t>(pages_.size()));
  if (end <= released_) return;
  pool_->give_back(std::span(pages_).subspan(released_, end - released_));
  std::fill(pages_.begin() + released_, pages_.begin() + end, 0u);
  released_ = end;
}

SequenceMemory::SequenceMemory(KvCache& cache)
    : cache_(&cache), tables_(by_kind([&](MemoryKind kind) { return PageTable(cache.pool(kind)); })) {}

void SequenceMemory::reserve(std::uint32_t first, std::uint32_t end, bool keep_all) {
  for (const MemoryKind kind : memory_kinds) {
    const std::uint32_t released = tables_[kind].list().released;
    if (released > cache_->first_page(kind, first))
      fail(Code::internal, "rows at {} see keys that were given back, up to page {}", first, released);
  }
  // All kinds release pages before one takes any.
  for (const MemoryKind kind : memory_kinds) {
    if (!keep_all) tables_[kind].release(cache_->first_page(kind, first, rollback_margin));
  }
  for (const MemoryKind kind : memory_kinds) {
    if (cache_->has(kind)) tables_[kind].reserve(first, end);
  }
}

bool SequenceMemory::is_complete(std::uint32_t position) const {
  return std::ranges::all_of(memory_kinds,
                             [&](MemoryKind kind) { return tables_[kind].list().released <= cache_->first_page(kind, position); });
}

void SequenceMemory::rollback(std::uint32_t positions) {
  for (PageTable& table : tables_.values) table.truncate(positions);
}

void SequenceMemory::share(const SequenceMemory& from, std::uint32_t positions) {
  for (const MemoryKind kind : memory_kinds) {
    if (cache_->has(kind)) tables_[kind].share(from.tables_[kind], positions);
  }
}

SequenceMemory SequenceMemory::snapshot(std::uint32_t positions) const {
  SequenceMemory shared(*cache_);
  shared.share(*this, positions);
  return shared;
}

void SequenceMemory::restore(const ByKind<std::uint32_t>& released, std::uint32_t positions) {
  for (const MemoryKind kind : memory_kinds) {
    if (!cache_->has(kind)) continue;
    const std::vector<std::uint32_t> pages(released[kind]);
    tables_[kind].share({pages, released[kind]});
    tables_[kind].reserve(released[kind] * KV_PAGE, positions);
  }
}

PageLists SequenceMemory::lists() const {
  return by_kind([&](MemoryKind kind) { return tables_[kind].list(); });
}

}  // namespace skipstone::exec
