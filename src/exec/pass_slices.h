// A pass as several recordings, each a small part of it, so that a program can have its own work between them.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <vector>

#include "exec/plan.h"
#include "vk/recorder.h"

namespace skipstone::exec {

/// Decides when the next slices of a pass run.
class PassSlicer {
 public:
  using Clock = std::chrono::steady_clock;
  virtual ~PassSlicer() = default;
  /// Number of next slices to run now, as one submission; at least one. `seconds`: the recent time of each, 0 if it has not run. May wait,
  /// and throw to end the pass.
  virtual std::size_t next(std::span<const double> seconds) = 0;
  /// The slices have been submitted; they are done, or will never be.
  virtual void submitted() = 0;
  virtual void done() = 0;
  /// The time, excluding the waits of the functions above.
  virtual Clock::time_point now() const = 0;
};

struct PassSlices {
  std::vector<vk::Commands> recordings;
  std::vector<double> seconds;  ///< recent time of each slice, including submission and waiting; 0: it has not run

  /// Notes that `count` slices from `first` on took `measured` seconds together.
  void record_time(std::size_t first, std::size_t count, double measured);
};

/// Ends of the slices of `plan`, as numbers of dispatches: each layer is one slice, and so is the output. In chunks of a prompt every
/// dispatch is one slice: a layer of theirs takes longer than a full pass over one row.
std::vector<std::size_t> slice_ends(const Plan& plan);

}  // namespace skipstone::exec
