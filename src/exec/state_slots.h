// The states that a sequence has in the recurrent layers of a model.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "exec/kv_cache.h"

namespace skipstone::exec {

/// A slot holds the states of all recurrent layers after a number of positions of the text. A pass reads the last state that is not after
/// its first row, replays the records since then, and writes a state to another slot: whether it runs, runs twice or fails, what it read is
/// still there, and a text is rolled back by dropping the slots after its end. Slots are pages of a KvPool; shared ones are not written.
class StateSlots {
 public:
  explicit StateSlots(KvPool& pool) : pool_(&pool) {}
  ~StateSlots() { rollback(0); }
  StateSlots(StateSlots&& other) noexcept { *this = std::move(other); }
  StateSlots& operator=(StateSlots&& other) noexcept;

  /// The last position at or before `position` that there is a state of; 0, where it is zeros, if there is no slot.
  std::uint32_t before(std::uint32_t position) const;
  /// The first position at or before `position` that there is a state of, as before().
  std::uint32_t oldest(std::uint32_t position) const { return states_.empty() ? 0 : std::min(states_.front().position, before(position)); }
  /// Drops states that are long before `position`, but for the last one.
  void forget(std::uint32_t position);
  /// The slot with the state of `position`.
  std::optional<std::uint32_t> at(std::uint32_t position) const;

  /// Chooses the slots of a pass at `position`, which leaves a state of `written`, if any. Throws out_of_memory.
  void begin_pass(std::uint32_t position, std::optional<std::uint32_t> written);
  /// The pass has written its state.
  void end_pass();
  /// Of the last pass, as shaders/abi/recurrent_scan.h has it: the slot that is read, its position, the slot that is written.
  std::span<const std::uint32_t> pass() const { return pass_; }

  /// Drops the states after `position`.
  void rollback(std::uint32_t position);
  /// These become the states of `from` up to `position`.
  void share(const StateSlots& from, std::uint32_t position);
  /// The only state becomes that of `position` in a slot that others keep too.
  void put(std::uint32_t slot, std::uint32_t position);
  /// The only state becomes one of `position`, whose contents the caller writes.
  std::uint32_t make(std::uint32_t position);

 private:
  struct State {
    std::uint32_t slot = 0, position = 0;
  };
  /// The state that a text is unlikely to be rolled back to; none if there may be one more.
  std::optional<std::size_t> replaceable(const State* source) const;
  std::uint32_t take();
  void give_back(std::uint32_t slot);

  KvPool* pool_ = nullptr;
  std::vector<State> states_;     ///< by position
  std::optional<State> written_;  ///< by the pass that runs, or by one that failed
  std::array<std::uint32_t, SCAN_WORDS> pass_{SCAN_NONE, 0, SCAN_NONE};
};

}  // namespace skipstone::exec
