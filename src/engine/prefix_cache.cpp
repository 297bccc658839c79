#include "engine/prefix_cache.h"

namespace skipstone::engine {

using spec::Token;

namespace {

std::vector<Token> page_of(std::span<const Token> tokens, std::size_t page) {
  const auto part = tokens.subspan(page * KV_PAGE, KV_PAGE);
  return {part.begin(), part.end()};
}

}  // namespace

PrefixCache::PrefixCache(exec::KvPool& pool, PrefixMode mode) : pool_(pool), mode_(mode) {
  pool_.reclaim_by([this](std::uint32_t count) { return give_up(count); });
}

PrefixCache::~PrefixCache() {
  pool_.reclaim_by({});
  while (give_up(1) > 0) {
  }
}

std::uint32_t PrefixCache::find(std::span<const Token> tokens, exec::PageTable& table) {
  if (mode_ == PrefixMode::off || tokens.size() <= KV_PAGE) return 0;
  const std::lock_guard lock(mutex_);
  std::vector<std::uint32_t> pages;
  Node* node = &root_;
  ++clock_;
  for (std::size_t page = 0; (page + 1) * KV_PAGE < tokens.size(); ++page) {
    const auto child = node->children.find(page_of(tokens, page));
    if (child == node->children.end()) break;
    node = child->second.get();
    node->used = clock_;
    pages.push_back(node->page);
  }
  if (pages.empty()) return 0;
  table.share(pages);
  const auto found = static_cast<std::uint32_t>(pages.size()) * KV_PAGE;
  ++use_.hits;
  use_.tokens += found;
  return found;
}

void PrefixCache::keep(std::span<const Token> tokens, const exec::PageTable& table) {
  if (mode_ == PrefixMode::off) return;
  const std::lock_guard lock(mutex_);
  Node* node = &root_;
  ++clock_;
  for (std::size_t page = 0; (page + 1) * KV_PAGE <= tokens.size(); ++page) {
    std::unique_ptr<Node>& child = node->children[page_of(tokens, page)];
    if (!child) {
      child = std::make_unique<Node>();
      child->parent = node;
      child->page = table.pages()[page];
      pool_.add_references({&child->page, 1});
      ++use_.pages;
    }
    node = child.get();
    node->used = clock_;
  }
}

PrefixCache::Node* PrefixCache::least_recent(Node& node) {
  Node* best = nullptr;
  for (auto& [key, child] : node.children) {
    Node* candidate = child->children.empty() ? (pool_.is_shared(child->page) ? nullptr : child.get()) : least_recent(*child);
    if (candidate != nullptr && (best == nullptr || candidate->used < best->used)) best = candidate;
  }
  return best;
}

std::uint32_t PrefixCache::give_up(std::uint32_t count) {
  const std::lock_guard lock(mutex_);
  std::uint32_t given = 0;
  for (; given < count; ++given) {
    const Node* leaf = least_recent(root_);
    if (leaf == nullptr) break;
    pool_.give_back({&leaf->page, 1});
    --use_.pages;
    std::erase_if(leaf->parent->children, [&](const auto& child) { return child.second.get() == leaf; });
  }
  return given;
}

PrefixCache::Use PrefixCache::use() const {
  const std::lock_guard lock(mutex_);
  return use_;
}

}  // namespace skipstone::engine
