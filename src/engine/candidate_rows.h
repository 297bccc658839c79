// Sampling without the full row of logits: the candidate requests before a pass, and the choice from the device's results.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernels/abi.h"
#include "sample/candidates.h"

namespace skipstone::engine {

/// The rows of a pass, in order: begin(), then add() for each.
class CandidateRows {
 public:
  /// `on`: false if the host reads full rows.
  CandidateRows(const sample::SamplerParams& sampling, std::uint32_t vocabulary, bool on);

  void begin();
  /// Adds the row whose choice follows `history`, at text position `position`.
  void add(std::span<const sample::Token> history, std::uint64_t position);

  /// One request per row; empty if full rows are needed: because of these filters, or because candidates have recently decided too few
  /// rows.
  std::span<const abi::CandidateRequest> requests() const { return complete_ ? std::span(requests_) : std::span<abi::CandidateRequest>{}; }

  /// The choice of `sampler` for row `row`; nothing if the full row is needed.
  std::optional<sample::Choice> choose(const sample::Sampler& sampler, const abi::CandidateResult& result, std::uint32_t row,
                                       std::span<const sample::Token> history, std::uint64_t position);

 private:
  const sample::SamplerParams params_;
  std::optional<sample::CandidateRequest> wanted_;
  std::vector<abi::CandidateRequest> requests_;
  std::vector<sample::Token> recent_;
  bool complete_ = false;
  double undecided_ = 0;     ///< share of the rows, the latest ones weighted most
  std::uint32_t pause_ = 0;  ///< rows still to be read in full before candidates are tried again
};

}  // namespace skipstone::engine
