#include "spec/loop.h"

#include <algorithm>
#include <chrono>
#include <numeric>

#include "base/status.h"

namespace skipstone::spec {
namespace {

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
  using Clock = std::chrono::steady_clock;
  double seconds_since(Clock::time_point start) const { return std::chrono::duration<double>(executor_.now() - start).count(); }
  std::uint64_t room() const;  ///< tokens that may still be emitted
  bool stop_at_limit();
  bool take(const Choice& choice, bool drafted);
  bool ends(Token token) const { return limits_.ends_generation && limits_.ends_generation(token); }
  Choice read_prompt();
  Choice draft_one(const Proposal& proposal, Token input, std::uint32_t offset);
  void draft(const Proposal& proposal, std::uint32_t limit);
  void verify();
  bool verify_block(const Proposal& proposal);
  void exit_early(const EarlyExitRequest& request);
  void walk();
  bool round_at_once(const Proposal& proposal, std::uint32_t limit);
  void count();
  void round();
  void try_plans();
  void refresh();

  Executor& executor_;
  Drafter& drafter_;
  const Limits& limits_;
  const Emit& emit_;
  std::vector<Token> text_;  ///< prompt and what was emitted; its last token is the pending one
  std::size_t prompt_;
  Round round_;
  TokenTree tree_;                         ///< the round's rows
  std::vector<std::uint32_t> path_;        ///< the rows that the model agrees with, row 0 first
  std::vector<std::vector<Token>> block_;  ///< the round's rows where they share nothing; tree_ is the best of them then
  std::uint32_t best_row_ = 0;             ///< of block_
  bool stopped_ = false;
  std::size_t tried_ = 0;    ///< tokens of the text that trials have run over
  Clock::time_point start_;  ///< of the generation
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
  const auto start = executor_.now();
  const std::span<const Token> unread = std::span<const Token>(text_).subspan(executor_.committed());
  const Prefilled prefilled = executor_.prefill(unread, drafter_.wants_attention_cosine());
  outcome_.stats.prompt_tokens = unread.size();
  outcome_.stats.prompt_seconds = seconds_since(start);
  drafter_.begin(prefilled, executor_.layers());
  return prefilled.first;
}

Choice Generation::draft_one(const Proposal& proposal, Token input, std::uint32_t offset) {
  if (proposal.model) return executor_.draft_by_model(*proposal.model, input, offset);
  if (proposal.window) return executor_.draft_in_window(*proposal.window, input, offset);
  return executor_.draft(*proposal.plan, input, offset, proposal.keep_prefix);
}

/// Fills tree_ and, with as many drafts as it has, round_.drafts.
void Generation::draft(const Proposal& proposal, std::uint32_t limit) {
  std::vector<Choice>& drafts = round_.drafts;
  drafts.clear();
  if (proposal.tree.drafts() > 0) {
    const std::uint32_t rows = std::min(executor_.max_rows(), executor_.context() - executor_.committed());
    tree_ = proposal.tree.pruned(rows, static_cast<std::uint32_t>(room()) - 1, [this](Token token) { return ends(token); });
    for (const Token token : tree_.tokens().subspan(1)) drafts.push_back({token, 0.0f, 0.0f});
    return;
  }
  tree_ = TokenTree();
  if (!proposal.drafts_by_passes()) return;
  const auto start = executor_.now();
  while (drafts.size() < limit) {
    const auto offset = static_cast<std::uint32_t>(drafts.size());
    const Choice choice = draft_one(proposal, offset == 0 ? text_.back() : drafts.back().token, offset);
    if (choice.token < 0) break;  // a pass with sublayers left out may overflow where the model does not
    drafts.push_back(choice);
    tree_.add(offset, choice.token);
    if (ends(choice.token) || !goes_on(choice, proposal.least_probability)) break;
  }
  outcome_.stats.draft_seconds += seconds_since(start);
}

void Generation::verify() {
  tree_.set_pending(text_.back());
  round_.verified.assign(tree_.rows(), Choice{});
  const auto start = executor_.now();
  executor_.verify(tree_, round_.verified);
  outcome_.stats.verify_seconds += seconds_since(start);
}

/// The rows of a block side by side; the one that most is accepted of, the first among equals, becomes tree_. False where the proposal has
/// none that may be verified.
bool Generation::verify_block(const Proposal& proposal) {
  block_.clear();
  const auto most_depth = static_cast<std::uint32_t>(std::min<std::uint64_t>(executor_.max_rows() - 1, room() - 1));
  for (const std::vector<Token>& drafts : proposal.block) {
    const TokenTree row = TokenTree::chain(text_.back(), drafts).pruned(~0u, most_depth, [this](Token token) { return ends(token); });
    if (row.drafts() > 0) block_.emplace_back(row.tokens().begin(), row.tokens().end());
  }
  if (block_.empty()) return false;
  std::vector<std::vector<Choice>> verified(block_.size());
  for (std::size_t i = 0; i < block_.size(); ++i) verified[i].assign(block_[i].size(), Choice{});
  const auto start = executor_.now();
  executor_.verify_block(block_, verified);
  outcome_.stats.verify_seconds += seconds_since(start);
  std::size_t most = 0;
  best_row_ = 0;
  for (std::uint32_t i = 0; i < block_.size(); ++i) {
    std::size_t accepted = 0;
    while (accepted + 1 < block_[i].size() && block_[i][accepted + 1] == verified[i][accepted].token) ++accepted;
    if (accepted <= most) continue;
    most = accepted;
    best_row_ = i;
  }
  const std::vector<Token>& best = block_[best_row_];
  tree_ = TokenTree::chain(best.front(), std::span(best).subspan(1));
  round_.verified = std::move(verified[best_row_]);
  round_.drafts.clear();
  for (const Token token : std::span(best).subspan(1)) round_.drafts.push_back({token, 0.0f, 0.0f});
  return true;
}

/// Lossy: the token behind the pending one, by as many layers as it takes.
void Generation::exit_early(const EarlyExitRequest& request) {
  round_.drafts.clear();
  tree_ = TokenTree(text_.back());
  const auto start = executor_.now();
  const EarlyExit exit = executor_.exit_early(request, text_.back());
  outcome_.stats.verify_seconds += seconds_since(start);
  outcome_.stats.early_exits.add(exit);
  round_.verified.assign(1, exit.choice);
}

/// The rows from the pending one on that the model would have come to itself.
void Generation::walk() {
  path_.assign(1, 0);
  while (const auto next = tree_.child(path_.back(), round_.verified[path_.back()].token)) path_.push_back(*next);
}

/// True where the executor did all of the round. It knows no end tokens: what it drafted behind one is dropped, as if it had not.
bool Generation::round_at_once(const Proposal& proposal, std::uint32_t limit) {
  if (proposal.tree.drafts() > 0 || !proposal.plan || limit == 0) return false;
  const auto start = executor_.now();
  if (!executor_.round({*proposal.plan, text_.back(), limit, proposal.least_probability, proposal.keep_prefix}, round_)) return false;
  outcome_.stats.round_seconds += seconds_since(start);
  ++outcome_.stats.device_rounds;
  const auto end = std::ranges::find_if(round_.drafts, [&](const Choice& draft) { return ends(draft.token); });
  if (end != round_.drafts.end()) {
    round_.drafts.erase(end + 1, round_.drafts.end());
    round_.verified.resize(round_.drafts.size() + 1);
  }
  tree_ = TokenTree(text_.back());
  for (const Choice& draft : round_.drafts) tree_.add(tree_.drafts(), draft.token);
  return true;
}

void Generation::count() {
  Stats& stats = outcome_.stats;
  const std::uint32_t height = tree_.height(), accepted = static_cast<std::uint32_t>(path_.size()) - 1;
  std::uint64_t drafted = tree_.drafts();
  if (!block_.empty()) {
    drafted = 0;
    for (const std::vector<Token>& row : block_) drafted += row.size() - 1;
  }
  ++stats.rounds;
  stats.drafted += drafted;
  stats.accepted += accepted;
  const std::string proposer = drafter_.proposer();
  auto share = std::ranges::find(stats.by_drafter, proposer, &DrafterShare::name);
  if (share == stats.by_drafter.end()) share = stats.by_drafter.insert(share, {proposer});
  ++share->rounds;
  share->drafted += drafted;
  share->accepted += accepted;
  if (stats.by_position.size() < height) stats.by_position.resize(height);
  for (std::uint32_t i = 0; i < height; ++i) {
    ++stats.by_position[i].drafted;
    if (i < accepted) ++stats.by_position[i].accepted;
  }
}

void Generation::round() {
  const auto start = executor_.now();
  const Proposal proposal = drafter_.propose(text_);
  // A round emits one token more than it accepts, so a draft in the last place could never be emitted.
  const auto most = static_cast<std::uint32_t>(std::min<std::uint64_t>(executor_.max_rows() - 1, room() - 1));
  const std::uint32_t limit = std::min(proposal.length, most);
  if (proposal.drafts_by_passes()) outcome_.stats.thresholds.push_back(static_cast<float>(proposal.least_probability));
  block_.clear();
  if (proposal.early_exit) {
    exit_early(*proposal.early_exit);
  } else if (!(!proposal.block.empty() && verify_block(proposal)) && !round_at_once(proposal, limit)) {
    draft(proposal, limit);
    verify();
  }
  const double seconds = seconds_since(start);
  walk();
  count();

  std::uint32_t emitted = 0;
  for (std::size_t i = 0; i < path_.size() && !stopped_; ++i) {
    if (!take(round_.verified[path_[i]], i + 1 < path_.size())) break;
    ++emitted;
    if (!stopped_) stop_at_limit();
  }
  // Row path_[i] stands before the i-th emitted token, so as many rows stay as tokens were emitted and the last one emitted is pending.
  const std::span<const Token> top = block_.empty() && !proposal.early_exit ? executor_.top() : std::span<const Token>();
  if (emitted > 0 && !block_.empty()) {
    executor_.commit_row(block_, best_row_, emitted);
  } else if (emitted > 0) {
    executor_.commit(std::span<const std::uint32_t>(path_).first(emitted));
  }
  const auto accepted = static_cast<std::uint32_t>(path_.size()) - 1;
  drafter_.observe({tree_.drafts(), accepted, std::max(limit, tree_.drafts()), round_.drafts, round_.verified, tree_, path_, seconds, top});
  if (stopped_) return;
  try_plans();
  refresh();
}

/// Cosines of the newest tokens, where the drafter wants them. A prompt's tokens are left alone, as by trials: their keys and values would
/// have other bits.
void Generation::refresh() {
  if (!drafter_.wants_refresh(outcome_.tokens.size())) return;
  const std::size_t written = executor_.committed() - prompt_;
  if (written == 0) return;
  const auto start = executor_.now();
  const std::vector<float> cosine =
      executor_.attention_cosine(static_cast<std::uint32_t>(std::min<std::size_t>(written, executor_.max_rows())));
  ++outcome_.stats.refreshes;
  if (drafter_.refresh(cosine, outcome_.tokens.size())) ++outcome_.stats.refreshed_sets;
  const double seconds = seconds_since(start);
  outcome_.stats.refresh_seconds += seconds;
  outcome_.stats.draft_seconds += seconds;
}

/// Lets the drafter see passes at work on the newest tokens of the continuation that no trial has run over. What trials leave in the cache
/// is written over as drafts are: the tokens are not committed while they run. A prompt's tokens are left alone, since its passes may round
/// differently.
void Generation::try_plans() {
  constexpr std::size_t rows = 16;
  const std::size_t end = executor_.committed();
  if (rows > executor_.max_rows() || end < std::max(prompt_, tried_) + rows) return;
  const std::vector<exec::LayerPlan> plans = drafter_.trials(seconds_since(start_));
  if (plans.empty()) return;
  const auto start = executor_.now();
  const std::span<const Token> tokens = std::span<const Token>(text_).subspan(end - rows, rows + 1);
  std::vector<std::vector<Choice>> choices(plans.size(), std::vector<Choice>(rows));
  executor_.take_back(rows);
  for (std::size_t i = 0; i < plans.size(); ++i) executor_.score(plans[i], tokens.first(rows), choices[i]);
  TokenTree chain(tokens.front());
  path_.assign(1, 0);
  for (std::uint32_t row = 1; row < rows; ++row) path_.push_back(chain.add(row - 1, tokens[row]));
  round_.verified.assign(rows, Choice{});
  executor_.verify(chain, round_.verified);
  executor_.commit(path_);
  tried_ = end;
  drafter_.tried(choices, tokens.last(rows), seconds_since(start));
}

Outcome Generation::run() {
  Stats& stats = outcome_.stats;
  stats.drafter = drafter_.name();
  stats.sublayers = 2 * executor_.layers();
  if (!stop_at_limit()) {
    executor_.keep_top(drafter_.wants_top());
    const Choice first = read_prompt();
    const auto start = start_ = executor_.now();
    const double device_before = executor_.device_seconds();
    if (take(first, false) && !stopped_) stop_at_limit();
    while (!stopped_) round();
    stats.generation_seconds = seconds_since(start);
    stats.device_seconds = executor_.device_seconds() - device_before;
    stats.plan = drafter_.plan_text();
    stats.skipped_sublayers = drafter_.skipped_sublayers();
    stats.explanation = drafter_.explanation();
    stats.by_strategy = drafter_.strategies();
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
    case StopReason::stop_string:
      return "stop_string";
  }
  return "unknown";
}

EarlyExit Executor::exit_early(const EarlyExitRequest&, Token) { fail(Code::unsupported, "this executor runs whole passes alone"); }

Choice Executor::draft_in_window(const exec::KeyWindow&, Token, std::uint32_t) {
  fail(Code::unsupported, "this executor has no passes over a part of the cache");
}

Choice Executor::draft_by_model(std::uint32_t, Token, std::uint32_t) { fail(Code::unsupported, "this executor has one model alone"); }

void Executor::verify_block(std::span<const std::vector<Token>> rows, std::span<std::vector<Choice>> out) {
  for (std::size_t i = 0; i < rows.size(); ++i) verify(TokenTree::chain(rows[i][0], std::span(rows[i]).subspan(1)), out[i]);
}

void Executor::commit_row(std::span<const std::vector<Token>> rows, std::uint32_t row, std::uint32_t tokens) {
  const TokenTree chain = TokenTree::chain(rows[row][0], std::span(rows[row]).subspan(1, tokens - 1));
  std::vector<Choice> again(chain.rows());
  if (row + 1 < rows.size()) verify(chain, again);  // the rows behind it have taken its place in the cache
  std::vector<std::uint32_t> path(tokens);
  std::iota(path.begin(), path.end(), 0u);
  commit(path);
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
