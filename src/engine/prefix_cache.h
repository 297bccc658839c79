// Beginnings of texts whose keys and values are in the cache: a tree over pages of tokens (RadixAttention, Zheng et al. 2024, "SGLang",
// arXiv 2312.07104, section 3, by pages instead of by tokens). What nobody has used for longest goes when pages run out.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "exec/kv_pool.h"
#include "spec/sequence.h"

namespace skipstone::engine {

enum class PrefixMode {
  off,
  exact,  ///< pages that prompts have left alone: a text is the same whether its beginning was there or not
  fast,   ///< those of continuations too, whose keys and values a prompt would leave with other last bits
};

/// From any thread.
class PrefixCache {
 public:
  PrefixCache(exec::KvPool& pool, PrefixMode mode);
  ~PrefixCache();
  PrefixCache(const PrefixCache&) = delete;
  PrefixCache& operator=(const PrefixCache&) = delete;

  PrefixMode mode() const { return mode_; }
  /// The longest beginning of `tokens` that is known, in whole pages, and shorter than `tokens`: `table`, which is empty, shares its pages.
  /// Returns how many tokens that are.
  std::uint32_t find(std::span<const spec::Token> tokens, exec::PageTable& table);
  /// Keeps the whole pages of `tokens`, the beginning of a text with these pages.
  void keep(std::span<const spec::Token> tokens, const exec::PageTable& table);

  struct Use {
    std::uint64_t pages = 0, hits = 0, tokens = 0;  ///< tokens: that were found
  };
  Use use() const;

 private:
  struct Node {
    Node* parent = nullptr;
    std::uint32_t page = 0;
    std::uint64_t used = 0;
    std::map<std::vector<spec::Token>, std::unique_ptr<Node>> children;
  };
  /// Gives up to `count` pages back that nobody else uses; how many.
  std::uint32_t give_up(std::uint32_t count);
  Node* least_recent(Node& node);

  exec::KvPool& pool_;
  PrefixMode mode_;
  mutable std::mutex mutex_;
  Node root_;
  std::uint64_t clock_ = 0;
  Use use_;
};

}  // namespace skipstone::engine
