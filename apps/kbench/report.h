// kbench's results for people and programs.
#pragma once

#include <string>
#include <vector>

#include "kbench/measure.h"
#include "results/formats.h"

namespace kbench {

/// The peak rates that results are shares of, and the machine that they were measured on.
struct Setting {
  std::string date, version, commit, device, driver;
  double copy_bandwidth = 0;  ///< bytes per second
  double peak = 0;            ///< single-precision operations per second
  bool timestamps = false;    ///< whether times are the device's own
};

/// A flat record for each result.
std::vector<cli::Json> records(const std::vector<Result>& results, const Setting& setting);

std::string report(const std::vector<Result>& results, const Setting& setting, cli::Format format);

}  // namespace kbench
