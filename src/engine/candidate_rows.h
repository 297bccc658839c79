// Sampling without the full row of logits: the candidate requests for a pass, and the choice from the device's results.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernels/abi.h"
#include "sample/candidates.h"

namespace skipstone::engine {

/// The requests of a pass, one per row in their order.
class CandidateRequests {
 public:
  /// Empty if full rows are needed: because of the filters, or because candidates have recently decided too few rows.
  std::span<const abi::CandidateRequest> rows() const { return complete_ ? std::span(rows_) : std::span<const abi::CandidateRequest>{}; }
  void clear() {
    rows_.clear();
    complete_ = true;
  }

 private:
  friend class CandidateRows;
  std::vector<abi::CandidateRequest> rows_;
  bool complete_ = true;
};

class CandidateRows {
 public:
  /// `on`: false if the host reads full rows.
  CandidateRows(const sample::SamplerParams& sampling, std::uint32_t vocabulary, bool on);

  /// Adds the row whose choice follows `history`, at text position `position`.
  void add(CandidateRequests& requests, std::span<const sample::Token> history, std::uint64_t position);

  /// The choice of `sampler` for a row from the device's result of its request; nothing if the full row is needed.
  std::optional<sample::Choice> choose(const sample::Sampler& sampler, const abi::CandidateRequest& request,
                                       const abi::CandidateResult& result, std::span<const sample::Token> history, std::uint64_t position);

 private:
  const sample::SamplerParams params_;
  std::optional<sample::CandidateRequest> wanted_;
  std::vector<sample::Adjustment> adjustments_;
  double undecided_ = 0;     ///< share of the rows, the latest ones weighted most
  std::uint32_t pause_ = 0;  ///< rows still to be read in full before candidates are tried again
};

}  // namespace skipstone::engine
