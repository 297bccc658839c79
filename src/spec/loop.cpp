#include "spec/loop.h"

#include <algorithm>
#include <chrono>

#include "base/status.h"

namespace skipstone::spec {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// One call of generate().
class Generation {
 public:
  Generation(Executor& executor, Drafter& drafter, std::span<const Token> history, const Limits& limits, const Emit& emit)
      : executor_(executor),
        drafter_(drafter),
        limits_(limits),
        emit_(emit),
        text_(history.begin(), history.end()),
        prompt_(history.size()) {}

  Outcome run();

 private:
  std::uint64_t room() const;  ///< tokens that may still be emitted
  bool stop_at_limit();
  bool take(const Choice& choice, bool drafted);
  bool ends(Token token) const { return limits_.ends_generation && limits_.ends_generation(token); }
  Choice read_prompt();
  void draft(const Proposal& proposal, std::uint32_t limit);
  void verify();
  bool round_at_once(const Proposal& proposal, std::uint32_t limit);
  void count(std::uint32_t drafted, std::uint32_t accepted);
  void round();

  Executor& executor_;
  Drafter& drafter_;
  const Limits& limits_;
  const Emit& emit_;
  std::vector<Token> text_;  ///< prompt and what was emitted; its last token is the pending one
  std::size_t prompt_;
  Round round_;
  std::vector<Token> rows_;
  bool stopped_ = false;
  Outcome outcome_;
};

std::uint64_t Generation::room() const {
  return std::min<std::uint64_t>(limits_.max_tokens - outcome_.tokens.size(), executor_.context() - text_.size());
}

/// What plain decoding asks before every token, and in this order.
bool Generation::stop_at_limit() {
  if (outcome_.tokens.size() >= limits_.max_tokens) {
    outcome_.stop = StopReason::max_tokens;
  } else if (text_.size() >= executor_.context()) {
    outcome_.stop = StopReason::context_full;
  } else {
    return false;
  }
  stopped_ = true;
  return true;
}

/// The model's next token: emits it and says true, or ends the text before it. Called after stop_at_limit() alone.
bool Generation::take(const Choice& choice, bool drafted) {
  const Token token = choice.token;
  if (token < 0) {
    fail(Code::internal,
         "the model gave no number for the token at position {}; the model file or a kernel of this device is at fault (run doctor)",
         text_.size());
  }
  if (ends(token)) {
    outcome_.stop = StopReason::end_token;
    stopped_ = true;
    return false;
  }
  text_.push_back(token);
  outcome_.tokens.push_back(token);
  if (emit_ && !emit_({token, drafted, choice.margin})) {
    outcome_.stop = StopReason::cancelled;
    stopped_ = true;
  }
  return true;
}

Choice Generation::read_prompt() {
  const auto start = Clock::now();
  const std::span<const Token> unread = std::span<const Token>(text_).subspan(executor_.committed());
  const Prefilled prefilled = executor_.prefill(unread, drafter_.wants_attention_cosine());
  outcome_.stats.prompt_tokens = unread.size();
  outcome_.stats.prompt_seconds = seconds_since(start);
  drafter_.begin(prefilled, executor_.layers());
  return prefilled.first;
}

void Generation::draft(const Proposal& proposal, std::uint32_t limit) {
  std::vector<Choice>& drafts = round_.drafts;
  drafts.clear();
  if (!proposal.tokens.empty()) {
    for (const Token token : proposal.tokens) {
      if (drafts.size() == limit || token < 0) return;
      drafts.push_back({token, 0.0f, 0.0f});
      if (ends(token)) return;
    }
    return;
  }
  if (!proposal.plan) return;
  const auto start = Clock::now();
  while (drafts.size() < limit) {
    const auto offset = static_cast<std::uint32_t>(drafts.size());
    const Choice choice = executor_.draft(*proposal.plan, offset == 0 ? text_.back() : drafts.back().token, offset, proposal.keep_prefix);
    if (choice.token < 0) break;  // a pass with sublayers left out may overflow where the model does not
    drafts.push_back(choice);
    if (ends(choice.token) || !goes_on(choice, proposal.least_probability)) break;
  }
  outcome_.stats.draft_seconds += seconds_since(start);
}

void Generation::verify() {
  rows_.assign(1, text_.back());
  for (const Choice& choice : round_.drafts) rows_.push_back(choice.token);
  round_.verified.assign(rows_.size(), Choice{});
  const auto start = Clock::now();
  executor_.verify(rows_, round_.verified);
  outcome_.stats.verify_seconds += seconds_since(start);
  std::uint32_t& accepted = round_.accepted;
  for (accepted = 0; accepted < round_.drafts.size(); ++accepted) {
    if (round_.drafts[accepted].token != round_.verified[accepted].token) break;
  }
}

/// True where the executor did all of the round. It knows no end tokens: what it drafted behind one is dropped, as if it had not.
bool Generation::round_at_once(const Proposal& proposal, std::uint32_t limit) {
  if (!proposal.tokens.empty() || !proposal.plan || limit == 0) return false;
  const auto start = Clock::now();
  if (!executor_.round({*proposal.plan, text_.back(), limit, proposal.least_probability, proposal.keep_prefix}, round_)) return false;
  outcome_.stats.round_seconds += seconds_since(start);
  ++outcome_.stats.device_rounds;
  const auto end = std::ranges::find_if(round_.drafts, [&](const Choice& draft) { return ends(draft.token); });
  if (end != round_.drafts.end()) {
    round_.drafts.erase(end + 1, round_.drafts.end());
    round_.verified.resize(round_.drafts.size() + 1);
    round_.accepted = std::min(round_.accepted, static_cast<std::uint32_t>(round_.drafts.size()));
  }
  return true;
}

void Generation::count(std::uint32_t drafted, std::uint32_t accepted) {
  Stats& stats = outcome_.stats;
  ++stats.rounds;
  stats.drafted += drafted;
  stats.accepted += accepted;
  if (stats.by_position.size() < drafted) stats.by_position.resize(drafted);
  for (std::uint32_t i = 0; i < drafted; ++i) {
    ++stats.by_position[i].drafted;
    if (i < accepted) ++stats.by_position[i].accepted;
  }
}

void Generation::round() {
  const Proposal proposal = drafter_.propose(text_);
  // A round emits one token more than it accepts, so a draft in the last place could never be emitted.
  const auto most = static_cast<std::uint32_t>(std::min<std::uint64_t>(executor_.max_rows() - 1, room() - 1));
  const auto wanted =
      proposal.tokens.empty() ? proposal.length : static_cast<std::uint32_t>(std::min<std::size_t>(proposal.tokens.size(), most));
  const std::uint32_t limit = std::min(wanted, most);
  if (!round_at_once(proposal, limit)) {
    draft(proposal, limit);
    verify();
  }
  const auto drafted = static_cast<std::uint32_t>(round_.drafts.size());
  const std::uint32_t accepted = round_.accepted;
  count(drafted, accepted);

  std::uint32_t emitted = 0;
  for (std::uint32_t i = 0; i <= accepted && !stopped_; ++i) {
    if (!take(round_.verified[i], i < accepted)) break;
    ++emitted;
    if (!stopped_) stop_at_limit();
  }
  // Row i stands before the i-th emitted token, so as many rows stay as tokens were emitted and the last one emitted is pending.
  if (emitted > 0) executor_.commit(emitted);
  drafter_.observe({drafted, accepted, limit, round_.drafts, round_.verified});
}

Outcome Generation::run() {
  Stats& stats = outcome_.stats;
  stats.drafter = drafter_.name();
  stats.sublayers = 2 * executor_.layers();
  if (!stop_at_limit()) {
    const Choice first = read_prompt();
    const auto start = Clock::now();
    const double device_before = executor_.device_seconds();
    if (take(first, false) && !stopped_) stop_at_limit();
    while (!stopped_) round();
    stats.generation_seconds = seconds_since(start);
    stats.device_seconds = executor_.device_seconds() - device_before;
    stats.plan = drafter_.plan_text();
    stats.skipped_sublayers = drafter_.skipped_sublayers();
  }
  stats.generated_tokens = outcome_.tokens.size();
  return std::move(outcome_);
}

}  // namespace

const char* to_string(StopReason reason) {
  switch (reason) {
    case StopReason::max_tokens:
      return "max_tokens";
    case StopReason::end_token:
      return "end_token";
    case StopReason::context_full:
      return "context_full";
    case StopReason::cancelled:
      return "cancelled";
  }
  return "unknown";
}

Outcome generate(Executor& executor, Drafter& drafter, std::span<const Token> history, const Limits& limits, const Emit& emit) {
  if (history.size() > executor.context()) {
    fail(Code::invalid_argument, "the prompt is {} tokens long, but the context holds {}; shorten it or ask for a larger context",
         history.size(), executor.context());
  }
  if (history.size() <= executor.committed()) {
    fail(Code::invalid_argument, "there is no new token to continue: the text is {} tokens long and {} of them have been read already",
         history.size(), executor.committed());
  }
  return Generation(executor, drafter, history, limits, emit).run();
}

}  // namespace skipstone::spec
