// skipstone serve without its command line: routes (server.cpp), and the stages of a request (server_tasks.cpp).
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "serve/access.h"
#include "serve/cancellation.h"
#include "serve/generation.h"
#include "serve/generation_request.h"
#include "serve/http/server.h"
#include "serve/job_queue.h"
#include "serve/metrics.h"
#include "serve/model_store.h"

namespace cli::serve {

struct ServerOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 8080;
  Access access;
  std::size_t parallel = 8, queue = 64;    ///< of each model
  std::chrono::seconds most_seconds{600};  ///< time limit of one request
  bool log = false, log_text = false;
  HttpLimits http;
  RequestDefaults defaults;
  const skipstone::MemoryAccount* model_memory = nullptr;  ///< of all models; null: none is kept
  std::uint64_t model_memory_limit = 0;                    ///< its limit; 0: none
};

class Server {
 public:
  /// `models` outlives the server.
  Server(ModelStore& models, const ServerOptions& options);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  std::uint16_t port() const;
  /// From now on GET /health reports that the server ends, so that clients use other servers.
  void announce_end() { ending_ = true; }
  /// New work is refused from now on.
  void drain() { ending_ = draining_ = true; }
  /// Whether a request is running.
  bool working() const;
  /// Whether no request waits or runs, and no answer is being sent.
  bool idle() const;
  /// To be called when nothing is running: clients learn that no further request is answered. Returns when they have, at most 0.3 s later.
  void say_goodbye();
  /// Ends running answers, as at their token limit, and refuses waiting requests.
  void cancel_all();
  /// The status of an error that made the engine unusable; SKIPSTONE_OK if there was none.
  skipstone_status broken() const { return broken_; }

 private:
  struct Route;
  static const std::vector<Route>& routes();
  using ExchangePtr = std::shared_ptr<Exchange>;
  std::optional<HttpReply> judge(const HttpRequest& request);
  std::optional<HttpReply> refusal_of(const HttpRequest& request) const;
  std::string label_of(const HttpRequest& request) const;
  const Route* find(const HttpRequest& request, std::string& methods) const;
  void handle(HttpRequest request, const ExchangePtr& exchange);
  /// The model of this name, the first one for ""; throws ApiError (404).
  std::size_t model_named(const std::string& name) const;
  std::size_t model_of_query(const HttpRequest& request) const;
  skipstone::Json list_entry(std::size_t model) const;
  /// The queue of a model's generations.
  JobQueue& queue_of(std::size_t model);
  std::size_t generations(std::size_t (JobQueue::*count)() const) const;
  void refuse_while_ending() const;
  /// Runs `work`; its exception becomes the answer, unless the client is gone. A lost device also ends the server.
  void answer_with(Exchange& exchange, const std::function<void()>& work);

  void health(HttpRequest request, const ExchangePtr& exchange);
  void props(HttpRequest request, const ExchangePtr& exchange);
  void slots(HttpRequest request, const ExchangePtr& exchange);
  void metrics(HttpRequest request, const ExchangePtr& exchange);
  void page(HttpRequest request, const ExchangePtr& exchange);
  void models(HttpRequest request, const ExchangePtr& exchange);
  void tokenize(HttpRequest request, const ExchangePtr& exchange) { answer_tokens(&Server::tokens_of, std::move(request), exchange); }
  void detokenize(HttpRequest request, const ExchangePtr& exchange) { answer_tokens(&Server::text_of, std::move(request), exchange); }
  void apply_template(HttpRequest request, const ExchangePtr& exchange) {
    answer_text(&Server::prompt_of, std::move(request), exchange, *texts_);
  }
  void chat(HttpRequest request, const ExchangePtr& exchange) { generate(Form::chat, std::move(request), exchange); }
  void completion(HttpRequest request, const ExchangePtr& exchange) { generate(Form::completion, std::move(request), exchange); }
  void responses(HttpRequest request, const ExchangePtr& exchange) { generate(Form::responses, std::move(request), exchange); }
  void messages(HttpRequest request, const ExchangePtr& exchange) { generate(Form::messages, std::move(request), exchange); }
  void count_tokens(HttpRequest request, const ExchangePtr& exchange) {
    answer_text(&Server::count_of, std::move(request), exchange, *texts_);
  }

  // The stages of a request (server_tasks.cpp).
  struct Task;
  using TaskPtr = std::shared_ptr<Task>;
  using TextAnswer = std::string (Server::*)(const Model& model, const HttpRequest& request, const Task& task) const;
  std::string tokens_of(const Model& model, const HttpRequest& request, const Task& task) const;
  std::string text_of(const Model& model, const HttpRequest& request, const Task& task) const;
  std::string prompt_of(const Model& model, const HttpRequest& request, const Task& task) const;
  std::string count_of(const Model& model, const HttpRequest& request, const Task& task) const;
  skipstone::Json show(const Model& model, Form form, const HttpRequest& request, const Task& task) const;
  TaskPtr begin_task(HttpRequest request, const ExchangePtr& exchange) const;
  /// The task's model, once it is loaded.
  ModelStore::Lease model_for(const Task& task, ModelStore::Use use);
  void answer_tokens(TextAnswer answer, HttpRequest request, const ExchangePtr& exchange);
  void answer_text(TextAnswer answer, HttpRequest request, const ExchangePtr& exchange, JobQueue& queue);
  void find_model(Task& task) const;
  void answer_text_of(const Model& model, TextAnswer answer, const Task& task);
  void generate(Form form, HttpRequest request, const ExchangePtr& exchange);
  void admit(Form form, const TaskPtr& task);
  void submit(const TaskPtr& task, JobQueue& queue, std::function<void()> work);
  void drop(const TaskPtr& task);
  void end_late_tasks();
  void keep_streams_alive();
  void cancel_tasks(const std::function<bool(const Task&)>& which, const char* why);
  MemoryShare parsing_memory(const std::string& body) const;
  void work(Task& task, JobQueue& queue);
  void log(const std::string& line) const;

  ModelStore& models_;
  ServerOptions options_;
  Metrics metrics_;
  std::atomic<bool> ending_{false}, draining_{false};
  std::atomic<skipstone_status> broken_{SKIPSTONE_OK};
  std::mutex tasks_mutex_;
  std::set<TaskPtr> tasks_;  ///< waiting and running tasks
  mutable std::mutex queues_mutex_;
  /// Of each model, a thread for each of its parallel requests; null until the first one. Guarded by queues_mutex_.
  std::vector<std::unique_ptr<JobQueue>> generations_;
  std::unique_ptr<JobQueue> texts_;        ///< long work that generates nothing: large bodies, templates, large texts to tokenize
  std::unique_ptr<JobQueue> short_texts_;  ///< texts to tokenize that take milliseconds
  std::unique_ptr<HttpServer> http_;
};

}  // namespace cli::serve
