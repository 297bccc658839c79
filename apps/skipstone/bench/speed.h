// Measures tests, interleaved, and reports the results.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/lists.h"
#include "bench/where.h"
#include "results/formats.h"

namespace cli::bench {

struct TestResult {
  Test test;
  std::vector<double> seconds;  ///< of each repetition
};

/// One model's tests.
struct Speed {
  Where where;
  std::string model_type;
  std::uint64_t parameters = 0, tensor_bytes = 0;
  std::uint64_t bytes_per_token = 0, kv_bytes_per_token = 0;  ///< as in skipstone_engine_info
  std::optional<double> copy_bandwidth;                       ///< of the device, bytes per second
  std::vector<TestResult> results;
  bool interrupted = false;  ///< not all repetitions were run
};

struct SpeedOptions {
  std::uint32_t repetitions = 5;
  bool warm_up = true;
};

/// Every test is run once before the next repetition of any, so that a temporary slowdown of the machine affects all of them. Throws
/// Failure if a pass cannot verify a test's rows. Ctrl-C ends it after the current run.
Speed measure_speed(const skipstone::Engine& engine, const std::string& model_path, std::optional<double> copy_bandwidth,
                    const std::vector<Test>& tests, const SpeedOptions& options);

/// Statistics of one test. Undefined values are nullopt.
struct Statistics {
  double average_ns = 0, median_ns = 0, average_rate = 0, median_rate = 0;  ///< rate: tokens (rows) per second
  std::optional<double> deviation_ns, deviation_rate;
  /// Bytes of weights and KV cache that a pass reads: of decoding and of passes over rows.
  std::optional<double> bytes_per_pass;
  std::optional<double> bandwidth_share;  ///< of the copy bandwidth: bytes_per_pass over the median pass's time
  std::optional<double> cost;             ///< v(n): the median time relative to that of one row at the same depth
};
Statistics statistics(const Speed& speed, const TestResult& result);

/// A flat record for each test that was run at least once.
std::vector<Json> speed_records(const std::vector<Speed>& speeds);

/// md: a table of tests, one of rows. csv, sql, jsonl: a record each; json: an array of them.
std::string speed_report(const std::vector<Speed>& speeds, Format format);

}  // namespace cli::bench
