// The stages of a request after routing: it is queued, read if it is large, and answered, unless its client disconnects or its time is
// over before.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <random>
#include <utility>

#include "serve/event_stream.h"
#include "serve/json_text.h"
#include "serve/server.h"
#include "terminal/output.h"

namespace cli::serve {

using skipstone::Json;
using Clock = std::chrono::steady_clock;

namespace {

// Limits of POST /tokenize and /detokenize: a token's JSON is many times as long as the token.
constexpr std::size_t most_text_bytes = 2 << 20, most_tokens = 256 << 10;

std::string text_field(const skipstone::SortedJson& body, const char* name) {
  const auto found = body.find(name);
  if (found == body.end()) refuse(name, "'{}' is missing", name);
  if (!found->is_string()) refuse(name, "'{}' has to be a text", name);
  return found->get<std::string>();
}

bool flag_field(const skipstone::SortedJson& body, const char* name, bool otherwise) {
  const auto found = body.find(name);
  if (found == body.end()) return otherwise;
  if (!found->is_boolean()) refuse(name, "'{}' has to be true or false", name);
  return found->get<bool>();
}

}  // namespace

/// A request from its header to the end of its answer.
struct Server::Task {
  std::shared_ptr<Exchange> exchange;
  std::shared_ptr<EventStream> stream;  ///< the exchange of a streamed answer; guarded by tasks_mutex_
  std::string route;
  HttpRequest request;           ///< until it is parsed
  GenerationRequest generation;  ///< then, if it generates
  std::size_t model = 0;         ///< in the store
  MemoryShare memory;            ///< of the request or the generation
  Cancellation cancellation;
  RequestClock clock;
  Clock::time_point until;
  // The queue in which it waits or runs; guarded by tasks_mutex_.
  JobQueue* queue = nullptr;
  JobQueue::Ticket ticket = 0;

  bool keep_going() const { return !cancellation.cancelled(); }
};

void Server::refuse_while_ending() const {
  if (draining_ || broken_ != SKIPSTONE_OK) throw ApiError(503, "the server ends: it takes no more requests");
}

void Server::answer_with(Exchange& exchange, const std::function<void()>& work) {
  const auto answer = [&] {
    if (!exchange.gone()) exchange.respond(error_of_current_exception().reply());
  };
  try {
    work();
  } catch (const skipstone::error& error) {
    if (error.status() == SKIPSTONE_DEVICE_LOST) broken_ = error.status();
    answer();
  } catch (...) {
    answer();
  }
}

ModelStore::Lease Server::model_for(const Task& task, ModelStore::Use use) {
  return models_.acquire(task.model, {use, task.clock.asked, [&task] { return task.keep_going(); }});
}

// ---- turns ----

Server::TaskPtr Server::begin_task(HttpRequest request, const ExchangePtr& exchange) const {
  refuse_while_ending();
  auto task = std::make_shared<Task>();
  task->exchange = exchange;
  task->route = request.path;
  task->memory = std::move(request.memory);
  task->request = std::move(request);
  task->until = Clock::now() + options_.most_seconds;
  return task;
}

// If its client disconnects, a request gives up its place in the queue.
void Server::submit(const TaskPtr& task, JobQueue& queue, std::function<void()> work) {
  task->exchange->on_gone([this, weak = std::weak_ptr(task)] {
    if (const TaskPtr gone = weak.lock()) drop(gone);
  });
  {
    const std::lock_guard lock(tasks_mutex_);
    tasks_.insert(task);
    const auto ticket = queue.push([this, task, &queue, work = std::move(work)] {
      try {
        answer_with(*task->exchange, work);
      } catch (...) {  // no memory even for an error: the exchange's destructor closes the connection
      }
      const std::lock_guard end(tasks_mutex_);
      if (task->queue == &queue) tasks_.erase(task);  // else it now waits in the other queue
    });
    if (!ticket) {
      tasks_.erase(task);
      throw ApiError(429, "too many requests wait already; ask again later", "", "queue_full");
    }
    task->queue = &queue;
    task->ticket = *ticket;
  }
  if (task->exchange->gone()) drop(task);
}

void Server::drop(const TaskPtr& task) {
  task->cancellation.cancel();
  const std::lock_guard lock(tasks_mutex_);
  if (task->queue != nullptr && task->queue->remove(task->ticket)) tasks_.erase(task);
}

void Server::cancel_tasks(const std::function<bool(const Task&)>& which, const char* why) {
  std::vector<TaskPtr> waiting;
  {
    const std::lock_guard lock(tasks_mutex_);
    waiting.reserve(tasks_.size());
    for (const TaskPtr& task : tasks_) {
      if (!which(*task)) continue;
      task->cancellation.cancel();
      const bool never_queued = task->queue == nullptr;  // queueing it ran out of memory
      if (never_queued || task->queue->remove(task->ticket)) waiting.push_back(task);
    }
    for (const TaskPtr& task : waiting) tasks_.erase(task);
  }
  for (const TaskPtr& task : waiting) task->exchange->respond(ApiError(503, why).reply());
}

void Server::end_late_tasks() {
  const auto now = Clock::now();
  cancel_tasks([now](const Task& task) { return task.until <= now; }, "the time of this request was over before its turn came");
}

void Server::keep_streams_alive() {
  std::vector<std::shared_ptr<EventStream>> streams;
  {
    const std::lock_guard lock(tasks_mutex_);
    for (const TaskPtr& task : tasks_) {
      if (task->stream) streams.push_back(task->stream);
    }
  }
  for (const auto& stream : streams) stream->keep_alive(Clock::now());
}

void Server::cancel_all() {
  models_.stop();
  cancel_tasks([](const Task&) { return true; }, "the server ends");
}

MemoryShare Server::parsing_memory(const std::string& body) const {
  MemoryShare share(http_->memory(), MemoryUse::bodies);
  if (!share.resize(parsing_bytes(body))) throw ApiError(503, "the memory of this server for requests is used up; ask again later");
  return share;
}

// ---- texts ----

// A short text waits for short ones alone, not for generations, templates or megabytes to tokenize.
void Server::answer_tokens(TextAnswer answer, HttpRequest request, const ExchangePtr& exchange) {
  JobQueue& queue = request.body.size() < MemoryShare::large_bytes ? *short_texts_ : *texts_;
  answer_text(answer, std::move(request), exchange, queue);
}

void Server::answer_text(TextAnswer answer, HttpRequest request, const ExchangePtr& exchange, JobQueue& queue) {
  const TaskPtr task = begin_task(std::move(request), exchange);
  submit(task, queue, [this, task, answer] {
    find_model(*task);
    if (const ModelStore::Lease model = models_.if_loaded(task->model)) return answer_text_of(*model, answer, *task);
    submit(task, queue_of(task->model), [this, task, answer] {  // else texts of other models would wait
      const ModelStore::Lease model = model_for(*task, ModelStore::Use::text);
      answer_text_of(*model, answer, *task);
    });
  });
}

/// Reads the name of the model from a body, which a server of one model ignores.
void Server::find_model(Task& task) const {
  if (models_.size() == 1) return;
  const MemoryShare parsing = parsing_memory(task.request.body);
  const auto body = read_object(task.request.body);
  task.model = model_named(body.contains("model") && !body["model"].is_null() ? text_field(body, "model") : "");
}

void Server::answer_text_of(const Model& model, TextAnswer answer, const Task& task) {
  const MemoryShare parsing = parsing_memory(task.request.body);
  task.exchange->respond({200, "application/json", (this->*answer)(model, task.request, task), {}});
}

std::string Server::tokens_of(const Model& model, const HttpRequest& request, const Task& task) const {
  const auto body = read_object(request.body);
  const std::string content = text_field(body, "content");
  const bool with_pieces = flag_field(body, "with_pieces", false);
  if (content.size() > most_text_bytes)
    throw ApiError(400, fmt::format("the text has {} bytes; {} are possible", content.size(), most_text_bytes), "content",
                   "string_above_max_length");
  const auto tokens = model.engine.tokenize(content, flag_field(body, "add_special", false), flag_field(body, "parse_special", true),
                                            [&task] { return task.keep_going(); });
  // Written as text directly: a document of a million objects needs hundreds of megabytes.
  MemoryShare memory(http_->memory(), MemoryUse::answers);
  std::string text = "{\"tokens\":[";
  for (const skipstone_token token : tokens) {
    if (text.size() > memory.bytes() && !memory.resize(text.capacity() + MemoryShare::large_bytes))
      throw ApiError(503, "the memory of this server for answers is used up; ask again later");
    if (text.back() != '[') text += ',';
    if (with_pieces) {
      fmt::format_to(std::back_inserter(text), "{{\"id\":{},\"piece\":{}}}", token, json_text(Json(model.engine.piece(token))));
    } else {
      fmt::format_to(std::back_inserter(text), "{}", token);
    }
  }
  return text += "]}";
}

std::string Server::text_of(const Model& model, const HttpRequest& request, const Task& task) const {
  const auto body = read_object(request.body);
  const auto found = body.find("tokens");
  if (found == body.end() || !found->is_array()) refuse("tokens", "'tokens' has to be a list of tokens");
  if (found->size() > most_tokens) refuse("tokens", "'tokens' has {} tokens; {} are possible", found->size(), most_tokens);
  std::vector<skipstone_token> tokens;
  for (const auto& token : *found) {
    if (!token.is_number_unsigned() || token.get<std::uint64_t>() >= model.vocabulary)
      refuse("tokens", "a token has to be a number from 0 to {}", model.vocabulary - 1);
    tokens.push_back(token.get<skipstone_token>());
  }
  std::size_t bytes = 0;
  for (const skipstone_token token : tokens) bytes += model.engine.piece(token).size();
  MemoryShare memory(http_->memory(), MemoryUse::answers);
  if (!memory.resize(bytes)) throw ApiError(503, "the memory of this server for answers is used up; ask again later");
  return json_text(Json{{"content", model.engine.detokenize(tokens, [&task] { return task.keep_going(); })}});
}

/// The conversation of a request as the template writes it: the document of skipstone_chat_show().
Json Server::show(const Model& model, Form form, const HttpRequest& request, const Task& task) const {
  const GenerationRequest read = read_request(form, request.body, options_.defaults);
  check_length(model, read);
  return Json::parse(show_conversation(model, read, [&task] { return task.keep_going(); }));
}

std::string Server::prompt_of(const Model& model, const HttpRequest& request, const Task& task) const {
  const Json shown = show(model, Form::chat, request, task);
  return json_text(Json{{"prompt", shown.at("text")}, {"tokens", shown.at("tokens")}});
}

std::string Server::count_of(const Model& model, const HttpRequest& request, const Task& task) const {
  return json_text(Json{{"input_tokens", show(model, Form::messages, request, task).at("tokens").size()}});
}

// ---- generations ----

// Large requests are parsed by the text queue, since the I/O threads of all connections must not block.
void Server::generate(Form form, HttpRequest request, const ExchangePtr& exchange) {
  const TaskPtr task = begin_task(std::move(request), exchange);
  if (task->request.body.size() < MemoryShare::large_bytes) return admit(form, task);
  submit(task, *texts_, [this, form, task] { admit(form, task); });
}

void Server::admit(Form form, const TaskPtr& task) {
  GenerationRequest& read = task->generation;
  {
    const MemoryShare parsing = parsing_memory(task->request.body);
    read = read_request(form, task->request.body, options_.defaults);
  }
  task->model = task->clock.model = model_named(read.model);
  if (const ModelStore::Lease model = models_.if_loaded(task->model)) check_length(*model, read);
  task->request = {};
  if (!task->memory.resize(read.bytes())) throw ApiError(503, "the memory of this server for requests is used up; ask again later");
  if (read.stream) {
    const std::lock_guard lock(tasks_mutex_);
    task->exchange = task->stream = std::make_shared<EventStream>(task->exchange, form);
  }
  JobQueue& queue = queue_of(task->model);
  submit(task, queue, [this, task, &queue] { work(*task, queue); });
}

void Server::work(Task& task, JobQueue& queue) {
  if (task.exchange->gone()) return;
  GenerationRequest& request = task.generation;
  const auto answer = make_answer(request, models_.file(task.model).name, task.exchange, MemoryShare(http_->memory(), MemoryUse::answers));
  metrics_.begin_request(task.clock);
  thread_local std::random_device entropy;
  // 53 bits, the precision of JavaScript's numbers.
  const std::uint64_t seed = request.seed.value_or((std::uint64_t{entropy()} << 21) ^ entropy());
  const auto offer = [this, &queue](std::function<void()> job) {
    return queue.offer([this, clock = Metrics::clock(), job = std::move(job)] {
      metrics_.begin_request(clock);
      job();
    });
  };
  try {
    const ModelStore::Lease model = model_for(task, ModelStore::Use::generation);
    take_sampling(request, model->sampling);
    check_length(*model, request);
    const Usage usage = serve::generate(*model, request, seed, task.cancellation, *answer, metrics_, offer);
    answer->finish(usage);
    log(fmt::format("{}: {} tokens of prompt, {} known, {} tokens in {:.2f} s, {} of {} drafts", task.route, usage.prompt_tokens,
                    usage.cached_tokens, usage.completion_tokens, usage.generation_seconds, usage.accepted, usage.drafted));
    if (options_.log_text) log(request.form == Form::completion ? request.prompt : request.messages);
  } catch (const std::exception& error) {
    if (!task.exchange->gone()) log(fmt::format("{}: {}", task.route, error.what()));
    throw;
  }
}

}  // namespace cli::serve
