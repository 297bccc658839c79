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

void Metrics::token() {
  const auto now = RequestClock::Clock::now();
  const bool first = of_thread.last == RequestClock::Clock::time_point{};
  const double seconds = std::chrono::duration<double>(now - (first ? of_thread.asked : of_thread.last)).count();
  of_thread.last = now;
  const std::lock_guard lock(mutex_);
  (first ? first_token_ : between_tokens_).add(seconds);
}

void Metrics::generated(std::uint64_t prompt_tokens, std::uint64_t tokens, const skipstone::Json& report) {
  const std::lock_guard lock(mutex_);
  prompt_tokens_ += prompt_tokens;
  cached_tokens_ += report.at("cached_tokens").get<std::uint64_t>();
  tokens_ += tokens;
  for (const skipstone::Json& share : report.at("by_drafter")) {
    const std::string name = share.at("drafter").get<std::string>();
    Drafts& drafts = by_drafter_[name.empty() ? "none" : name];
    drafts.rounds += share.at("rounds").get<std::uint64_t>();
    drafts.drafted += share.at("drafted").get<std::uint64_t>();
    drafts.accepted += share.at("accepted").get<std::uint64_t>();
  }
  const skipstone::Json& positions = report.at("by_position");
  if (by_position_.size() < positions.size()) by_position_.resize(positions.size());
  for (std::size_t i = 0; i < positions.size(); ++i) {
    by_position_[i].drafted += positions[i].at("drafted").get<std::uint64_t>();
    by_position_[i].accepted += positions[i].at("accepted").get<std::uint64_t>();
  }
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
  using Member = std::uint64_t Drafts::*;
  for (const auto& [name, help, member] :
       {std::tuple{"rounds_total", "Rounds, by who proposed drafts.", Member{&Drafts::rounds}},
        {"drafted_total", "Drafts, by drafter.", Member{&Drafts::drafted}},
        {"accepted_total", "Drafts that the model agreed with, by drafter.", Member{&Drafts::accepted}}}) {
    head(text, name, "counter", help);
    for (const auto& [drafter, drafts] : by_drafter_)
      fmt::format_to(out, "skipstone_{}{{drafter=\"{}\"}} {}\n", name, label(drafter), drafts.*member);
  }
  for (const auto& [name, help, member] :
       {std::tuple{"drafted_by_position_total", "Drafts, by place in their round.", Member{&Drafts::drafted}},
        {"accepted_by_position_total", "Drafts that the model agreed with, by place in their round.", Member{&Drafts::accepted}}}) {
    head(text, name, "counter", help);
    for (std::size_t i = 0; i < by_position_.size(); ++i)
      fmt::format_to(out, "skipstone_{}{{position=\"{}\"}} {}\n", name, i + 1, by_position_[i].*member);
  }
  const auto from = [&](const char* part, const char* name) { return engine.at(part).at(name).get<double>(); };
  single(text, "kv_pages", "gauge", "Pages of the KV cache.", from("pages", "all"));
  single(text, "kv_pages_used", "gauge", "Pages in use, by requests or as known beginnings.", from("pages", "used"));
  single(text, "kv_pages_of_prefixes", "gauge", "Pages of known beginnings.", from("prefixes", "pages"));
  single(text, "kv_sliding_pages", "gauge", "Pages of layers with a window.", from("sliding_pages", "all"));
  single(text, "kv_sliding_pages_used", "gauge", "Of these, pages in use.", from("sliding_pages", "used"));
  single(text, "kv_sliding_pages_of_prefixes", "gauge", "Of these, pages of known beginnings.", from("prefixes", "sliding_pages"));
  single(text, "passes_total", "counter", "Passes of decoding.", from("passes", "decoding"));
  single(text, "pass_rows_total", "counter", "Rows in these.", from("passes", "rows"));
  single(text, "passes_batched_total", "counter", "Of these, passes of several requests.", from("passes", "batched"));
  single(text, "prompt_passes_total", "counter", "Passes of prompts.", from("passes", "prompt"));
  first_token_.print(text, "time_to_first_token_seconds", "From a request to its first token.");
  between_tokens_.print(text, "time_between_tokens_seconds", "From a token to the next one.");
  return text;
}

}  // namespace cli::serve
