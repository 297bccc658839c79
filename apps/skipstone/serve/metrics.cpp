#include "serve/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "json/json.h"

namespace cli::serve {
namespace {

thread_local RequestClock of_thread;

void head(std::string& text, const std::string& name, const char* kind, const std::string& help) {
  fmt::format_to(std::back_inserter(text), "# HELP skipstone_{} {}\n# TYPE skipstone_{} {}\n", name, help, name, kind);
}

void single(std::string& text, const std::string& name, const char* kind, const std::string& help, double value) {
  head(text, name, kind, help);
  fmt::format_to(std::back_inserter(text), "skipstone_{} {}\n", name, value);
}

/// A label's value: quotes, backslashes and line ends escaped.
std::string label(const std::string& value) {
  std::string text;
  for (const char c : value) {
    if (c == '\\' || c == '"') text += '\\';
    text += c == '\n' ? ' ' : c;
  }
  return text;
}

}  // namespace

void Histogram::add(double seconds) {
  const auto bound = std::ranges::lower_bound(bounds, seconds);
  ++counts_[static_cast<std::size_t>(bound - bounds.begin())];
  sum_ += seconds;
}

void Histogram::print(std::string& text, const std::string& name, const std::string& help) const {
  head(text, name, "histogram", help);
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    count += counts_[i];
    const std::string bound = i < bounds.size() ? fmt::format("{}", bounds[i]) : "+Inf";
    fmt::format_to(std::back_inserter(text), "skipstone_{}_bucket{{le=\"{}\"}} {}\n", name, bound, count);
  }
  fmt::format_to(std::back_inserter(text), "skipstone_{}_sum {}\nskipstone_{}_count {}\n", name, sum_, name, count);
}

void Metrics::answered(const std::string& route, unsigned status) {
  const std::lock_guard lock(mutex_);
  ++requests_[{route, status}];
}

void Metrics::begin_request(const RequestClock& clock) { of_thread = clock; }

RequestClock Metrics::clock() { return of_thread; }

void Metrics::token() {
  const auto now = RequestClock::Clock::now();
  const bool first = of_thread.last == RequestClock::Clock::time_point{};
  const double seconds = std::chrono::duration<double>(now - (first ? of_thread.asked : of_thread.last)).count();
  of_thread.last = now;
  const std::lock_guard lock(mutex_);
  (first ? first_token_ : between_tokens_).add(seconds);
}

void Metrics::generated(const RunStatistics& statistics) {
  const std::lock_guard lock(mutex_);
  prompt_tokens_ += statistics.prompt_tokens;
  cached_tokens_ += statistics.cached_tokens;
  tokens_ += statistics.generated_tokens;
  for (const DrafterShare& share : statistics.by_drafter) {
    DrafterShare& drafts = by_drafter_[share.name.empty() ? "none" : share.name];
    drafts.rounds += share.rounds;
    drafts.drafted += share.drafted;
    drafts.accepted += share.accepted;
  }
  add_positions(statistics.by_position, by_position_);
}

std::string Metrics::print(const ServerState& now, const skipstone::Json& engine) const {
  const std::lock_guard lock(mutex_);
  std::string text;
  const auto out = std::back_inserter(text);
  head(text, "requests_total", "counter", "Requests answered, by route and status.");
  for (const auto& [key, count] : requests_)
    fmt::format_to(out, "skipstone_requests_total{{route=\"{}\",status=\"{}\"}} {}\n", label(key.first), key.second, count);
  const auto gauge = [&](const char* name, const char* help, std::size_t value) {
    single(text, name, "gauge", help, static_cast<double>(value));
  };
  gauge("requests_waiting", "Requests in the queue.", now.waiting);
  gauge("requests_running", "Requests that are being answered.", now.running);
  gauge("text_requests_waiting", "Requests that generate nothing, and large ones that are still to be read, in a queue of their own.",
        now.texts_waiting);
  gauge("text_requests_running", "Of these, requests that are being answered or read.", now.texts_running);
  gauge("connections", "Connections that are open.", now.connections);
  gauge("connections_limit", "Connections that can be open.", now.connection_limit);
  head(text, "memory_bytes", "gauge", "Memory of clients, by what it is for.");
  for (const MemoryUse use : memory_uses)
    fmt::format_to(out, "skipstone_memory_bytes{{kind=\"{}\"}} {}\n", name_of(use), now.memory.used(use));
  gauge("memory_limit_bytes", "Memory that all clients together can have.", now.memory.limit());
  single(text, "prompt_tokens_total", "counter", "Tokens of prompts.", static_cast<double>(prompt_tokens_));
  single(text, "prompt_tokens_cached_total", "counter", "Of these, tokens whose keys and values were cached.",
         static_cast<double>(cached_tokens_));
  single(text, "generated_tokens_total", "counter", "Tokens generated.", static_cast<double>(tokens_));
  using Of = std::uint64_t DrafterShare::*;
  for (const auto& [name, help, member] :
       {std::tuple{"rounds_total", "Rounds, by who proposed drafts.", Of{&DrafterShare::rounds}},
        {"drafted_total", "Drafts, by drafter.", Of{&DrafterShare::drafted}},
        {"accepted_total", "Drafts that the model agreed with, by drafter.", Of{&DrafterShare::accepted}}}) {
    head(text, name, "counter", help);
    for (const auto& [drafter, drafts] : by_drafter_)
      fmt::format_to(out, "skipstone_{}{{drafter=\"{}\"}} {}\n", name, label(drafter), drafts.*member);
  }
  using At = std::uint64_t DraftPosition::*;
  for (const auto& [name, help, member] :
       {std::tuple{"drafted_by_position_total", "Drafts, by place in their round.", At{&DraftPosition::drafted}},
        {"accepted_by_position_total", "Drafts that the model agreed with, by place in their round.", At{&DraftPosition::accepted}}}) {
    head(text, name, "counter", help);
    for (std::size_t i = 0; i < by_position_.size(); ++i)
      fmt::format_to(out, "skipstone_{}{{position=\"{}\"}} {}\n", name, i + 1, by_position_[i].*member);
  }
  const auto from = [&](const char* part, const char* name) { return engine.at(part).at(name).get<double>(); };
  single(text, "kv_pages", "gauge", "Pages of the KV cache.", from("pages", "all"));
  single(text, "kv_pages_used", "gauge", "Pages in use, by requests or as cached prefixes.", from("pages", "used"));
  single(text, "kv_pages_of_prefixes", "gauge", "Pages of cached prefixes.", from("prefixes", "pages"));
  single(text, "kv_sliding_pages", "gauge", "Pages of layers with a window.", from("sliding_pages", "all"));
  single(text, "kv_sliding_pages_used", "gauge", "Of these, pages in use.", from("sliding_pages", "used"));
  single(text, "kv_sliding_pages_of_prefixes", "gauge", "Of these, pages of cached prefixes.", from("prefixes", "sliding_pages"));
  single(text, "passes_total", "counter", "Passes of decoding.", from("passes", "decoding"));
  single(text, "pass_rows_total", "counter", "Rows in these.", from("passes", "rows"));
  single(text, "passes_batched_total", "counter", "Of these, passes of several requests.", from("passes", "batched"));
  single(text, "prompt_passes_total", "counter", "Passes of prompts.", from("passes", "prompt"));
  first_token_.print(text, "time_to_first_token_seconds", "From a request to its first token.");
  between_tokens_.print(text, "time_between_tokens_seconds", "From a token to the next one.");
  return text;
}

}  // namespace cli::serve
