// The states of an automaton that were met, each once, with the transitions that were computed: a deterministic automaton made on demand.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "grammar/program.h"

namespace skipstone::grammar {

using StackId = std::uint32_t;
using StateId = std::uint32_t;

/// The states of one Program. A stack is a list of frames from its top; equal stacks have equal ids, and so have equal states, which are
/// sets of stacks. Used by one thread at a time.
class StatePool {
 public:
  static constexpr StackId bottom = 0;  ///< the empty stack: the root has ended
  static constexpr StackId open = 1;    ///< the unknown rest of a stack that local_state() cut
  static constexpr StateId dead = 0;
  static constexpr std::uint32_t most_depth = 4096;  ///< of one stack: texts that nest more deeply do not fit

  explicit StatePool(std::shared_ptr<const Program> program);

  StateId start() const { return start_; }
  /// The state after a byte; `dead` where the byte does not fit. Throws unsupported where the grammar is too ambiguous to follow.
  StateId next(StateId state, std::uint8_t byte) {
    const StateId known = (*states_[state].next)[byte];
    return known == unknown ? compute_next(state, byte) : known;
  }
  bool accepts(StateId state) const { return states_[state].accepts; }
  /// Whether a part of the text that has ended here would continue in the part of the stack that local_state() cut.
  bool is_open(StateId state) const { return states_[state].is_open; }
  /// The only byte that may follow, where the text cannot end here and there is one byte alone.
  std::optional<std::uint8_t> only_byte(StateId state) const;

  /// The state without the frames that all of its stacks have in common, for what depends on the others alone, and how many these are.
  struct Local {
    StateId state = 0;
    std::uint32_t cut = 0;
  };
  Local local_state(StateId state);
  /// The depth of the deepest stack that a rule was called from on the ways to this state: with `cut` more frames it may be too deep.
  std::uint32_t deepest_call(StateId state) const { return states_[state].deepest_call; }

  /// A state that allows the same texts of up to Program::twin_bytes bytes, for all states that are alike so far.
  StateId twin(StateId state);

  /// The same state in this pool, of another pool of the same program.
  StateId import(const StatePool& from, StateId state);

  /// Whether a new pool should take its place: it is of more use as a cache than as an archive.
  bool is_full() const { return states_.size() > 30'000 || frames_.size() > 500'000 || words_ > 10'000'000; }
  /// Begins a call, which may compute as much as one call may.
  void begin_work() { work_ = 0; }

 private:
  static constexpr StateId unknown = static_cast<StateId>(-1);

  struct Frame {
    NodeId node = 0;
    std::uint32_t members = 0;  ///< the index of the members that the frame's object has
    StackId below = 0;
    friend bool operator==(const Frame&, const Frame&) = default;
  };
  struct FrameHash {
    std::size_t operator()(const Frame& frame) const;
  };
  /// Numbers of the members that an object has, as bits, and how many they are with those that no schema names.
  struct Seen {
    std::vector<std::uint64_t> bits;
    std::uint32_t count = 0;
    friend auto operator<=>(const Seen&, const Seen&) = default;
  };
  struct State {
    std::vector<StackId> stacks;
    bool accepts = false, is_open = false;
    std::uint32_t deepest_call = 0;
    std::unique_ptr<std::array<StateId, 256>> next;
  };
  struct StacksHash {
    std::size_t operator()(const std::vector<StackId>& stacks) const;
  };

  StackId push(const Frame& frame);
  StateId compute_next(StateId state, std::uint8_t byte);
  /// Follows all edges that read nothing, from the stacks in `pending_`, and makes the state of where bytes are read.
  StateId close();
  void follow(StackId stack);
  void end_rule(StackId below);
  std::uint32_t with_member(std::uint32_t members, std::uint32_t number);
  bool is_complete(std::uint32_t members, RuleId rule) const;
  std::uint32_t add_seen(Seen seen);
  StateId add_state(std::vector<StackId> stacks, bool accepts, bool is_open);
  void count_work(std::size_t steps);
  void count_words(std::size_t words);
  StackId rebased(const StatePool& from, StackId stack, StackId tail, StackId onto);
  StackId twin_stack(StackId stack);

  std::shared_ptr<const Program> program_;
  std::vector<Frame> frames_;
  std::vector<std::uint32_t> depths_;
  std::unordered_map<StackId, StackId> twin_stacks_;
  std::unordered_map<Frame, StackId, FrameHash> frame_ids_;
  std::vector<Seen> seen_;
  std::map<Seen, std::uint32_t> seen_ids_;
  std::vector<State> states_;
  std::unordered_multimap<std::size_t, StateId> state_ids_;
  StateId start_ = 0;
  std::size_t work_ = 0;
  std::size_t words_ = 0;  ///< of 32 bits, in the states' stacks and the objects' members

  // What close() works on.
  std::vector<StackId> pending_, resting_;
  std::vector<std::uint32_t> visited_;  ///< of each stack, the closing that met it last
  std::uint32_t closing_ = 0;
  bool accepts_ = false, is_open_ = false;
  std::uint32_t deepest_call_ = 0;
};

}  // namespace skipstone::grammar
