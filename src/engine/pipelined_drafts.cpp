#include "engine/pipelined_drafts.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "base/stopwatch.h"
#include "sample/candidates.h"

namespace skipstone::engine {

using speculation::Choice;
using speculation::Token;

namespace {

constexpr std::uint32_t ENDS = 8;                      // ends that get drafts, besides the one where all drafts are accepted
constexpr std::uint32_t MOST_ROWS = STEP_VERIFY_ROWS;  // of a tree, including the verification's rows

/// The index of a bucket; buckets are powers of two up to 32 rows.
std::size_t number_of(std::uint32_t bucket) { return static_cast<std::size_t>(std::countr_zero(bucket)); }

struct Likely {
  Token token = -1;
  double probability = 0;
};

/// The likeliest tokens in descending order.
std::vector<Likely> likeliest_of(std::span<const float> logits) {
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

}  // namespace

bool PipelinedDrafts::can_make(const speculation::LayerPass& pass, std::uint32_t local_layers) const {
  return wanted_ && pass.plan.begin == 0 && pass.plan.whole_prefix() == pass.plan.end && pass.plan.end <= local_layers;
}

void PipelinedDrafts::begin(const speculation::LayerPass& pass) {
  if (pass.plan != plan_) made_.clear();
  begun_ = true;
  plan_ = pass.plan;
  seen_.clear();
}

void PipelinedDrafts::clear() {
  begun_ = false;
  seen_.clear();
  ends_.clear();
  made_.clear();
}

std::uint32_t PipelinedDrafts::most_rows() { return MOST_ROWS; }

/// The estimate rises at once and falls slowly: a late pass delays the entire round.
void PipelinedDrafts::record_time(std::uint32_t bucket, double seconds) {
  double& usual = pass_seconds_[number_of(bucket)];
  usual = std::max(seconds, (3 * usual + seconds) / 4);
}

void PipelinedDrafts::observe(std::uint32_t offset, std::span<const float> logits) {
  seen_.resize(offset);
  seen_.emplace_back(logits.begin(), logits.end());
}

const Choice* PipelinedDrafts::take(const speculation::LayerPass& pass, Token input, std::uint32_t offset, std::uint32_t position) {
  const auto after = [&] { return offset == 0 ? pending_ : made_[offset - 1].choice.token; };
  if (offset >= made_.size() || pass.plan != plan_ || after() != input || position != base_ + offset) {
    made_.clear();
    return nullptr;
  }
  if (offset == 0) used_seconds_ += seconds_;
  ++used_;
  seen_.resize(offset);
  seen_.push_back(std::move(made_[offset].logits));
  return &made_[offset].choice;
}

/// Uses the probabilities that the draft layers give. There may be no logits for the last row yet. `reached` becomes the probability that
/// all drafts are accepted.
std::vector<PipelinedDrafts::End> PipelinedDrafts::likeliest_ends(const speculation::TokenTree& rows, double& reached) const {
  std::vector<End> ends;
  for (std::uint32_t row = 0; row < std::min<std::size_t>(rows.rows(), seen_.size()); ++row) {
    double right = 0;
    for (const Likely& likely : likeliest_of(seen_[row])) {
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

/// The draft after a row of the last pass.
PipelinedDrafts::Draft PipelinedDrafts::draft_after(const Verification& verification, std::uint32_t row) const {
  const std::span<const float> logits = std::span(results_.logits).subspan((row - computed_) * results_.logits_stride, vocabulary_);
  const Batch rows{.rows = tree_.tokens(), .parents = tree_.parents()};
  return {number_or_none([&] { return verification.verifier.choose_by_logits(verification.text, rows, row, logits); }),
          {logits.begin(), logits.end()}};
}

void PipelinedDrafts::run(exec::PipelineRunner& runner, const exec::SequenceMemory& pages, std::uint32_t keep_after) {
  exec::PassSpec spec;
  spec.layers = plan_;
  spec.bucket = kernels::bucket_for(tree_.rows() - computed_);
  spec.output = exec::Output::logits;
  spec.tree = true;
  spec.keep_after = keep_after;
  const exec::Rows rows{
      .tokens = tree_.tokens().subspan(computed_), .base = base_, .kept = computed_, .parents = tree_.parents(), .computed = computed_};
  runner.run(spec, {pages.lists(), rows}, results_);
}

/// The most rows with which each of `passes` passes is likely to end within `left` seconds, or else one pass; 0: none. A pass that took
/// long once is tried again later.
std::uint32_t PipelinedDrafts::rows_in_time(double left, std::uint32_t passes) {
  std::uint32_t most = 0;
  double takes = 0;
  for (std::uint32_t rows = 1; rows <= MOST_ROWS; rows *= 2) {
    double& measured = pass_seconds_[number_of(rows)];
    takes = measured > 0 ? measured : 1.5 * takes;  // the cost of twice the rows is unknown until they have run
    if (takes * (rows == 1 ? 1 : passes) <= left) {
      most = rows;
    } else {
      measured *= 0.98;
    }
  }
  return most;
}

/// Adds a token for each end that is to have more drafts, in their order, up to the row limit.
void PipelinedDrafts::grow(std::uint32_t most_rows, std::uint32_t most_drafts) {
  for (End& end : ends_) {
    if (tree_.rows() - computed_ >= most_rows || tree_.rows() == MOST_ROWS) return;
    const bool first = end.drafts.empty();
    const Token token = first ? end.token : end.drafts.back().choice.token;
    if (token >= 0 && end.drafts.size() < most_drafts) end.last = tree_.add(first ? end.row : end.last, token);
  }
}

void PipelinedDrafts::make(exec::PipelineRunner& runner, const exec::SequenceMemory& pages, const Verification& verification) {
  const Stopwatch watch;
  const speculation::TokenTree& rows = verification.rows;
  base_ = verification.text.committed_size();
  bucket_ = kernels::bucket_for(rows.rows());
  const double remote = remote_seconds_[number_of(bucket_)];
  double reached = 1;
  ends_ = likeliest_ends(rows, reached);
  tree_ = rows;
  // If there are no logits for the verification's last row, it is read once more.
  const bool last_known = seen_.size() >= rows.rows();
  computed_ = last_known ? rows.rows() : rows.drafts();
  for (std::uint32_t passes = rows.drafts() + (last_known ? 0 : 1); passes > 0 && !runner.is_back(); --passes) {
    const std::uint32_t most_rows = rows_in_time(remote - watch.seconds(), passes);
    grow(most_rows, rows.drafts());
    if (most_rows == 0 || tree_.rows() == computed_) break;
    const Stopwatch pass_watch;
    run(runner, pages, verification.keep_after);
    draft_after_ends(verification, reached);
    record_time(kernels::bucket_for(tree_.rows() - computed_), pass_watch.seconds());
    computed_ = tree_.rows();
  }
  seconds_ = watch.seconds();
}

/// Adds a draft after each end that the last pass has read and, if it has read the verification's last row, the end where all drafts are
/// accepted, which is reached with probability `reached`.
void PipelinedDrafts::draft_after_ends(const Verification& verification, double reached) {
  const speculation::TokenTree& rows = verification.rows;
  for (End& end : ends_) {
    if (end.last >= std::max(computed_, rows.rows())) end.drafts.push_back(draft_after(verification, end.last));
  }
  if (computed_ > rows.drafts()) return;
  const Draft guess = draft_after(verification, rows.drafts());
  if (guess.choice.token < 0) return;
  const double probability = reached * likeliest_of(guess.logits).front().probability;
  const auto at = std::ranges::find_if(ends_, [&](const End& end) { return end.probability < probability; });
  ends_.insert(at, {.row = rows.drafts(), .token = guess.choice.token, .probability = probability, .last = 0, .drafts = {}});
}

PipelinedDrafts::Made PipelinedDrafts::check(const speculation::TokenTree& rows, std::span<const Choice> choices, double remote) {
  Made made;
  if (!std::exchange(begun_, false)) return made;
  double& usual = remote_seconds_[number_of(kernels::bucket_for(rows.rows()))];
  usual = usual == 0 ? remote : (usual + remote) / 2;
  std::uint32_t row = 0;
  while (row + 1 < rows.rows() && choices[row].token == rows.tokens()[row + 1]) ++row;
  made_.clear();
  const auto end = std::ranges::find_if(ends_, [&](const End& e) { return e.row == row && e.token == choices[row].token; });
  if (end != ends_.end() && !end->drafts.empty()) {
    made_ = std::move(end->drafts);
    pending_ = end->token;
    made.to = row + 1;
    base_ += made.to;
    for (std::uint32_t at = end->last; at != row; at = tree_.parents()[at]) made.path.push_back(at);
    std::ranges::reverse(made.path);
  }
  ends_.clear();
  return made;
}

}  // namespace skipstone::engine
