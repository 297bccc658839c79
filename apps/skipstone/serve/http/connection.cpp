#include "serve/http/connection.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/read.hpp>
#include <exception>
#include <iterator>
#include <new>

#include "serve/http/answer.h"
#include "serve/http/head.h"

namespace cli::serve {
namespace {

constexpr std::size_t most_fields = 128;           // of a header: each needs more memory than its bytes
constexpr std::size_t write_bytes = 256 << 10;     // bytes that a client must read within HttpLimits::writing
constexpr std::size_t read_ahead_bytes = 4 << 10;  // read at a time while an answer is generated

/// The beginning of the path in the bytes of a request, enough for its API.
std::string kept_path_of(std::string_view bytes) { return path_of(target_of(bytes)).substr(0, 64); }

}  // namespace

HttpConnection::HttpConnection(tcp::socket socket, std::shared_ptr<HttpServer::State> server)
    : socket_(std::move(socket)),
      timer_(socket_.get_executor()),
      server_(std::move(server)),
      memory_(server_->memory, MemoryUse::connections),
      buffer_(server_->limits.header_bytes * 2) {
  ++server_->connections;
  charge();
}

HttpConnection::~HttpConnection() {
  const std::lock_guard lock(server_->mutex);
  leave(lock);
  --server_->connections;
}

void HttpConnection::leave(const std::lock_guard<std::mutex>&) {
  if (std::exchange(listed_, false)) server_->waiting.erase(place_);
}

/// Wraps a handler so that its exceptions, above all bad_alloc, end this connection and no other.
template <typename Work>
auto HttpConnection::guarded(Work work) {
  return [weak = weak_from_this(), work = std::move(work)](auto... arguments) mutable {
    try {
      work(arguments...);
    } catch (...) {
      if (const auto self = weak.lock()) self->lost();
    }
  };
}

void HttpConnection::start() {
  asio::post(socket_.get_executor(), guarded([self = shared_from_this()] { self->read(); }));
}

void HttpConnection::close_if_idle() {
  asio::post(socket_.get_executor(), guarded([weak = weak_from_this()] {
               if (const auto self = weak.lock(); self && !self->working_) self->close();
             }));
}

// A request that the client sends before it sees the end is still read: closing the socket over unread bytes would reset the connection,
// and a proxy that sees a reset does not know that it may send the request to another server.
void HttpConnection::end_if_idle() {
  asio::post(socket_.get_executor(), guarded([weak = weak_from_this()] {
               error_code ignored;
               if (const auto self = weak.lock(); self && !self->working_) self->socket_.shutdown(tcp::socket::shutdown_send, ignored);
             }));
}

// Cancels the pending operation when the time is over; late() is then true.
void HttpConnection::within(std::chrono::seconds time) {
  timer_.expires_after(time);
  timer_.async_wait([weak = weak_from_this()](error_code error) {
    const auto self = weak.lock();
    error_code ignored;
    if (!error && self && self->late()) self->socket_.cancel(ignored);
  });
}

/// False if the budget has no room for the connection's buffers.
bool HttpConnection::charge() { return memory_.resize(sizeof(*this) + buffer_.capacity()); }

/// Moves the connection to the end of the waiting list.
void HttpConnection::wait() {
  const std::lock_guard lock(server_->mutex);
  leave(lock);
  place_ = server_->waiting.insert(server_->waiting.end(), this);
  listed_ = true;
}

// ---- requests ----

// The first byte of a request may take long, the rest may not.
void HttpConnection::read() {
  if (!socket_.is_open()) return lost();
  next_ = head_ = false;
  version_ = 11;
  largest_piece_ = 0;
  parser_.reset();
  path_.clear();
  wait();
  // HttpServer::end_connections() reaches the listed connections; one that is listed later ends itself.
  if (error_code ignored; server_->draining) socket_.shutdown(tcp::socket::shutdown_send, ignored);
  if (buffer_.size() > 0) {
    within(server_->limits.reading);
    return read_head();
  }
  buffer_.shrink_to_fit();
  charge();
  within(server_->limits.idle);
  socket_.async_wait(tcp::socket::wait_read, guarded([self = shared_from_this()](error_code error) {
                       if (error) return self->close();
                       self->within(self->server_->limits.reading);
                       self->read_head();
                     }));
}

// Blank lines before a request line are ignored (RFC 9112, section 2.2).
void HttpConnection::read_head() {
  const auto bytes = [this] { return std::string_view(static_cast<const char*>(buffer_.data().data()), buffer_.size()); };
  while (bytes().starts_with("\r\n")) buffer_.consume(2);
  const bool blank = buffer_.size() == 0 || bytes() == "\r";
  if (!blank && !may_begin_request(bytes())) return refuse(400, "this is no HTTP request");
  const std::size_t end = bytes().find("\r\n\r\n"), limit = server_->limits.header_bytes;
  if (std::min(end, bytes().size()) > limit) return refuse(431, "the request's header is larger than this server takes");
  if (end != std::string_view::npos) return judge(bytes().substr(0, end + 2));
  const std::size_t room = buffer_.max_size() - buffer_.size();
  socket_.async_read_some(buffer_.prepare(std::min(room, std::max<std::size_t>(buffer_.size(), 512))),
                          guarded([self = shared_from_this()](error_code error, std::size_t size) {
                            if (error) return self->explain(error);
                            self->buffer_.commit(size);
                            if (!self->charge()) return self->close();
                            self->read_head();
                          }));
}

namespace {

template <typename Message>
HttpRequest request_of(const Message& message) {
  HttpRequest request;
  request.method = std::string(message.method_string());
  request.path = path_of({message.target().data(), message.target().size()});
  const std::string_view target(message.target().data(), message.target().size());
  if (const std::size_t mark = target.find('?'); mark != target.npos) request.query = target.substr(mark + 1);
  request.authorization = std::string(message[http::field::authorization]);
  request.api_key = std::string(message["x-api-key"]);
  request.host = authority_of(message);
  request.origin = std::string(message[http::field::origin]);
  request.preflight = {std::string(message[http::field::access_control_request_headers]),
                       beast::iequals(message["Access-Control-Request-Private-Network"], "true")};
  return request;
}

}  // namespace

// Checks the client and its request before any byte of the body is requested or kept.
void HttpConnection::judge(std::string_view head) {
  path_ = kept_path_of(head);
  parser_.emplace();
  parser_->header_limit(static_cast<std::uint32_t>(buffer_.max_size()));
  parser_->body_limit(server_->limits.body_bytes);
  error_code error;
  const std::size_t used = parser_->put(buffer_.data(), error);
  if (error) return explain(error == http::error::need_more ? http::make_error_code(http::error::bad_method) : error);
  const auto& message = parser_->get();
  version_ = message.version();
  keep_alive_ = message.keep_alive();
  head_ = message.method() == http::verb::head;
  if (static_cast<std::size_t>(std::distance(message.begin(), message.end())) > most_fields)
    return refuse(431, "the request's header has more fields than this server takes");
  if (const auto fault = fault_of(head, message)) return refuse(fault->status, fault->sentence);
  buffer_.consume(used);
  request_ = request_of(message);
  const bool whole = parser_->is_done();
  if (auto reply = server_->callbacks.gate(request_)) {
    if (!whole) return reply_and_close(std::move(*reply));
    timer_.cancel();
    const auto answer = begin_answer();
    answer->respond(std::move(*reply));
    return;
  }
  if (whole) return dispatch();
  if (message.method() == http::verb::get || head_) return refuse(413, "a request of this method has no body here");
  // Beast's copy of the fields has at most three times their bytes, and trailers and extensions fill the buffer.
  if (!memory_.resize(sizeof(*this) + buffer_.max_size() + 3 * used))
    return explain(make_error_code(boost::system::errc::not_enough_memory));
  auto& body = parser_->get().body();
  body.memory = MemoryShare(server_->memory, MemoryUse::bodies);
  body.size = &body_bytes_;
  if (version_ < 11 || !beast::iequals(message[http::field::expect], "100-continue")) return read_body();
  static constexpr std::string_view continue_line = "HTTP/1.1 100 Continue\r\n\r\n";
  asio::async_write(socket_, asio::buffer(continue_line), guarded([self = shared_from_this()](error_code failed, std::size_t) {
                      if (failed) return self->close();
                      self->read_body();
                    }));
}

void HttpConnection::read_body() {
  http::async_read(socket_, buffer_, *parser_, guarded([self = shared_from_this()](error_code error, std::size_t) {
                     if (error) return self->explain(error);
                     if (!self->charge()) return self->close();
                     self->dispatch();
                   }));
}

void HttpConnection::explain(error_code error) {
  if (error == asio::error::operation_aborted && late()) return refuse(408, "the request did not come to its end in time");
  if (error == http::error::body_limit) return refuse(413, "the request's body is larger than this server takes");
  if (error == http::error::header_limit || error == http::error::buffer_overflow)
    return refuse(431, "the request's header, or a chunk's extension or trailers, are larger than this server takes");
  if (error == boost::system::errc::not_enough_memory) {
    server_->close_oldest_body(this);
    return refuse(503, "the memory of this server for requests is used up; ask again later");
  }
  const bool about_text = error.category() == http::make_error_code(http::error::bad_method).category() &&
                          error != http::error::end_of_stream && error != http::error::partial_message;
  if (about_text) return refuse(400, "this is no HTTP request");
  close();
}

void HttpConnection::refuse(unsigned status, std::string_view sentence) {
  const auto bytes = buffer_.data();
  if (!parser_) path_ = kept_path_of({static_cast<const char*>(bytes.data()), bytes.size()});  // else the buffer has no header any more
  reply_and_close(server_->callbacks.refusal(path_, status, sentence));
}

void HttpConnection::reply_and_close(HttpReply reply) {
  keep_alive_ = false;
  refused_ = true;
  parser_.reset();
  begin_answer()->respond(std::move(reply));
}

void HttpConnection::dispatch() {
  HttpRequest request = std::move(request_);
  request.body = std::move(parser_->get().body().text);
  request.memory = std::move(parser_->get().body().memory);
  parser_.reset();
  body_bytes_ = 0;
  timer_.cancel();
  const auto answer = begin_answer();
  try {
    server_->callbacks.handler(std::move(request), answer);
  } catch (const std::bad_alloc&) {
    answer->refuse(503, "the memory of this server is used up; ask again later");
  } catch (const std::exception& error) {
    answer->refuse(500, error.what());
  }
}

// ---- the client while its answer is generated ----

std::shared_ptr<HttpConnection::Answer> HttpConnection::begin_answer() {
  auto answer = std::make_shared<Answer>(shared_from_this());
  {
    const std::lock_guard lock(server_->mutex);
    leave(lock);
  }
  working_ = true;
  ++server_->busy;
  answer_ = answer;
  if (!refused_) watch();
  return answer;
}

// Reads on to notice a client that disconnects. Bytes that arrive meanwhile are kept for its next request, as far as there is room.
void HttpConnection::watch() {
  if (watching_ || !working_) return;
  const std::size_t room = dropping_ ? read_ahead_bytes : buffer_.max_size() - buffer_.size();
  if (room == 0) return drop_later();
  watching_ = true;
  socket_.async_read_some(buffer_.prepare(std::min(room, read_ahead_bytes)),
                          guarded([self = shared_from_this()](error_code error, std::size_t size) {
                            self->watching_ = false;
                            if (!self->dropping_) self->buffer_.commit(size);
                            self->charge();
                            self->watched(error);
                          }));
}

void HttpConnection::watched(error_code error) {
  const bool cancelled = error == asio::error::operation_aborted;
  if (!socket_.is_open()) return lost();  // a request that was in transit when the connection closed
  if (error && !cancelled) return lost();
  if (working_) return watch();
  if (dropping_) return linger();
  if (next_) read();
}

// A disconnect is seen only after all sent bytes. If a client sends more than is read ahead during a long answer, the excess is
// dropped, and the client may send it again on another connection: this one ends with the answer (RFC 9112, section 9.3.2).
void HttpConnection::drop_later() {
  const auto timer = std::make_shared<asio::steady_timer>(socket_.get_executor(), std::chrono::milliseconds(250));
  timer->async_wait(guarded([timer, weak = weak_from_this(), answer = answer_](error_code) {
    const auto self = weak.lock();
    if (!self || answer.expired() || answer.lock() != self->answer_.lock() || !self->working_) return;
    self->dropping_ = true;
    self->buffer_.clear();
    self->watch();
  }));
}

void HttpConnection::lost() {
  if (const auto answer = answer_.lock()) answer->set_gone();
  answer_.reset();
  if (!writing_) unsent_.clear();
  close();
}

// Reads and drops the client's bytes for a moment: closing the socket at once would discard the answer.
void HttpConnection::linger() {
  error_code ignored;
  socket_.shutdown(tcp::socket::shutdown_send, ignored);
  buffer_.clear();
  socket_.async_read_some(buffer_.prepare(read_ahead_bytes), guarded([self = shared_from_this()](error_code error, std::size_t) {
                            if (error || self->late()) return self->close();
                            self->linger();
                          }));
}

void HttpConnection::close() {
  error_code ignored;
  timer_.cancel();
  end_work();
  socket_.shutdown(tcp::socket::shutdown_both, ignored);
  socket_.close(ignored);
}

void HttpConnection::end_work() {
  if (std::exchange(working_, false)) --server_->busy;
}

// ---- answers ----

void HttpConnection::write(Unsent piece, bool last) {
  if (!socket_.is_open()) return lost();
  if (!last && unsent_bytes_ > server_->limits.unread_bytes + largest_piece_) return lost();
  largest_piece_ = std::max(largest_piece_, piece.bytes.size());
  last_ = last_ || last;
  if (last) answered_by_ = std::chrono::steady_clock::now() + server_->limits.last_writing;
  unsent_bytes_ += piece.bytes.size();
  if (!piece.bytes.empty()) unsent_.push_back(std::move(piece));
  if (!writing_) write_next();
}

void HttpConnection::write_next() {
  if (unsent_.empty()) {
    if (last_) finish();
    return;
  }
  if (last_ && std::chrono::steady_clock::now() >= answered_by_) return lost();
  writing_ = true;
  within(server_->limits.writing);
  const Unsent& front = unsent_.front();
  const auto piece = asio::buffer(front.bytes.data() + front.sent, std::min(write_bytes, front.bytes.size() - front.sent));
  asio::async_write(socket_, piece, guarded([self = shared_from_this()](error_code error, std::size_t size) {
                      self->writing_ = false;
                      if (error) return self->lost();
                      self->timer_.cancel();
                      self->unsent_bytes_ -= size;
                      Unsent& sent = self->unsent_.front();
                      sent.sent += size;
                      if (sent.sent == sent.bytes.size()) self->unsent_.pop_front();
                      self->write_next();
                    }));
}

void HttpConnection::finish() {
  error_code ignored;
  last_ = false;
  if (const auto answer = answer_.lock()) answer->on_gone({});
  answer_.reset();
  const bool lingers = refused_ || dropping_;
  if (!lingers && !keep_alive_) return close();
  end_work();
  if (lingers) {
    wait();
    within(server_->limits.lingering);
  }
  next_ = !lingers;
  // Ends the watch; the client's next bytes are its next request.
  if (watching_) {
    socket_.cancel(ignored);
  } else if (lingers) {
    linger();
  } else {
    asio::post(socket_.get_executor(), guarded([self = shared_from_this()] { self->read(); }));
  }
}

}  // namespace cli::serve
