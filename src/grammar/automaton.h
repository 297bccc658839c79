// A grammar as an automaton over bytes with a stack, and its states, which are values.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "grammar/state_pool.h"
#include "grammar/syntax.h"

namespace skipstone::grammar {

/// A pool of states, and the lock that all who use it take.
struct SharedPool {
  explicit SharedPool(std::shared_ptr<const Program> program) : pool(std::move(program)) {}
  std::mutex mutex;
  StatePool pool;
};

class Automaton;

/// Where a text is in a grammar. Cheap to copy; keeps its automaton alive. Different threads may use different copies.
class State {
 public:
  /// Reads bytes up to the first that does not fit, which makes the state dead, and returns how many fit. Throws unsupported where the
  /// grammar is too ambiguous to follow.
  std::size_t read(std::string_view bytes);
  /// Whether all of the bytes fit; reads them.
  bool advance(std::string_view bytes) { return read(bytes) == bytes.size() && !is_dead(); }
  bool advance(std::uint8_t byte);
  /// Whether the text may end here.
  bool accepts() const;
  /// Whether no text fits any more.
  bool is_dead() const { return id_ == StatePool::dead; }
  /// The bytes that must come next, at most `most`: as long as the text cannot end and one byte alone may follow.
  std::string forced_bytes(std::size_t most) const;

  const Automaton& automaton() const { return *automaton_; }

  friend bool operator==(const State& a, const State& b) { return a.shared_ == b.shared_ && a.id_ == b.id_; }

 private:
  friend class Automaton;
  friend class TokenMasks;
  State(std::shared_ptr<const Automaton> automaton, std::shared_ptr<SharedPool> shared, StateId id)
      : automaton_(std::move(automaton)), shared_(std::move(shared)), id_(id) {}
  /// Moves to the automaton's current pool where this one is full.
  void renew();

  std::shared_ptr<const Automaton> automaton_;
  std::shared_ptr<SharedPool> shared_;
  StateId id_;
};

/// Immutable but for the pool of the states that were met; shared by threads.
class Automaton : public std::enable_shared_from_this<Automaton> {
 public:
  /// `syntax` is finished. Throws invalid_argument where the grammar becomes too large.
  static std::shared_ptr<const Automaton> make(Syntax syntax);

  State start() const;
  const Syntax& syntax() const { return syntax_; }

 private:
  friend class State;
  explicit Automaton(Syntax syntax);
  /// The pool that new states are in; a fresh one where `full` still is.
  std::shared_ptr<SharedPool> pool_after(const std::shared_ptr<SharedPool>& full) const;

  Syntax syntax_;
  std::shared_ptr<const Program> program_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<SharedPool> current_;
};

}  // namespace skipstone::grammar
