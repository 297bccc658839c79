#include "engine/prefix_cache.h"

#include <algorithm>

namespace skipstone::engine {

using speculation::Token;

namespace {

std::vector<Token> page_of(std::span<const Token> tokens, std::size_t page) {
  const auto part = tokens.subspan(page * KV_PAGE, KV_PAGE);
  return {part.begin(), part.end()};
}

}  // namespace

PrefixCache::PrefixCache(exec::KvCache& cache, PrefixMode mode) : cache_(cache), mode_(mode) {
  cache_.full().reclaim_by([this] { return give_up(); });
  cache_.sliding().reclaim_by([this] { return give_up_sliding(); });
}

PrefixCache::~PrefixCache() {
  cache_.full().reclaim_by({});
  cache_.sliding().reclaim_by({});
  while (give_up()) {
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

std::uint32_t PrefixCache::find(std::span<const Token> tokens, exec::SequencePages& table) {
  if (mode_ == PrefixMode::off || tokens.size() <= KV_PAGE) return 0;
  const std::lock_guard lock(mutex_);
  Path path = known(tokens);
  const bool windows = cache_.has_windows();
  const auto end = [&] { return static_cast<std::uint32_t>(path.size()) * KV_PAGE; };
  const auto seen = [&] { return std::span(path).subspan(std::min<std::size_t>(path.size(), cache_.first_page(end()))); };
  while (windows && !path.empty() && !std::ranges::all_of(seen(), [](const Node* node) { return node->sliding_page.has_value(); })) {
    path.pop_back();
  }
  if (path.empty()) return 0;
  ++clock_;
  std::vector<std::uint32_t> pages, sliding(path.size());
  for (Node* node : path) {
    node->used = clock_;
    pages.push_back(node->page);
  }
  table.full().share(pages);
  if (windows) {
    const std::size_t first = path.size() - seen().size();
    for (std::size_t i = first; i < path.size(); ++i) {
      path[i]->sliding_used = clock_;
      sliding[i] = *path[i]->sliding_page;
    }
    table.sliding().share(sliding, static_cast<std::uint32_t>(first));
  }
  ++use_.hits;
  use_.tokens += end();
  return end();
}

void PrefixCache::keep(std::span<const Token> tokens, const exec::SequencePages& table) {
  if (mode_ == PrefixMode::off) return;
  const std::lock_guard lock(mutex_);
  Node* node = &root_;
  ++clock_;
  for (std::size_t page = 0; (page + 1) * KV_PAGE <= tokens.size(); ++page) {
    std::unique_ptr<Node>& child = node->children[page_of(tokens, page)];
    if (!child) {
      child = std::make_unique<Node>();
      child->parent = node;
      child->page = table.full().pages()[page];
      cache_.full().add_references({&child->page, 1});
      ++use_.pages;
    }
    node = child.get();
    node->used = clock_;
    const exec::PageTable& sliding = table.sliding();
    if (page < sliding.first() || page >= sliding.pages().size()) continue;
    node->sliding_used = clock_;
    if (node->sliding_page) continue;
    node->sliding_page = sliding.pages()[page];
    cache_.sliding().add_references({&*node->sliding_page, 1});
    ++use_.sliding_pages;
  }
}

PrefixCache::Node* PrefixCache::least_recent(Node& node) {
  Node* best = nullptr;
  for (auto& [key, child] : node.children) {
    Node* candidate = child->children.empty() ? (cache_.full().is_shared(child->page) ? nullptr : child.get()) : least_recent(*child);
    if (candidate != nullptr && (best == nullptr || candidate->used < best->used)) best = candidate;
  }
  return best;
}

PrefixCache::Node* PrefixCache::least_recent_sliding(Node& node) {
  Node* best = node.sliding_page && !cache_.sliding().is_shared(*node.sliding_page) ? &node : nullptr;
  for (auto& [key, child] : node.children) {
    Node* candidate = least_recent_sliding(*child);
    if (candidate != nullptr && (best == nullptr || candidate->sliding_used < best->sliding_used)) best = candidate;
  }
  return best;
}

void PrefixCache::give_back_sliding(Node& node) {
  if (!node.sliding_page) return;
  cache_.sliding().give_back({&*node.sliding_page, 1});
  node.sliding_page.reset();
  --use_.sliding_pages;
}

bool PrefixCache::give_up() {
  const std::lock_guard lock(mutex_);
  Node* leaf = least_recent(root_);
  if (leaf == nullptr) return false;
  give_back_sliding(*leaf);
  cache_.full().give_back({&leaf->page, 1});
  --use_.pages;
  std::erase_if(leaf->parent->children, [&](const auto& child) { return child.second.get() == leaf; });
  return true;
}

bool PrefixCache::give_up_sliding() {
  const std::lock_guard lock(mutex_);
  Node* node = least_recent_sliding(root_);
  if (node != nullptr) give_back_sliding(*node);
  return node != nullptr;
}

PrefixCache::Use PrefixCache::use() const {
  const std::lock_guard lock(mutex_);
  return use_;
}

}  // namespace skipstone::engine
