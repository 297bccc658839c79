// The time that plain decoding would have taken for a text, from the times of the rounds that made it.
#pragma once

#include <cstdint>
#include <optional>

#include "speculation/draft_source.h"
#include "speculation/round_costs.h"

namespace skipstone::speculation {

/// Adds up rounds of one text. A round of one row is a pass of plain decoding; of another the share is taken that such a pass has of it by
/// the measured costs. So other work of the device, which slows down all passes alike, changes the time and leaves the gain as it is.
class PlainTime {
 public:
  /// `costs` null or empty: not measured, and rounds of several rows do not count.
  PlainTime(const RoundCosts* costs, std::uint32_t layers) : costs_(costs), layers_(layers) {}

  /// A verification of `rows` rows, beside `others` of other sequences, which plain decoding would have had beside it too. `source`: of its
  /// drafts, where passes of the model made them; else null.
  void add_verification(double seconds, std::uint32_t rows, std::uint32_t others, const SharedSource& source);
  /// As many drafts of a source and their verification, in one submission.
  void add_round(double seconds, std::uint32_t drafts, const SharedSource& source);

  /// Of one token, without the host's work between passes; nothing where no round counts.
  std::optional<double> seconds_per_token() const;

 private:
  std::optional<double> pass(std::uint32_t rows) const;
  const std::optional<SetCosts>& costs_with(const SharedSource& source);
  void add(double seconds, std::optional<double> share);

  const RoundCosts* costs_;
  std::uint32_t layers_;
  SharedSource source_;  ///< of source_costs_
  std::optional<SetCosts> source_costs_;
  double seconds_ = 0;
  std::uint64_t rounds_ = 0;
};

}  // namespace skipstone::speculation
