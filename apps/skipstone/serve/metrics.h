// The server's metrics in the text form of Prometheus (exposition format 0.0.4).
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "json/json_fwd.h"
#include "results/statistics.h"
#include "serve/memory_budget.h"

namespace cli::serve {

class Histogram {
 public:
  void add(double seconds);
  void print(std::string& text, const std::string& name, const std::string& help) const;

 private:
  static constexpr std::array bounds{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0};
  std::array<std::uint64_t, bounds.size() + 1> counts_{};
  double sum_ = 0;
};

/// The server's load at a moment.
struct ServerState {
  std::size_t waiting, running, texts_waiting, texts_running, connections, connection_limit;
  const MemoryBudget& memory;
};

/// Times of the request that a thread works on.
class RequestClock {
 public:
  using Clock = std::chrono::steady_clock;
  Clock::time_point asked = Clock::now(), last{};
};

/// Thread-safe.
class Metrics {
 public:
  void answered(const std::string& route, unsigned status);
  /// The calling thread works on a request from now on.
  void begin_request(const RequestClock& clock);
  /// The times of the calling thread's request, for another thread that works on it too.
  static RequestClock clock();
  /// Counts a token of the calling thread's request.
  void token();
  /// Counts a finished choice of the request.
  void generated(const RunStatistics& statistics);
  /// `engine`: skipstone_engine_report().
  std::string print(const ServerState& now, const skipstone::Json& engine) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, unsigned>, std::uint64_t> requests_;
  std::map<std::string, DrafterShare> by_drafter_;
  std::vector<DraftPosition> by_position_;
  std::uint64_t prompt_tokens_ = 0, cached_tokens_ = 0, tokens_ = 0;
  Histogram first_token_, between_tokens_;
};

}  // namespace cli::serve
