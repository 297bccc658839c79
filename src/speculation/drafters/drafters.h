// The makers of all drafters, by the names of their specifications, and those of their rules that are pure functions. Each drafter's method
// and source are in its own file.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "exec/layer_plan.h"
#include "speculation/drafter.h"
#include "speculation/drafters/source_drafter.h"
#include "speculation/ngram_rows.h"
#include "speculation/options.h"
#include "speculation/text_index.h"

namespace skipstone::speculation {

std::unique_ptr<Drafter> make_asd(Options& options);
/// auto, or auto:NAME,NAME,... for other members than the usual ones.
std::unique_ptr<Drafter> make_auto(Options& options);
std::unique_ptr<Drafter> make_copy(Options& options);
std::unique_ptr<Drafter> make_exit(Options& options);
std::unique_ptr<Drafter> make_experts(Options& options);
std::unique_ptr<Drafter> make_grammar(Options& options);
std::unique_ptr<Drafter> make_jacobi(Options& options);
std::unique_ptr<Drafter> make_lookahead(Options& options);
std::unique_ptr<Drafter> make_lookup(Options& options);
std::unique_ptr<Drafter> make_model(Options& options);
std::unique_ptr<Drafter> make_mtp(Options& options);
std::unique_ptr<Drafter> make_ngram(Options& options);
std::unique_ptr<Drafter> make_recycle(Options& options);
std::unique_ptr<Drafter> make_sequential(Options& options);
std::unique_ptr<Drafter> make_skip(Options& options);
std::unique_ptr<Drafter> make_suffix(Options& options);
std::unique_ptr<Drafter> make_window(Options& options);

struct AsdParams {
  double c = 0.985;                                ///< average cosine from which an attention sublayer is skipped
  std::uint32_t n = 3;                             ///< every n-th attention and every n-th MLP sublayer is skipped
  std::uint32_t m = 2;                             ///< the last m attention and the last m MLP sublayers run
  bool cosine = true, rule1 = true, rule2 = true;  ///< the paper's ablation
  std::uint32_t refresh = 0;                       ///< tokens after which the cosines are measured anew, over the newest of them; 0: never
  SkipLayerDrafterParams drafts;
};

/// The paper's ADMG algorithm. `attention_cosine`: one per layer, in [-1, 1]; not looked at where `params.cosine` is off. NaN skips
/// nothing. Throws internal where the cosines are not one per layer.
exec::LayerPlan asd_plan(const AsdParams& params, std::span<const float> attention_cosine, std::uint32_t layers);

/// The guesses that a round leaves: after its first wrong draft the model chose what would follow if the drafts were right, place by place,
/// and its own token took the wrong draft's place.
std::vector<Token> jacobi_guesses(const RoundResult& result);

struct LookupParams {
  std::uint32_t max = 3, min = 1;  ///< tokens that have to match: the most are tried first
  std::uint32_t drafts = 10;
};

struct LookupResult {
  std::vector<Token> drafts;
  std::uint32_t match = 0;  ///< tokens
};

/// The continuation of the latest of the longest earlier matches of the text's end; empty where none is `min` tokens long. Where the match
/// is so near that the text ends before there are enough drafts, they keep repeating themselves, as LZ77 copies.
LookupResult lookup(const Occurrences& text, const LookupParams& params);

struct NgramParams {
  NgramShape shape;
  bool context = true, bigram = true, unigram = false;  ///< the strategies, in the order in which they fill the rows
  bool block = false;                                   ///< the paper's block of rows that share nothing, instead of a tree
};

/// The rows of one round: the strategies one after the other, until there are `shape.rows`. `bigrams` may be null where neither bigrams nor
/// unigrams are wanted. `unigrams`: the likeliest first.
std::vector<NgramRow> ngram_rows(const NgramParams& params, const Occurrences& text, const Bigrams* bigrams,
                                 std::span<const Token> unigrams);

/// The continuation that most often followed the text's last n-gram, the longest of at most three tokens that occurs in it twice; ties to
/// the latest. `share`: of all its continuations. Token -1 if none.
struct NgramGuess {
  Token token = -1;
  double share = 0;
};
NgramGuess guess_by_ngram(std::span<const Token> history);

}  // namespace skipstone::speculation
