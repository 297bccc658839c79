// Measures one device for a record.
#pragma once

#include "progress.h"
#include "report/record.h"

namespace cli::report {

struct Effort {
  double seconds = 70;  ///< for the speeds; the self-test has its own limit, and compile times do not count
  bool quick = false;   ///< only the smallest shape, two repetitions
};

/// `listed`: the device's entry in skipstone_list_devices(). Failures go to its `error`; throws Failure only after Ctrl-C.
Device measure_device(const Json& listed, const Effort& effort, Progress& progress);

}  // namespace cli::report
