// Who steps a round of drafts and their verification: the host, pass by pass, or the device, in one submission. By measurement, where it
// is not said; the text is the same either way.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace skipstone::engine {

enum class Rounds { automatic, host, device };

class RoundSwitch {
 public:
  explicit RoundSwitch(Rounds rounds) {
    if (rounds != Rounds::automatic) device_ = rounds == Rounds::device;
  }

  /// Which way the next round goes.
  bool on_device() const { return device_.value_or(turn_ % 2 == 1); }
  /// False once the way is fixed: rounds need no timing then.
  bool measures() const { return !device_.has_value(); }
  /// A round took `seconds` for `rows` rows (its drafts and one), the way that on_device() said. The ways take turns, the host first; the
  /// first rounds of each, which record and compile, do not count. After `samples` of each the one with the lower median of seconds per row
  /// stays. Where a round of the host takes longer than `long_round`, the host goes on: round trips are nothing beside that, and a
  /// submission that long may meet a watchdog.
  void took(double seconds, std::uint32_t rows);

  static constexpr std::uint32_t warm_up = 2, samples = 8;
  static constexpr double long_round = 0.25;

 private:
  std::optional<bool> device_;
  std::uint32_t turn_ = 0;                          // rounds so far; odd ones are the device's
  std::array<std::vector<double>, 2> row_seconds_;  // by way: host, device
};

}  // namespace skipstone::engine
