// A client's connection: its requests one after another, and their answers. For http_server.cpp alone.
#pragma once

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <chrono>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "serve/http/counted_body.h"
#include "serve/http/server.h"

namespace cli::serve {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using tcp = asio::ip::tcp;
using boost::system::error_code;

class HttpConnection;

/// State that all connections share.
struct HttpServer::State : std::enable_shared_from_this<HttpServer::State> {
  State(const HttpLimits& limits, Callbacks callbacks);

  HttpLimits limits;
  Callbacks callbacks;
  const std::shared_ptr<MemoryBudget> memory;
  std::unique_ptr<asio::io_context> context = std::make_unique<asio::io_context>();
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> work{asio::make_work_guard(*context)};
  std::optional<tcp::acceptor> acceptor{asio::make_strand(*context)};
  std::optional<asio::steady_timer> accept_timer{acceptor->get_executor()};
  std::vector<std::unique_ptr<asio::steady_timer>> timers;
  std::uint16_t port = 0;
  std::atomic<bool> draining{false};
  std::atomic<std::size_t> busy{0}, connections{0};
  mutable std::mutex mutex;
  /// Connections without a request in progress: those that are idle, and those whose request is still being read, longest waiting first.
  std::list<HttpConnection*> waiting;
  std::vector<std::jthread> threads;

  void accept();
  void accept_after(std::chrono::milliseconds time);
  void welcome(tcp::socket socket);
  void run();
  void repeat(asio::steady_timer& timer, std::chrono::milliseconds time, std::shared_ptr<std::function<void()>> work);
  /// False if all connections have a request in progress.
  bool close_longest_idle();
  /// Closes the connection whose body has been arriving longest, except `but`.
  void close_oldest_body(const HttpConnection* but);
};

/// The connection of one client. It runs on a strand, to which other threads post their data.
class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  HttpConnection(tcp::socket socket, std::shared_ptr<HttpServer::State> server);
  ~HttpConnection();
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  /// Whether the memory budget has room for the connection.
  bool has_memory() const { return memory_.bytes() > 0; }
  void start();
  /// Closes the connection if no request is in progress. Thread-safe.
  void close_if_idle();
  /// Tells the client that no further request is answered, if none is in progress. Thread-safe.
  void end_if_idle();
  /// Removes the connection from the waiting list, whose lock the caller holds.
  void leave(const std::lock_guard<std::mutex>&);
  /// Received bytes of the body that is being read. Thread-safe.
  std::size_t body_bytes() const { return body_bytes_; }

 private:
  class Answer;
  /// Bytes on their way to the client.
  struct Unsent {
    std::string bytes;
    MemoryShare memory;
    std::size_t sent = 0;
  };

  template <typename Work>
  auto guarded(Work work);
  void within(std::chrono::seconds time);
  bool late() const { return timer_.expiry() <= std::chrono::steady_clock::now(); }
  bool charge();
  void wait();
  void read();
  void read_head();
  void judge(std::string_view head);
  void read_body();
  void explain(error_code error);
  void dispatch();
  void refuse(unsigned status, std::string_view sentence);
  void reply_and_close(HttpReply reply);
  std::shared_ptr<Answer> begin_answer();
  void watch();
  void watched(error_code error);
  void drop_later();
  void lost();
  void linger();
  void close();
  void end_work();
  void write(Unsent piece, bool last);
  void write_next();
  void finish();

  tcp::socket socket_;
  asio::steady_timer timer_;
  std::shared_ptr<HttpServer::State> server_;
  MemoryShare memory_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<CountedBody>> parser_;
  std::weak_ptr<Answer> answer_;  ///< to the current request, owned by its producer
  std::deque<Unsent> unsent_;
  std::size_t unsent_bytes_ = 0;
  std::size_t largest_piece_ = 0;                        ///< of the answer: a client may leave the limit plus one piece unread
  std::chrono::steady_clock::time_point answered_by_{};  ///< deadline for reading the rest of a completed answer
  std::string path_;                                     ///< the beginning of the current request's, once it is known
  HttpRequest request_;                                  ///< the request whose body is being read
  bool working_ = false;                                 ///< a request is in progress, or its answer is being sent
  bool writing_ = false, last_ = false, keep_alive_ = false, head_ = false, watching_ = false, next_ = false, refused_ = false,
       dropping_ = false;
  unsigned version_ = 11;
  std::atomic<std::size_t> body_bytes_{0};
  bool listed_ = false;  ///< in the waiting list; guarded by its lock
  std::list<HttpConnection*>::iterator place_;
};

}  // namespace cli::serve
