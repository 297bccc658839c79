// skipstone serve without its command line: routes, the queue, what a request goes through.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "serve/access.h"
#include "serve/cancellation.h"
#include "serve/generation.h"
#include "serve/generation_request.h"
#include "serve/http_server.h"
#include "serve/job_queue.h"
#include "serve/metrics.h"

namespace cli::serve {

struct ServerOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 8080;
  Access access;
  std::size_t parallel = 8, queue = 64;
  std::chrono::seconds most_seconds{600};  ///< that one request may take
  bool log = false, log_text = false;
  HttpLimits http;
  RequestDefaults defaults;
};

class Server {
 public:
  Server(Model model, const ServerOptions& options);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  std::uint16_t port() const;
  const Model& model() const { return model_; }
  /// GET /health says from now on that the server ends, so that others are asked instead.
  void announce_end() { ending_ = true; }
  /// New work is refused from now on.
  void drain() { ending_ = draining_ = true; }
  /// Whether nothing is being answered.
  bool idle() const;
  /// Ends the answers that are being made, as at their token limit.
  void cancel_all();
  /// The status of an error after which the engine is of no use; SKIPSTONE_OK while there was none.
  skipstone_status broken() const { return broken_; }

 private:
  struct Route;
  static const std::vector<Route>& routes();
  void handle(const HttpRequest& request, const std::shared_ptr<Exchange>& exchange);
  void route(const HttpRequest& request, const std::shared_ptr<Exchange>& exchange);
  void refuse_while_ending() const;

  void health(const HttpRequest& request, const std::shared_ptr<Exchange>& exchange);
  void props(const HttpRequest& request, const std::shared_ptr<Exchange>& exchange);
  void slots(const HttpRequest& request, const std::shared_ptr<Exchange>& exchange);
  void metrics(const HttpRequest& request, const std::shared_ptr<Exchange>& exchange);
  void page(const HttpRequest& request, const std::shared_ptr<Exchange>& exchange);
  void models(const HttpRequest& request, const std::shared_ptr<Exchange>& exchange);
  skipstone::Json tokenize(const HttpRequest& request) const;
  void post_tokenize(const HttpRequest& request, const std::shared_ptr<Exchange>& exchange) { in_turn(request, exchange, &Server::tokenize); }
  skipstone::Json detokenize(const HttpRequest& request) const;
  void post_detokenize(const HttpRequest& request, const std::shared_ptr<Exchange>& exchange) { in_turn(request, exchange, &Server::detokenize); }
  skipstone::Json apply_template(const HttpRequest& request) const;
  void post_apply_template(const HttpRequest& request, const std::shared_ptr<Exchange>& exchange) { in_turn(request, exchange, &Server::apply_template); }
  void chat(const HttpRequest& request, const std::shared_ptr<Exchange>& exchange) { enqueue(Form::chat, request, exchange); }
  void completion(const HttpRequest& request, const std::shared_ptr<Exchange>& exchange) { enqueue(Form::completion, request, exchange); }
  void responses(const HttpRequest& request, const std::shared_ptr<Exchange>& exchange) { enqueue(Form::responses, request, exchange); }
  void in_turn(const HttpRequest& request, const std::shared_ptr<Exchange>& exchange, skipstone::Json (Server::*answer)(const HttpRequest&) const);
  void enqueue(Form form, const HttpRequest& request, const std::shared_ptr<Exchange>& exchange);
  struct Job;
  void work(Job& job);
  void log(const std::string& line) const;

  Model model_;
  ServerOptions options_;
  Metrics metrics_;
  std::atomic<bool> ending_{false}, draining_{false};
  std::atomic<skipstone_status> broken_{SKIPSTONE_OK};
  std::mutex jobs_mutex_;
  std::set<std::shared_ptr<Cancellation>> jobs_;  ///< that wait or run
  std::unique_ptr<JobQueue> queue_;
  std::unique_ptr<HttpServer> http_;
};

}  // namespace cli::serve
