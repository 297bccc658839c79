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
  void round();

  Executor& executor_;
  Drafter& drafter_;
  const Limits& limits_;
  const Emit& emit_;
  std::vector<Token> text_;  ///< prompt and what was emitted; its last token is the pending one
  std::size_t prompt_;
  std::vector<Choice> drafts_, verified_;
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
  drafts_.clear();
  if (!proposal.tokens.empty()) {
    for (const Token token : proposal.tokens) {
      if (drafts_.size() == limit || token < 0) return;
      drafts_.push_back({token, 0.0f, 0.0f});
      if (ends(token)) return;
    }
    return;
  }
  if (!proposal.plan) return;
  const auto start = Clock::now();
  while (drafts_.size() < limit) {
    const auto offset = static_cast<std::uint32_t>(drafts_.size());
    const Choice choice = executor_.draft(*proposal.plan, offset == 0 ? text_.back() : drafts_.back().token, offset, proposal.keep_prefix);
    if (choice.token < 0) break;  // a pass with sublayers left out may overflow where the model does not
    drafts_.push_back(choice);
    if (ends(choice.token) || drafts_.size() == limit || !drafter_.continue_drafting(choice, offset + 1)) break;
  }
  outcome_.stats.draft_seconds += seconds_since(start);
}

void Generation::round() {
  const Proposal proposal = drafter_.propose(text_);
  // A round emits one token more than it accepts, so a draft in the last place could never be emitted.
  const auto most = static_cast<std::uint32_t>(std::min<std::uint64_t>(executor_.max_rows() - 1, room() - 1));
  const auto wanted =
      proposal.tokens.empty() ? proposal.length : static_cast<std::uint32_t>(std::min<std::size_t>(proposal.tokens.size(), most));
  const std::uint32_t limit = std::min(wanted, most);
  draft(proposal, limit);
  const auto drafted = static_cast<std::uint32_t>(drafts_.size());

  rows_.assign(1, text_.back());
  for (const Choice& choice : drafts_) rows_.push_back(choice.token);
  verified_.assign(rows_.size(), Choice{});
  Stats& stats = outcome_.stats;
  const auto start = Clock::now();
  executor_.verify(rows_, verified_);
  stats.verify_seconds += seconds_since(start);

  std::uint32_t accepted = 0;
  while (accepted < drafted && drafts_[accepted].token == verified_[accepted].token) ++accepted;
  ++stats.rounds;
  stats.drafted += drafted;
  stats.accepted += accepted;
  if (stats.by_position.size() < drafted) stats.by_position.resize(drafted);
  for (std::uint32_t i = 0; i < drafted; ++i) {
    ++stats.by_position[i].drafted;
    if (i < accepted) ++stats.by_position[i].accepted;
  }

  std::uint32_t emitted = 0;
  for (std::uint32_t i = 0; i <= accepted && !stopped_; ++i) {
    if (!take(verified_[i], i < accepted)) break;
    ++emitted;
    if (!stopped_) stop_at_limit();
  }
  // Row i stands before the i-th emitted token, so as many rows stay as tokens were emitted and the last one emitted is pending.
  if (emitted > 0) executor_.commit(emitted);
  drafter_.observe({drafted, accepted, limit, drafts_, verified_});
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
