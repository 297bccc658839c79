#include "engine/prefix_cache.h"

#include <algorithm>

namespace skipstone::engine {

using exec::MemoryKind;
using speculation::Token;

namespace {

std::vector<Token> page_of(std::span<const Token> tokens, std::size_t page) {
  const auto part = tokens.subspan(page * KV_PAGE, KV_PAGE);
  return {part.begin(), part.end()};
}

}  // namespace

PrefixCache::PrefixCache(exec::KvCache& cache, PrefixMode mode) : cache_(cache), mode_(mode) {
  for (const MemoryKind kind : exec::memory_kinds) cache_.pool(kind).reclaim_by([this, kind] { return evict(kind); });
}

PrefixCache::~PrefixCache() {
  for (const MemoryKind kind : exec::memory_kinds) cache_.pool(kind).reclaim_by({});
  while (evict(MemoryKind::full)) {
  }
}

/// The nodes of the longest cached prefix that does not contain the last token of `tokens`.
PrefixCache::Path PrefixCache::known(std::span<const Token> tokens) {
  Path path;
  Node* node = &root_;
  for (std::size_t page = 0; (page + 1) * KV_PAGE < tokens.size(); ++page) {
    const auto child = node->children.find(page_of(tokens, page));
    if (child == node->children.end()) break;
    node = child->second.get();
    path.push_back(node);
  }
  return path;
}

std::span<PrefixCache::Node* const> PrefixCache::seen(MemoryKind kind, const Path& path) const {
  const std::uint32_t first = cache_.first_page(kind, static_cast<std::uint32_t>(path.size()) * KV_PAGE);
  return std::span(path).subspan(std::min<std::size_t>(path.size(), first));
}

// Every node has its page of full layers.
bool PrefixCache::is_complete(const Path& path) const {
  return std::ranges::all_of(exec::memory_kinds, [&](MemoryKind kind) {
    if (kind == MemoryKind::full || !cache_.has(kind)) return true;
    return std::ranges::all_of(seen(kind, path), [&](const Node* node) { return node->pages[kind].has_value(); });
  });
}

std::uint32_t PrefixCache::find(std::span<const Token> tokens, exec::SequenceMemory& memory) {
  if (mode_ == PrefixMode::off || tokens.size() <= KV_PAGE) return 0;
  const std::lock_guard lock(mutex_);
  Path path = known(tokens);
  while (!path.empty() && !is_complete(path)) path.pop_back();
  if (path.empty()) return 0;
  ++clock_;
  const auto found = static_cast<std::uint32_t>(path.size()) * KV_PAGE;
  for (const MemoryKind kind : exec::memory_kinds) {
    if (!cache_.has(kind)) continue;
    const std::span<Node* const> nodes = seen(kind, path);
    const auto released = static_cast<std::uint32_t>(path.size() - nodes.size());
    std::vector<std::uint32_t> pages(released);
    for (Node* node : nodes) {
      node->used[kind] = clock_;
      pages.push_back(*node->pages[kind]);
    }
    if (kind == MemoryKind::states) {
      memory.states().put(pages.back(), found);
    } else {
      memory.table(kind).share({pages, released});
    }
  }
  ++use_.hits;
  use_.tokens += found;
  return found;
}

void PrefixCache::keep(std::span<const Token> tokens, const exec::SequenceMemory& memory) {
  if (mode_ == PrefixMode::off) return;
  const std::lock_guard lock(mutex_);
  exec::PageLists lists = memory.lists();
  Node* node = &root_;
  ++clock_;
  const std::size_t count = tokens.size() / KV_PAGE;
  // A prefix ends where there is a state.
  const auto end = static_cast<std::uint32_t>(count) * KV_PAGE;
  const std::optional<std::uint32_t> state = cache_.has(MemoryKind::states) ? memory.states().at(end) : std::nullopt;
  if (cache_.has(MemoryKind::states) && !state) return;
  std::vector<std::uint32_t> state_pages(state ? count : 0, state.value_or(0));
  lists[MemoryKind::states] = {state_pages};
  const auto keeps = [&](MemoryKind kind, std::size_t page) {
    if (!exec::row_of(kind).sparse_prefixes) return true;
    if (!cache_.has(MemoryKind::states)) return (page + 1) % exec::prefix_stride == 0 || page >= cache_.first_page(kind, end);
    return page >= cache_.first_page(kind, end);
  };
  for (std::size_t page = 0; page < count; ++page) {
    std::unique_ptr<Node>& child = node->children[page_of(tokens, page)];
    if (!child) {
      child = std::make_unique<Node>();
      child->parent = node;
    }
    node = child.get();
    for (const MemoryKind kind : exec::memory_kinds) {
      const exec::PageList& list = lists[kind];
      if (page < list.released || page >= list.pages.size() || !keeps(kind, page)) continue;
      node->used[kind] = clock_;
      if (node->pages[kind]) continue;
      node->pages[kind] = list.pages[page];
      cache_.pool(kind).add_references(list.pages.subspan(page, 1));
      ++use_.pages[kind];
    }
  }
}

// A node is removed with its page of full layers, so only a node without children can lose that.
bool PrefixCache::can_evict(const Node& node, MemoryKind kind) const {
  if (kind == MemoryKind::full && !node.children.empty()) return false;
  return node.pages[kind] && !cache_.pool(kind).is_shared(*node.pages[kind]);
}

PrefixCache::Node* PrefixCache::least_recent(Node& node, MemoryKind kind) {
  Node* best = can_evict(node, kind) ? &node : nullptr;
  for (auto& [key, child] : node.children) {
    Node* candidate = least_recent(*child, kind);
    if (candidate != nullptr && (best == nullptr || candidate->used[kind] < best->used[kind])) best = candidate;
  }
  return best;
}

void PrefixCache::free_page(Node& node, MemoryKind kind) {
  if (!node.pages[kind]) return;
  cache_.pool(kind).give_back({&*node.pages[kind], 1});
  node.pages[kind].reset();
  --use_.pages[kind];
}

bool PrefixCache::evict(MemoryKind kind) {
  const std::lock_guard lock(mutex_);
  Node* node = least_recent(root_, kind);
  if (node == nullptr) return false;
  free_page(*node, kind);
  if (kind != MemoryKind::full) return true;
  for (const MemoryKind other : exec::memory_kinds) free_page(*node, other);
  std::erase_if(node->parent->children, [&](const auto& child) { return child.second.get() == node; });
  return true;
}

PrefixCache::Use PrefixCache::use() const {
  const std::lock_guard lock(mutex_);
  return use_;
}

}  // namespace skipstone::engine
