// Prefixes of texts whose keys and values are in the cache: a tree over pages of tokens (RadixAttention, Zheng et al. 2024, "SGLang", arXiv
// 2312.07104, section 3, by pages instead of by tokens). The least recently used pages are evicted when pages run out.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "exec/sequence_memory.h"
#include "speculation/sequence.h"

namespace skipstone::engine {

enum class PrefixMode {
  off,
  exact,  ///< only pages written by prompts: a text is the same whether its prefix was cached or not
  fast,   ///< also pages of continuations, whose keys and values differ in the last bits from a prompt's
};

/// Callable from any thread.
class PrefixCache {
 public:
  PrefixCache(exec::KvCache& cache, PrefixMode mode);
  ~PrefixCache();
  PrefixCache(const PrefixCache&) = delete;
  PrefixCache& operator=(const PrefixCache&) = delete;

  PrefixMode mode() const { return mode_; }
  /// Finds the longest cached prefix of `tokens` in complete pages, shorter than `tokens`: `memory`, which is empty, shares its pages.
  /// Returns the number of cached tokens. Of each kind, the pages that the next token sees must be cached, and only those are shared.
  std::uint32_t find(std::span<const speculation::Token> tokens, exec::SequenceMemory& memory);
  /// Keeps the complete pages of `tokens`, the prefix of a text with this memory. Pages that have been released by now are not kept: a
  /// caller that needs them calls this in time. Of kinds with sparse prefixes (exec::MemoryKindRow) some pages are kept.
  void keep(std::span<const speculation::Token> tokens, const exec::SequenceMemory& memory);

  struct Use {
    exec::ByKind<std::uint64_t> pages;
    std::uint64_t hits = 0, tokens = 0;  ///< tokens: cached tokens found
  };
  Use use() const;

 private:
  /// KV_PAGE tokens after those of its parent. It has a page of full layers, and of other kinds where the text had one.
  struct Node {
    Node* parent = nullptr;
    exec::ByKind<std::optional<std::uint32_t>> pages;
    exec::ByKind<std::uint64_t> used;  ///< time of the last use of each page
    std::map<std::vector<speculation::Token>, std::unique_ptr<Node>> children;
  };
  using Path = std::vector<Node*>;
  Path known(std::span<const speculation::Token> tokens);
  /// The nodes of `path` whose pages a token after it sees.
  std::span<Node* const> seen(exec::MemoryKind kind, const Path& path) const;
  /// Whether these nodes have all the pages that a token after them sees.
  bool is_complete(const Path& path) const;
  /// Frees the least recently used page of a kind that no sequence uses; false if there is none.
  bool evict(exec::MemoryKind kind);
  bool can_evict(const Node& node, exec::MemoryKind kind) const;
  Node* least_recent(Node& node, exec::MemoryKind kind);
  void free_page(Node& node, exec::MemoryKind kind);

  exec::KvCache& cache_;
  PrefixMode mode_;
  mutable std::mutex mutex_;
  Node root_;
  std::uint64_t clock_ = 0;
  Use use_;
};

}  // namespace skipstone::engine
