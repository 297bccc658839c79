// Measures one device: all that a record says of it.
#pragma once

#include "progress.h"
#include "report/record.h"

namespace cli::report {

struct Effort {
  double seconds = 70;  ///< for the speeds; the self-test has a limit of its own, and what drivers compile does not count
  bool quick = false;   ///< the tiniest shape alone, two repetitions
};

/// `listed`: what skipstone_list_devices() says of it. What fails is its `error`; throws Failure only where Ctrl-C came.
Device measure_device(const Json& listed, const Effort& effort, Progress& progress);

}  // namespace cli::report
