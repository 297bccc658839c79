#include "exec/kv_cache.h"

#include <algorithm>

#include "base/status.h"

namespace skipstone::exec {
namespace {

std::uint32_t largest_window(const model::Config& config, std::uint32_t context) {
  std::uint32_t window = 0;
  for (std::uint32_t layer = 0; layer < config.layer_count(); ++layer) {
    if (config.has_window(layer, context)) window = std::max(window, config.window(layer));
  }
  return window;
}

}  // namespace

std::uint32_t full_positions(const SequenceShape& shape) { return std::max(shape.context, shape.pool_tokens); }

// Pages are released in whole chunks of keys, and a pass's rows need pages before those that they no longer see are released.
std::uint32_t sliding_positions(const model::Config& config, const SequenceShape& shape) {
  const std::uint32_t window = largest_window(config, shape.context);
  if (window == 0) return 0;
  const std::uint64_t most =
      std::uint64_t{window} + SequencePages::kept_margin + std::max(shape.chunk, std::uint32_t{KV_PAGE}) + STEP_MAX_ROWS + KV_PAGE;
  if (shape.keeps_windows || most > full_positions(shape)) return full_positions(shape);
  return static_cast<std::uint32_t>(most);
}

CacheBuffers::Pages first_pages(const model::Config& config, const SequenceShape& shape) {
  return {pages_for(full_positions(shape)), pages_for(sliding_positions(config, shape))};
}

KvCache::KvCache(const std::shared_ptr<vk::Device>& device, const model::Config& config, const SequenceShape& shape)
    : chunk_(std::max(shape.chunk, std::uint32_t{KV_PAGE})),
      window_(largest_window(config, shape.context)),
      buffers_(device, config, attention_shape(config, shape), shape.begin, shape.end_of(config.layer_count()), first_pages(config, shape)),
      full_(buffers_.full(), first_pages(config, shape).full),
      sliding_(buffers_.sliding(), first_pages(config, shape).sliding) {}

std::uint32_t KvCache::first_page(std::uint32_t position, std::uint32_t margin) const {
  if (window_ == 0) return position / KV_PAGE;
  const std::uint32_t unseen = window_ - 1 + margin, first = position - std::min(position, unseen);
  return first / chunk_ * (chunk_ / KV_PAGE);
}

void SequencePages::reserve(std::uint32_t first, std::uint32_t end, bool all) {
  if (!cache_->has_windows()) return full_.reserve(first, end);
  if (!is_complete(first)) fail(Code::internal, "rows at {} see keys that were given back, up to page {}", first, sliding_.first());
  if (!all) sliding_.leave(cache_->first_page(first, kept_margin));
  full_.reserve(first, end);
  sliding_.reserve(first, end);
}

void SequencePages::share(const SequencePages& from, std::uint32_t positions) {
  full_.share(from.full_, positions);
  if (cache_->has_windows()) sliding_.share(from.sliding_, positions);
}

void SequencePages::truncate(std::uint32_t positions) {
  full_.truncate(positions);
  sliding_.truncate(positions);
}

void SequencePages::begin_after(std::uint32_t pages, std::uint32_t positions) {
  full_.reserve(0, positions);
  if (!cache_->has_windows()) return;
  sliding_.share(std::vector<std::uint32_t>(pages), pages);
  sliding_.reserve(pages * KV_PAGE, positions);
}

}  // namespace skipstone::exec
