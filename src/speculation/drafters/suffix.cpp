// The longest suffix of the text that occurred in it before, or in the user's corpus, and its continuations there: a tree by frequency.
// Oliaro et al., "SuffixDecoding", 2024 (arXiv 2411.04975); Hu et al., "SAM Decoding", 2024 (arXiv 2411.10666); He et al., "REST",
// NAACL 2024 (arXiv 2311.08252) for the corpus.
#include <algorithm>
#include <cstdint>
#include <memory>

#include "speculation/corpus.h"
#include "speculation/drafter.h"
#include "speculation/drafters/drafters.h"
#include "speculation/options.h"
#include "speculation/suffix_automaton.h"
#include "speculation/text_index.h"
#include "speculation/token_tree.h"

namespace skipstone::speculation {
namespace {

struct SuffixParams {
  std::uint32_t drafts = 16;
  std::uint32_t min = 1;       ///< tokens that have to match
  double alpha = 1.0;          ///< the tree is at most alpha times as deep as the match is long
  double share = 0.1;          ///< see ContinuationLimits
  std::uint32_t samples = 64;  ///< occurrences that are looked at
};

constexpr std::uint32_t longest_corpus_match = 32;  ///< a longer one carries no more information

class Suffix final : public Drafter {
 public:
  explicit Suffix(const SuffixParams& params) : params_(params) {}

  std::string name() const override { return "suffix"; }
  DrafterTraits traits() const override { return {.branches = true}; }
  void attach(const ModelFacts& model) override {
    if (model.corpus) corpus_ = model.corpus();
  }
  void begin(const Prefilled&, std::uint32_t) override { text_.begin(); }

  /// The longer match decides, the text's own among equals.
  Proposal propose(std::span<const Token> history) override {
    const SuffixAutomaton& text = text_.follow(history);
    const std::uint32_t own = text.match_length();
    if (corpus_ && own < longest_corpus_match) {
      const Corpus::Match found = corpus_->longest_match(history, longest_corpus_match);
      if (found.length > own && found.length >= params_.min) {
        const auto places = corpus_->continuations(found, params_.samples);
        if (!places.empty()) {
          return TreeProposal{tree(corpus_->tokens(), places, TextEnd::stops, found.length), std::min(found.length, most_strength)};
        }
      }
    }
    if (own == 0 || own < params_.min) return NoDrafts{};
    return TreeProposal{tree(text.text(), text.continuations(params_.samples), TextEnd::repeats, own), std::min(own, most_strength)};
  }

 private:
  TokenTree tree(std::span<const Token> text, std::span<const std::uint32_t> places, TextEnd end, std::uint32_t match) const {
    const double deepest = std::clamp(params_.alpha * match, 1.0, static_cast<double>(params_.drafts));
    return continuation_tree(text, places, end, {params_.drafts, static_cast<std::uint32_t>(deepest), params_.share});
  }

  SuffixParams params_;
  TextIndex<SuffixAutomaton> text_;
  std::shared_ptr<const Corpus> corpus_;
};

}  // namespace

std::unique_ptr<Drafter> make_suffix(Options& options) {
  SuffixParams params;
  params.drafts = options.whole("k", params.drafts, 1, most_drafts);
  params.min = options.whole("min", params.min, 1, longest_corpus_match);
  params.alpha = options.real("alpha", params.alpha, 0.01, 100);
  params.share = options.real("p", params.share, 0, 1);
  params.samples = options.whole("samples", params.samples, 1, 4096);
  return std::make_unique<Suffix>(params);
}

}  // namespace skipstone::speculation
