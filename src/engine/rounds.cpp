#include "engine/rounds.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/log.h"
#include "base/status.h"

namespace skipstone::engine {

using speculation::Choice;
using speculation::Token;

namespace {

/// The least float that is not below `bound`: comparing a float with it gives the same result as comparing with `bound` in double
/// precision, as the generation loop does.
float float_from(double bound) {
  const auto nearest = static_cast<float>(bound);
  return static_cast<double>(nearest) < bound ? std::nextafter(nearest, std::numeric_limits<float>::infinity()) : nearest;
}

}  // namespace

bool DeviceRounds::round(const speculation::RoundRequest& request, speculation::DraftedRound& out) {
  const auto* const pass = speculation::as<speculation::LayerPass>(request.source);
  const bool predicts = speculation::as<speculation::PredictionHead>(request.source) != nullptr;
  exec::Executor& passes = parts_.passes;
  if ((pass == nullptr && !predicts) || parts_.verifier.needs_logits() || parts_.slicer != nullptr ||
      passes.model().local_layers() < parts_.config.layer_count()) {
    return false;
  }
  parts_.exits.fill(parts_.text);
  const Stopwatch watch;
  parts_.end_round();
  // With concurrent sequences, passes can be batched with the round's, so times are not comparable.
  const bool has_concurrent_sequences = passes.has_concurrent_sequences();
  if (has_concurrent_sequences || !mode_.on_device()) {
    if (mode_.measures() && !has_concurrent_sequences) parts_.round_watch = watch;
    return false;
  }
  exec::RoundSpec round;
  round.predicts = predicts;
  if (pass != nullptr) {
    round.draft = pass->plan;
    round.kept_layers = pass->keep_prefix ? pass->plan.whole_prefix() : 0;
  }
  if (round.kept_layers > 0 && !passes.hidden_states().acquire(false)) return false;
  round.pending = request.pending;
  round.base = parts_.committed();
  round.most = request.most;
  round.least_probability = float_from(request.least_probability);
  passes.run(round);
  passes.hidden_states().release();

  out.drafts.clear();
  speculation::TokenTree& rows = parts_.verified.emplace(request.pending);
  for (const abi::RowResult& draft : passes.results().drafts) {
    out.drafts.push_back(choice_of(draft));
    rows.add(rows.drafts(), out.drafts.back().token);
  }
  out.verified.clear();
  for (std::uint32_t row = 0; row < rows.rows(); ++row) out.verified.push_back(choice_of(passes.result(row)));
  if (mode_.measures()) mode_.record_time(watch.seconds(), rows.rows());
  return true;
}

/// Runs as many rows from `first` on as fit into one pass, and returns the next row.
std::uint32_t BlockRounds::run(std::span<const std::vector<Token>> rows, std::uint32_t first) {
  const std::size_t room = std::min<std::size_t>(STEP_VERIFY_ROWS, parts_.passes.model().shape.context - parts_.committed());
  tokens_.clear();
  parents_.clear();
  std::uint32_t end = first;
  for (; end < rows.size() && (end == first || tokens_.size() + rows[end].size() <= room); ++end) {
    for (std::size_t i = 0; i < rows[end].size(); ++i) {
      const auto at = static_cast<std::uint32_t>(tokens_.size());
      parents_.push_back(i == 0 ? at : at - 1);
      tokens_.push_back(rows[end][i]);
    }
  }
  parts_.batch.set(tokens_, parents_);
  exec::PassSpec spec = parts_.full_pass(tokens_.size());
  spec.tree = true;
  parts_.run_batch(spec, {.tokens = tokens_, .base = parts_.committed(), .parents = parents_});
  first_ = first;
  return end;
}

void BlockRounds::verify_block(std::span<const std::vector<Token>> rows, std::span<std::vector<Choice>> out) {
  parts_.exits.fill(parts_.text);
  parts_.verified.reset();
  for (std::uint32_t first = 0; first < rows.size();) {
    const std::uint32_t end = run(rows, first);
    for (std::uint32_t at = 0; first < end; ++first) {
      for (std::uint32_t i = 0; i < rows[first].size(); ++i, ++at) {
        out[first][i] = parts_.verifier.verify(parts_.text, parts_.batch, at, parts_.results);
      }
    }
  }
  parts_.end_round();
}

void BlockRounds::commit_row(std::span<const std::vector<Token>> rows, std::uint32_t row, std::uint32_t tokens) {
  std::uint32_t at = 0;
  if (row < first_) {
    run(rows.subspan(row, 1), 0);  // the last pass has overwritten it; this gives the same bits again
  } else {
    for (std::uint32_t i = first_; i < row; ++i) at += static_cast<std::uint32_t>(rows[i].size());
  }
  std::vector<std::uint32_t> path(tokens);
  std::iota(path.begin(), path.end(), at);
  parts_.passes.keep_path(parts_.committed(), path);
  for (std::uint32_t i = 0; i < tokens; ++i) parts_.text.commit(rows[row][i]);
}

speculation::EarlyExit EarlyExitRounds::exit_early(const speculation::EarlyExitRequest& request, Token pending) {
  parts_.end_round();
  parts_.verified.emplace(pending);
  return parts_.exits.run(request, pending, parts_.text, parts_.verifier);
}

void SkipSetPasses::score(const exec::LayerPlan& plan, std::span<const Token> rows, std::span<Choice> out) {
  parts_.pipelined.clear();
  parts_.end_round();
  parts_.batch.set(rows, {});
  parts_.run_batch(parts_.pass(plan, rows.size()), {.tokens = rows, .base = parts_.committed()});
  for (std::uint32_t i = 0; i < rows.size(); ++i) {
    out[i] = number_or_none([&] { return parts_.verifier.choose(parts_.text, parts_.batch, i, parts_.results); });
  }
}

std::vector<float> SkipSetPasses::attention_cosine(std::uint32_t tokens) {
  const std::uint32_t committed = parts_.committed();
  if (tokens == 0 || tokens > std::min<std::uint32_t>(STEP_VERIFY_ROWS, committed)) {
    fail(Code::internal, "cosines of {} tokens cannot be measured in one pass after {}", tokens, committed);
  }
  parts_.exits.fill(parts_.text);
  const std::span<const Token> rows = parts_.text.committed().last(tokens);
  exec::PassSpec spec = parts_.full_pass(rows.size());
  spec.output = exec::Output::none;
  spec.cosines = exec::Cosines::attention;
  parts_.passes.clear_cosines();
  parts_.passes.run(spec, {.tokens = rows, .base = committed - tokens});
  return parts_.mean_attention_cosine(tokens);
}

void RoundModePolicy::record_time(double seconds, std::uint32_t rows) {
  if (!measures()) return;
  const bool device = on_device();
  const bool counts = turn_ / 2 >= warm_up;
  ++turn_;
  if (!counts) return;
  if (!device && seconds > long_round) {
    device_ = false;
    return;
  }
  row_seconds_[device ? 1 : 0].push_back(seconds / rows);
  if (row_seconds_[1].size() < samples) return;
  const double host = median(row_seconds_[0]), own = median(row_seconds_[1]);
  device_ = own < host;
  log::info("rounds: {:.3f} ms a row stepped by the host, {:.3f} ms in one submission; the {} continues", host * 1e3, own * 1e3,
            *device_ ? "latter" : "former");
}

}  // namespace skipstone::engine
