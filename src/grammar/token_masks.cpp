#include "grammar/token_masks.h"

#include <algorithm>

#include "base/status.h"

namespace skipstone::grammar {
namespace {

/// Masks that a cache keeps: 64 MiB of a vocabulary of 128,000.
constexpr std::size_t most_masks = 4096;

void set_bit(Mask& mask, std::uint32_t token) { mask[token / 32] |= std::uint32_t{1} << token % 32; }

}  // namespace

TokenMasks::TokenMasks(std::shared_ptr<const Automaton> automaton, std::shared_ptr<const TokenTrie> trie)
    : automaton_(std::move(automaton)), trie_(std::move(trie)) {
  for (std::uint32_t node = 0; node < trie_->nodes().size(); ++node) {
    if (trie_->nodes()[node].depth > Program::twin_bytes && !trie_->tokens(node).empty()) long_nodes_.push_back(node);
  }
}

TokenMasks::Cache& TokenMasks::cache_of(const std::shared_ptr<SharedPool>& shared) {
  std::erase_if(caches_, [](const auto& entry) { return entry.second.pool.expired(); });
  Cache& cache = caches_[shared.get()];
  cache.pool = shared;
  if (cache.masks.size() + cache.local_masks.size() > most_masks) {
    cache.masks.clear();
    cache.local_masks.clear();
  }
  return cache;
}

std::shared_ptr<const Mask> TokenMasks::mask(const State& given) {
  if (&given.automaton() != automaton_.get()) fail(Code::internal, "a mask was asked for with the state of another grammar");
  State state = given;
  const std::scoped_lock lock(mutex_);
  {
    Cache& cache = cache_of(state.shared_);
    if (const auto known = cache.masks.find(state.id_); known != cache.masks.end()) return known->second;
  }
  state.renew();
  Cache& cache = cache_of(state.shared_);
  const std::scoped_lock pool_lock(state.shared_->mutex);
  StatePool& pool = state.shared_->pool;
  pool.begin_work();
  const StateId twin = pool.twin(state.id_);
  if (twin == state.id_) return make(pool, cache, twin);
  const auto known = cache.masks.find(twin);
  std::shared_ptr<const Mask> made =
      make_from_twin(pool, known != cache.masks.end() ? *known->second : *make(pool, cache, twin), state.id_);
  cache.masks.emplace(state.id_, made);
  return made;
}

std::shared_ptr<const Mask> TokenMasks::make(StatePool& pool, Cache& cache, StateId state) {
  const auto [top, cut] = pool.local_state(state);
  auto local = local_mask(pool, cache, top);
  // Near the limit of depth the steps of the whole state are others than those of its top.
  if (local->deepest_call + cut >= StatePool::most_depth) local = local_mask(pool, cache, state);
  auto mask = std::make_shared<Mask>(local->tokens);
  for (const std::uint32_t exit : local->exits) {
    const StateId at_exit = state_at(pool, state, exit);
    if (at_exit == StatePool::dead) continue;
    for (const std::uint32_t token : trie_->tokens(exit)) set_bit(*mask, token);
    walk(pool, at_exit, exit + 1, trie_->nodes()[exit].after, *mask, nullptr);
  }
  if (pool.accepts(state)) {
    for (const std::uint32_t end : trie_->ends()) set_bit(*mask, end);
  }
  cache.masks.emplace(state, mask);
  return mask;
}

/// The mask of a state whose twin's is known: they differ in long tokens alone.
std::shared_ptr<const Mask> TokenMasks::make_from_twin(StatePool& pool, const Mask& twin, StateId state) {
  auto mask = std::make_shared<Mask>(twin);
  for (const std::uint32_t node : long_nodes_) {
    const bool fits = state_at(pool, state, node) != StatePool::dead;
    for (const std::uint32_t token : trie_->tokens(node)) {
      if (fits) {
        set_bit(*mask, token);
      } else {
        (*mask)[token / 32] &= ~(std::uint32_t{1} << token % 32);
      }
    }
  }
  return mask;
}

StateId TokenMasks::state_at(StatePool& pool, StateId state, std::uint32_t node) {
  const auto nodes = trie_->nodes();
  exit_bytes_.clear();
  for (exit_bytes_ += static_cast<char>(nodes[node].byte); nodes[node].parent != node; exit_bytes_ += static_cast<char>(nodes[node].byte)) {
    node = nodes[node].parent;
  }
  for (auto byte = exit_bytes_.rbegin(); byte != exit_bytes_.rend() && state != StatePool::dead; ++byte) {
    state = pool.next(state, static_cast<std::uint8_t>(*byte));
  }
  return state;
}

std::shared_ptr<const TokenMasks::LocalMask> TokenMasks::local_mask(StatePool& pool, Cache& cache, StateId local) {
  if (const auto known = cache.local_masks.find(local); known != cache.local_masks.end()) return known->second;
  auto made = std::make_shared<LocalMask>();
  made->tokens.resize(trie_->mask_words());
  walk(pool, local, 0, static_cast<std::uint32_t>(trie_->nodes().size()), made->tokens, made.get());
  cache.local_masks.emplace(local, made);
  return made;
}

void TokenMasks::walk(StatePool& pool, StateId state, std::uint32_t begin, std::uint32_t end, Mask& mask, LocalMask* local) {
  const auto nodes = trie_->nodes();
  if (begin >= end) return;
  const std::uint32_t above = nodes[begin].depth - 1;
  path_.resize(trie_->deepest() + 1);
  path_[above] = state;
  for (std::uint32_t i = begin; i < end;) {
    const TokenTrie::Node& node = nodes[i];
    const StateId next = pool.next(path_[node.depth - 1], node.byte);
    if (local != nullptr) local->deepest_call = std::max(local->deepest_call, pool.deepest_call(next));
    if (next == StatePool::dead) {
      i = node.after;
    } else if (local != nullptr && pool.is_open(next)) {
      local->exits.push_back(i);
      i = node.after;
    } else {
      for (const std::uint32_t token : trie_->tokens(i)) set_bit(mask, token);
      path_[node.depth] = next;
      ++i;
    }
  }
}

}  // namespace skipstone::grammar
