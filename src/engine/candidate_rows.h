// Sampling without the whole row: what the device is asked for before a pass, and the choice by what it answers.
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
  /// `on`: false where the host is to look at whole rows.
  CandidateRows(const sample::SamplerParams& sampling, std::uint32_t vocabulary, bool on);

  void begin();
  /// The row whose choice follows `history`, at text position `position`.
  void add(std::span<const sample::Token> history, std::uint64_t position);

  /// One for each row; empty where whole rows are wanted: by these filters, or since candidates have not decided much of late.
  std::span<const abi::CandidateRequest> requests() const { return complete_ ? std::span(requests_) : std::span<abi::CandidateRequest>{}; }

  /// What `sampler` chooses for row `row`; nothing where the whole row is needed.
  std::optional<sample::Choice> choose(const sample::Sampler& sampler, const abi::CandidateResult& result, std::uint32_t row,
                                       std::span<const sample::Token> history, std::uint64_t position);

 private:
  const sample::SamplerParams params_;
  std::optional<sample::CandidateRequest> wanted_;
  std::vector<abi::CandidateRequest> requests_;
  std::vector<sample::Token> recent_;
  bool complete_ = false;
  double undecided_ = 0;     ///< part of the rows, the latest ones count most
  std::uint32_t pause_ = 0;  ///< rows that are to be looked at whole, before candidates are tried again
};

}  // namespace skipstone::engine
