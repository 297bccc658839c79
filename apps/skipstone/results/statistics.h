// Statistics: of a generation, for people (--stats) and for programs (--json), and of repeated measurements.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "json/json_fwd.h"
#include "skipstone/skipstone.hpp"

namespace cli {

struct DraftPosition {
  std::uint64_t drafted = 0, accepted = 0;
};

/// Adds `more` to `sum`, position by position.
void add_positions(const std::vector<DraftPosition>& more, std::vector<DraftPosition>& sum);

/// The drafts of one drafter of "A+B".
struct DrafterShare {
  std::string name;
  std::uint64_t rounds = 0, drafted = 0, accepted = 0;
};

/// Results of one source of a drafter's candidates ("ngram": "context", "bigram", "unigram"). The candidate with the most accepted tokens
/// wins a round; the winner's rank is its place among the source's candidates.
struct Strategy {
  std::string name;
  std::uint64_t rows = 0;  ///< candidates proposed
  std::vector<std::uint64_t> won_by_rank, won_by_length;
};

/// The contents of skipstone_session_report().
struct RunStatistics {
  std::string stop_reason = "max_tokens", drafter, skip_set, chosen;
  std::uint64_t prompt_tokens = 0, cached_tokens = 0, generated_tokens = 0;
  std::uint64_t rounds = 0, device_rounds = 0, pipelined_drafts = 0, drafted = 0, accepted = 0;
  std::uint64_t expert_layers = 0, distinct_experts = 0, expert_choices = 0;
  std::uint32_t skipped_sublayers = 0, sublayers = 0;
  std::uint64_t refreshes = 0, refreshed_sets = 0;
  std::uint64_t corpus_tokens = 0, corpus_bytes = 0;
  double corpus_seconds = 0;
  bool lossy = false;
  std::uint64_t early_tokens = 0, early_layers = 0, early_confident = 0, early_guessed = 0, early_full = 0, guesses_rejected = 0;
  double prompt_seconds = 0, generation_seconds = 0, draft_seconds = 0, verify_seconds = 0, round_seconds = 0, refresh_seconds = 0,
         host_seconds = 0, device_seconds = 0, remote_seconds = 0, pipelined_seconds = 0;
  double plain_seconds = 0;                ///< that plain decoding would have taken instead of generation_seconds; 0: not known
  std::vector<DraftPosition> by_position;  ///< index 0: the first draft of a round
  std::vector<DrafterShare> by_drafter;
  std::vector<Strategy> strategies;
  std::vector<float> thresholds;  ///< by round
  std::vector<float> attention_cosine;
};

/// Parses skipstone_session_report().
RunStatistics parse_statistics(const std::string& report);
/// The statistics of the session's last generation.
RunStatistics read_statistics(const skipstone::Session& session);

/// Aligned lines, the device's first.
std::string statistics_text(const RunStatistics& statistics, const std::string& device);

/// The object "statistics" of --json.
skipstone::Json statistics_json(const RunStatistics& statistics);

/// The fields of --json that are not derived from others, times as "prompt_seconds", ..., for records that take some of them.
skipstone::Json statistics_record(const RunStatistics& statistics);

/// As "by_position" in all outputs.
skipstone::Json positions_json(const std::vector<DraftPosition>& positions);

/// The middle value, or the mean of the two middle ones; nullopt of no values.
std::optional<double> median(std::vector<double> values);

/// The value that `share` of the values are below, 0..1, between neighbours by their distance; nullopt of no values.
std::optional<double> quantile(std::vector<double> values, double share);

/// nullopt of no values.
std::optional<double> mean(const std::vector<double>& values);

/// The sample standard deviation (the divisor is one less than the number of values); nullopt of fewer than two.
std::optional<double> standard_deviation(const std::vector<double>& values);

/// nullopt unless the divisor is above zero.
std::optional<double> quotient(double dividend, double divisor);

}  // namespace cli
