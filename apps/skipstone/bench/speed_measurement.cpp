// Runs tests on a device.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "bench/speed.h"
#include "bench/where.h"
#include "skipstone/skipstone_experimental.hpp"
#include "terminal/exit_code.h"
#include "terminal/interrupt.h"
#include "terminal/output.h"

namespace cli::bench {
namespace {

constexpr double rows_warm_up_seconds = 0.3;  // clocks rise; one pass alone may take less than a millisecond

void warm_up(skipstone::Session& session, const Test& test) {
  skipstone_work work = test.work();
  work.generate = std::min(work.generate, warm_up_tokens);
  double seconds = 0.0;
  do {
    seconds += skipstone::measure(session, work);
  } while (test.rows > 0 && seconds < rows_warm_up_seconds && !interrupt::requested());
}

Speed setup(const skipstone::Engine& engine, const std::string& model_path, std::optional<double> copy_bandwidth,
            const std::vector<Test>& tests) {
  const skipstone_engine_info info = engine.info();
  Speed speed;
  speed.where = where(engine, model_path);
  speed.model_type = info.model_type;
  speed.parameters = info.parameters;
  speed.tensor_bytes = info.tensor_bytes;
  speed.bytes_per_token = info.bytes_per_token;
  speed.kv_bytes_per_token = info.kv_bytes_per_token;
  speed.copy_bandwidth = copy_bandwidth;
  for (const Test& test : tests) {
    if (test.rows > info.max_rows) {
      fail(ExitCode::usage, "--rows {} cannot be measured; a pass verifies 1 to {} rows on this device", test.rows, info.max_rows);
    }
    speed.results.push_back({test, {}});
  }
  return speed;
}

}  // namespace

Speed measure_speed(const skipstone::Engine& engine, const std::string& model_path, std::optional<double> copy_bandwidth,
                    const std::vector<Test>& tests, const SpeedOptions& options) {
  Speed speed = setup(engine, model_path, copy_bandwidth, tests);
  skipstone_session_params params = skipstone::session_params();
  params.draft = "none";
  skipstone::Session session(engine, params);
  Progress progress;
  const auto total = static_cast<double>(tests.size() * (options.repetitions + (options.warm_up ? 1 : 0)));
  double done = 0.0;
  if (options.warm_up) {
    for (const Test& test : tests) {
      progress.update(fmt::format("{}: warming up", speed.where.model), done++ / total);
      if (!interrupt::requested()) warm_up(session, test);
    }
  }
  for (std::uint32_t repetition = 0; repetition < options.repetitions; ++repetition) {
    for (TestResult& result : speed.results) {
      if (interrupt::requested()) {
        speed.interrupted = true;
        return speed;
      }
      progress.update(fmt::format("{}: repetition {} of {}", speed.where.model, repetition + 1, options.repetitions), done++ / total);
      result.seconds.push_back(skipstone::measure(session, result.test.work()));
    }
  }
  return speed;
}

}  // namespace cli::bench
