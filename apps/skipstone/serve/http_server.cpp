#include "serve/http_server.h"

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <deque>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <thread>

#include "base/platform/system.h"

namespace cli::serve {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using tcp = asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr unsigned threads_of_server = 2;

class Connection;

}  // namespace

struct HttpServer::State {
  State(const HttpLimits& l, Handler h, Refusal r) : limits(l), handler(std::move(h)), refusal(std::move(r)) {}

  HttpLimits limits;
  Handler handler;
  Refusal refusal;
  asio::io_context context;
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> work{asio::make_work_guard(context)};
  tcp::acceptor acceptor{asio::make_strand(context)};
  std::atomic<bool> draining{false};
  std::atomic<std::size_t> busy{0};
  mutable std::mutex mutex;
  std::set<Connection*> connections;
  std::vector<std::jthread> threads;

  void accept(const std::shared_ptr<State>& self);
};

namespace {

/// One client. All of it runs on a strand; what other threads send is posted there.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(tcp::socket socket, std::shared_ptr<HttpServer::State> server) : stream_(std::move(socket)), server_(std::move(server)) {
    const std::lock_guard lock(server_->mutex);
    server_->connections.insert(this);
  }
  ~Connection() {
    const std::lock_guard lock(server_->mutex);
    server_->connections.erase(this);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void start() {
    asio::post(stream_.get_executor(), [self = shared_from_this()] { self->read(); });
  }
  /// Closes where no request is in work.
  void close_if_idle() {
    asio::post(stream_.get_executor(), [weak = weak_from_this()] {
      if (const auto self = weak.lock(); self && !self->answer_) self->close();
    });
  }

 private:
  class Answer;
  using Body = http::string_body;

  void read();
  void read_body();
  void dispatch();
  void refuse(unsigned status, std::string_view sentence);
  void watch();
  void lost();
  void close();
  void write(std::string bytes, bool last);
  void write_next();
  void finish();

  beast::tcp_stream stream_;
  std::shared_ptr<HttpServer::State> server_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<Body>> parser_;
  std::shared_ptr<Answer> answer_;  ///< of the request in work
  std::deque<std::string> unsent_;
  std::size_t unsent_bytes_ = 0;
  bool writing_ = false, last_ = false, keep_alive_ = false, watching_ = false;
  unsigned version_ = 11;
};

class Connection::Answer : public Exchange, public std::enable_shared_from_this<Connection::Answer> {
 public:
  explicit Answer(const std::shared_ptr<Connection>& connection) : connection_(connection) { ++connection->server_->busy; }
  ~Answer() override { --connection_->server_->busy; }
  Answer(const Answer&) = delete;
  Answer& operator=(const Answer&) = delete;

  void respond(unsigned status, std::string_view type, std::string body, const Headers& headers) override {
    http::response<http::string_body> response(static_cast<http::status>(status), connection_->version_);
    fill(response, type, headers);
    response.keep_alive(keep_alive());
    const bool head = connection_->parser_->get().method() == http::verb::head;
    response.body() = std::move(body);
    response.prepare_payload();
    if (head) response.body().clear();
    std::string bytes = text_of(response.base()) + response.body();
    give(std::move(bytes), true);
  }
  void begin(std::string_view type, const Headers& headers) override {
    http::response<http::empty_body> response(http::status::ok, connection_->version_);
    fill(response, type, headers);
    chunked_ = connection_->version_ >= 11;
    response.keep_alive(chunked_ && keep_alive());
    if (chunked_) response.chunked(true);
    response.set(http::field::cache_control, "no-cache");
    response.set("X-Accel-Buffering", "no");
    give(text_of(response.base()), false);
  }
  void send(std::string piece) override {
    if (piece.empty()) return;
    give(chunked_ ? chunk(piece) : std::move(piece), false);
  }
  void end() override { give(chunked_ ? "0\r\n\r\n" : "", true); }

  void on_gone(std::function<void()> callback) override {
    const std::lock_guard lock(mutex_);
    callback_ = std::move(callback);
  }
  bool gone() const override { return gone_.load(); }
  void set_gone() {
    std::function<void()> callback;
    {
      const std::lock_guard lock(mutex_);
      if (gone_.exchange(true)) return;
      callback = std::move(callback_);
    }
    if (callback) callback();
  }

 private:
  template <typename Response>
  static void fill(Response& response, std::string_view type, const Headers& headers) {
    response.set(http::field::server, "skipstone");
    response.set(http::field::content_type, boost::string_view(type.data(), type.size()));
    response.set("X-Content-Type-Options", "nosniff");
    for (const auto& [name, value] : headers) response.set(name, value);
  }
  template <typename Header>
  static std::string text_of(const Header& header) {
    std::ostringstream text;
    text << header;
    return text.str();
  }
  static std::string chunk(const std::string& piece) {
    std::ostringstream text;
    text << std::hex << piece.size() << "\r\n" << piece << "\r\n";
    return text.str();
  }
  bool keep_alive() const { return connection_->keep_alive_ && !connection_->server_->draining; }
  void give(std::string bytes, bool last) {
    if (gone_) return;
    asio::post(connection_->stream_.get_executor(), [self = shared_from_this(), bytes = std::move(bytes), last]() mutable {
      if (!self->gone_) self->connection_->write(std::move(bytes), last);
    });
  }

  const std::shared_ptr<Connection> connection_;
  std::mutex mutex_;
  std::function<void()> callback_;
  std::atomic<bool> gone_{false};
  bool chunked_ = false;
};

void Connection::read() {
  if (server_->draining) return close();
  parser_.emplace();
  parser_->header_limit(static_cast<std::uint32_t>(server_->limits.header_bytes));
  parser_->body_limit(server_->limits.body_bytes);
  stream_.expires_after(server_->limits.idle);
  // The first byte may take long, a request may not.
  if (buffer_.size() > 0) return read_body();
  stream_.socket().async_wait(tcp::socket::wait_read, [self = shared_from_this()](error_code error) {
    if (error) return self->close();
    self->read_body();
  });
  // async_wait on the socket knows nothing of the stream's time-out.
  auto timer = std::make_shared<asio::steady_timer>(stream_.get_executor(), server_->limits.idle);
  timer->async_wait([timer, weak = weak_from_this(), parser = &*parser_](error_code error) {
    const auto self = weak.lock();
    if (!error && self && self->parser_ && &*self->parser_ == parser && !self->answer_ && !self->parser_->got_some()) self->close();
  });
}

void Connection::read_body() {
  stream_.expires_after(server_->limits.reading);
  http::async_read(stream_, buffer_, *parser_, [self = shared_from_this()](error_code error, std::size_t) {
    if (error == http::error::end_of_stream || error == asio::error::connection_reset) return self->close();
    if (error == http::error::body_limit) return self->refuse(413, "the request's body is larger than this server takes");
    if (error == http::error::header_limit || error == http::error::buffer_overflow)
      return self->refuse(431, "the request's header is larger than this server takes");
    if (error == beast::error::timeout) return self->refuse(408, "the request did not come to its end in time");
    if (error) return self->refuse(400, "this is no HTTP request");
    self->dispatch();
  });
}

void Connection::refuse(unsigned status, std::string_view sentence) {
  keep_alive_ = false;
  answer_ = std::make_shared<Answer>(shared_from_this());
  stream_.expires_after(server_->limits.writing);
  answer_->respond(status, "application/json", server_->refusal(status, sentence), {});
}

void Connection::dispatch() {
  const auto& message = parser_->get();
  version_ = message.version();
  keep_alive_ = message.keep_alive();
  HttpRequest request;
  request.method = std::string(message.method_string());
  const auto target = message.target();
  request.path = std::string(target.substr(0, target.find('?')));
  request.authorization = std::string(message[http::field::authorization]);
  request.host = std::string(message[http::field::host]);
  request.origin = std::string(message[http::field::origin]);
  request.body = message.body();
  answer_ = std::make_shared<Answer>(shared_from_this());
  stream_.expires_never();
  watch();
  server_->handler(request, answer_);
}

// While an answer is made nobody reads. A socket that becomes readable then has come to its end, or has the next request.
void Connection::watch() {
  if (watching_ || buffer_.size() > 0) return;
  watching_ = true;
  stream_.socket().async_wait(tcp::socket::wait_read, [self = shared_from_this()](error_code error) {
    self->watching_ = false;
    if (!self->answer_ || error == asio::error::operation_aborted) return;
    error_code failed;
    const bool more = !error && self->stream_.socket().available(failed) > 0;
    if (!more) self->lost();
  });
}

void Connection::lost() {
  if (answer_) answer_->set_gone();
  answer_.reset();
  close();
}

void Connection::close() {
  error_code ignored;
  stream_.socket().shutdown(tcp::socket::shutdown_both, ignored);
  stream_.close();
}

void Connection::write(std::string bytes, bool last) {
  last_ = last_ || last;
  unsent_bytes_ += bytes.size();
  if (unsent_bytes_ > server_->limits.unread_bytes) return lost();
  if (!bytes.empty()) unsent_.push_back(std::move(bytes));
  if (!writing_) write_next();
}

void Connection::write_next() {
  if (unsent_.empty()) {
    if (last_) finish();
    return;
  }
  writing_ = true;
  stream_.expires_after(server_->limits.writing);
  asio::async_write(stream_, asio::buffer(unsent_.front()), [self = shared_from_this()](error_code error, std::size_t) {
    self->writing_ = false;
    if (error) return self->lost();
    self->stream_.expires_never();
    self->unsent_bytes_ -= self->unsent_.front().size();
    self->unsent_.pop_front();
    self->write_next();
  });
}

void Connection::finish() {
  last_ = false;
  if (answer_) answer_->on_gone({});
  answer_.reset();
  if (!keep_alive_ || server_->draining) return close();
  // The wait for a client that goes away ends; what it has to say next is the next request's.
  if (watching_) stream_.socket().cancel();
  asio::post(stream_.get_executor(), [self = shared_from_this()] { self->read(); });
}

}  // namespace

void HttpServer::State::accept(const std::shared_ptr<State>& self) {
  acceptor.async_accept(asio::make_strand(context), [this, self](error_code error, tcp::socket socket) {
    if (draining || error == asio::error::operation_aborted) return;
    if (error) {  // no descriptor is left, or such: later there may be one
      auto timer = std::make_shared<asio::steady_timer>(acceptor.get_executor(), std::chrono::milliseconds(50));
      timer->async_wait([this, self, timer](error_code) { accept(self); });
      return;
    }
    bool room = false;
    {
      const std::lock_guard lock(mutex);
      room = connections.size() < limits.connections;
    }
    error_code ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    if (room) std::make_shared<Connection>(std::move(socket), self)->start();
    accept(self);
  });
}

HttpServer::HttpServer(const std::string& address, std::uint16_t port, const HttpLimits& limits, Handler handler, Refusal refusal)
    : state_(std::make_shared<State>(limits, std::move(handler), std::move(refusal))) {
  error_code error;
  const auto ip = asio::ip::make_address(address == "localhost" ? "127.0.0.1" : address, error);
  if (error) throw std::runtime_error("'" + address + "' is no address of this machine; give an IP address, as 127.0.0.1 or 0.0.0.0");
  const tcp::endpoint endpoint(ip, port);
  state_->acceptor.open(endpoint.protocol(), error);
  if (!error && skipstone::platform::frees_ports_by_reuse()) state_->acceptor.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) state_->acceptor.bind(endpoint, error);
  if (!error) state_->acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) throw std::runtime_error("the server cannot listen on " + address + " port " + std::to_string(port) + ": " + error.message());
  state_->accept(state_);
  for (unsigned i = 0; i < threads_of_server; ++i) {
    state_->threads.emplace_back([state = state_.get()] { state->context.run(); });
  }
}

HttpServer::~HttpServer() {
  stop_accepting();
  state_->work.reset();
  state_->context.stop();
  state_->threads.clear();
}

std::uint16_t HttpServer::port() const { return state_->acceptor.local_endpoint().port(); }

void HttpServer::stop_accepting() {
  if (state_->draining.exchange(true)) return;
  asio::post(state_->acceptor.get_executor(), [state = state_] {
    error_code ignored;
    state->acceptor.close(ignored);
  });
  const std::lock_guard lock(state_->mutex);
  for (Connection* connection : state_->connections) connection->close_if_idle();
}

std::size_t HttpServer::busy() const { return state_->busy; }

void HttpServer::after(std::chrono::milliseconds time, std::function<void()> work) {
  auto timer = std::make_shared<asio::steady_timer>(state_->context, time);
  timer->async_wait([timer, work = std::move(work)](error_code error) {
    if (!error) work();
  });
}

}  // namespace cli::serve
