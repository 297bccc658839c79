#include "exec/kv_pool.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/status.h"

namespace skipstone::exec {

using kernels::ResourceKind;

KvPool::KvPool(std::shared_ptr<vk::Device> device, const kernels::AttentionShape& shape, std::vector<std::uint32_t> layers,
               std::uint32_t positions)
    : device_(std::move(device)), shape_(shape), layers_(std::move(layers)) {
  const std::uint32_t pages = pages_for(positions);
  buffers_ = allocate(pages);
  slots_ = pages * KV_PAGE;
  references_.resize(pages);
  for (std::uint32_t page = pages; page-- > 0;) free_.push_back(page);
}

KvPool::Buffers KvPool::allocate(std::uint32_t pages) const {
  kernels::AttentionShape shape = shape_;
  shape.slots = pages * KV_PAGE;
  Buffers buffers{std::make_unique<vk::Arena>(device_, vk::Role::kv), {}};
  for (std::uint32_t i = 0; i < 2 * layers_.size(); ++i) buffers.slices.push_back(buffers.arena->allocate(shape.kv_bytes()));
  return buffers;
}

vk::Slice KvPool::slice(ResourceKind kind, std::uint32_t layer) const {
  const auto place = static_cast<std::size_t>(std::ranges::lower_bound(layers_, layer) - layers_.begin());
  return buffers_.slices.at(2 * place + (kind == ResourceKind::v_cache ? 1 : 0));
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

namespace {

/// Slots [from, from + count) of one buffer to `to` of another.
struct Move {
  std::uint32_t from = 0, to = 0, count = 0;
};

/// KV head by KV head; the buffers may have different numbers of slots.
void record(vk::Recorder& recorder, kernels::AttentionShape shape, const vk::Slice& old, std::uint32_t old_slots, const vk::Slice& now,
            std::uint32_t now_slots, const Move& move) {
  shape.slots = old_slots;
  const std::uint64_t old_head = shape.kv_head_bytes();
  shape.slots = now_slots;
  const std::uint64_t now_head = shape.kv_head_bytes(), vector = shape.kv_position_bytes(), scales = shape.kv_scale_bytes();
  for (std::uint32_t head = 0; head < shape.kv_heads; ++head) {
    const std::uint64_t from = head * old_head, to = head * now_head;
    recorder.copy(old.part(from + move.from * vector, move.count * vector), now.part(to + move.to * vector, move.count * vector));
    if (scales == 0) continue;
    recorder.copy(old.part(from + old_slots * vector + move.from * scales, move.count * scales),
                  now.part(to + now_slots * vector + move.to * scales, move.count * scales));
  }
}

}  // namespace

void KvPool::copy(std::uint32_t from, std::uint32_t to) {
  const auto held = hold();
  vk::Recorder recorder(device_);
  for (const vk::Slice& slice : buffers_.slices) {
    record(recorder, shape_, slice, slots_, slice, slots_, {from * KV_PAGE, to * KV_PAGE, KV_PAGE});
  }
  vk::Queue(device_).submit_and_wait(recorder.finish());
}

// Half as much again, so that a text that grows does not pay for it at every page. Where that is too much, what is missing. Passes that were
// submitted before are over when the copies run: those stand behind them on the queue, behind a barrier.
void KvPool::grow(std::uint32_t count) {
  const std::unique_lock buffers(buffers_mutex_);
  std::uint32_t missing = count;
  {
    const std::lock_guard lock(pages_mutex_);
    if (free_.size() >= count) return;  // another thread was here first
    missing -= static_cast<std::uint32_t>(free_.size());
  }
  const std::uint32_t before = slots_ / KV_PAGE;
  const auto grown = [&](std::uint32_t more) {
    Buffers larger = allocate(before + more);
    vk::Recorder recorder(device_);
    for (std::size_t i = 0; i < larger.slices.size(); ++i) {
      record(recorder, shape_, buffers_.slices[i], slots_, larger.slices[i], (before + more) * KV_PAGE, {0, 0, slots_});
    }
    vk::Queue(device_).submit_and_wait(recorder.finish());
    buffers_ = std::move(larger);
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
  slots_ = (before + more) * KV_PAGE;
  ++generation_;
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
  cut(0);
  pages_ = std::move(mine);
  first_ = first;
}

void PageTable::cut(std::uint32_t positions) {
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
