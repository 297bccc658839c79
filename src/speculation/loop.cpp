#include "speculation/loop.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <optional>

#include "base/status.h"
#include "speculation/plain_time.h"

namespace skipstone::speculation {
namespace {

/// What the caller of generate() wants.
struct Wishes {
  const Limits& limits;
  const Emit& emit;
};

/// One call of generate().
class Generation {
 public:
  Generation(Sequence& sequence, Drafter& drafter, TokenHistory& text, const Wishes& wishes)
      : sequence_(sequence),
        extensions_(sequence.extensions()),
        row_by_row_(sequence),
        bounds_(sequence.limits()),
        drafter_(drafter),
        limits_(wishes.limits),
        emit_(wishes.emit),
        text_(text),
        prompt_(text.size()),
        plain_(wishes.limits.costs, bounds_.layers) {}

  Outcome run();

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point now() const { return sequence_.times().now; }
  double seconds_since(Clock::time_point start) const { return std::chrono::duration<double>(now() - start).count(); }
  std::uint64_t room() const;  ///< tokens that may still be emitted
  bool stop(StopReason reason);
  bool stop_at_limit();
  bool stop_if_interrupted();
  bool take(const Choice& choice, bool drafted);
  Token pending() const { return text_.tokens().back(); }
  BlockVerifier& blocks() { return extensions_.blocks == nullptr ? row_by_row_ : *extensions_.blocks; }
  bool ends(Token token) const { return limits_.ends_generation && limits_.ends_generation(token); }
  std::optional<Choice> read_prompt();
  /// A round by what was proposed: each leaves its rows in tree_ and what the model says of them in round_.
  void take_round(const NoDrafts& none);
  void take_round(const TreeProposal& proposal);
  void take_round(const BlockProposal& proposal);
  void take_round(const PassProposal& proposal);
  void take_round(const EarlyExitRequest& request);
  bool round_at_once(const PassProposal& proposal);
  void draft(const PassProposal& proposal);
  void verify(const SharedSource& source = nullptr);
  TokenTree usable(const TokenTree& drafts, std::uint32_t most_rows) const;
  std::uint32_t block_rows() const;
  void walk();
  void count();
  void round();
  void try_plans();
  void refresh();

  Sequence& sequence_;
  const SequenceExtensions extensions_;
  RowByRowVerifier row_by_row_;
  const SequenceLimits bounds_;
  Drafter& drafter_;
  const Limits& limits_;
  const Emit& emit_;
  TokenHistory& text_;  ///< prompt and emitted tokens; its last token is the pending one
  std::size_t prompt_;
  DraftedRound round_;
  Verified verified_;                      ///< of a verification step by step; its choices move to round_
  std::uint32_t top_ = 0;                  ///< likeliest tokens that the drafter wants of each row
  std::uint32_t limit_ = 0;                ///< the most drafts this round could have had
  TokenTree tree_;                         ///< the round's rows
  std::vector<std::uint32_t> path_;        ///< the rows that the model agrees with, row 0 first
  std::vector<std::vector<Token>> block_;  ///< the round's rows where they share nothing; tree_ is the best of them then
  std::uint32_t best_row_ = 0;             ///< of block_
  std::string proposer_;                   ///< of the round
  bool stopped_ = false;
  std::size_t tried_ = 0;     ///< tokens of the text that trials have run over
  double trial_seconds_ = 0;  ///< of these
  Clock::time_point start_;   ///< of the generation
  PlainTime plain_;
  Outcome outcome_;
};

std::uint64_t Generation::room() const {
  return std::min<std::uint64_t>(limits_.max_tokens - outcome_.tokens.size(), bounds_.context - text_.size());
}

/// Ends the text; returns true.
bool Generation::stop(StopReason reason) {
  outcome_.stop = reason;
  return stopped_ = true;
}

/// The checks of plain decoding before every token, in its order.
bool Generation::stop_at_limit() {
  if (outcome_.tokens.size() >= limits_.max_tokens) return stop(StopReason::max_tokens);
  return text_.size() >= bounds_.context && stop(StopReason::context_full);
}

/// Where the caller no longer wants the text; the round's work so far is dropped.
bool Generation::stop_if_interrupted() { return limits_.interrupted && limits_.interrupted() && stop(StopReason::cancelled); }

/// The model's next token: emits it and says true, or ends the text before it. Called after stop_at_limit() alone.
bool Generation::take(const Choice& choice, bool drafted) {
  const Token token = choice.token;
  if (token < 0) {
    fail(Code::internal,
         "the model gave no number for the token at position {}; the model file or a kernel of this device is at fault (run doctor)",
         text_.size());
  }
  if (ends(token)) return !stop(StopReason::end_token);
  text_.append(token);
  outcome_.tokens.push_back(token);
  if (emit_ && !emit_({token, drafted, choice.margin, drafted ? std::string_view(proposer_) : std::string_view(), choice.logprobs.get()})) {
    stop(StopReason::cancelled);
  }
  return true;
}

/// Nothing where reading was interrupted.
std::optional<Choice> Generation::read_prompt() {
  const auto start = now();
  const std::span<const Token> unread = std::span<const Token>(text_.tokens()).subspan(sequence_.committed());
  const Prefilled prefilled = sequence_.prefill(unread, drafter_.traits().attention_cosine);
  outcome_.stats.prompt_tokens = unread.size();
  outcome_.stats.cached_tokens = prefilled.found;
  outcome_.stats.prompt_seconds = seconds_since(start);
  if (prefilled.interrupted) {
    stop(StopReason::cancelled);
    return std::nullopt;
  }
  drafter_.begin(prefilled, bounds_.layers);
  return prefilled.first;
}

void Generation::take_round(const NoDrafts&) {
  tree_ = TokenTree();
  verify();
}

/// What of proposed drafts may be accepted: nothing that does not fit or follows the text's end, and no more than there is room for.
TokenTree Generation::usable(const TokenTree& drafts, std::uint32_t most_rows) const {
  const auto most_depth = static_cast<std::uint32_t>(std::min<std::uint64_t>(most_rows, room()) - 1);
  const TokenTree fitting = limits_.fitting ? limits_.fitting(text_.tokens(), drafts) : drafts;
  return fitting.pruned(most_rows, most_depth, [this](Token token) { return ends(token); });
}

void Generation::take_round(const TreeProposal& proposal) {
  tree_ = usable(proposal.tree, std::min(bounds_.rows, bounds_.context - sequence_.committed()));
  for (const Token token : tree_.tokens().subspan(1)) round_.drafts.push_back({token, 0.0f, 0.0f});
  verify();
}

void Generation::take_round(const PassProposal& proposal) {
  // A round emits one token more than it accepts, so a draft in the last place could never be emitted.
  limit_ = static_cast<std::uint32_t>(std::min<std::uint64_t>({proposal.length, bounds_.rows - 1, room() - 1}));
  if (proposal.length > 0) outcome_.stats.thresholds.push_back(static_cast<float>(proposal.least_probability));
  if (round_at_once(proposal)) return;
  draft(proposal);
  verify(proposal.source);
}

/// Fills tree_ and, with as many drafts as it has, round_.drafts.
void Generation::draft(const PassProposal& proposal) {
  std::vector<Choice>& drafts = round_.drafts;
  tree_ = TokenTree();
  const auto start = now();
  while (drafts.size() < limit_ && !stop_if_interrupted()) {
    const auto offset = static_cast<std::uint32_t>(drafts.size());
    const Choice choice = sequence_.draft(*proposal.source, offset == 0 ? pending() : drafts.back().token, offset);
    if (choice.token < 0) break;  // a pass with sublayers left out may overflow where the model does not
    drafts.push_back(choice);
    tree_.add(offset, choice.token);
    if (ends(choice.token) || !goes_on(choice, proposal.least_probability)) break;
  }
  outcome_.stats.draft_seconds += seconds_since(start);
}

void Generation::verify(const SharedSource& source) {
  if (stopped_ || stop_if_interrupted()) return;
  tree_.set_pending(pending());
  const auto start = now();
  sequence_.verify(tree_, top_, verified_);
  const double seconds = seconds_since(start);
  outcome_.stats.verify_seconds += seconds;
  plain_.add_verification(seconds, tree_.rows(), sequence_.concurrent_rows(), source);
  std::swap(round_.verified, verified_.choices);
}

/// Rows of all of the block, the pending token's in each.
std::uint32_t Generation::block_rows() const {
  return std::accumulate(block_.begin(), block_.end(), 0u,
                         [](std::uint32_t rows, const auto& row) { return rows + static_cast<std::uint32_t>(row.size()); });
}

/// The rows of a block side by side; the row with the most accepted drafts, the first among equals, becomes tree_.
void Generation::take_round(const BlockProposal& proposal) {
  for (const std::vector<Token>& drafts : proposal.rows) {
    const TokenTree row = usable(TokenTree::chain(pending(), drafts), bounds_.rows);
    if (row.drafts() > 0) block_.emplace_back(row.tokens().begin(), row.tokens().end());
  }
  if (block_.empty()) return take_round(NoDrafts{});
  std::vector<std::vector<Choice>> verified(block_.size());
  for (std::size_t i = 0; i < block_.size(); ++i) verified[i].assign(block_[i].size(), Choice{});
  const auto start = now();
  blocks().verify_block(block_, verified);
  const double seconds = seconds_since(start);
  outcome_.stats.verify_seconds += seconds;
  if (const std::uint32_t rows = block_rows(); rows <= bounds_.rows)  // else there were several passes
    plain_.add_verification(seconds, rows, sequence_.concurrent_rows(), nullptr);
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
  for (const Token token : std::span(best).subspan(1)) round_.drafts.push_back({token, 0.0f, 0.0f});
}

/// Lossy: the token after the pending one, by as many layers as it takes.
void Generation::take_round(const EarlyExitRequest& request) {
  if (extensions_.exits == nullptr) fail(Code::unsupported, "this sequence runs whole passes alone");
  tree_ = TokenTree(pending());
  const auto start = now();
  const EarlyExit exit = extensions_.exits->exit_early(request, pending());
  outcome_.stats.verify_seconds += seconds_since(start);
  outcome_.stats.early_exits.add(exit);
  round_.verified.assign(1, exit.choice);
}

/// The rows from the pending one on that the model would have chosen itself.
void Generation::walk() {
  path_.assign(1, 0);
  while (const auto next = tree_.child(path_.back(), round_.verified[path_.back()].token)) path_.push_back(*next);
}

/// True where the sequence did all of the round. It knows no end tokens: drafts after one are dropped, as if never made.
bool Generation::round_at_once(const PassProposal& proposal) {
  if (extensions_.rounds == nullptr || limit_ == 0) return false;
  const auto start = now();
  if (!extensions_.rounds->round({*proposal.source, pending(), limit_, proposal.least_probability}, round_)) return false;
  const double seconds = seconds_since(start);
  outcome_.stats.round_seconds += seconds;
  ++outcome_.stats.device_rounds;
  plain_.add_round(seconds, static_cast<std::uint32_t>(round_.drafts.size()), proposal.source);
  const auto end = std::ranges::find_if(round_.drafts, [&](const Choice& draft) { return ends(draft.token); });
  if (end != round_.drafts.end()) {
    round_.drafts.erase(end + 1, round_.drafts.end());
    round_.verified.resize(round_.drafts.size() + 1);
  }
  tree_ = TokenTree(pending());
  for (const Choice& draft : round_.drafts) tree_.add(tree_.drafts(), draft.token);
  return true;
}

void Generation::count() {
  const std::uint64_t drafted = block_.empty() ? tree_.drafts() : block_rows() - block_.size();
  proposer_ = drafter_.proposer();
  outcome_.stats.count_round(proposer_, drafted, tree_.height(), static_cast<std::uint32_t>(path_.size()) - 1);
}

void Generation::round() {
  const auto start = now();
  const exec::ExpertUse experts_before = sequence_.times().experts;
  const Proposal proposal = drafter_.propose(text_.tokens());
  round_.drafts.clear();
  verified_.top.clear();
  block_.clear();
  limit_ = 0;
  std::visit([this](const auto& proposed) { take_round(proposed); }, proposal);
  if (stopped_) return;
  const double seconds = seconds_since(start);
  const exec::ExpertUse experts = sequence_.times().experts - experts_before;
  walk();
  count();

  std::uint32_t emitted = 0;
  for (std::size_t i = 0; i < path_.size() && !stopped_; ++i) {
    if (!take(round_.verified[path_[i]], i + 1 < path_.size())) break;
    ++emitted;
    if (!stopped_) stop_at_limit();
  }
  // Row path_[i] precedes the i-th emitted token, so as many rows stay as tokens were emitted and the last one emitted is pending.
  if (emitted > 0 && !block_.empty()) {
    blocks().commit_row(block_, best_row_, emitted);
  } else if (emitted > 0) {
    sequence_.commit(std::span<const std::uint32_t>(path_).first(emitted));
  }
  const auto accepted = static_cast<std::uint32_t>(path_.size()) - 1;
  drafter_.observe({tree_.drafts(), accepted, std::max(limit_, tree_.drafts()), round_.drafts, round_.verified, tree_, path_, seconds,
                    verified_.top, sequence_.concurrent_rows(), experts});
  if (stopped_) return;
  try_plans();
  if (!stopped_) refresh();
}

/// Cosines of the newest tokens, where the drafter wants them. A prompt's tokens are left alone, as by trials: their keys and values would
/// have other bits.
void Generation::refresh() {
  SkipSetTuner* const tuner = drafter_.skip_sets();
  if (tuner == nullptr || extensions_.skip_sets == nullptr || !tuner->wants_refresh(outcome_.tokens.size())) return;
  const std::size_t written = sequence_.committed() - prompt_;
  if (written == 0) return;
  const auto start = now();
  const std::vector<float> cosine =
      extensions_.skip_sets->attention_cosine(static_cast<std::uint32_t>(std::min<std::size_t>(written, bounds_.rows)));
  ++outcome_.stats.refreshes;
  if (tuner->refresh(cosine, outcome_.tokens.size())) ++outcome_.stats.refreshed_sets;
  const double seconds = seconds_since(start);
  outcome_.stats.refresh_seconds += seconds;
  outcome_.stats.draft_seconds += seconds;
}

/// Lets the drafter see passes at work on the newest tokens of the continuation that no trial has run over. The trials' rows in the cache
/// are overwritten as drafts are: the tokens are not committed while they run. A prompt's tokens are left alone, since its passes may
/// round differently.
void Generation::try_plans() {
  SkipSetTuner* const tuner = drafter_.skip_sets();
  if (tuner == nullptr || extensions_.skip_sets == nullptr) return;
  constexpr std::size_t rows = 16;
  const std::size_t end = sequence_.committed();
  if (rows > bounds_.rows || end < std::max(prompt_, tried_) + rows) return;
  const std::vector<exec::LayerPlan> plans = tuner->trials(seconds_since(start_));
  if (plans.empty()) return;
  const auto start = now();
  const auto first = text_.tokens().begin() + static_cast<std::ptrdiff_t>(end - rows);
  const std::vector<Token> read(first, first + rows + 1);
  const std::span<const Token> tokens(read);
  std::vector<std::vector<Choice>> choices(plans.size(), std::vector<Choice>(rows));
  sequence_.rollback(rows);
  for (std::size_t i = 0; i < plans.size() && !stop_if_interrupted(); ++i)
    extensions_.skip_sets->score(plans[i], tokens.first(rows), choices[i]);
  TokenTree chain(tokens.front());
  path_.assign(1, 0);
  for (std::uint32_t row = 1; row < rows; ++row) path_.push_back(chain.add(row - 1, tokens[row]));
  sequence_.verify(chain, 0, verified_);
  sequence_.commit(path_);
  if (stopped_) return;
  tried_ = end;
  const double seconds = seconds_since(start);
  trial_seconds_ += seconds;
  tuner->tried(choices, tokens.last(rows), seconds);
}

Outcome Generation::run() {
  Stats& stats = outcome_.stats;
  stats.drafter = drafter_.name();
  stats.sublayers = 2 * bounds_.layers;
  if (!stop_at_limit()) {
    top_ = drafter_.traits().top;
    const std::optional<Choice> first = read_prompt();
    const auto start = start_ = now();
    const SequenceTimes before = sequence_.times();
    if (first && take(*first, false) && !stopped_) stop_at_limit();
    while (!stopped_) round();
    stats.generation_seconds = seconds_since(start);
    // The first token is the prompt's; the host's work between passes is that of plain decoding, but for trials of other sets.
    if (const auto pass = plain_.seconds_per_token(); pass && outcome_.tokens.size() > 1)
      stats.plain_seconds = *pass * static_cast<double>(outcome_.tokens.size() - 1) + std::max(0.0, stats.host_seconds() - trial_seconds_);
    stats.take(before, sequence_.times());
    stats.take(drafter_.report());
  }
  stats.generated_tokens = outcome_.tokens.size();
  return std::move(outcome_);
}

}  // namespace

Outcome generate(Sequence& sequence, Drafter& drafter, TokenHistory& text, const Limits& limits, const Emit& emit) {
  if (text.size() > sequence.limits().context) {
    fail(Code::invalid_argument, "the prompt is {} tokens long, but the context holds {}; shorten it or ask for a larger context",
         text.size(), sequence.limits().context);
  }
  if (text.size() <= sequence.committed()) {
    fail(Code::invalid_argument, "there is no new token to continue: the text is {} tokens long and {} of them have been read already",
         text.size(), sequence.committed());
  }
  return Generation(sequence, drafter, text, {limits, emit}).run();
}

}  // namespace skipstone::speculation
