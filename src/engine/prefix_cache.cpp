#include "engine/prefix_cache.h"

#include <algorithm>

namespace skipstone::engine {

using spec::Token;

namespace {

std::vector<Token> page_of(std::span<const Token> tokens, std::size_t page) {
  const auto part = tokens.subspan(page * KV_PAGE, KV_PAGE);
  return {part.begin(), part.end()};
}

}  // namespace

PrefixCache::PrefixCache(exec::KvCache& cache, PrefixMode mode) : cache_(cache), mode_(mode) {
  cache_.whole().reclaim_by([this] { return give_up(); });
  cache_.windowed().reclaim_by([this] { return give_up_windowed(); });
}

PrefixCache::~PrefixCache() {
  cache_.whole().reclaim_by({});
  cache_.windowed().reclaim_by({});
  while (give_up()) {
  }
}

/// The nodes of the longest known beginning, whose last token is not the last of `tokens`.
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
  while (windows && !path.empty() && !std::ranges::all_of(seen(), [](const Node* node) { return node->windowed_page.has_value(); })) {
    path.pop_back();
  }
  if (path.empty()) return 0;
  ++clock_;
  std::vector<std::uint32_t> pages, windowed(path.size());
  for (Node* node : path) {
    node->used = clock_;
    pages.push_back(node->page);
  }
  table.whole().share(pages);
  if (windows) {
    const std::size_t first = path.size() - seen().size();
    for (std::size_t i = first; i < path.size(); ++i) {
      path[i]->windowed_used = clock_;
      windowed[i] = *path[i]->windowed_page;
    }
    table.windowed().share(windowed, static_cast<std::uint32_t>(first));
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
      child->page = table.whole().pages()[page];
      cache_.whole().add_references({&child->page, 1});
      ++use_.pages;
    }
    node = child.get();
    node->used = clock_;
    const exec::PageTable& windowed = table.windowed();
    if (page < windowed.first() || page >= windowed.pages().size()) continue;
    node->windowed_used = clock_;
    if (node->windowed_page) continue;
    node->windowed_page = windowed.pages()[page];
    cache_.windowed().add_references({&*node->windowed_page, 1});
    ++use_.windowed_pages;
  }
}

PrefixCache::Node* PrefixCache::least_recent(Node& node) {
  Node* best = nullptr;
  for (auto& [key, child] : node.children) {
    Node* candidate = child->children.empty() ? (cache_.whole().is_shared(child->page) ? nullptr : child.get()) : least_recent(*child);
    if (candidate != nullptr && (best == nullptr || candidate->used < best->used)) best = candidate;
  }
  return best;
}

PrefixCache::Node* PrefixCache::least_recent_windowed(Node& node) {
  Node* best = node.windowed_page && !cache_.windowed().is_shared(*node.windowed_page) ? &node : nullptr;
  for (auto& [key, child] : node.children) {
    Node* candidate = least_recent_windowed(*child);
    if (candidate != nullptr && (best == nullptr || candidate->windowed_used < best->windowed_used)) best = candidate;
  }
  return best;
}

void PrefixCache::give_back_windowed(Node& node) {
  if (!node.windowed_page) return;
  cache_.windowed().give_back({&*node.windowed_page, 1});
  node.windowed_page.reset();
  --use_.windowed_pages;
}

bool PrefixCache::give_up() {
  const std::lock_guard lock(mutex_);
  Node* leaf = least_recent(root_);
  if (leaf == nullptr) return false;
  give_back_windowed(*leaf);
  cache_.whole().give_back({&leaf->page, 1});
  --use_.pages;
  std::erase_if(leaf->parent->children, [&](const auto& child) { return child.second.get() == leaf; });
  return true;
}

bool PrefixCache::give_up_windowed() {
  const std::lock_guard lock(mutex_);
  Node* node = least_recent_windowed(root_);
  if (node != nullptr) give_back_windowed(*node);
  return node != nullptr;
}

PrefixCache::Use PrefixCache::use() const {
  const std::lock_guard lock(mutex_);
  return use_;
}

}  // namespace skipstone::engine
