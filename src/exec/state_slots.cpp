#include "exec/state_slots.h"

#include <algorithm>
#include <span>
#include <utility>

namespace skipstone::exec {
namespace {

// Those of the last two passes, and an older one, from which a text that is rolled back a little is continued.
constexpr std::size_t most_states = 3;

}  // namespace

StateSlots& StateSlots::operator=(StateSlots&& other) noexcept {
  if (this == &other) return *this;
  if (pool_ != nullptr) rollback(0);
  pool_ = other.pool_;
  states_ = std::exchange(other.states_, {});
  written_ = std::exchange(other.written_, {});
  pass_ = std::exchange(other.pass_, {SCAN_NONE, 0, SCAN_NONE});
  return *this;
}

std::uint32_t StateSlots::before(std::uint32_t position) const {
  const auto after = std::ranges::upper_bound(states_, position, {}, &State::position);
  return after == states_.begin() ? 0 : std::prev(after)->position;
}

std::optional<std::uint32_t> StateSlots::at(std::uint32_t position) const {
  const auto found = std::ranges::find(states_, position, &State::position);
  return found == states_.end() ? std::nullopt : std::optional(found->slot);
}

std::optional<std::size_t> StateSlots::replaceable(const State* source) const {
  if (states_.size() < most_states) return {};
  const std::size_t first = states_.back().position - states_.front().position > state_rollback_margin ? 0 : 1;
  return &states_[first] == source ? first + 1 : first;
}

void StateSlots::forget(std::uint32_t position) {
  while (states_.size() > 1 && states_[1].position <= position && states_.front().position + state_rollback_margin < position) {
    give_back(states_.front().slot);
    states_.erase(states_.begin());
  }
}

void StateSlots::begin_pass(std::uint32_t position, std::optional<std::uint32_t> written) {
  const auto after = std::ranges::upper_bound(states_, position, {}, &State::position);
  const State* source = after == states_.begin() ? nullptr : &*std::prev(after);
  pass_ = {source == nullptr ? SCAN_NONE : source->slot, source == nullptr ? 0 : source->position, SCAN_NONE};
  if (!written || *written == 0 || at(*written)) return;
  if (!written_) {
    if (const std::optional<std::size_t> old = replaceable(source)) {
      const std::uint32_t slot = states_[*old].slot;
      states_.erase(states_.begin() + static_cast<std::ptrdiff_t>(*old));
      if (pool_->is_shared(slot)) {
        give_back(slot);
      } else {
        written_ = State{slot, *written};
      }
    }
    if (!written_) written_ = State{take(), *written};
  }
  written_->position = *written;
  pass_[SCAN_TARGET] = written_->slot;
}

void StateSlots::end_pass() {
  // The same pass may run again for other outputs: then it writes no state, whose slot may be shared by now.
  if (std::exchange(pass_[SCAN_TARGET], SCAN_NONE) == SCAN_NONE || !written_) return;
  states_.insert(std::ranges::upper_bound(states_, written_->position, {}, &State::position), *written_);
  written_.reset();
}

void StateSlots::rollback(std::uint32_t position) {
  while (!states_.empty() && states_.back().position > position) {
    give_back(states_.back().slot);
    states_.pop_back();
  }
  if (position > 0 || !written_) return;
  give_back(written_->slot);
  written_.reset();
}

void StateSlots::share(const StateSlots& from, std::uint32_t position) {
  std::vector<State> shared;
  std::ranges::copy_if(from.states_, std::back_inserter(shared), [&](const State& state) { return state.position <= position; });
  for (const State& state : shared) pool_->add_references(std::span(&state.slot, 1));
  rollback(0);
  states_ = std::move(shared);
}

void StateSlots::put(std::uint32_t slot, std::uint32_t position) {
  pool_->add_references(std::span(&slot, 1));
  rollback(0);
  states_ = {{slot, position}};
}

std::uint32_t StateSlots::make(std::uint32_t position) {
  rollback(0);
  states_ = {{take(), position}};
  return states_.front().slot;
}

std::uint32_t StateSlots::take() {
  std::vector<std::uint32_t> slot;
  pool_->take(1, slot);
  return slot.front();
}

void StateSlots::give_back(std::uint32_t slot) { pool_->give_back(std::span(&slot, 1)); }

}  // namespace skipstone::exec
