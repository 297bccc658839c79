#include "exec/kv_pool.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/status.h"

namespace skipstone::exec {

KvPool::KvPool(KvStore& store, std::uint32_t pages) : stores_{&store} {
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
  for (KvStore* store : stores_) store->copy(from, to);
}

// Grows by half, so that a growing text does not pay for it at every page; if that is too much, by the missing pages only. A store that has
// grown when another one could not has pages that are not in use yet.
void KvPool::grow(std::uint32_t count) {
  const std::lock_guard growth(growth_mutex_);
  std::uint32_t missing = count, before = 0;
  {
    const std::lock_guard lock(pages_mutex_);
    if (free_.size() >= count) return;  // another thread has already grown the pool
    missing -= static_cast<std::uint32_t>(free_.size());
    before = static_cast<std::uint32_t>(references_.size());
  }
  const auto grown = [&](std::uint32_t more) {
    for (KvStore* store : stores_) store->resize(before + more);
    return more;
  };
  std::uint32_t more = std::max(missing, before / 2);
  try {
    more = grown(more);
  } catch (const Error& error) {
    if (error.code() != Code::out_of_memory || more == missing) throw;
    more = grown(missing);
  }
  log::info("the KV cache has {} pages of {} tokens now", before + more, KV_PAGE);
  const std::lock_guard lock(pages_mutex_);
  references_.resize(before + more);
  std::vector<std::uint32_t> free;
  for (std::uint32_t page = before + more; page-- > before;) free.push_back(page);
  free_.insert(free_.begin(), free.begin(), free.end());
}

void PageTable::reserve(std::uint32_t first, std::uint32_t end) {
  const std::uint32_t count = pages_for(end), have = static_cast<std::uint32_t>(pages_.size());
  if (count > have) pool_->take(count - have, pages_);
  for (std::uint32_t i = std::max(first / KV_PAGE, first_); i < std::min(count, have); ++i) {
    if (!pool_->is_shared(pages_[i])) continue;
    std::vector<std::uint32_t> own;
    pool_->take(1, own);
    pool_->copy(pages_[i], own[0]);
    pool_->give_back(std::span(&pages_[i], 1));
    pages_[i] = own[0];
  }
}

void PageTable::share(const PageTable& from, std::uint32_t positions) { share(from.pages().first(pages_for(positions)), from.first()); }

void PageTable::share(std::span<const std::uint32_t> pages, std::uint32_t first) {
  first = std::min(first, static_cast<std::uint32_t>(pages.size()));
  std::vector<std::uint32_t> mine(pages.begin(), pages.end());
  std::fill_n(mine.begin(), first, 0u);
  pool_->add_references(std::span(mine).subspan(first));
  truncate(0);
  pages_ = std::move(mine);
  first_ = first;
}

void PageTable::truncate(std::uint32_t positions) {
  const std::uint32_t keep = pages_for(positions);
  if (keep >= pages_.size()) return;
  pool_->give_back(std::span(pages_).subspan(std::max(keep, first_)));
  pages_.resize(keep);
  first_ = std::min(first_, keep);
}

void PageTable::leave(std::uint32_t pages) {
  const std::uint32_t end = std::min(pages, static_cast<std::uint32_t>(pages_.size()));
  if (end <= first_) return;
  pool_->give_back(std::span(pages_).subspan(first_, end - first_));
  std::fill(pages_.begin() + first_, pages_.begin() + end, 0u);
  first_ = end;
}

}  // namespace skipstone::exec
