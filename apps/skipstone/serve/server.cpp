#include "serve/server.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <utility>

#include "output.h"
#include "serve/json_text.h"
#include "serve/page.h"

namespace cli::serve {

using skipstone::Json;

namespace {

constexpr const char* json_type = "application/json";

void respond(const std::shared_ptr<Exchange>& exchange, const Json& document) { exchange->respond(200, json_type, json_text(document)); }

/// Counts an answer by its status, for what passes through.
class CountedExchange : public Exchange {
 public:
  CountedExchange(std::shared_ptr<Exchange> exchange, std::string route, Metrics& metrics, Headers headers)
      : exchange_(std::move(exchange)), route_(std::move(route)), metrics_(metrics), headers_(std::move(headers)) {}
  void respond(unsigned status, std::string_view type, std::string body, const Headers& headers) override {
    metrics_.answered(route_, status);
    exchange_->respond(status, type, std::move(body), with(headers));
  }
  void begin(std::string_view type, const Headers& headers) override {
    metrics_.answered(route_, 200);
    exchange_->begin(type, with(headers));
  }
  void send(std::string piece) override { exchange_->send(std::move(piece)); }
  void end() override { exchange_->end(); }
  void on_gone(std::function<void()> callback) override { exchange_->on_gone(std::move(callback)); }
  bool gone() const override { return exchange_->gone(); }

 private:
  Headers with(const Headers& headers) const {
    Headers all = headers_;
    all.insert(all.end(), headers.begin(), headers.end());
    return all;
  }
  std::shared_ptr<Exchange> exchange_;
  std::string route_;
  Metrics& metrics_;
  Headers headers_;
};

/// What `work` throws becomes the answer.
template <typename Work>
void answering(const std::shared_ptr<Exchange>& exchange, const Work& work) {
  try {
    work();
  } catch (const ApiError& error) {
    const bool later = error.status() == 429 || error.status() == 503;
    exchange->respond(error.status(), json_type, error.body(), later ? Headers{{"Retry-After", "1"}} : Headers{});
  } catch (const skipstone::error& error) {
    const bool asked_wrong = error.status() == SKIPSTONE_INVALID_ARGUMENT || error.status() == SKIPSTONE_UNSUPPORTED;
    const unsigned status = asked_wrong ? 400 : 500;
    exchange->respond(status, json_type, ApiError(status, error.what()).body(), {});
  } catch (const std::exception& error) {
    exchange->respond(500, json_type, ApiError(500, error.what()).body(), {});
  }
}

ApiError queue_full() { return {429, "too many requests wait already; ask again later", "", "queue_full"}; }

/// What "%2F" and such stand for in a path.
std::string decoded(std::string_view path) {
  const auto digit = [](char c) { return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1; };
  std::string text;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const bool escaped = path[i] == '%' && i + 2 < path.size() && digit(path[i + 1]) >= 0 && digit(path[i + 2]) >= 0;
    text += escaped ? static_cast<char>(digit(path[i + 1]) * 16 + digit(path[i + 2])) : path[i];
    if (escaped) i += 2;
  }
  return text;
}

std::string text_field(const skipstone::SortedJson& body, const char* name) {
  const auto found = body.find(name);
  if (found == body.end()) refuse(name, "'{}' is missing", name);
  if (!found->is_string()) refuse(name, "'{}' has to be a text", name);
  return found->get<std::string>();
}

}  // namespace

struct Server::Route {
  const char* method;
  const char* path;
  bool open;  ///< without a key
  void (Server::*handle)(const HttpRequest&, const std::shared_ptr<Exchange>&);
};

const std::vector<Server::Route>& Server::routes() {
  static const std::vector<Route> all{
      {"POST", "/v1/chat/completions", false, &Server::chat},
      {"POST", "/v1/completions", false, &Server::completion},
      {"POST", "/v1/responses", false, &Server::responses},
      {"GET", "/v1/models", false, &Server::models},
      {"POST", "/tokenize", false, &Server::post_tokenize},
      {"POST", "/detokenize", false, &Server::post_detokenize},
      {"POST", "/apply-template", false, &Server::post_apply_template},
      {"GET", "/health", true, &Server::health},
      {"GET", "/props", false, &Server::props},
      {"GET", "/slots", false, &Server::slots},
      {"GET", "/metrics", false, &Server::metrics},
      {"GET", "/", true, &Server::page},
  };
  return all;
}

Server::Server(Model model, const ServerOptions& options)
    : model_(std::move(model)), options_(options), queue_(std::make_unique<JobQueue>(options.parallel, options.queue)) {
  http_ = std::make_unique<HttpServer>(
      options_.address, options_.port, options_.http,
      [this](const HttpRequest& request, const std::shared_ptr<Exchange>& exchange) { handle(request, exchange); },
      [](unsigned status, std::string_view sentence) { return ApiError(status, std::string(sentence)).body(); });
}

Server::~Server() {
  draining_ = true;
  cancel_all();
  queue_.reset();
  http_.reset();
}

std::uint16_t Server::port() const { return http_->port(); }

bool Server::idle() const { return queue_->waiting() == 0 && queue_->running() == 0 && http_->busy() == 0; }

void Server::cancel_all() {
  const std::lock_guard lock(jobs_mutex_);
  for (const auto& job : jobs_) job->cancel();
}

void Server::log(const std::string& line) const {
  if (options_.log) note(line);
}

void Server::handle(const HttpRequest& request, const std::shared_ptr<Exchange>& exchange) {
  const auto known = std::ranges::find_if(routes(), [&](const Route& route) { return request.path == route.path; });
  Headers headers;
  if (!options_.access.cors_origin.empty()) headers.emplace_back("Access-Control-Allow-Origin", options_.access.cors_origin);
  const auto counted =
      std::make_shared<CountedExchange>(exchange, known == routes().end() ? "other" : known->path, metrics_, std::move(headers));
  answering(counted, [&] { route(request, counted); });
}

void Server::route(const HttpRequest& request, const std::shared_ptr<Exchange>& exchange) {
  if (request.method == "OPTIONS" && !options_.access.cors_origin.empty()) {
    return exchange->respond(204, json_type, "",
                             {{"Access-Control-Allow-Methods", "GET, POST"}, {"Access-Control-Allow-Headers", "Authorization, Content-Type"}});
  }
  const std::string method = request.method == "HEAD" ? "GET" : request.method;
  constexpr std::string_view one_model = "/v1/models/";
  const bool is_model = request.path.starts_with(one_model);
  const Route* found = nullptr;
  std::string methods;
  for (const Route& route : routes()) {
    const bool here = request.path == route.path || (is_model && std::string_view(route.path) == "/v1/models");
    if (!here) continue;
    methods = route.method;
    if (method == route.method) found = &route;
  }
  if (!options_.access.origin_may_ask(request))
    throw ApiError(403, "pages of other sites may not ask this server; its option --cors-origin names one that may", "", "origin_not_allowed");
  if (found != nullptr && !found->open && !options_.access.host_may_be_asked(request))
    throw ApiError(403, "without keys this server is asked as localhost alone; --api-key or --no-auth lets other names in", "", "host_not_allowed");
  if (found != nullptr && !found->open && !options_.access.has_key(request))
    throw ApiError(401, "the key is wrong or missing: send 'Authorization: Bearer KEY'", "", "invalid_api_key");
  if (found == nullptr && methods.empty())
    throw ApiError(404, fmt::format("there is nothing at {} {}", request.method, without_control_characters(request.path.substr(0, 100))));
  if (found == nullptr) {
    return exchange->respond(405, json_type, ApiError(405, fmt::format("this route takes {} alone", methods)).body(), {{"Allow", methods}});
  }
  (this->*found->handle)(request, exchange);
}

void Server::health(const HttpRequest&, const std::shared_ptr<Exchange>& exchange) {
  if (broken_ != SKIPSTONE_OK) throw ApiError(503, "the device is lost; the server ends");
  if (ending_) throw ApiError(503, "the server ends");
  respond(exchange, {{"status", "ok"}});
}

void Server::props(const HttpRequest&, const std::shared_ptr<Exchange>& exchange) {
  const skipstone_engine_info info = model_.engine.info();
  Json drafters = Json::array();
  for (const skipstone_drafter_info& drafter : skipstone::drafters()) {
    if (drafter.lossless != 0 && drafter.file != SKIPSTONE_MUST_NAME_FILE) drafters.push_back(drafter.name);
  }
  const RequestDefaults& d = options_.defaults;
  respond(exchange, {{"model", model_.name},
                     {"total_slots", options_.parallel},
                     {"default_generation_settings",
                      {{"n_ctx", model_.context},
                       {"temperature", d.temperature},
                       {"top_k", d.top_k},
                       {"top_p", d.top_p},
                       {"min_p", d.min_p},
                       {"repeat_penalty", d.repeat_penalty},
                       {"draft", d.draft}}},
                     {"chat_template", model_.chat.info().source_text},
                     {"drafters", std::move(drafters)},
                     {"plain_token_ms", model_.plain_token_ms},
                     {"device", info.device_name},
                     {"driver", info.driver},
                     {"fingerprint", info.fingerprint},
                     {"build_info", fmt::format("skipstone {} ({})", skipstone_version(), skipstone_commit())},
                     {"engine", Json::parse(model_.engine.report())}});
}

void Server::slots(const HttpRequest&, const std::shared_ptr<Exchange>& exchange) {
  Json slots = Json::array();
  const std::vector<bool> busy = queue_->busy();
  for (std::size_t i = 0; i < busy.size(); ++i) slots.push_back({{"id", i}, {"n_ctx", model_.context}, {"is_processing", static_cast<bool>(busy[i])}});
  respond(exchange, slots);
}

void Server::metrics(const HttpRequest&, const std::shared_ptr<Exchange>& exchange) {
  exchange->respond(200, "text/plain; version=0.0.4; charset=utf-8",
                    metrics_.print(queue_->waiting(), queue_->running(), Json::parse(model_.engine.report())), {});
}

void Server::page(const HttpRequest&, const std::shared_ptr<Exchange>& exchange) {
  exchange->respond(200, "text/html; charset=utf-8", std::string(chat_page()),
                    {{"Content-Security-Policy",
                      "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; img-src data:; base-uri 'none'; "
                      "form-action 'none'; frame-ancestors 'none'"}});
}

void Server::models(const HttpRequest& request, const std::shared_ptr<Exchange>& exchange) {
  const Json one = {{"id", model_.name}, {"object", "model"}, {"created", 0}, {"owned_by", "skipstone"}};
  constexpr std::string_view prefix = "/v1/models/";
  if (!request.path.starts_with(prefix)) return respond(exchange, {{"object", "list"}, {"data", Json::array({one})}});
  if (decoded(request.path.substr(prefix.size())) != model_.name) throw ApiError(404, "there is no such model here", "model", "model_not_found");
  respond(exchange, one);
}

// What takes time waits for its turn like a generation, so that it holds up nobody but those.
void Server::in_turn(const HttpRequest& request, const std::shared_ptr<Exchange>& exchange, Json (Server::*answer)(const HttpRequest&) const) {
  refuse_while_ending();
  const bool taken = queue_->push([this, request, exchange, answer](std::size_t) {
    if (!exchange->gone()) answering(exchange, [&] { respond(exchange, (this->*answer)(request)); });
  });
  if (!taken) throw queue_full();
}

Json Server::tokenize(const HttpRequest& request) const {
  const auto body = read_object(request.body);
  const auto flag = [&](const char* name, bool otherwise) {
    const auto found = body.find(name);
    if (found == body.end()) return otherwise;
    if (!found->is_boolean()) refuse(name, "'{}' has to be true or false", name);
    return found->get<bool>();
  };
  const auto tokens = model_.engine.tokenize(text_field(body, "content"), flag("add_special", false), flag("parse_special", true));
  Json list = Json::array();
  for (const skipstone_token token : tokens) {
    if (flag("with_pieces", false)) {
      list.push_back({{"id", token}, {"piece", valid_text(model_.engine.piece(token))}});
    } else {
      list.push_back(token);
    }
  }
  return {{"tokens", std::move(list)}};
}

Json Server::detokenize(const HttpRequest& request) const {
  const auto body = read_object(request.body);
  const auto found = body.find("tokens");
  const auto vocabulary = model_.engine.info().vocabulary;
  std::vector<skipstone_token> tokens;
  if (found == body.end() || !found->is_array()) refuse("tokens", "'tokens' has to be a list of tokens");
  for (const auto& token : *found) {
    if (!token.is_number_unsigned() || token.get<std::uint64_t>() >= vocabulary) refuse("tokens", "a token has to be a number from 0 to {}", vocabulary - 1);
    tokens.push_back(token.get<skipstone_token>());
  }
  return {{"content", valid_text(model_.engine.detokenize(tokens))}};
}

Json Server::apply_template(const HttpRequest& request) const {
  const GenerationRequest read = read_request(Form::chat, request.body, options_.defaults);
  const Json shown = about("messages", [&] { return Json::parse(model_.chat.show(read.messages, read.tools, read.template_options)); });
  return {{"prompt", shown.at("text")}, {"tokens", shown.at("tokens")}};
}

// ---- generation ----

struct Server::Job {
  GenerationRequest request;
  std::shared_ptr<Exchange> exchange;
  std::shared_ptr<Cancellation> cancellation = std::make_shared<Cancellation>();
  RequestClock clock;
  std::string route;
};

void Server::refuse_while_ending() const {
  if (draining_ || broken_ != SKIPSTONE_OK) throw ApiError(503, "the server ends: it takes no more requests");
}

void Server::enqueue(Form form, const HttpRequest& request, const std::shared_ptr<Exchange>& exchange) {
  refuse_while_ending();
  auto job = std::make_shared<Job>();
  job->request = read_request(form, request.body, options_.defaults);
  job->exchange = exchange;
  job->route = request.path;
  if (!job->request.model.empty() && std::ranges::find(model_.known_as, job->request.model) == model_.known_as.end()) {
    throw ApiError(404, fmt::format("the model '{}' is not here; this server has '{}'", without_control_characters(job->request.model.substr(0, 100)), model_.name),
                   "model", "model_not_found");
  }
  {
    const std::lock_guard lock(jobs_mutex_);
    jobs_.insert(job->cancellation);
  }
  const auto forget = [this, cancellation = job->cancellation] {
    const std::lock_guard lock(jobs_mutex_);
    jobs_.erase(cancellation);
  };
  exchange->on_gone([cancellation = job->cancellation] { cancellation->cancel(); });
  http_->after(options_.most_seconds, [weak = std::weak_ptr(job->cancellation)] {
    if (const auto cancellation = weak.lock()) cancellation->cancel();
  });
  const bool taken = queue_->push([this, job, forget](std::size_t) {
    work(*job);
    forget();
  });
  if (taken) return;
  forget();
  throw queue_full();
}

void Server::work(Job& job) {
  if (job.exchange->gone()) return;
  const auto answer = make_answer(job.request, model_.name, job.exchange);
  metrics_.begin_request(job.clock);
  thread_local std::random_device entropy;
  // JavaScript's numbers hold 53 bits.
  const std::uint64_t seed = job.request.seed.value_or((std::uint64_t{entropy()} << 21) ^ entropy());
  try {
    const Usage usage = generate(model_, job.request, seed, *job.cancellation, *answer, metrics_);
    answer->finish(usage);
    log(fmt::format("{}: {} tokens of prompt, {} known, {} tokens in {:.2f} s, {} of {} drafts", job.route, usage.prompt_tokens, usage.found_tokens,
                    usage.completion_tokens, usage.generation_seconds, usage.accepted, usage.drafted));
    if (options_.log_text) log(job.request.form == Form::completion ? job.request.prompt : job.request.messages);
  } catch (const ApiError& error) {
    answer->fail(error);
  } catch (const skipstone::error& error) {
    const bool lost = error.status() == SKIPSTONE_DEVICE_LOST;
    if (lost) broken_ = error.status();
    if (error.status() == SKIPSTONE_CANCELLED && job.exchange->gone()) return;
    const unsigned status = lost || error.status() == SKIPSTONE_OUT_OF_MEMORY ? 503 : error.status() == SKIPSTONE_INVALID_ARGUMENT ? 400 : 500;
    log(fmt::format("{}: {}", job.route, error.what()));
    answer->fail(ApiError(status, error.what()));
  } catch (const std::exception& error) {
    log(fmt::format("{}: {}", job.route, error.what()));
    answer->fail(ApiError(500, error.what()));
  }
}

}  // namespace cli::serve
