#include "grammar/automaton.h"

#include <utility>

namespace skipstone::grammar {

bool State::advance(std::uint8_t byte) {
  const char one = static_cast<char>(byte);
  return advance(std::string_view(&one, 1));
}

std::size_t State::read(std::string_view bytes) {
  renew();
  const std::scoped_lock lock(shared_->mutex);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    shared_->pool.begin_work();
    id_ = shared_->pool.next(id_, static_cast<std::uint8_t>(bytes[i]));
    if (is_dead()) return i;
  }
  return bytes.size();
}

bool State::accepts() const {
  const std::scoped_lock lock(shared_->mutex);
  return shared_->pool.accepts(id_);
}

std::string State::forced_bytes(std::size_t most) const {
  std::string bytes;
  const std::scoped_lock lock(shared_->mutex);
  StatePool& pool = shared_->pool;
  pool.begin_work();
  for (StateId id = id_; bytes.size() < most;) {
    const auto only = pool.only_byte(id);
    if (!only) break;
    bytes += static_cast<char>(*only);
    id = pool.next(id, *only);
  }
  return bytes;
}

void State::renew() {
  {
    const std::scoped_lock lock(shared_->mutex);
    if (!shared_->pool.is_full()) return;
  }
  std::shared_ptr<SharedPool> fresh = automaton_->pool_after(shared_);
  if (fresh == shared_) return;
  const std::scoped_lock lock(shared_->mutex, fresh->mutex);
  id_ = fresh->pool.import(shared_->pool, id_);
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
