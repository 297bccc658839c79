// Beginnings of texts whose keys and values are in the cache: a tree over pages of tokens (RadixAttention, Zheng et al. 2024, "SGLang",
// arXiv 2312.07104, section 3, by pages instead of by tokens). What nobody has used for longest goes when pages run out.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "exec/kv_cache.h"
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
  PrefixCache(exec::KvCache& cache, PrefixMode mode);
  ~PrefixCache();
  PrefixCache(const PrefixCache&) = delete;
  PrefixCache& operator=(const PrefixCache&) = delete;

  PrefixMode mode() const { return mode_; }
  /// The longest beginning of `tokens` that is known, in whole pages, and shorter than `tokens`: `table`, which is empty, shares its pages.
  /// Returns how many tokens that are. Of layers with a window, what the next token sees has to be known, and no more is shared.
  std::uint32_t find(std::span<const spec::Token> tokens, exec::SequencePages& table);
  /// Keeps the whole pages of `tokens`, the beginning of a text with these pages. Those of layers with a window that were given back by now are
  /// not kept: who wants them calls this in time.
  void keep(std::span<const spec::Token> tokens, const exec::SequencePages& table);

  struct Use {
    std::uint64_t pages = 0, windowed_pages = 0, hits = 0, tokens = 0;  ///< tokens: that were found
  };
  Use use() const;

 private:
  struct Node {
    Node* parent = nullptr;
    std::uint32_t page = 0;
    std::optional<std::uint32_t> windowed_page;
    std::uint64_t used = 0, windowed_used = 0;
    std::map<std::vector<spec::Token>, std::unique_ptr<Node>> children;
  };
  using Path = std::vector<Node*>;
  Path known(std::span<const spec::Token> tokens);
  /// Gives a page back that nobody else uses, the least recently used; false where there is none.
  bool give_up();
  bool give_up_windowed();
  Node* least_recent(Node& node);
  Node* least_recent_windowed(Node& node);
  void give_back_windowed(Node& node);

  exec::KvCache& cache_;
  PrefixMode mode_;
  mutable std::mutex mutex_;
  Node root_;
  std::uint64_t clock_ = 0;
  Use use_;
};

}  // namespace skipstone::engine
