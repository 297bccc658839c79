#include "speculation/drafters/lookahead.h"

#include <algorithm>

#include "base/status.h"
#include "speculation/drafters/drafters.h"

namespace skipstone::speculation {
namespace {

class Lookahead final : public Drafter {
 public:
  explicit Lookahead(const LookaheadParams& params) : params_(params), window_(params), pool_(params.candidates) {}

  std::string name() const override { return "lookahead"; }
  DrafterTraits traits() const override { return {.branches = true}; }

  void begin(const Prefilled&, std::uint32_t) override {
    window_.clear();
    begun_ = true;
  }

  Proposal propose(std::span<const Token> history) override {
    keep_ngrams(history);
    window_.fill(history);
    TokenTree tree(history.back());
    for (const std::vector<Token>& candidate : pool_.after(history.back())) tree.add_path(0, candidate, most_drafts + 1);
    window_.add_to(tree);
    return TreeProposal{std::move(tree)};
  }

  void observe(const RoundResult& result) override {
    std::vector<std::vector<Token>> ngrams;
    window_.advance(result, ngrams);
    for (const std::vector<Token>& ngram : ngrams) pool_.add(ngram);
  }

  /// Another drafter's round has verified none of the window.
  void watch(const RoundResult&) override { window_.clear(); }

 private:
  /// Those of the history that are new. A new prompt is read anew; n-grams that are known already are only moved to the front.
  void keep_ngrams(std::span<const Token> history) {
    if (begun_ || history.size() < seen_) seen_ = 0;
    begun_ = false;
    if (params_.prompt) {
      const std::size_t first = std::max<std::size_t>(seen_ + 1, params_.ngram);
      for (std::size_t end = first; end <= history.size(); ++end) pool_.add(history.subspan(end - params_.ngram, params_.ngram));
    }
    seen_ = history.size();
  }

  LookaheadParams params_;
  LookaheadWindow window_;
  NgramPool pool_;
  std::size_t seen_ = 0;  ///< tokens of the history
  bool begun_ = false;
};

}  // namespace

void NgramPool::add(std::span<const Token> ngram) {
  auto& known = by_first_[ngram.front()];
  std::vector<Token> rest(ngram.begin() + 1, ngram.end());
  const auto same = std::ranges::find(known, rest);
  if (same != known.end()) {
    std::rotate(known.begin(), same, same + 1);
    return;
  }
  if (known.size() == most_) known.pop_back();
  known.insert(known.begin(), std::move(rest));
}

const std::vector<std::vector<Token>>& NgramPool::after(Token token) const {
  static const std::vector<std::vector<Token>> nothing;
  const auto found = by_first_.find(token);
  return found == by_first_.end() ? nothing : found->second;
}

void LookaheadWindow::fill(std::span<const Token> history) {
  columns_.resize(params_.window);
  std::size_t missing = 0;
  for (std::vector<Token>& column : columns_) {
    column.resize(params_.ngram - 1, -1);
    for (Token& token : column) {
      if (token < 0) token = history[(history.size() * 7 + 31 * ++missing) % history.size()];  // any tokens of the text will do
    }
  }
  columns_.front().front() = history.back();
}

void LookaheadWindow::add_to(TokenTree& tree) const {
  std::uint32_t trunk = 0;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (i > 0) trunk = tree.add(trunk, columns_[i].front());
    tree.add_path(trunk, std::span(columns_[i]).subspan(1), most_drafts + 1);
  }
}

void LookaheadWindow::advance(const RoundResult& result, std::vector<std::vector<Token>>& ngrams) {
  if (columns_.empty() || result.path.empty()) return;
  std::vector<Token> made(columns_.size(), -1);
  std::optional<std::uint32_t> trunk = 0;
  for (std::size_t i = 0; i < columns_.size() && trunk; ++i) {
    if (i > 0) trunk = result.tree.child(*trunk, columns_[i].front());
    std::optional<std::uint32_t> row = trunk;
    for (std::size_t level = 1; level < columns_[i].size() && row; ++level) row = result.tree.child(*row, columns_[i][level]);
    if (!row) continue;  // the loop has left it out: after an end token, or no room
    made[i] = result.verified[*row].token;
    if (made[i] < 0) continue;
    ngrams.push_back(columns_[i]);
    ngrams.back().push_back(made[i]);
  }
  // Without level 0 a column is one place further on, which is where the text is after a round that accepted nothing.
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    columns_[i].erase(columns_[i].begin());
    columns_[i].push_back(made[i]);
  }
  const std::size_t accepted = std::min(result.path.size() - 1, columns_.size());
  columns_.erase(columns_.begin(), columns_.begin() + static_cast<std::ptrdiff_t>(accepted));
}

std::unique_ptr<Drafter> make_lookahead(Options& options) {
  LookaheadParams params;
  params.window = options.whole("w", params.window, 1, most_drafts);
  params.ngram = options.whole("n", params.ngram, 2, most_drafts);
  params.candidates = options.whole("g", params.candidates, 1, most_drafts);
  params.prompt = options.flag("prompt", params.prompt);
  if (params.drafts() > most_drafts) {
    fail(Code::invalid_argument,
         "drafter lookahead: w={}, n={}, g={} are {} drafts (w - 1 + w (n - 2) + g (n - 1)), and a pass verifies {}", params.window,
         params.ngram, params.candidates, params.drafts(), most_drafts);
  }
  return std::make_unique<Lookahead>(params);
}

}  // namespace skipstone::speculation
