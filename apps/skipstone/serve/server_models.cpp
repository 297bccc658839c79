// The models of a server: their names and queues, and the routes that show what they do now.
#include <fmt/format.h>

#include <algorithm>

#include "serve/json_text.h"
#include "serve/server.h"
#include "terminal/output.h"

namespace cli::serve {

using skipstone::Json;

JobQueue& Server::queue_of(std::size_t model) {
  const std::lock_guard lock(queues_mutex_);
  std::unique_ptr<JobQueue>& queue = generations_.at(model);
  if (!queue) queue = std::make_unique<JobQueue>(options_.parallel, options_.queue);
  return *queue;
}

std::size_t Server::generations(std::size_t (JobQueue::*count)() const) const {
  const std::lock_guard lock(queues_mutex_);
  std::size_t sum = 0;
  for (const auto& queue : generations_) sum += queue ? (queue.get()->*count)() : 0;
  return sum;
}

std::size_t Server::model_named(const std::string& name) const {
  if (const auto model = models_.find(name)) return *model;
  constexpr std::size_t most_names = 50;
  std::string names;
  for (std::size_t i = 0; i < std::min(models_.size(), most_names); ++i)
    names += fmt::format("{}'{}'", i == 0 ? "" : ", ", models_.file(i).name);
  if (models_.size() > most_names) names += ", ...";
  throw ApiError(404, fmt::format("the model '{}' is not here; this server has {}", without_control_characters(name.substr(0, 100)), names),
                 "model", "model_not_found");
}

// The status, which a server of one model does not have, is in llama.cpp's form.
Json Server::list_entry(std::size_t model) const {
  Json entry = {{"id", models_.file(model).name}, {"object", "model"}, {"created", 0}, {"owned_by", "skipstone"}};
  // The context length has no field in OpenAI's API; these are OpenRouter's, vLLM's and llama.cpp's.
  if (const ModelStore::Lease loaded = models_.look(model)) {
    entry["context_length"] = loaded->context;
    entry["max_model_len"] = loaded->context;
    entry["meta"] = {{"n_ctx", loaded->context}, {"n_vocab", loaded->vocabulary}};
  }
  if (models_.size() == 1) return entry;
  const ModelStore::Status status = models_.state(model).status;
  entry["status"] = {{"value", status == ModelStore::Status::loaded      ? "loaded"
                               : status == ModelStore::Status::loading   ? "loading"
                               : status == ModelStore::Status::unloading ? "unloading"
                                                                         : "unloaded"}};
  return entry;
}

void Server::slots(HttpRequest request, const ExchangePtr& exchange) {
  const std::size_t asked = model_of_query(request);
  const ModelStore::Lease model = models_.look(asked);
  Json slots = Json::array();
  std::vector<bool> busy(options_.parallel);
  {
    const std::lock_guard lock(queues_mutex_);
    if (const auto& queue = generations_[asked]) busy = queue->busy();
  }
  for (std::size_t i = 0; i < busy.size(); ++i) {
    slots.push_back({{"id", i}});
    if (model) slots.back()["n_ctx"] = model->context;
    slots.back()["is_processing"] = static_cast<bool>(busy[i]);
  }
  exchange->respond({200, "application/json", json_text(slots), {}});
}

void Server::metrics(HttpRequest, const ExchangePtr& exchange) {
  std::vector<ModelState> states;
  for (std::size_t i = 0; i < models_.size(); ++i) {
    ModelState& state = states.emplace_back();
    {
      const std::lock_guard lock(queues_mutex_);
      if (const auto& queue = generations_[i]) {
        state.waiting = queue->waiting();
        state.running = queue->running();
      }
    }
    const ModelStore::Lease model = models_.look(i);
    const ModelStore::State stored = models_.state(i);
    state.loads = stored.loads;
    state.unloads = stored.unloads;
    state.loaded = static_cast<bool>(model);
    if (model) {
      const skipstone_engine_info info = model->engine.info();
      state.device_bytes = info.device_bytes;
      state.host_bytes = info.host_bytes;
      state.engine = model->engine.report();
    }
  }
  const std::uint64_t held = options_.model_memory != nullptr ? options_.model_memory->held() : 0;
  const ServerState now{texts_->waiting() + short_texts_->waiting(),
                        texts_->running() + short_texts_->running(),
                        http_->connections(),
                        http_->connection_limit(),
                        *http_->memory(),
                        held,
                        options_.model_memory_limit};
  exchange->respond({200, "text/plain; version=0.0.4; charset=utf-8", metrics_.print(now, states), {}});
}

}  // namespace cli::serve
