// A client's connection: its requests one after another, and their answers. For http_server.cpp alone.
#pragma once

#include <array>
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "serve/http_server.h"

namespace cli::serve {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using tcp = asio::ip::tcp;
using boost::system::error_code;

class HttpConnection;

/// What connections share.
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
  std::set<HttpConnection*> connections;
  std::vector<std::jthread> threads;

  void accept(const std::shared_ptr<State>& self);
};

/// One client. All of it runs on a strand; what other threads send is posted there.
class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  HttpConnection(tcp::socket socket, std::shared_ptr<HttpServer::State> server)
      : socket_(std::move(socket)), timer_(socket_.get_executor()), server_(std::move(server)) {
    const std::lock_guard lock(server_->mutex);
    server_->connections.insert(this);
  }
  ~HttpConnection() {
    const std::lock_guard lock(server_->mutex);
    server_->connections.erase(this);
  }
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  void start() {
    asio::post(socket_.get_executor(), [self = shared_from_this()] { self->read(); });
  }
  /// Closes where no request is in work.
  void close_if_idle() {
    asio::post(socket_.get_executor(), [weak = weak_from_this()] {
      if (const auto self = weak.lock(); self && !self->answer_) self->close();
    });
  }

 private:
  class Answer;
  using Body = http::string_body;

  /// What is being waited for is cancelled when the time is over, and late() is true then.
  void within(std::chrono::seconds time);
  bool late() const { return timer_.expiry() <= std::chrono::steady_clock::now(); }
  void read();
  void read_header();
  void read_body();
  void explain(error_code error);
  void dispatch();
  void refuse(unsigned status, std::string_view sentence);
  void watch();
  bool gone();
  void lost();
  void linger();
  void close();
  void write(std::string bytes, bool last);
  void write_next();
  void finish();

  tcp::socket socket_;
  asio::steady_timer timer_;
  std::shared_ptr<HttpServer::State> server_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<Body>> parser_;
  std::shared_ptr<Answer> answer_;  ///< of the request in work
  std::deque<std::string> unsent_;
  std::size_t unsent_bytes_ = 0;
  bool writing_ = false, last_ = false, keep_alive_ = false, watching_ = false, refused_ = false;
  unsigned version_ = 11;
  std::array<char, 4096> dropped_;
};

}  // namespace cli::serve
