// Measures one device for a record: the self-test, a text with and without drafts, and the speed of synthetic models.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "report/record.h"
#include "skipstone/skipstone.hpp"
#include "terminal/output.h"

namespace cli::report {

struct Effort {
  double seconds = 70;       ///< for the speeds; the self-test has its own limit, and compile times do not count
  std::uint64_t memory = 0;  ///< most bytes of device memory for a model; 0: what the device has
  bool quick = false;        ///< only the smallest shape, two repetitions
};

/// `listed`: the device's entry in skipstone_list_devices(). Failures go to its `error`; throws Failure only after Ctrl-C.
Device measure_device(const Json& listed, const Effort& effort, Progress& progress);

inline constexpr std::uint32_t most_context = 1024;

struct ShapeOptions {
  std::string model;
  bool cpu = false;     ///< shorter prompts
  double seconds = 60;  ///< for all of it, after loading
  std::uint32_t repetitions = 5;
  std::function<void(const std::string& stage, double done)> say;
  std::function<bool()> interrupted;
};

/// Nullopt if the device is too slow for it, and `left_out` then says so. Throws skipstone::error (cancelled) once
/// options.interrupted() is true.
std::optional<Shape> measure_shape(const skipstone::Engine& engine, const ShapeOptions& options, std::vector<LeftOut>& left_out);

/// A measurement: one run, which returns the seconds of its measured part.
struct Runner {
  std::string what;  ///< for LeftOut
  std::function<double()> run;
  double expected = 0;  ///< seconds of a run, if known in advance
};

struct Limits {
  std::uint32_t repetitions = 5;
  double seconds = 0;             ///< for all runs together
  std::function<double()> clock;  ///< a monotonic clock in seconds
  bool warm_up = false;           ///< the first run of each does not count
};

/// Each runner's seconds, repetition by repetition. All take turns, so that a temporary slowdown of the machine affects all of them. A
/// run that would exceed the time left, judging by the runner's last run, is not begun; runners without any run go to `left_out`.
std::vector<std::vector<double>> take_turns(std::span<const Runner> runners, const Limits& limits, std::vector<LeftOut>& left_out);

/// The largest of `sizes` (from large to small) that takes at most `limit` seconds at `seconds` for each; the smallest if none does.
std::uint32_t size_that_fits(std::span<const std::uint32_t> sizes, double seconds, double limit);

}  // namespace cli::report
