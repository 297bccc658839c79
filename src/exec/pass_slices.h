// A pass as several recordings, each a small part of it, for programs that have other work for the device (exec::PassSlicer).
#pragma once

#include <cstddef>
#include <vector>

#include "exec/plan.h"
#include "vk/recorder.h"

namespace skipstone::exec {

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
