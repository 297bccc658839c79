#include "grammar/automaton.h"

#include <utility>

namespace skipstone::grammar {

bool State::advance(std::uint8_t byte) {
  const char one = static_cast<char>(byte);
  return advance(std::string_view(&one, 1));
}

std::size_t State::read(std::string_view bytes) {
  for (std::size_t fitting = 0; fitting < bytes.size();) {
    renew();  // a long text may fill several pools
    const std::scoped_lock lock(shared_->mutex);
    do {
      shared_->pool.begin_work();
      id_ = shared_->pool.next(id_, static_cast<std::uint8_t>(bytes[fitting]));
      if (is_dead()) return fitting;
      ++fitting;
    } while (fitting < bytes.size() && !shared_->pool.is_full());
  }
  return bytes.size();
}

bool State::accepts() const {
  const std::scoped_lock lock(shared_->mutex);
  return shared_->pool.accepts(id_);
}

std::string State::forced_bytes(std::size_t most) const {
  std::string bytes;
  for (State state = *this; bytes.size() < most;) {
    state.renew();
    const std::scoped_lock lock(state.shared_->mutex);
    StatePool& pool = state.shared_->pool;
    pool.begin_work();
    do {
      const auto only = pool.only_byte(state.id_);
      if (!only) return bytes;
      bytes += static_cast<char>(*only);
      state.id_ = pool.next(state.id_, *only);
    } while (bytes.size() < most && !pool.is_full());
  }
  return bytes;
}

void State::renew() {
  const std::shared_ptr<SharedPool> full = shared_;  // this state may be its last owner, and its lock is released last
  {
    const std::scoped_lock lock(full->mutex);
    if (!full->pool.is_full()) return;
  }
  std::shared_ptr<SharedPool> fresh = automaton_->pool_after(full);
  if (fresh == full) return;
  const std::scoped_lock lock(full->mutex, fresh->mutex);
  id_ = fresh->pool.import(full->pool, id_);
  shared_ = std::move(fresh);
}

Automaton::Automaton(Syntax syntax)
    : syntax_(std::move(syntax)), program_(std::make_shared<const Program>(syntax_)), current_(std::make_shared<SharedPool>(program_)) {}

std::shared_ptr<const Automaton> Automaton::make(Syntax syntax) {
  return std::shared_ptr<const Automaton>(new Automaton(std::move(syntax)));
}

State Automaton::start() const {
  std::shared_ptr<SharedPool> shared;
  {
    const std::scoped_lock lock(mutex_);
    shared = current_;
  }
  const StateId id = shared->pool.start();
  State state(shared_from_this(), std::move(shared), id);
  state.renew();
  return state;
}

std::shared_ptr<SharedPool> Automaton::pool_after(const std::shared_ptr<SharedPool>& full) const {
  const std::scoped_lock lock(mutex_);
  if (current_ == full) current_ = std::make_shared<SharedPool>(program_);
  return current_;
}

}  // namespace skipstone::grammar
