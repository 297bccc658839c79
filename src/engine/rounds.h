// Kinds of rounds of a sequence on a device besides drafts and their verification one after the other.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/round_mode_policy.h"
#include "engine/sequence_parts.h"
#include "speculation/sequence.h"

namespace skipstone::engine {

/// Rounds of one submission.
class DeviceRounds final : public speculation::RoundRunner {
 public:
  DeviceRounds(SequenceParts& parts, Rounds rounds) : parts_(parts), mode_(rounds) {}
  /// Runs on the device if the drafts are by some of the layers or a head, the choice needs no logits and the policy says so.
  bool round(const speculation::RoundRequest& request, speculation::DraftedRound& out) override;
  /// The host has stepped a round of `rows` rows, up to its verification.
  void record_host_round(std::uint32_t rows) {
    if (parts_.round_watch) mode_.record_time(parts_.round_watch->seconds(), rows);
  }

 private:
  SequenceParts& parts_;
  RoundModePolicy mode_;
};

/// Candidates without a common prefix in one pass: a block of rows as N-Grammys verifies it (arXiv 2411.03786, section 2).
class BlockRounds final : public speculation::BlockVerifier {
 public:
  explicit BlockRounds(SequenceParts& parts) : parts_(parts) {}
  /// Puts as many rows into one pass as fit.
  void verify_block(std::span<const std::vector<speculation::Token>> rows, std::span<std::vector<speculation::Choice>> out) override;
  void commit_row(std::span<const std::vector<speculation::Token>> rows, std::uint32_t row, std::uint32_t tokens) override;

 private:
  std::uint32_t run(std::span<const std::vector<speculation::Token>> rows, std::uint32_t first);

  SequenceParts& parts_;
  std::uint32_t first_ = 0;  ///< first row of the block in the last pass
  std::vector<speculation::Token> tokens_;
  std::vector<std::uint32_t> parents_;
};

/// Rounds of passes that leave the model early.
class EarlyExitRounds final : public speculation::EarlyExitRunner {
 public:
  explicit EarlyExitRounds(SequenceParts& parts) : parts_(parts) {}
  speculation::EarlyExit exit_early(const speculation::EarlyExitRequest& request, speculation::Token pending) override;

 private:
  SequenceParts& parts_;
};

class SkipSetPasses final : public speculation::SkipSetProbe {
 public:
  explicit SkipSetPasses(SequenceParts& parts) : parts_(parts) {}
  void score(const exec::LayerPlan& plan, std::span<const speculation::Token> rows, std::span<speculation::Choice> out) override;
  std::vector<float> attention_cosine(std::uint32_t tokens) override;

 private:
  SequenceParts& parts_;
};

}  // namespace skipstone::engine
