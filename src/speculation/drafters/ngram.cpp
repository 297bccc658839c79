// N-Grammys: candidates from the text's n-grams and from the model's own bigrams, many at once. No pass of its own.
// Stewart et al., 2024 (arXiv 2411.03786), section 4.
#include <algorithm>
#include <array>

#include "base/status.h"
#include "speculation/drafters/drafters.h"
#include "speculation/text_index.h"

namespace skipstone::speculation {
namespace {

/// Length of the common prefix.
std::uint32_t common_beginning(std::span<const Token> a, std::span<const Token> b) {
  return static_cast<std::uint32_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

class Ngram final : public Drafter {
 public:
  explicit Ngram(const NgramParams& params) : params_(params) {}

  std::string name() const override { return "ngram"; }
  DrafterTraits traits() const override { return {.branches = true}; }

  void attach(const ModelFacts& model) override {
    if (!params_.bigram && !params_.unigram) return;
    if (!model.bigrams || (params_.unigram && !model.unigrams)) {
      fail(Code::invalid_argument, "drafter ngram: there is no table of this model's bigrams; say bigram=0,unigram=0");
    }
    bigrams_ = model.bigrams();
    if (params_.unigram) unigrams_ = model.unigrams();
  }

  void begin(const Prefilled&, std::uint32_t) override {
    text_.begin();
    counts_ = {};
    for (std::uint32_t i = 0; i < ngram_strategies; ++i) counts_[i].name = to_string(static_cast<NgramStrategy>(i));
  }

  Proposal propose(std::span<const Token> history) override {
    const Occurrences& text = text_.follow(history);
    rows_ = ngram_rows(params_, text, bigrams_.get(), unigrams_);
    if (params_.block) {
      BlockProposal block;
      for (const NgramRow& row : rows_) block.rows.push_back(row.tokens);
      return block;
    }
    const bool repeats = !rows_.empty() && rows_.front().strategy == NgramStrategy::context;
    return TreeProposal{best_tree(history.back(), rows_, most_drafts), repeats ? std::min(latest_match(text), most_strength) : 0};
  }

  void observe(const RoundResult& result) override {
    for (const NgramRow& row : rows_) ++counts_[static_cast<std::size_t>(row.strategy)].rows;
    std::vector<Token> accepted;
    for (const std::uint32_t row : result.path.subspan(std::min<std::size_t>(1, result.path.size()))) {
      accepted.push_back(result.tree.tokens()[row]);
    }
    const NgramRow* winner = nullptr;
    std::uint32_t most = 0;
    for (const NgramRow& row : rows_) {
      const std::uint32_t common = common_beginning(row.tokens, accepted);
      if (common <= most) continue;
      winner = &row;
      most = common;
    }
    if (winner != nullptr) counts_[static_cast<std::size_t>(winner->strategy)].add_win(winner->rank, most);
  }

  DrafterReport report() const override {
    DrafterReport report;
    for (const StrategyCounts& counts : counts_) {
      if (counts.rows > 0) report.strategies.push_back(counts);
    }
    return report;
  }

 private:
  static std::uint32_t latest_match(const Occurrences& text) {
    const auto last = static_cast<std::uint32_t>(text.text().size()) - 1;
    const std::uint32_t place = text.before(last);
    return place == Occurrences::none ? 0 : common_end(text.text().first(place + 1), text.text(), most_strength);
  }

  NgramParams params_;
  TextIndex<Occurrences> text_;
  std::shared_ptr<const Bigrams> bigrams_;
  std::vector<Token> unigrams_;
  std::vector<NgramRow> rows_;  ///< of the last proposal
  std::array<StrategyCounts, ngram_strategies> counts_;
};

}  // namespace

std::vector<NgramRow> ngram_rows(const NgramParams& params, const Occurrences& text, const Bigrams* bigrams,
                                 std::span<const Token> unigrams) {
  std::vector<NgramRow> rows;
  const std::uint32_t most = params.shape.rows;
  if (params.context) rows = context_rows(text, params.shape);
  if (params.bigram && rows.size() < most && !text.text().empty()) {
    fill_up(rows, extended_rows(NgramStrategy::bigram, bigrams->after(text.text().back()), *bigrams, params.shape), most);
  }
  if (params.unigram && rows.size() < most) {
    fill_up(rows, extended_rows(NgramStrategy::unigram, unigrams, *bigrams, params.shape), most);
  }
  return rows;
}

std::unique_ptr<Drafter> make_ngram(Options& options) {
  NgramParams params;
  params.shape.rows = options.whole("k", params.shape.rows, 1, Bigrams::most_width);
  params.shape.width = options.whole("w", params.shape.width, 1, most_drafts);
  params.shape.query = options.whole("q", params.shape.query, 1, 16);
  params.context = options.flag("context", params.context);
  params.bigram = options.flag("bigram", params.bigram);
  params.unigram = options.flag("unigram", params.unigram);
  params.block = options.choice("rows", {"tree", "block"}) == 1;
  if (!params.context && !params.bigram && !params.unigram) {
    fail(Code::invalid_argument, "drafter ngram: context=0, bigram=0, unigram=0 leave nothing to draft with");
  }
  return std::make_unique<Ngram>(params);
}

}  // namespace skipstone::speculation
