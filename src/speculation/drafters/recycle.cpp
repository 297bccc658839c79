#include "speculation/drafters/recycle.h"

#include <algorithm>
#include <array>
#include <queue>

#include "speculation/drafters/drafters.h"

namespace skipstone::speculation {
namespace {

constexpr std::uint32_t most_ranks = 8;  // the paper's
/// How often the token of each rank is taken to be the right one after a right token. Assumed, not fitted to a model.
constexpr std::array<double, most_ranks> rank_shares = {0.55, 0.15, 0.075, 0.045, 0.03, 0.022, 0.018, 0.015};

class Recycle final : public Drafter {
 public:
  Recycle(std::uint32_t width, std::uint32_t drafts) : width_(width), matrix_(width), template_(recycle_template(width, drafts)) {}

  std::string name() const override { return "recycle"; }
  DrafterTraits traits() const override { return {.top = width_, .branches = true}; }
  void begin(const Prefilled&, std::uint32_t) override {  // the matrix stays: the paper's hot start
    counts_ = {};
    counts_.name = "recycle";
  }

  Proposal propose(std::span<const Token> history) override {
    TokenTree tree(history.back());
    constexpr std::uint32_t missing = ~0u;
    std::vector<std::uint32_t> rows{0};  // by node
    for (const TemplateNode& node : template_) {
      std::uint32_t row = missing;
      if (rows[node.parent] != missing) {
        const std::span<const Token> next = matrix_.after(tree.tokens()[rows[node.parent]]);
        if (node.rank < next.size() && next[node.rank] >= 0) row = tree.add(rows[node.parent], next[node.rank]);
      }
      rows.push_back(row);
    }
    return TreeProposal{std::move(tree)};
  }

  void observe(const RoundResult& result) override {
    counts_.rows += result.drafted;
    if (result.accepted > 0) counts_.add_win(rank_of_last(result), result.accepted);
    learn(result);
  }
  void watch(const RoundResult& result) override { learn(result); }

  DrafterReport report() const override {
    DrafterReport report;
    if (counts_.rows > 0) report.strategies.push_back(counts_);
    return report;
  }

 private:
  /// Rank of the last accepted token after the one before it, by the matrix that drafted it.
  std::uint32_t rank_of_last(const RoundResult& result) const {
    const auto token = [&](std::size_t from_end) { return result.tree.tokens()[result.path[result.path.size() - from_end]]; };
    const std::span<const Token> next = matrix_.after(token(2));
    return static_cast<std::uint32_t>(std::ranges::find(next, token(1)) - next.begin());
  }
  void learn(const RoundResult& result) {
    if (!result.top.empty()) matrix_.update(result.tree.tokens(), result.top);
  }

  std::uint32_t width_;
  RecycleMatrix matrix_;
  std::vector<TemplateNode> template_;
  StrategyCounts counts_;
};

}  // namespace

void RecycleMatrix::update(std::span<const Token> tokens, std::span<const Token> top) {
  const std::size_t stride = top.size() / tokens.size();
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const auto [row, fresh] = row_.try_emplace(tokens[i], static_cast<std::uint32_t>(row_.size()));
    if (fresh) next_.resize(next_.size() + width_, -1);
    std::ranges::copy(top.subspan(i * stride, std::min<std::size_t>(stride, width_)),
                      next_.begin() + static_cast<std::ptrdiff_t>(row->second) * width_);
  }
}

std::span<const Token> RecycleMatrix::after(Token token) const {
  const auto row = row_.find(token);
  if (row == row_.end()) return {};
  return std::span(next_).subspan(std::size_t{row->second} * width_, width_);
}

std::vector<TemplateNode> recycle_template(std::uint32_t ranks, std::uint32_t drafts) {
  struct Open {
    double share;
    std::uint32_t number;  ///< in the order in which they were found
    TemplateNode node;
    bool operator<(const Open& other) const { return share != other.share ? share < other.share : number > other.number; }
  };
  std::priority_queue<Open> open;
  std::uint32_t found = 0;
  const auto expand = [&](std::uint32_t parent, double share) {
    for (std::uint32_t rank = 0; rank < ranks; ++rank) open.push({share * rank_shares[rank], found++, {parent, rank}});
  };
  expand(0, 1.0);
  std::vector<TemplateNode> nodes;
  while (nodes.size() < drafts) {
    const Open best = open.top();
    open.pop();
    nodes.push_back(best.node);
    expand(static_cast<std::uint32_t>(nodes.size()), best.share);
  }
  return nodes;
}

std::unique_ptr<Drafter> make_recycle(Options& options) {
  const std::uint32_t width = options.whole("k", most_ranks, 1, most_ranks);
  const std::uint32_t drafts = options.whole("n", most_drafts, 1, most_drafts);
  return std::make_unique<Recycle>(width, drafts);
}

}  // namespace skipstone::speculation
