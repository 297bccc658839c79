// Which tokens may come next: masks over a vocabulary, cached by state.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "grammar/automaton.h"
#include "grammar/token_trie.h"

namespace skipstone::grammar {

/// Bit i % 32 of word i / 32 is token i.
using Mask = std::vector<std::uint32_t>;

/// The masks of one grammar over one vocabulary. Shared by threads.
///
/// Most of a mask depends on the top of the stack alone: it is computed once for all states that have that in common. Tokens that continue
/// where the top of the stack ends are looked at with the whole stack (the split is that of Dong et al. 2024, "XGrammar: Flexible and
/// Efficient Structured Generation Engine for Large Language Models").
class TokenMasks {
 public:
  TokenMasks(std::shared_ptr<const Automaton> automaton, std::shared_ptr<const TokenTrie> trie);

  /// The mask of a state of this automaton: the tokens all of whose bytes fit, and the end tokens where the text may end. Throws
  /// unsupported where the grammar is too ambiguous to follow.
  std::shared_ptr<const Mask> mask(const State& state);

 private:
  /// What depends on the top of a stack alone.
  struct LocalMask {
    Mask tokens;                       ///< those that fit whatever lies deeper
    std::vector<std::uint32_t> exits;  ///< nodes of the trie at which the top of the stack has ended
    std::uint32_t deepest_call = 0;    ///< of the states in between (StatePool::deepest_call)
  };
  /// The masks of the states of one pool.
  struct Cache {
    std::weak_ptr<SharedPool> pool;
    std::map<StateId, std::shared_ptr<const Mask>> masks;
    std::map<StateId, std::shared_ptr<const LocalMask>> local_masks;
  };

  std::shared_ptr<const Mask> make(StatePool& pool, Cache& cache, StateId state);
  std::shared_ptr<const Mask> make_from_twin(StatePool& pool, const Mask& twin, StateId state);
  Cache& cache_of(const std::shared_ptr<SharedPool>& shared);
  std::shared_ptr<const LocalMask> local_mask(StatePool& pool, Cache& cache, StateId local);
  /// Walks over the nodes from `begin` to `end` and sets the bits of tokens that fit; those under exits are left to others where
  /// `local` is given.
  void walk(StatePool& pool, StateId state, std::uint32_t begin, std::uint32_t end, Mask& mask, LocalMask* local);
  StateId state_at(StatePool& pool, StateId state, std::uint32_t node);

  std::shared_ptr<const Automaton> automaton_;
  std::shared_ptr<const TokenTrie> trie_;
  std::vector<std::uint32_t> long_nodes_;  ///< of the trie, with tokens of more than Program::twin_bytes bytes
  std::mutex mutex_;
  std::map<const SharedPool*, Cache> caches_;
  std::vector<StateId> path_;  ///< the states at the nodes above the one that a walk is at, by depth
  std::string exit_bytes_;     ///< from an exit up to the root
};

}  // namespace skipstone::grammar
