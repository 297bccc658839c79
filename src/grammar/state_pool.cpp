#include "grammar/state_pool.h"

#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "base/status.h"

namespace skipstone::grammar {
namespace {

constexpr std::size_t most_stacks = 4096;      ///< of one state
constexpr std::size_t most_work = 40'000'000;  ///< stacks that one call follows: about a second
constexpr std::size_t most_states = 100'000;   ///< of one pool, in the middle of a call
constexpr std::size_t most_frames = 2'000'000;
constexpr std::size_t most_words = 50'000'000;

}  // namespace

std::size_t StatePool::FrameHash::operator()(const Frame& frame) const {
  return split_mix((std::uint64_t{frame.node} << 32U | frame.below) + 0x9e3779b97f4a7c15u * frame.members);
}

StatePool::StatePool(std::shared_ptr<const Program> program) : program_(std::move(program)) {
  frames_.resize(2);  // the empty stack, and the unknown one
  depths_.assign(2, 0);
  visited_.assign(2, 0);
  add_seen({});
  add_state({}, false, false);
  pending_.push_back(push({program_->start(), 0, bottom}));
  start_ = close();
}

StackId StatePool::push(const Frame& frame) {
  const auto [found, is_new] = frame_ids_.emplace(frame, static_cast<StackId>(frames_.size()));
  if (is_new) {
    if (frames_.size() >= most_frames) fail(Code::unsupported, "the grammar is too ambiguous to follow: it has too many stacks here");
    frames_.push_back(frame);
    depths_.push_back(depths_[frame.below] + 1);
    visited_.push_back(0);
  }
  return found->second;
}

void StatePool::count_work(std::size_t steps) {
  work_ += steps;
  if (work_ > most_work) fail(Code::unsupported, "the grammar is too ambiguous to follow: a step takes too long");
}

void StatePool::count_words(std::size_t words) {
  words_ += words;
  if (words_ > most_words) fail(Code::unsupported, "the grammar is too ambiguous to follow: its states need too much memory here");
}

StateId StatePool::compute_next(StateId state, std::uint8_t byte) {
  pending_.clear();
  for (const StackId stack : states_[state].stacks) {
    const Frame frame = frames_[stack];
    for (const Edge& edge : program_->edges(frame.node)) {
      if (edge.kind == EdgeKind::byte && edge.low <= byte && byte <= edge.high)
        pending_.push_back(push({edge.target, frame.members, frame.below}));
    }
  }
  const StateId next = pending_.empty() ? dead : close();
  (*states_[state].next)[byte] = next;
  return next;
}

StateId StatePool::close() {
  ++closing_;
  resting_.clear();
  accepts_ = is_open_ = false;
  deepest_call_ = 0;
  std::size_t steps = 0;
  while (!pending_.empty()) {
    const StackId stack = pending_.back();
    pending_.pop_back();
    if (std::exchange(visited_[stack], closing_) == closing_) continue;
    ++steps;
    follow(stack);
  }
  count_work(steps + 1);
  if (resting_.size() > most_stacks) fail(Code::unsupported, "the grammar is too ambiguous to follow: it has too many stacks here");
  std::ranges::sort(resting_);
  const StateId state = add_state(resting_, accepts_, is_open_);
  states_[state].deepest_call = std::max(states_[state].deepest_call, deepest_call_);
  return state;
}

void StatePool::follow(StackId stack) {
  const Frame frame = frames_[stack];
  bool reads = false;
  for (const Edge& edge : program_->edges(frame.node)) {
    switch (edge.kind) {
      case EdgeKind::byte:
        reads = true;
        break;
      case EdgeKind::skip:
        pending_.push_back(push({edge.target, frame.members, frame.below}));
        break;
      case EdgeKind::call:
        deepest_call_ = std::max(deepest_call_, depths_[stack]);
        // A text that nests this deeply does not fit: the stack is dropped.
        if (depths_[stack] < most_depth) pending_.push_back(push({edge.callee, 0, push({edge.target, frame.members, frame.below})}));
        break;
      case EdgeKind::finish:
        end_rule(frame.below);
        break;
      case EdgeKind::member:
        if (const std::uint32_t members = with_member(frame.members, edge.callee); members != 0)
          pending_.push_back(push({edge.target, members, frame.below}));
        break;
      case EdgeKind::complete:
        if (is_complete(frame.members, edge.callee)) pending_.push_back(push({edge.target, frame.members, frame.below}));
        break;
    }
  }
  if (reads) resting_.push_back(stack);
}

void StatePool::end_rule(StackId below) {
  if (below == bottom) {
    accepts_ = true;
  } else if (below == open) {
    is_open_ = true;
  } else {
    pending_.push_back(below);
  }
}

/// The index of the members with one more; 0 where it is there already, since an object has each once.
std::uint32_t StatePool::with_member(std::uint32_t members, std::uint32_t number) {
  Seen seen = seen_[members];
  ++seen.count;
  if (number != undeclared_member) {
    if (number / 64 >= seen.bits.size()) seen.bits.resize(number / 64 + 1);
    std::uint64_t& word = seen.bits[number / 64];
    const std::uint64_t bit = std::uint64_t{1} << number % 64;
    if ((word & bit) != 0) return 0;
    word |= bit;
  }
  return add_seen(std::move(seen));
}

bool StatePool::is_complete(std::uint32_t members, RuleId rule) const {
  const Seen& seen = seen_[members];
  const Members& wanted = program_->members(rule);
  const auto has = [&](std::uint32_t number) {
    return number / 64 < seen.bits.size() && (seen.bits[number / 64] >> number % 64 & 1U) != 0;
  };
  return seen.count >= wanted.least && seen.count <= wanted.most && std::ranges::all_of(wanted.required, has);
}

std::uint32_t StatePool::add_seen(Seen seen) {
  const auto [found, is_new] = seen_ids_.emplace(std::move(seen), static_cast<std::uint32_t>(seen_.size()));
  if (is_new) {
    count_words(2 * found->first.bits.size());
    seen_.push_back(found->first);
  }
  return found->second;
}

std::size_t StatePool::StacksHash::operator()(const std::vector<StackId>& stacks) const {
  Fnv1a hash;
  for (const StackId stack : stacks) hash.add_word(stack);
  return split_mix(hash.value());
}

StateId StatePool::add_state(std::vector<StackId> stacks, bool accepts, bool is_open) {
  const std::size_t hash = StacksHash()(stacks);
  const auto [begin, end] = state_ids_.equal_range(hash);
  for (auto known = begin; known != end; ++known) {
    const State& state = states_[known->second];
    if (state.accepts == accepts && state.is_open == is_open && state.stacks == stacks) return known->second;
  }
  if (states_.size() >= most_states) fail(Code::unsupported, "the grammar is too ambiguous to follow: it has too many states here");
  count_words(stacks.size());
  State state{std::move(stacks), accepts, is_open, 0, std::make_unique<std::array<StateId, 256>>()};
  state.next->fill(state.stacks.empty() ? dead : unknown);
  states_.push_back(std::move(state));
  state_ids_.emplace(hash, static_cast<StateId>(states_.size() - 1));
  return static_cast<StateId>(states_.size() - 1);
}

std::optional<std::uint8_t> StatePool::only_byte(StateId state) const {
  if (states_[state].accepts) return std::nullopt;
  std::optional<std::uint8_t> only;
  for (const StackId stack : states_[state].stacks) {
    for (const Edge& edge : program_->edges(frames_[stack].node)) {
      if (edge.kind != EdgeKind::byte) continue;
      if (edge.low != edge.high || (only && *only != edge.low)) return std::nullopt;
      only = edge.low;
    }
  }
  return only;
}

/// The stack of `from` with the frames below `tail` exchanged for `onto`.
StackId StatePool::rebased(const StatePool& from, StackId stack, StackId tail, StackId onto) {
  std::vector<Frame> frames;
  for (; stack != tail; stack = from.frames_[stack].below) frames.push_back(from.frames_[stack]);
  StackId copy = onto;
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
    const std::uint32_t members = &from == this ? frame->members : add_seen(from.seen_[frame->members]);
    copy = push({frame->node, members, copy});
  }
  return copy;
}

StatePool::Local StatePool::local_state(StateId state) {
  const std::vector<StackId> stacks = states_[state].stacks;
  if (stacks.empty()) return {state};
  // The frames that all stacks have in common, below the top of each.
  StackId tail = frames_[stacks.front()].below;
  for (const StackId stack : stacks) {
    StackId other = frames_[stack].below;
    while (other != tail) {
      StackId& deeper = depths_[other] >= depths_[tail] ? other : tail;
      deeper = frames_[deeper].below;
    }
  }
  if (tail == bottom) return {state};
  std::vector<StackId> local;
  local.reserve(stacks.size());
  for (const StackId stack : stacks) local.push_back(rebased(*this, stack, tail, open));
  std::ranges::sort(local);
  return {add_state(std::move(local), states_[state].accepts, false), depths_[tail]};
}

StackId StatePool::twin_stack(StackId stack) {
  std::vector<StackId> above;  // frames whose twin is not known yet, from the top
  while (stack != bottom && !twin_stacks_.contains(stack)) {
    above.push_back(stack);
    stack = frames_[stack].below;
  }
  StackId twin = stack == bottom ? bottom : twin_stacks_.at(stack);
  for (auto frame = above.rbegin(); frame != above.rend(); ++frame) {
    twin = push({program_->twin(frames_[*frame].node), frames_[*frame].members, twin});
    twin_stacks_.emplace(*frame, twin);
  }
  return twin;
}

StateId StatePool::twin(StateId state) {
  std::vector<StackId> stacks;
  stacks.reserve(states_[state].stacks.size());
  for (const StackId stack : states_[state].stacks) stacks.push_back(twin_stack(stack));
  std::ranges::sort(stacks);
  stacks.erase(std::unique(stacks.begin(), stacks.end()), stacks.end());
  return add_state(std::move(stacks), states_[state].accepts, states_[state].is_open);
}

StateId StatePool::import(const StatePool& from, StateId state) {
  std::vector<StackId> stacks;
  stacks.reserve(from.states_[state].stacks.size());
  for (const StackId stack : from.states_[state].stacks) stacks.push_back(rebased(from, stack, bottom, bottom));
  std::ranges::sort(stacks);
  return add_state(std::move(stacks), from.states_[state].accepts, from.states_[state].is_open);
}

}  // namespace skipstone::grammar
