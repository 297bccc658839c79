#include "serve/http_connection.h"

#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>
#include <sstream>

namespace cli::serve {

class HttpConnection::Answer : public Exchange, public std::enable_shared_from_this<HttpConnection::Answer> {
 public:
  explicit Answer(const std::shared_ptr<HttpConnection>& connection) : connection_(connection) { ++connection->server_->busy; }
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
    asio::post(connection_->socket_.get_executor(), [self = shared_from_this(), bytes = std::move(bytes), last]() mutable {
      if (!self->gone_) self->connection_->write(std::move(bytes), last);
    });
  }

  const std::shared_ptr<HttpConnection> connection_;
  std::mutex mutex_;
  std::function<void()> callback_;
  std::atomic<bool> gone_{false};
  bool chunked_ = false;
};

void HttpConnection::within(std::chrono::seconds time) {
  timer_.expires_after(time);
  timer_.async_wait([weak = weak_from_this()](error_code error) {
    const auto self = weak.lock();
    error_code ignored;
    if (!error && self && self->late()) self->socket_.cancel(ignored);
  });
}

// The first byte may take long, a request may not.
void HttpConnection::read() {
  if (server_->draining) return close();
  if (buffer_.size() > 0) return read_header();
  within(server_->limits.idle);
  socket_.async_wait(tcp::socket::wait_read, [self = shared_from_this()](error_code error) {
    if (error || self->server_->draining) return self->close();
    self->read_header();
  });
}

void HttpConnection::read_header() {
  parser_.emplace();
  parser_->header_limit(static_cast<std::uint32_t>(server_->limits.header_bytes));
  parser_->body_limit(server_->limits.body_bytes);
  within(server_->limits.reading);
  http::async_read_header(socket_, buffer_, *parser_, [self = shared_from_this()](error_code error, std::size_t) {
    if (error) return self->explain(error);
    if (!beast::iequals(self->parser_->get()[http::field::expect], "100-continue")) return self->read_body();
    static constexpr std::string_view go_on = "HTTP/1.1 100 Continue\r\n\r\n";
    asio::async_write(self->socket_, asio::buffer(go_on), [self](error_code failed, std::size_t) {
      if (failed) return self->close();
      self->read_body();
    });
  });
}

void HttpConnection::read_body() {
  http::async_read(socket_, buffer_, *parser_, [self = shared_from_this()](error_code error, std::size_t) {
    if (error) return self->explain(error);
    self->timer_.cancel();
    self->dispatch();
  });
}

void HttpConnection::explain(error_code error) {
  if (error == asio::error::operation_aborted && late()) return refuse(408, "the request did not come to its end in time");
  if (error == http::error::body_limit) return refuse(413, "the request's body is larger than this server takes");
  if (error == http::error::header_limit || error == http::error::buffer_overflow)
    return refuse(431, "the request's header is larger than this server takes");
  const bool about_text = error.category() == http::make_error_code(http::error::bad_method).category() && error != http::error::end_of_stream &&
                          error != http::error::partial_message;
  if (about_text) return refuse(400, "this is no HTTP request");
  close();
}

void HttpConnection::refuse(unsigned status, std::string_view sentence) {
  keep_alive_ = false;
  refused_ = true;
  answer_ = std::make_shared<Answer>(shared_from_this());
  answer_->respond(status, "application/json", server_->refusal(status, sentence), {});
}

namespace {

/// Without what a proxy's form has before the path (RFC 9112, section 3.2.2), and without the query.
std::string path_of(std::string_view target) {
  constexpr std::string_view scheme = "http://";
  if (target.starts_with(scheme)) {
    const std::size_t path = target.find('/', scheme.size());
    target = path == std::string_view::npos ? "/" : target.substr(path);
  }
  return std::string(target.substr(0, target.find('?')));
}

}  // namespace

void HttpConnection::dispatch() {
  const auto& message = parser_->get();
  version_ = message.version();
  keep_alive_ = message.keep_alive();
  HttpRequest request;
  request.method = std::string(message.method_string());
  request.path = path_of({message.target().data(), message.target().size()});
  request.authorization = std::string(message[http::field::authorization]);
  request.host = std::string(message[http::field::host]);
  request.origin = std::string(message[http::field::origin]);
  request.body = std::move(parser_->get().body());
  answer_ = std::make_shared<Answer>(shared_from_this());
  watch();
  server_->handler(request, answer_);
}

// While an answer is made nobody reads. A client that is gone is noticed all the same; one that has sent its next request already is not watched.
void HttpConnection::watch() {
  if (watching_ || !answer_ || buffer_.size() > 0) return;
  watching_ = true;
  socket_.async_wait(tcp::socket::wait_read, [self = shared_from_this()](error_code error) {
    self->watching_ = false;
    if (!self->answer_ || !self->socket_.is_open()) return;
    // Cancelled with what waited behind the last answer, or woken for nothing.
    error_code failed;
    if (!error && self->socket_.available(failed) > 0 && !failed) return;
    if (error != asio::error::operation_aborted && self->gone()) return self->lost();
    self->watch();
  });
}

bool HttpConnection::gone() {
  char byte = 0;
  error_code error;
  socket_.non_blocking(true, error);
  if (error) return true;
  const std::size_t size = socket_.receive(asio::buffer(&byte, 1), tcp::socket::message_peek, error);
  return error ? error != asio::error::would_block && error != asio::error::try_again : size == 0;
}

void HttpConnection::lost() {
  if (answer_) answer_->set_gone();
  answer_.reset();
  close();
}

// What the client still sends is read and dropped for a moment: a socket that is closed at once would take the answer away from it.
void HttpConnection::linger() {
  error_code ignored;
  socket_.shutdown(tcp::socket::shutdown_send, ignored);
  socket_.async_read_some(asio::buffer(dropped_), [self = shared_from_this()](error_code error, std::size_t) {
    if (error || self->late()) return self->close();
    self->linger();
  });
}

void HttpConnection::close() {
  error_code ignored;
  timer_.cancel();
  socket_.shutdown(tcp::socket::shutdown_both, ignored);
  socket_.close(ignored);
}

void HttpConnection::write(std::string bytes, bool last) {
  last_ = last_ || last;
  unsent_bytes_ += bytes.size();
  if (!last && unsent_bytes_ > server_->limits.unread_bytes) return lost();
  // A client has the time of one write for each of these.
  constexpr std::size_t piece = 256 << 10;
  for (std::size_t at = 0; bytes.size() > piece && at < bytes.size(); at += piece) unsent_.push_back(bytes.substr(at, piece));
  if (!bytes.empty() && bytes.size() <= piece) unsent_.push_back(std::move(bytes));
  if (!writing_) write_next();
}

void HttpConnection::write_next() {
  if (unsent_.empty()) {
    if (last_) finish();
    return;
  }
  writing_ = true;
  within(server_->limits.writing);
  asio::async_write(socket_, asio::buffer(unsent_.front()), [self = shared_from_this()](error_code error, std::size_t) {
    self->writing_ = false;
    if (error) return self->lost();
    self->timer_.cancel();
    self->unsent_bytes_ -= self->unsent_.front().size();
    self->unsent_.pop_front();
    self->write_next();
  });
}

void HttpConnection::finish() {
  last_ = false;
  if (answer_) answer_->on_gone({});
  answer_.reset();
  if (refused_) {
    within(server_->limits.lingering);
    return linger();
  }
  if (!keep_alive_ || server_->draining) return close();
  // The wait for a client that goes away ends; what it has to say next is the next request's.
  error_code ignored;
  if (watching_) socket_.cancel(ignored);
  asio::post(socket_.get_executor(), [self = shared_from_this()] { self->read(); });
}

}  // namespace cli::serve
