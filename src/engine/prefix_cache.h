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

#include "exec/kv_cache.h"
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
  /// Finds the longest cached prefix of `tokens` in complete pages, shorter than `tokens`: `table`, which is empty, shares its pages.
  /// Returns the number of cached tokens. For sliding-window layers, the window of the next token must be cached, and only that is shared.
  std::uint32_t find(std::span<const speculation::Token> tokens, exec::SequencePages& table);
  /// Keeps the complete pages of `tokens`, the prefix of a text with these pages. Pages that sliding-window layers have freed by now are
  /// not kept: a caller that needs them calls this in time.
  void keep(std::span<const speculation::Token> tokens, const exec::SequencePages& table);

  struct Use {
    std::uint64_t pages = 0, sliding_pages = 0, hits = 0, tokens = 0;  ///< tokens: cached tokens found
  };
  Use use() const;

 private:
  struct Node {
    Node* parent = nullptr;
    std::uint32_t page = 0;
    std::optional<std::uint32_t> sliding_page;
    std::uint64_t used = 0, sliding_used = 0;
    std::map<std::vector<speculation::Token>, std::unique_ptr<Node>> children;
  };
  using Path = std::vector<Node*>;
  Path known(std::span<const speculation::Token> tokens);
  /// Frees the least recently used page that no sequence uses; false if there is none.
  bool give_up();
  bool give_up_sliding();
  Node* least_recent(Node& node);
  Node* least_recent_sliding(Node& node);
  void give_back_sliding(Node& node);

  exec::KvCache& cache_;
  PrefixMode mode_;
  mutable std::mutex mutex_;
  Node root_;
  std::uint64_t clock_ = 0;
  Use use_;
};

}  // namespace skipstone::engine
