#include "serve/server.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "base/platform/system.h"
#include "options/sampling.h"
#include "serve/anthropic_answer.h"
#include "serve/json_text.h"
#include "serve/page.h"
#include "terminal/nearest_name.h"
#include "terminal/output.h"

namespace cli::serve {

using skipstone::Json;

namespace {

constexpr const char* json_type = "application/json";
constexpr std::string_view one_model = "/v1/models/";
constexpr std::size_t worth_releasing = 4 << 20;
constexpr std::size_t text_threads = 2;  // on machines of two cores, a generation and a long text still run together
constexpr std::size_t least_texts = 64;  // short ones that may wait, whatever the queue of generations

/// An error at a path of Anthropic's API has that API's form, whether or not there is a route.
HttpReply in_form_of(std::string_view path, HttpReply reply) {
  constexpr std::string_view version = "/v1", messages = "/messages";
  if (path.starts_with(version)) path.remove_prefix(version.size());
  const bool anthropic = path == messages || (path.starts_with(messages) && path[messages.size()] == '/');
  return anthropic ? anthropic::with_error_form(std::move(reply)) : std::move(reply);
}

void respond(const std::shared_ptr<Exchange>& exchange, const Json& document) {
  exchange->respond({200, json_type, json_text(document), {}});
}

/// An exchange that counts answers by their status.
class CountedExchange : public Exchange {
 public:
  CountedExchange(std::shared_ptr<Exchange> exchange, std::string route, Metrics& metrics, Headers headers)
      : exchange_(std::move(exchange)), route_(std::move(route)), metrics_(metrics), headers_(std::move(headers)) {}
  unsigned respond(HttpReply reply) override {
    reply.headers = with(reply.headers);
    const unsigned status = exchange_->respond(in_form_of(route_, std::move(reply)));
    metrics_.answered(route_, status);
    return status;
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

/// Decodes percent-encoding ("%2F") in a path.
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

/// The path of the route that a path names: one with a slash at its end, or without "/v1", as clients ask whose base URL lacks it. Other
/// paths stay as they are.
template <typename Routes>
std::string route_path(const Routes& routes, std::string_view path) {
  const auto is_route = [&](std::string_view wanted) {
    return wanted.starts_with(one_model) || std::ranges::any_of(routes, [&](const auto& route) { return wanted == route.path; });
  };
  if (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  std::string versioned = "/v1" + std::string(path);
  return !is_route(path) && is_route(versioned) ? versioned : std::string(path);
}

/// The route whose path is most like `path`; but for the page, whose path is like every short one.
template <typename Routes>
const auto& nearest_route(const Routes& routes, std::string_view path) {
  return *std::ranges::min_element(routes, {}, [&](const auto& route) {
    return route.path == std::string_view("/") ? std::string::npos : edit_distance(path, route.path);
  });
}

std::vector<std::string> names_of(const ModelStore& models) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < models.size(); ++i) names.push_back(models.file(i).name);
  return names;
}

}  // namespace

struct Server::Route {
  const char* method;
  const char* path;
  bool open;  ///< needs no key
  void (Server::*handle)(HttpRequest, const ExchangePtr&);
};

const std::vector<Server::Route>& Server::routes() {
  static const std::vector<Route> all{
      {"POST", "/v1/chat/completions", false, &Server::chat},
      {"POST", "/v1/completions", false, &Server::completion},
      {"POST", "/v1/responses", false, &Server::responses},
      {"POST", "/v1/messages", false, &Server::messages},
      {"POST", "/v1/messages/count_tokens", false, &Server::count_tokens},
      {"GET", "/v1/models", false, &Server::models},
      {"POST", "/tokenize", false, &Server::tokenize},
      {"POST", "/detokenize", false, &Server::detokenize},
      {"POST", "/apply-template", false, &Server::apply_template},
      {"GET", "/health", true, &Server::health},
      {"GET", "/props", false, &Server::props},
      {"GET", "/slots", false, &Server::slots},
      {"GET", "/metrics", false, &Server::metrics},
      {"GET", "/", true, &Server::page},
  };
  return all;
}

Server::Server(ModelStore& models, const ServerOptions& options)
    : models_(models),
      options_(options),
      metrics_(names_of(models)),
      generations_(models.size()),
      texts_(std::make_unique<JobQueue>(text_threads, options.queue)),
      short_texts_(std::make_unique<JobQueue>(text_threads, std::max(options.queue, least_texts))) {
  queue_of(0);
  http_ = std::make_unique<HttpServer>(
      options_.address, options_.port, options_.http,
      HttpServer::Callbacks{
          [this](const HttpRequest& request) { return judge(request); },
          [this](HttpRequest request, const ExchangePtr& exchange) { handle(std::move(request), exchange); },
          [this](std::string_view path, unsigned status, std::string_view sentence) {
            return options_.access.for_pages(in_form_of(path, ApiError(status, std::string(sentence)).reply()));
          },
      });
  http_->every(std::chrono::milliseconds(100), [this] {
    end_late_tasks();
    keep_streams_alive();
  });
  http_->every(std::chrono::seconds(1), [this] {
    if (http_->memory()->take_given_back() >= worth_releasing) skipstone::platform::release_freed_memory();
  });
  http_->start();
}

// Requests come from the HTTP server, and texts_ passes some on to generations_: each is destroyed before the objects that it uses. Those
// that came while the first cancel_all() ran are cancelled by the second one, while the queues that they are in still exist.
Server::~Server() {
  draining_ = true;
  cancel_all();
  http_->stop();
  cancel_all();
  short_texts_.reset();
  texts_.reset();
  generations_.clear();
  tasks_.clear();
}

std::uint16_t Server::port() const { return http_->port(); }

void Server::say_goodbye() {
  http_->end_connections();
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
  while (http_->connections() > 0 && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

bool Server::working() const { return generations(&JobQueue::running) + texts_->running() + short_texts_->running() > 0; }

bool Server::idle() const {
  return !working() && generations(&JobQueue::waiting) + texts_->waiting() + short_texts_->waiting() == 0 && http_->busy() == 0;
}

/// The model that "?model=NAME" names.
std::size_t Server::model_of_query(const HttpRequest& request) const {
  constexpr std::string_view field = "model=";
  std::string_view query = request.query;
  while (!query.empty()) {
    const std::string_view part = query.substr(0, query.find('&'));
    if (part.starts_with(field)) return model_named(decoded(part.substr(field.size())));
    query.remove_prefix(std::min(query.size(), part.size() + 1));
  }
  return 0;
}

void Server::log(const std::string& line) const {
  if (options_.log) note(line);
}

/// Null if no route matches; `methods` is then the method that the path accepts, "" for an unknown path.
const Server::Route* Server::find(const HttpRequest& request, std::string& methods) const {
  const std::string method = request.method == "HEAD" ? "GET" : request.method;
  std::string path = route_path(routes(), request.path);
  if (path.starts_with(one_model)) path = "/v1/models";
  for (const Route& route : routes()) {
    if (path != route.path) continue;
    methods = route.method;
    if (method == route.method) return &route;
  }
  return nullptr;
}

// Called before the body is read.
std::optional<HttpReply> Server::judge(const HttpRequest& request) {
  std::optional<HttpReply> refused;
  try {
    refused = refusal_of(request);
  } catch (const ApiError& error) {
    refused = error.reply();
  }
  if (!refused) return std::nullopt;
  metrics_.answered(label_of(request), refused->status);
  return options_.access.for_pages(in_form_of(request.path, std::move(*refused)));
}

std::optional<HttpReply> Server::refusal_of(const HttpRequest& request) const {
  if (request.method == "OPTIONS" && !options_.access.cors_origin.empty()) {
    return options_.access.answer_preflight(request.preflight);
  }
  std::string methods;
  const Route* const found = find(request, methods);
  const bool open = found != nullptr && found->open;
  if (!options_.access.origin_may_ask(request))
    throw ApiError(403, "pages of other sites may not ask this server; its option --cors-origin names one that may", "",
                   "origin_not_allowed");
  if (!open && !options_.access.host_may_be_asked(request))
    throw ApiError(403, "without keys this server is asked as localhost alone; --api-key or --no-auth lets other names in", "",
                   "host_not_allowed");
  if (!open && !options_.access.has_key(request))
    throw ApiError(401, "the key is wrong or missing: send 'Authorization: Bearer KEY' or 'x-api-key: KEY'", "", "invalid_api_key");
  if (found != nullptr) return std::nullopt;
  if (methods.empty()) {
    const std::string path = request.path.substr(0, 100);
    const Route& nearest = nearest_route(routes(), path);
    throw ApiError(
        404, fmt::format("there is nothing at {} {}; the nearest route is {} {}", without_control_characters(request.method.substr(0, 100)),
                         without_control_characters(path), nearest.method, nearest.path));
  }
  HttpReply reply = ApiError(405, fmt::format("this route takes {} alone", methods)).reply();
  reply.headers.emplace_back("Allow", methods);
  return reply;
}

std::string Server::label_of(const HttpRequest& request) const {
  const auto known = std::ranges::find(routes(), route_path(routes(), request.path), &Route::path);
  return known == routes().end() ? "other" : known->path;
}

void Server::handle(HttpRequest request, const ExchangePtr& exchange) {
  const auto counted = std::make_shared<CountedExchange>(exchange, label_of(request), metrics_, options_.access.cors_headers());
  std::string methods;
  const Route* const route = find(request, methods);
  request.path = route_path(routes(), request.path);
  answer_with(*counted, [&] { (this->*route->handle)(std::move(request), counted); });
}

void Server::health(HttpRequest, const ExchangePtr& exchange) {
  if (broken_ != SKIPSTONE_OK) throw ApiError(503, "the device is lost; the server ends");
  if (ending_) throw ApiError(503, "the server ends");
  respond(exchange, {{"status", "ok"}});
}

// Values of a model are missing while it is not loaded.
void Server::props(HttpRequest request, const ExchangePtr& exchange) {
  const std::size_t asked = model_of_query(request);
  const ModelStore::Lease model = models_.look(asked);
  Json drafters = Json::array();
  for (const skipstone_drafter_info& drafter : skipstone::drafters()) {
    if (drafter.lossless != 0 && drafter.file != SKIPSTONE_MUST_NAME_FILE) drafters.push_back(drafter.name);
  }
  const RequestDefaults& defaults = options_.defaults;
  Json settings = Json::object();
  if (model) settings["n_ctx"] = model->context;
  for (const SamplingField& field : sampling_fields) {
    const skipstone_session_params& values = model ? model->sampling : defaults.sampling;
    if (field.option != nullptr) settings[std::string(field.name)] = with_value(field, values, [](auto value) { return Json(value); });
  }
  settings["draft"] = defaults.draft;
  Json answer = {
      {"model", models_.file(asked).name}, {"total_slots", options_.parallel}, {"default_generation_settings", std::move(settings)}};
  if (model) {
    const skipstone_chat_info chat = model->chat.info();
    answer["chat_template"] = chat.source_text;
    answer["base_model"] = chat.source == SKIPSTONE_CHAT_PLAIN;
    answer["chat_template_tool_use"] = chat.tool_use_text == nullptr ? Json() : Json(chat.tool_use_text);
    answer["tool_form"] = chat.tools != 0 ? "template" : "generic";
  }
  answer["drafters"] = std::move(drafters);
  if (model) {
    const skipstone_engine_info info = model->engine.info();
    answer["device"] = info.device_name;
    answer["driver"] = info.driver;
    answer["fingerprint"] = info.fingerprint;
  }
  answer["build_info"] = fmt::format("skipstone {} ({})", skipstone_version(), skipstone_commit());
  if (model) answer["engine"] = Json::parse(model->engine.report());
  respond(exchange, answer);
}

void Server::page(HttpRequest, const ExchangePtr& exchange) {
  exchange->respond(
      {200,
       "text/html; charset=utf-8",
       std::string(chat_page()),
       {{"Content-Security-Policy",
         "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; img-src data:; base-uri 'none'; "
         "form-action 'none'; frame-ancestors 'none'"}}});
}

void Server::models(HttpRequest request, const ExchangePtr& exchange) {
  if (!request.path.starts_with(one_model)) {
    Json all = Json::array();
    for (std::size_t i = 0; i < models_.size(); ++i) all.push_back(list_entry(i));
    return respond(exchange, {{"object", "list"}, {"data", std::move(all)}});
  }
  const std::string name = decoded(request.path.substr(one_model.size()));
  const auto model = models_.find(name);
  if (!model || models_.file(*model).name != name) throw ApiError(404, "there is no such model here", "model", "model_not_found");
  respond(exchange, list_entry(*model));
}

}  // namespace cli::serve
