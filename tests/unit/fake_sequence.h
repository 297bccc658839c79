// A sequence without a device: a "model" that is a hash of the tokens before, and a cache that remembers which token stands where. It
// throws std::logic_error where the protocol of speculation/sequence.h is broken.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "sample/candidates.h"
#include "sample/sampler.h"
#include "speculation/loop.h"
#include "speculation/sequence.h"

namespace skipstone::speculation::test {

inline std::uint64_t mix(std::uint64_t x) {  // SplitMix64's finaliser (Steele et al. 2014)
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

struct FakeModel {
  std::uint64_t seed = 1;
  std::uint32_t vocabulary = 24;
  double agreement = 0.7;                ///< how often a draft sees the model's own logits
  double broken_drafts = 0;              ///< how often a draft pass gives no number
  std::size_t memory = ~std::size_t{0};  ///< the last tokens that it looks at: with few of them its texts repeat themselves
  sample::SamplerParams sampling;

  static double unit(std::uint64_t hash) { return static_cast<double>(hash >> 11) * 0x1p-53; }

  std::uint64_t hash(std::span<const Token> history) const { return hash(mix(seed), history.last(std::min(memory, history.size()))); }

  static std::uint64_t hash(std::uint64_t state, std::span<const Token> tokens) {
    for (const Token token : tokens) state = mix(state * 31 + static_cast<std::uint64_t>(token) + 0x9e3779b97f4a7c15u);
    return state;
  }

  std::vector<float> logits(std::uint64_t state) const {
    std::vector<float> logits(vocabulary);
    for (float& logit : logits) logit = static_cast<float>(6 * unit(state = mix(state + 0x9e3779b97f4a7c15u)));
    return logits;
  }

  Choice from_hash(std::uint64_t state, std::span<const Token> history) const {
    return sample::Sampler(sampling).choose(logits(state), history, history.size());
  }

  Choice target(std::span<const Token> history) const { return from_hash(hash(history), history); }

  Choice draft(std::span<const Token> history) const {
    const std::uint64_t state = hash(history);
    const double luck = unit(mix(state ^ 0xd1b54a32d192ed03u));
    if (luck >= 1 - broken_drafts) return Choice{};
    return from_hash(luck < agreement ? state : state ^ 0x5555u, history);
  }
};

class FakeSequence : public Sequence, private RoundRunner, private SkipSetProbe {
 public:
  FakeSequence(const FakeModel& model, std::uint32_t context, std::uint32_t max_rows, std::uint32_t layers = 12)
      : model_(model), context_(context), max_rows_(max_rows), layers_(layers) {}

  SequenceLimits limits() const override { return {layers_, context_, max_rows_}; }
  std::uint32_t committed() const override { return committed_; }
  SequenceTimes times() const override { return {.now = std::chrono::steady_clock::now(), .experts = experts_}; }

  Prefilled prefill(std::span<const Token> tokens, bool attention_cosine) override {
    count();
    require(!tokens.empty(), "prefill of nothing");
    require(committed_ + tokens.size() <= context_, "prefill beyond the context");
    write(committed_, tokens);
    committed_ += static_cast<std::uint32_t>(tokens.size());
    forget_round();
    Prefilled result{model_.target(cached()), {}};
    if (attention_cosine) result.attention_cosine = cosines_of(model_.hash(cached()));
    return result;
  }

  Choice draft(const DraftSource& source, Token input, std::uint32_t offset) override {
    count();
    check(source);
    require(offset == drafts_.size(), "draft offsets do not follow each other");
    require(committed_ + offset < context_, "draft beyond the context");
    require(offset == 0 || input == drafts_.back().token, "the draft's input is not the draft before it");
    require(offset + 1 < max_rows_, "more drafts than a verification can hold");
    write(committed_ + offset, {&input, 1});
    pending_ = offset == 0 ? input : pending_;
    drafts_.push_back(model_.draft({cells_.data(), committed_ + offset + 1}));
    ++draft_calls;
    return drafts_.back();
  }

  void verify(const TokenTree& tree, std::uint32_t top, Verified& out) override {
    count();
    const std::span<const Token> rows = tree.tokens();
    require(committed_ > 0, "verification before a prompt was read");
    require(rows.size() <= max_rows_, "wrong number of rows");
    require(committed_ + rows.size() <= context_, "verification beyond the context");
    if (!drafts_.empty()) {
      require(rows[0] == pending_, "the first row is not the token that was drafted from");
      const std::size_t usable = drafts_.size() - (drafts_.back().token < 0 ? 1 : 0);
      require(tree.is_chain() && rows.size() == usable + 1, "a draft was left out or added");
      for (std::size_t i = 0; i < usable; ++i) require(rows[i + 1] == drafts_[i].token, "a row is not its draft");
    }
    write(committed_, rows);
    out.choices.resize(tree.rows());
    out.top.resize(std::size_t{tree.rows()} * top);
    for (std::uint32_t row = 0; row < tree.rows(); ++row) {
      std::vector<Token> text(tree.depths()[row] + 1);
      for (std::uint32_t at = row, i = tree.depths()[row];; at = tree.parents()[at], --i) {
        text[i] = rows[at];
        if (i == 0) break;
      }
      text.insert(text.begin(), cells_.begin(), cells_.begin() + committed_);
      out.choices[row] = model_.target(text);
      sample::top_k(model_.logits(model_.hash(text)), std::span(out.top).subspan(std::size_t{row} * top, top));
    }
    forget_round();
    verified_ = tree;
    ++verifications;
    if (experts_used == 0) return;
    const double distinct = distinct_experts(experts_used, overlap, tree.rows());
    experts_ +=
        {layers_, static_cast<std::uint64_t>(std::llround(layers_ * distinct)), std::uint64_t{layers_} * experts_used * tree.rows()};
  }

  void commit(std::span<const std::uint32_t> path) override {
    require(verified_.has_value(), "commit of rows that were not verified, or a second commit");
    require(!path.empty() && path[0] == 0, "the pending token is not kept");
    for (std::size_t i = 0; i < path.size(); ++i) {
      require(path[i] < verified_->rows(), "commit of a row that was not verified");
      require(i == 0 || (path[i] != 0 && verified_->parents()[path[i]] == path[i - 1]), "a row is not the child of the one before it");
      cells_[committed_ + i] = verified_->tokens()[path[i]];
    }
    committed_ += static_cast<std::uint32_t>(path.size());
    verified_.reset();
  }

  void rollback(std::uint32_t tokens) override {
    require(tokens <= committed_, "more is taken back than there is");
    committed_ -= tokens;
    forget_round();
  }

  SequenceExtensions extensions() override { return {.rounds = this, .skip_sets = this}; }

  std::vector<Token> cached() const { return {cells_.begin(), cells_.begin() + committed_}; }

  std::vector<std::pair<std::uint32_t, std::uint32_t>> measured;  ///< by attention_cosine(): committed tokens, how many of them
  std::uint64_t draft_calls = 0, verifications = 0, round_calls = 0, scores = 0;
  std::uint64_t rounds_at_once = 0;      ///< every how many rounds round() does one; 0: never
  std::uint32_t experts_used = 0;        ///< of a row, in each layer
  double overlap = 0;                    ///< of rows, in their experts
  std::optional<std::uint64_t> fail_at;  ///< the pass of this number is lost with its device

 private:
  std::vector<float> attention_cosine(std::uint32_t tokens) override {
    count();
    require(tokens > 0 && tokens <= max_rows_ && tokens <= committed_, "cosines of tokens that are not there");
    measured.emplace_back(committed_, tokens);
    return cosines_of(FakeModel::hash(1, std::span<const Token>(cells_).subspan(committed_ - tokens, tokens)));
  }

  /// As a device does it: every draft up to `most` is made unless one is unsure, since end tokens are not known there.
  bool round(const RoundRequest& request, DraftedRound& out) override {
    const bool runs = as<LayerPass>(request.source) != nullptr || as<PredictionHead>(request.source) != nullptr;
    if (!runs || !rounds_at_once || ++round_calls % rounds_at_once != 0) return false;
    require(request.most >= 1, "a round without drafts");
    require(committed_ + request.most + 1 <= context_, "a round beyond the context");
    out.drafts.clear();
    while (out.drafts.size() < request.most) {
      const auto offset = static_cast<std::uint32_t>(out.drafts.size());
      const Choice choice = draft(request.source, offset == 0 ? request.pending : out.drafts.back().token, offset);
      if (choice.token < 0) break;
      out.drafts.push_back(choice);
      if (!goes_on(choice, request.least_probability)) break;
    }
    TokenTree rows(request.pending);
    for (const Choice& choice : out.drafts) rows.add(rows.drafts(), choice.token);
    Verified verified;
    verify(rows, 0, verified);
    out.verified = verified.choices;
    return true;
  }

  /// Leaves rubbish in the cells, as a device does.
  void score(const exec::LayerPlan& plan, std::span<const Token> rows, std::span<Choice> out) override {
    count();
    require(plan.skipped_sublayers(layers_) > 0, "a trial of the whole model");
    require(!rows.empty() && rows.size() == out.size() && rows.size() <= max_rows_, "wrong number of rows");
    require(committed_ + rows.size() <= context_, "a trial beyond the context");
    std::vector<Token> text = cached();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      text.push_back(rows[i]);
      out[i] = model_.draft(text);
      cells_[committed_ + i] = rubbish;
    }
    forget_round();
    ++scores;
  }

  std::vector<float> cosines_of(std::uint64_t state) const {
    std::vector<float> cosines(layers_);
    for (float& cosine : cosines) cosine = static_cast<float>(0.95 + 0.05 * FakeModel::unit(state = mix(state)));
    return cosines;
  }
  static constexpr Token rubbish = 0;
  static void require(bool condition, const char* what) {
    if (!condition) throw std::logic_error(std::string("sequence protocol: ") + what);
  }
  void check(const DraftSource& source) const {
    const auto* layers = as<LayerPass>(source);
    const auto* window = as<WindowPass>(source);
    const auto* model = as<SecondModel>(source);
    const bool head = as<PredictionHead>(source) != nullptr;
    require(layers != nullptr || window != nullptr || model != nullptr || head, "a source that is not known");
    require(layers == nullptr || layers->plan.skipped_sublayers(layers_) > 0 || layers->plan.experts > 0, "a draft with the whole model");
    require(window == nullptr || window->window.keys(committed_) < committed_ + 1, "a draft with the whole model");
    require(model == nullptr || model->number == 5, "a draft by a model that was not loaded");
  }
  void count() {
    if (fail_at && passes_++ == *fail_at) fail(Code::device_lost, "the device was lost in pass {}", *fail_at);
  }
  void write(std::size_t position, std::span<const Token> tokens) {
    cells_.resize(std::max(cells_.size(), position + tokens.size()), -1);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      require(tokens[i] >= 0 && static_cast<std::uint32_t>(tokens[i]) < model_.vocabulary, "no such token");
      cells_[position + i] = tokens[i];
    }
  }
  void forget_round() {
    drafts_.clear();
    verified_.reset();
  }

  FakeModel model_;
  std::uint32_t context_, max_rows_, layers_, committed_ = 0;
  std::optional<TokenTree> verified_;
  Token pending_ = -1;
  std::vector<Token> cells_;
  std::vector<Choice> drafts_;
  std::uint64_t passes_ = 0;
  exec::ExpertUse experts_;
};

inline Limits limits_of(std::uint32_t max_tokens, const std::set<Token>& ends = {}) {
  return {max_tokens, [ends](Token token) { return ends.contains(token); }};
}

struct Expected {
  std::vector<Token> tokens;
  StopReason stop = StopReason::max_tokens;
};

/// What plain decoding is, with no sequence and no rounds.
inline Expected decode_plainly(const FakeModel& model, std::vector<Token> text, std::uint32_t context, std::uint32_t max_tokens,
                               const std::set<Token>& ends, std::size_t cancel_after) {
  Expected result;
  for (;;) {
    if (result.tokens.size() == max_tokens) return result.stop = StopReason::max_tokens, result;
    if (text.size() == context) return result.stop = StopReason::context_full, result;
    const Token next = model.target(text).token;
    if (ends.contains(next)) return result.stop = StopReason::end_token, result;
    text.push_back(next);
    result.tokens.push_back(next);
    if (result.tokens.size() == cancel_after) return result.stop = StopReason::cancelled, result;
  }
}

}  // namespace skipstone::speculation::test
