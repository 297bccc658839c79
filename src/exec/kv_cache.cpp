#include "exec/kv_cache.h"

#include <algorithm>

#include "base/log.h"
#include "base/status.h"

namespace skipstone::exec {

KvPool::KvPool(MemoryKind kind, PageStore& store, std::uint32_t pages) : kind_(kind), stores_{&store} {
  references_.resize(pages);
  for (std::uint32_t page = pages; page-- > 0;) free_.push_back(page);
}

KvPool::Use KvPool::use() const {
  const std::lock_guard lock(pages_mutex_);
  const auto shared = std::ranges::count_if(references_, [](std::uint32_t count) { return count > 1; });
  return {static_cast<std::uint32_t>(references_.size()), static_cast<std::uint32_t>(references_.size() - free_.size()),
          static_cast<std::uint32_t>(shared)};
}

void KvPool::take(std::uint32_t count, std::vector<std::uint32_t>& pages) {
  for (;;) {
    {
      const std::lock_guard lock(pages_mutex_);
      if (free_.size() >= count) {
        for (; count > 0; --count) {
          pages.push_back(free_.back());
          references_[free_.back()] = 1;
          free_.pop_back();
        }
        return;
      }
    }
    if (reclaim_ && reclaim_()) continue;
    grow(count);
  }
}

void KvPool::add_references(std::span<const std::uint32_t> pages) {
  const std::lock_guard lock(pages_mutex_);
  for (const std::uint32_t page : pages) ++references_[page];
}

void KvPool::give_back(std::span<const std::uint32_t> pages) {
  const std::lock_guard lock(pages_mutex_);
  for (auto page = pages.rbegin(); page != pages.rend(); ++page) {
    if (--references_[*page] == 0) free_.push_back(*page);
  }
}

bool KvPool::is_shared(std::uint32_t page) const {
  const std::lock_guard lock(pages_mutex_);
  return references_[page] > 1;
}

void KvPool::copy(std::uint32_t from, std::uint32_t to) {
  for (PageStore* store : stores_) store->copy(kind_, from, to);
}

// Grows by half, so that a growing text does not pay for it at every page; by less where memory is short, since only the missing pages are
// worth another engine's memory. A store that has grown when another one could not has pages that are not in use yet.
void KvPool::grow(std::uint32_t count) {
  const std::lock_guard growth(growth_mutex_);
  std::uint32_t missing = count, before = 0;
  {
    const std::lock_guard lock(pages_mutex_);
    if (free_.size() >= count) return;  // another thread has already grown the pool
    missing -= static_cast<std::uint32_t>(free_.size());
    before = static_cast<std::uint32_t>(references_.size());
  }
  const auto grown_by = [&](std::uint32_t more, vk::Shortage shortage) {
    try {
      for (PageStore* store : stores_) store->resize(kind_, before + more, shortage);
      return true;
    } catch (const Error& error) {
      if (error.code() != Code::out_of_memory || shortage == vk::Shortage::makes_room) throw;
      return false;
    }
  };
  std::uint32_t more = std::max(missing, before / 2);
  while (more > missing && !grown_by(more, vk::Shortage::fails)) more = std::max(missing, more / 2);
  if (more == missing) grown_by(missing, vk::Shortage::makes_room);
  log::info("the KV cache has {} pages of {} tokens now", before + more, KV_PAGE);
  const std::lock_guard lock(pages_mutex_);
  references_.resize(before + more);
  std::vector<std::uint32_t> free;
  for (std::uint32_t page = before + more; page-- > before;) free.push_back(page);
  free_.insert(free_.begin(), free.begin(), free.end());
}

KvCache::KvCache(const std::shared_ptr<vk::Device>& device, const model::Config& config, const SequenceShape& shape)
    : released_pages_(by_kind([&](MemoryKind kind) { return row_of(kind).by_chunks ? std::max(shape.chunk / KV_PAGE, 1u) : 1u; })),
      windows_(by_kind([&](MemoryKind kind) { return row_of(kind).window(config, shape.context); })),
      has_(by_kind([&](MemoryKind kind) { return initial_pages(kind, config, shape) > 0; })),
      buffers_(device, config, shape),
      pools_(by_kind([&](MemoryKind kind) { return KvPool(kind, buffers_, initial_pages(kind, config, shape)); })) {}

void KvCache::add(PageStore& store) {
  for (KvPool& pool : pools_.values) pool.add(store);
}

std::uint32_t KvCache::first_page(MemoryKind kind, std::uint32_t position, std::uint32_t margin) const {
  if (windows_[kind] == 0) return 0;
  const std::uint32_t unseen = windows_[kind] - 1 + margin, first = position - std::min(position, unseen);
  const std::uint32_t pages = released_pages_[kind];
  return first / (pages * KV_PAGE) * pages;
}

}  // namespace skipstone::exec
