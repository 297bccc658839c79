#include "serve/http/answer.h"

#include <fmt/format.h>

#include <boost/asio/post.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/write.hpp>
#include <chrono>
#include <sstream>
#include <thread>

namespace cli::serve {

HttpConnection::Answer::Answer(std::shared_ptr<HttpConnection> connection)
    : connection_(std::move(connection)),
      server_(connection_->server_),
      path_(connection_->path_),
      version_(connection_->version_),
      keep_alive_(connection_->keep_alive_),
      head_(connection_->head_) {}

// An answer destroyed before its end was abandoned, perhaps because memory ran out: closes the connection.
HttpConnection::Answer::~Answer() {
  for (int attempt = 0; !ended_ && !gone_ && attempt < 100; ++attempt) {
    try {
      asio::post(connection_->socket_.get_executor(), [connection = connection_] { connection->lost(); });
      return;
    } catch (const std::bad_alloc&) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
}

std::string HttpConnection::Answer::head_of(const HttpReply& reply, bool chunked, std::size_t length) const {
  http::response<http::empty_body> response(static_cast<http::status>(reply.status), version_);
  response.set(http::field::server, "skipstone");
  response.set(http::field::content_type, boost::string_view(reply.type.data(), reply.type.size()));
  response.set("X-Content-Type-Options", "nosniff");
  for (const auto& [name, value] : reply.headers) response.set(name, value);
  response.keep_alive(keep_alive_ && !ends_connection_);
  if (!keep_alive_ || ends_connection_) response.set(http::field::connection, "close");
  if (chunked) response.chunked(true);
  if (length != std::string::npos && reply.status != 204) response.content_length(length);
  std::ostringstream text;
  text << response.base();
  return text.str();
}

unsigned HttpConnection::Answer::respond(HttpReply reply) {
  if (begun_) {  // an error after a part of an answer: sent bytes cannot be revoked
    abandon();
    return reply.status;
  }
  if (reply.body.size() > server_->limits.answer_bytes)
    reply = server_->callbacks.refusal(
        path_, 400, fmt::format("the answer has more than the {} MiB that one may have", server_->limits.answer_bytes >> 20));
  Unsent body{{}, MemoryShare(server_->memory, MemoryUse::answers)};
  if (!body.memory.resize(reply.body.size()))
    reply = server_->callbacks.refusal(path_, 503, "the memory of this server for answers is used up; ask again later");
  std::string head = head_of(reply, false, reply.body.size());
  if (head_ || reply.body.size() < MemoryShare::large_bytes) {  // one piece
    if (!head_) head += reply.body;
    body.bytes = std::move(head);
  } else {
    give({std::move(head), {}}, false);
    body.bytes = std::move(reply.body);
  }
  give(std::move(body), true);
  return reply.status;
}

void HttpConnection::Answer::refuse(unsigned status, std::string_view sentence) {
  if (!begun_) respond(server_->callbacks.refusal(path_, status, sentence));
}

void HttpConnection::Answer::begin(std::string_view type, const Headers& headers) {
  HttpReply reply{200, std::string(type), {}, headers};
  reply.headers.emplace_back("Cache-Control", "no-cache");
  reply.headers.emplace_back("X-Accel-Buffering", "no");
  const bool chunked = version_ >= 11;
  ends_connection_ = !chunked;
  give({head_of(reply, chunked, std::string::npos), {}}, false);
}

void HttpConnection::Answer::send(std::string piece) {
  if (piece.empty()) return;
  Unsent unsent{version_ >= 11 ? fmt::format("{:x}\r\n{}\r\n", piece.size(), piece) : std::move(piece),
                MemoryShare(server_->memory, MemoryUse::events)};
  if (unsent.memory.resize(unsent.bytes.size())) return give(std::move(unsent), false);
  abandon();
}

void HttpConnection::Answer::abandon() {
  if (!ended_) asio::post(connection_->socket_.get_executor(), [self = shared_from_this()] { self->connection_->lost(); });
}

void HttpConnection::Answer::end() { give({version_ >= 11 ? "0\r\n\r\n" : "", {}}, true); }

void HttpConnection::Answer::on_gone(std::function<void()> callback) {
  const std::lock_guard lock(mutex_);
  callback_ = std::move(callback);
}

void HttpConnection::Answer::set_gone() {
  std::function<void()> callback;
  {
    const std::lock_guard lock(mutex_);
    if (gone_.exchange(true)) return;
    callback = std::move(callback_);
  }
  if (callback) callback();
}

void HttpConnection::Answer::give(Unsent piece, bool last) {
  if (gone_ || ended_) return;
  begun_ = true;
  asio::post(connection_->socket_.get_executor(), [self = shared_from_this(), piece = std::move(piece), last]() mutable {
    if (self->gone_) return;
    if (self->ends_connection_) self->connection_->keep_alive_ = false;
    try {
      self->connection_->write(std::move(piece), last);
    } catch (...) {
      self->connection_->lost();
    }
  });
  if (last) ended_ = true;
}

}  // namespace cli::serve
