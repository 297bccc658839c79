#include "engine/ahead_drafts.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "base/stopwatch.h"
#include "sample/top_k.h"

namespace skipstone::engine {

using spec::Choice;
using spec::Token;

namespace {

constexpr std::uint32_t ENDS = 8;        // that are drafted for, besides the one where all is right
constexpr std::uint32_t MOST_ROWS = 32;  // of a pass, those of the verification among them

/// Of buckets, which are powers of two up to 32 rows.
std::size_t number_of(std::uint32_t bucket) { return static_cast<std::size_t>(std::countr_zero(bucket)); }

}  // namespace

bool AheadDrafts::can_make(const spec::LayerPass& pass, std::uint32_t near_layers) const {
  return wanted_ && pass.plan.begin == 0 && pass.plan.whole_prefix() == pass.plan.end && pass.plan.end <= near_layers;
}

void AheadDrafts::begin(const spec::LayerPass& pass) {
  if (pass.plan != plan_) made_.clear();
  begun_ = true;
  plan_ = pass.plan;
  seen_.clear();
  taken_.clear();
}

void AheadDrafts::clear() {
  begun_ = false;
  seen_.clear();
  ends_.clear();
  made_.clear();
  taken_.clear();
}

std::uint32_t AheadDrafts::most_rows() { return MOST_ROWS; }

std::vector<AheadDrafts::Likely> AheadDrafts::likeliest_of(std::span<const float> logits) const {
  std::array<Token, ENDS + 1> tokens;
  sample::top_k(logits, tokens);
  std::vector<Likely> likeliest;
  if (tokens[0] < 0) return likeliest;
  const float most = logits[static_cast<std::size_t>(tokens[0])];
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - most);
  for (const Token token : tokens) {
    if (token >= 0) likeliest.push_back({token, std::exp(logits[static_cast<std::size_t>(token)] - most) / sum});
  }
  return likeliest;
}

void AheadDrafts::took(std::uint32_t bucket, double seconds) { pass_seconds_[number_of(bucket)] = seconds; }

void AheadDrafts::saw(std::uint32_t offset, std::span<const float> logits) {
  seen_.resize(offset);
  seen_.push_back(likeliest_of(logits));
}

const Choice* AheadDrafts::take(const spec::LayerPass& pass, Token input, std::uint32_t offset, std::uint32_t position) {
  const auto behind = [&] { return offset == 0 ? pending_ : made_[offset - 1].choice.token; };
  if (offset >= made_.size() || pass.plan != plan_ || behind() != input || position != base_ + offset) {
    made_.clear();
    return nullptr;
  }
  if (offset == 0) used_seconds_ += seconds_;
  ++used_;
  taken_.push_back(input);
  seen_.resize(offset);
  seen_.push_back(std::move(made_[offset].likeliest));
  return &made_[offset].choice;
}

std::vector<Token> AheadDrafts::give_taken() { return std::exchange(taken_, {}); }

/// By the probabilities that the layers of the drafts give. Behind the last row nothing may be known yet. `reached` becomes the probability
/// that all is right.
std::vector<AheadDrafts::End> AheadDrafts::likeliest_ends(const spec::TokenTree& rows, double& reached) const {
  std::vector<End> ends;
  for (std::uint32_t row = 0; row < std::min<std::size_t>(rows.rows(), seen_.size()); ++row) {
    double right = 0;
    for (const Likely& likely : seen_[row]) {
      if (row + 1 < rows.rows() && likely.token == rows.tokens()[row + 1]) {
        right = likely.probability;
      } else {
        ends.push_back({.row = row, .token = likely.token, .probability = reached * likely.probability, .last = 0, .drafts = {}});
      }
    }
    if (row + 1 < rows.rows()) reached *= right;
  }
  std::ranges::stable_sort(ends, std::ranges::greater{}, &End::probability);
  if (ends.size() > ENDS) ends.resize(ENDS);
  return ends;
}

std::span<const float> AheadDrafts::logits(std::uint32_t row) const {
  return std::span(results_.logits).subspan(row * results_.logits_stride, vocabulary_);
}

AheadDrafts::Draft AheadDrafts::draft_behind(RowChooser& chooser, const spec::TokenTree& tree, std::uint32_t row,
                                             std::uint32_t base) const {
  chooser.put(tree, row, base);
  return {number_or_none([&] { return chooser.choose_by_logits(logits(row), base + tree.depths()[row]); }), likeliest_of(logits(row))};
}

void AheadDrafts::run(exec::PassRunner& runner, const exec::SequencePages& pages, const spec::TokenTree& tree, std::uint32_t base) {
  exec::PassSpec spec;
  spec.layers = plan_;
  spec.bucket = kernels::bucket_for(tree.rows());
  spec.output = exec::Output::logits;
  spec.tree = !tree.is_chain();
  runner.run(spec, {pages.lists(), {.tokens = tree.tokens(), .base = base, .parents = tree.parents()}}, results_);
  took(spec.bucket, results_.seconds);
}

/// The most rows of a pass that is likely to end before the verification is back, which went `since` seconds ago; 0: none. A pass that took
/// long once is tried again later.
std::uint32_t AheadDrafts::rows_in_time(std::uint32_t least, double since) {
  const double away = away_seconds_[number_of(bucket_)];
  std::uint32_t most = 0;
  double takes = 0;
  for (std::uint32_t rows = 1; rows <= MOST_ROWS; rows *= 2) {
    double& measured = pass_seconds_[number_of(rows)];
    takes = measured > 0 ? measured : 1.5 * takes;  // what twice the rows cost is not known before they have run
    if (rows < least) continue;
    if (since + takes <= away) {
      most = rows;
    } else {
      measured *= 0.98;
    }
  }
  return most;
}

/// `rows` and the ends with their drafts, as far as there is room. Ends that are not there have no row.
spec::TokenTree AheadDrafts::tree_of(const spec::TokenTree& rows, std::uint32_t most_rows) {
  spec::TokenTree tree = rows;
  for (End& end : ends_) {
    end.last = 0;
    if (tree.rows() + 1 + end.drafts.size() > most_rows || (!end.drafts.empty() && end.drafts.back().choice.token < 0)) continue;
    end.last = tree.add(end.row, end.token);
    for (const Draft& draft : end.drafts) end.last = tree.add(end.last, draft.choice.token);
  }
  return tree;
}

void AheadDrafts::make(exec::PassRunner& runner, const exec::SequencePages& pages, RowChooser& chooser, const spec::TokenTree& rows,
                       std::uint32_t base) {
  const Stopwatch watch;
  base_ = base;
  bucket_ = kernels::bucket_for(rows.rows());
  double reached = 1;
  ends_ = likeliest_ends(rows, reached);
  bool last_known = seen_.size() >= rows.rows();
  for (std::uint32_t drafted = 0; drafted < rows.drafts(); ++drafted) {
    const std::uint32_t most_rows = rows_in_time(rows.rows() + 1, watch.seconds());
    if (most_rows == 0 || runner.is_back()) break;
    const spec::TokenTree tree = tree_of(rows, most_rows);
    if (tree.rows() == rows.rows() && last_known) break;
    run(runner, pages, tree, base);
    for (End& end : ends_) {
      if (end.last != 0) end.drafts.push_back(draft_behind(chooser, tree, end.last, base));
    }
    if (!std::exchange(last_known, true)) {
      const Draft guess = draft_behind(chooser, tree, rows.drafts(), base);
      if (guess.choice.token < 0) continue;
      const double probability = reached * guess.likeliest.front().probability;
      const auto at = std::ranges::find_if(ends_, [&](const End& end) { return end.probability < probability; });
      ends_.insert(at, {.row = rows.drafts(), .token = guess.choice.token, .probability = probability, .last = 0, .drafts = {}});
    }
  }
  seconds_ = watch.seconds();
}

void AheadDrafts::check(const spec::TokenTree& rows, std::span<const Choice> choices, double away) {
  if (!std::exchange(begun_, false)) return;
  double& usual = away_seconds_[number_of(kernels::bucket_for(rows.rows()))];
  usual = usual == 0 ? away : (usual + away) / 2;
  std::uint32_t row = 0;
  while (row + 1 < rows.rows() && choices[row].token == rows.tokens()[row + 1]) ++row;
  made_.clear();
  for (End& end : ends_) {
    if (end.row != row || end.token != choices[row].token) continue;
    made_ = std::move(end.drafts);
    pending_ = end.token;
    base_ += row + 1;
    break;
  }
  ends_.clear();
}

}  // namespace skipstone::engine
