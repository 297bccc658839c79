// A pass as several recordings, each a small part of it, for programs that have other work for the device (exec::Pacer).
#pragma once

#include <cstddef>
#include <vector>

#include "exec/plan.h"
#include "vk/recorder.h"

namespace skipstone::exec {

struct PassPieces {
  std::vector<vk::Commands> recordings;
  std::vector<double> seconds;  ///< that each has taken lately, submission and waiting included; 0: it has not run

  /// `count` pieces from `first` on took `measured` seconds together.
  void took(std::size_t first, std::size_t count, double measured);
};

/// Where the pieces of `plan` end, as numbers of dispatches: each layer is one, and so is the output. Of a prompt's chunks every dispatch
/// is one: a layer of theirs takes longer than a whole pass over one row.
std::vector<std::size_t> piece_ends(const Plan& plan);

}  // namespace skipstone::exec
