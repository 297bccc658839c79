// Whether the host steps a round of drafts and their verification, pass by pass, or the device, in one submission. Decided by measurement
// unless specified; the text is the same either way.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace skipstone::engine {

enum class Rounds { automatic, host, device };

class RoundModePolicy {
 public:
  explicit RoundModePolicy(Rounds rounds) {
    if (rounds != Rounds::automatic) device_ = rounds == Rounds::device;
  }

  /// Whether the device steps the next round.
  bool on_device() const { return device_.value_or(turn_ % 2 == 1); }
  /// False once the mode is fixed: rounds need no timing then.
  bool measures() const { return !device_.has_value(); }
  /// Records that a round took `seconds` for `rows` rows (its drafts and one) in the mode that on_device() gave. The modes take turns, the
  /// host first; the first rounds of each, which record and compile, do not count. After `samples` of each, the mode with the lower median
  /// of seconds per row is fixed. If a round of the host takes longer than `long_round`, the host mode is fixed: round trips are negligible
  /// then, and a submission that long may hit a watchdog.
  void record_time(double seconds, std::uint32_t rows);

  static constexpr std::uint32_t warm_up = 2, samples = 8;
  static constexpr double long_round = 0.25;

 private:
  std::optional<bool> device_;
  std::uint32_t turn_ = 0;                          // rounds so far; odd ones are the device's
  std::array<std::vector<double>, 2> row_seconds_;  // by mode: host, device
};

/// `values`: at least one.
inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace skipstone::engine
