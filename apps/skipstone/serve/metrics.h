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

#include "results/statistics.h"
#include "serve/http/memory_budget.h"

namespace cli::serve {

class Histogram {
 public:
  void add(double seconds);
  /// The lines of a histogram; `labels`: of each line, as 'model="name"', or "".
  void print(std::string& text, const std::string& name, const std::string& labels) const;

 private:
  static constexpr std::array bounds{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0};
  std::array<std::uint64_t, bounds.size() + 1> counts_{};
  double sum_ = 0;
};

/// The server's load at a moment.
struct ServerState {
  std::size_t texts_waiting, texts_running, connections, connection_limit;
  const MemoryBudget& memory;
  std::uint64_t model_bytes, model_limit;  ///< device memory of all models
};

/// A model's load at a moment.
struct ModelState {
  std::size_t waiting = 0, running = 0;
  std::uint64_t loads = 0, unloads = 0, device_bytes = 0, host_bytes = 0;
  bool loaded = false;  ///< until its unloading begins
  std::string engine;   ///< skipstone_engine_report(); "" where there is none
};

/// Model and times of the request that a thread works on.
class RequestClock {
 public:
  using Clock = std::chrono::steady_clock;
  Clock::time_point asked = Clock::now(), last{};
  std::size_t model = 0;
};

/// Thread-safe.
class Metrics {
 public:
  /// The metrics of several models are labelled with their names.
  explicit Metrics(const std::vector<std::string>& models);
  void answered(const std::string& route, unsigned status);
  /// The calling thread works on a request from now on.
  void begin_request(const RequestClock& clock);
  /// The times of the calling thread's request, for another thread that works on it too.
  static RequestClock clock();
  /// Counts a token of the calling thread's request.
  void token();
  /// Counts a finished choice of the request.
  void generated(const RunStatistics& statistics);
  std::string print(const ServerState& now, const std::vector<ModelState>& models) const;

 private:
  struct OfModel {
    std::string label;  ///< 'model="name"', or "" if there is one model
    std::map<std::string, DrafterShare> by_drafter;
    std::vector<DraftPosition> by_position;
    std::uint64_t prompt_tokens = 0, cached_tokens = 0, tokens = 0;
    std::uint64_t expert_layers = 0, distinct_experts = 0, expert_choices = 0;
    Histogram first_token, between_tokens;
  };
  void print_drafts(std::string& text) const;

  mutable std::mutex mutex_;
  std::map<std::pair<std::string, unsigned>, std::uint64_t> requests_;
  std::vector<OfModel> models_;
};

}  // namespace cli::serve
