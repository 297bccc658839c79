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

/// A label's value: quotes, backslashes and line ends escaped.
std::string label(const std::string& value) {
  std::string text;
  for (const char c : value) {
    if (c == '\\' || c == '"') text += '\\';
    text += c == '\n' ? ' ' : c;
  }
  return text;
}

/// Labels in braces, without empty ones.
std::string braces(const std::string& first, const std::string& second = {}) {
  if (first.empty() && second.empty()) return {};
  return fmt::format("{{{}{}{}}}", first, first.empty() || second.empty() ? "" : ",", second);
}

void line(std::string& text, const std::string& name, const std::string& labels, double value) {
  fmt::format_to(std::back_inserter(text), "skipstone_{}{} {}\n", name, labels, value);
}

void single(std::string& text, const std::string& name, const char* kind, const std::string& help, double value) {
  head(text, name, kind, help);
  line(text, name, "", value);
}

/// Metrics of the report of a loaded engine.
struct EngineMetric {
  const char *part, *value, *name, *kind, *help;
};
constexpr EngineMetric engine_metrics[] = {
    {"pages", "all", "kv_pages", "gauge", "Pages of the KV cache."},
    {"pages", "used", "kv_pages_used", "gauge", "Pages in use, by requests or as cached prefixes."},
    {"prefixes", "pages", "kv_pages_of_prefixes", "gauge", "Pages of cached prefixes."},
    {"sliding_pages", "all", "kv_sliding_pages", "gauge", "Pages of layers with a window."},
    {"sliding_pages", "used", "kv_sliding_pages_used", "gauge", "Of these, pages in use."},
    {"prefixes", "sliding_pages", "kv_sliding_pages_of_prefixes", "gauge", "Of these, pages of cached prefixes."},
    {"recurrent_pages", "all", "kv_recurrent_pages", "gauge", "Pages of recurrent layers."},
    {"recurrent_pages", "used", "kv_recurrent_pages_used", "gauge", "Of these, pages in use."},
    {"prefixes", "recurrent_pages", "kv_recurrent_pages_of_prefixes", "gauge", "Of these, pages of cached prefixes."},
    {"recurrent_states", "all", "kv_recurrent_states", "gauge", "Slots of states of recurrent layers."},
    {"recurrent_states", "used", "kv_recurrent_states_used", "gauge", "Of these, slots in use."},
    {"prefixes", "recurrent_states", "kv_recurrent_states_of_prefixes", "gauge", "Of these, slots of cached prefixes."},
    {"passes", "decoding", "passes_total", "counter", "Passes of decoding."},
    {"passes", "rows", "pass_rows_total", "counter", "Rows in these."},
    {"passes", "batched", "passes_batched_total", "counter", "Of these, passes of several requests."},
    {"passes", "prompt", "prompt_passes_total", "counter", "Passes of prompts."},
};

}  // namespace

void Histogram::add(double seconds) {
  const auto bound = std::ranges::lower_bound(bounds, seconds);
  ++counts_[static_cast<std::size_t>(bound - bounds.begin())];
  sum_ += seconds;
}

void Histogram::print(std::string& text, const std::string& name, const std::string& labels) const {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    count += counts_[i];
    const std::string bound = i < bounds.size() ? fmt::format("{}", bounds[i]) : "+Inf";
    line(text, name + "_bucket", braces(labels, fmt::format("le=\"{}\"", bound)), static_cast<double>(count));
  }
  line(text, name + "_sum", braces(labels), sum_);
  line(text, name + "_count", braces(labels), static_cast<double>(count));
}

Metrics::Metrics(const std::vector<std::string>& models) : models_(models.size()) {
  if (models.size() < 2) return;
  for (std::size_t i = 0; i < models.size(); ++i) models_[i].label = fmt::format("model=\"{}\"", label(models[i]));
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
  OfModel& model = models_.at(of_thread.model);
  (first ? model.first_token : model.between_tokens).add(seconds);
}

void Metrics::generated(const RunStatistics& statistics) {
  const std::lock_guard lock(mutex_);
  OfModel& model = models_.at(of_thread.model);
  model.prompt_tokens += statistics.prompt_tokens;
  model.cached_tokens += statistics.cached_tokens;
  model.tokens += statistics.generated_tokens;
  model.expert_layers += statistics.expert_layers;
  model.distinct_experts += statistics.distinct_experts;
  model.expert_choices += statistics.expert_choices;
  for (const DrafterShare& share : statistics.by_drafter) {
    DrafterShare& drafts = model.by_drafter[share.name.empty() ? "none" : share.name];
    drafts.rounds += share.rounds;
    drafts.drafted += share.drafted;
    drafts.accepted += share.accepted;
  }
  add_positions(statistics.by_position, model.by_position);
}

void Metrics::print_drafts(std::string& text) const {
  using Of = std::uint64_t DrafterShare::*;
  for (const auto& [name, help, member] :
       {std::tuple{"rounds_total", "Rounds, by who proposed drafts.", Of{&DrafterShare::rounds}},
        {"drafted_total", "Drafts, by drafter.", Of{&DrafterShare::drafted}},
        {"accepted_total", "Drafts that the model agreed with, by drafter.", Of{&DrafterShare::accepted}}}) {
    head(text, name, "counter", help);
    for (const OfModel& model : models_) {
      for (const auto& [drafter, drafts] : model.by_drafter)
        line(text, name, braces(model.label, fmt::format("drafter=\"{}\"", label(drafter))), static_cast<double>(drafts.*member));
    }
  }
  using At = std::uint64_t DraftPosition::*;
  for (const auto& [name, help, member] :
       {std::tuple{"drafted_by_position_total", "Drafts, by place in their round.", At{&DraftPosition::drafted}},
        {"accepted_by_position_total", "Drafts that the model agreed with, by place in their round.", At{&DraftPosition::accepted}}}) {
    head(text, name, "counter", help);
    for (const OfModel& model : models_) {
      for (std::size_t i = 0; i < model.by_position.size(); ++i)
        line(text, name, braces(model.label, fmt::format("position=\"{}\"", i + 1)), static_cast<double>(model.by_position[i].*member));
    }
  }
}

std::string Metrics::print(const ServerState& now, const std::vector<ModelState>& models) const {
  const std::lock_guard lock(mutex_);
  std::string text;
  head(text, "requests_total", "counter", "Requests answered, by route and status.");
  for (const auto& [key, count] : requests_)
    line(text, "requests_total", fmt::format("{{route=\"{}\",status=\"{}\"}}", label(key.first), key.second), static_cast<double>(count));
  const auto gauge = [&](const char* name, const char* help, std::uint64_t value) {
    single(text, name, "gauge", help, static_cast<double>(value));
  };
  const auto of_models = [&](const char* name, const char* kind, const char* help, const auto& value) {
    head(text, name, kind, help);
    for (std::size_t i = 0; i < models_.size(); ++i) line(text, name, braces(models_[i].label), static_cast<double>(value(i)));
  };
  of_models("requests_waiting", "gauge", "Requests in the queue.", [&](std::size_t i) { return models[i].waiting; });
  of_models("requests_running", "gauge", "Requests that are being answered.", [&](std::size_t i) { return models[i].running; });
  gauge("text_requests_waiting", "Requests that generate nothing, and large ones that are still to be read, in a queue of their own.",
        now.texts_waiting);
  gauge("text_requests_running", "Of these, requests that are being answered or read.", now.texts_running);
  gauge("connections", "Connections that are open.", now.connections);
  gauge("connections_limit", "Connections that can be open.", now.connection_limit);
  head(text, "memory_bytes", "gauge", "Memory of clients, by what it is for.");
  for (const MemoryUse use : memory_uses)
    line(text, "memory_bytes", fmt::format("{{kind=\"{}\"}}", name_of(use)), static_cast<double>(now.memory.used(use)));
  gauge("memory_limit_bytes", "Memory that all clients together can have.", now.memory.limit());
  gauge("models_memory_bytes", "Device memory of all models.", now.model_bytes);
  gauge("models_memory_limit_bytes", "Device memory that all models together can have; 0: no limit.", now.model_limit);
  of_models("model_loaded", "gauge", "Whether a model is loaded.", [&](std::size_t i) { return models[i].loaded ? 1 : 0; });
  of_models("model_memory_bytes", "gauge", "Device memory of a model.", [&](std::size_t i) { return models[i].device_bytes; });
  of_models("model_host_memory_bytes", "gauge", "Host memory of a model's experts.", [&](std::size_t i) { return models[i].host_bytes; });
  of_models("model_loads_total", "counter", "Times that a model was loaded.", [&](std::size_t i) { return models[i].loads; });
  of_models("model_unloads_total", "counter", "Times that a model was unloaded.", [&](std::size_t i) { return models[i].unloads; });
  of_models("prompt_tokens_total", "counter", "Tokens of prompts.", [&](std::size_t i) { return models_[i].prompt_tokens; });
  of_models("prompt_tokens_cached_total", "counter", "Of these, tokens whose keys and values were cached.",
            [&](std::size_t i) { return models_[i].cached_tokens; });
  of_models("generated_tokens_total", "counter", "Tokens generated.", [&](std::size_t i) { return models_[i].tokens; });
  of_models("expert_layers_total", "counter", "Layers with experts, of all passes that chose tokens.",
            [&](std::size_t i) { return models_[i].expert_layers; });
  of_models("experts_read_total", "counter", "Experts that these read.", [&](std::size_t i) { return models_[i].distinct_experts; });
  of_models("experts_chosen_total", "counter", "Experts that their rows chose; as many if no two rows chose the same.",
            [&](std::size_t i) { return models_[i].expert_choices; });
  print_drafts(text);
  std::vector<skipstone::Json> reports;
  reports.reserve(models.size());
  for (const ModelState& model : models) reports.push_back(model.engine.empty() ? skipstone::Json() : skipstone::Json::parse(model.engine));
  for (const EngineMetric& metric : engine_metrics) {
    head(text, metric.name, metric.kind, metric.help);
    for (std::size_t i = 0; i < models_.size(); ++i) {
      if (!reports[i].is_null())
        line(text, metric.name, braces(models_[i].label), reports[i].at(metric.part).at(metric.value).get<double>());
    }
  }
  head(text, "time_to_first_token_seconds", "histogram", "From a request to its first token.");
  for (const OfModel& model : models_) model.first_token.print(text, "time_to_first_token_seconds", model.label);
  head(text, "time_between_tokens_seconds", "histogram", "From a token to the next one.");
  for (const OfModel& model : models_) model.between_tokens.print(text, "time_between_tokens_seconds", model.label);
  return text;
}

}  // namespace cli::serve
