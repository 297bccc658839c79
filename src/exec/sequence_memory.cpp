#include "exec/sequence_memory.h"

#include <algorithm>
#include <array>
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
    : cache_(&cache),
      tables_(by_kind([&](MemoryKind kind) { return PageTable(cache.pool(kind)); })),
      states_(cache.pool(MemoryKind::states)) {}

namespace {

constexpr std::array paged{MemoryKind::full, MemoryKind::sliding, MemoryKind::recurrent};

}  // namespace

// Records are needed from the last state on, and those under the taps of the rows after it.
std::uint32_t SequenceMemory::first_page(MemoryKind kind, std::uint32_t position) const {
  const bool from_state = kind == MemoryKind::recurrent && cache_->has(MemoryKind::states);
  return cache_->first_page(kind, from_state ? states_.before(position) : position);
}

std::uint32_t SequenceMemory::first_kept(MemoryKind kind, std::uint32_t position) const {
  const bool from_state = kind == MemoryKind::recurrent && cache_->has(MemoryKind::states);
  return from_state ? cache_->first_page(kind, states_.oldest(position)) : cache_->first_page(kind, position, rollback_margin);
}

void SequenceMemory::reserve(std::uint32_t first, std::uint32_t end, bool keep_all) {
  for (const MemoryKind kind : paged) {
    const std::uint32_t released = tables_[kind].list().released;
    if (released > first_page(kind, first))
      fail(Code::internal, "rows at {} see keys that were given back, up to page {}", first, released);
  }
  // All kinds release pages before one takes any.
  if (!keep_all) {
    states_.forget(first);
    for (const MemoryKind kind : paged) tables_[kind].release(first_kept(kind, first));
  }
  for (const MemoryKind kind : paged) {
    if (cache_->has(kind)) tables_[kind].reserve(first, end);
  }
}

void SequenceMemory::begin_pass(std::uint32_t position, std::optional<std::uint32_t> written) {
  if (cache_->has(MemoryKind::states)) states_.begin_pass(position, written);
}

bool SequenceMemory::is_complete(std::uint32_t position) const {
  return std::ranges::all_of(paged, [&](MemoryKind kind) { return tables_[kind].list().released <= first_page(kind, position); });
}

void SequenceMemory::rollback(std::uint32_t positions) {
  for (PageTable& table : tables_.values) table.truncate(positions);
  states_.rollback(positions);
}

void SequenceMemory::share(const SequenceMemory& from, std::uint32_t positions) {
  for (const MemoryKind kind : paged) {
    if (cache_->has(kind)) tables_[kind].share(from.tables_[kind], positions);
  }
  states_.share(from.states_, positions);
}

SequenceMemory SequenceMemory::snapshot(std::uint32_t positions) const {
  SequenceMemory shared(*cache_);
  shared.share(*this, positions);
  return shared;
}

void SequenceMemory::restore(const ByKind<std::uint32_t>& released, std::uint32_t positions, std::uint32_t state) {
  for (const MemoryKind kind : paged) {
    if (!cache_->has(kind)) continue;
    const std::vector<std::uint32_t> pages(released[kind]);
    tables_[kind].share({pages, released[kind]});
    tables_[kind].reserve(released[kind] * KV_PAGE, positions);
  }
  if (state > 0) states_.make(state);
}

PageLists SequenceMemory::lists() const {
  PageLists lists = by_kind([&](MemoryKind kind) { return tables_[kind].list(); });
  if (cache_->has(MemoryKind::states)) lists[MemoryKind::states] = {states_.pass()};
  return lists;
}

}  // namespace skipstone::exec
