// HTTP for routes: requests arrive complete, answers leave at once or as a stream. The server handles wrong or slow clients itself:
// limits, time-outs, idle connections. Sockets and the protocol are Boost.Beast's.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "serve/http/memory_budget.h"

namespace cli::serve {

using Headers = std::vector<std::pair<std::string, std::string>>;

/// What a browser asks before it sends a page's request: header names, and whether the page comes from a less private network.
struct Preflight {
  std::string headers;
  bool private_network = false;
};

struct HttpRequest {
  std::string method, path;  ///< path: up to "?", as it was sent
  std::string query;         ///< after it
  std::string authorization, api_key, host, origin;
  Preflight preflight;
  std::string body;
  MemoryShare memory;  ///< of the body; to be kept as long as any part of the body
};

struct HttpReply {
  unsigned status = 200;
  std::string type, body;
  Headers headers;
};

struct HttpLimits {
  std::size_t header_bytes = 16 << 10, body_bytes = std::size_t{8} << 20;
  /// The largest answer that is sent at once.
  std::size_t answer_bytes = std::size_t{64} << 20;
  /// Limit of buffered events that a client has not read; beyond it the client is disconnected.
  std::size_t unread_bytes = std::size_t{4} << 20;
  /// Memory of all connections, bodies, answers and events together.
  std::size_t memory_bytes = std::size_t{512} << 20;
  /// Fewer if the system allows fewer descriptors.
  std::size_t connections = 4096;
  std::chrono::seconds idle{75}, reading{30}, writing{30};
  std::chrono::seconds last_writing{300};  ///< for a client to read the rest of a completed answer
  std::chrono::seconds lingering{3};       ///< for a client to read a refusal
};

/// The answer to one request. Thread-safe; data for a client that is gone is dropped. An exchange that is destroyed before its answer has
/// ended closes the connection.
class Exchange {
 public:
  virtual ~Exchange() = default;
  /// Sends the complete answer. Once, and not with begin(). Returns the status that is sent: 400 instead of an answer that is larger than
  /// HttpLimits::answer_bytes, 503 if its memory is refused.
  virtual unsigned respond(HttpReply reply) = 0;
  /// Streams an answer: begin, send..., end. If there is no memory for a piece, the client is disconnected.
  virtual void begin(std::string_view type, const Headers& headers = {}) = 0;
  virtual void send(std::string piece) = 0;
  virtual void end() = 0;
  /// Called once when the client is gone before the answer has ended, on a thread of the server's. Not called if it is gone already:
  /// see gone().
  virtual void on_gone(std::function<void()> callback) = 0;
  virtual bool gone() const = 0;
};

class HttpServer {
 public:
  /// Checks a request's header before its body is read: nullopt if the body may be sent, else the answer.
  using Gate = std::function<std::optional<HttpReply>(const HttpRequest&)>;
  using Handler = std::function<void(HttpRequest, const std::shared_ptr<Exchange>&)>;
  /// The answer to a request that is malformed, or has no room. `path`: the beginning of its path, as far as that is known.
  using Refusal = std::function<HttpReply(std::string_view path, unsigned status, std::string_view sentence)>;
  /// Called on the server's threads, so they must be short. Their exceptions end the connection with 500, or 503 if memory has run out.
  struct Callbacks {
    Gate gate;
    Handler handler;
    Refusal refusal;
  };

  /// Listens; connections are served from start() on. `port` 0: any free port. Throws std::runtime_error with a sentence if it cannot.
  HttpServer(const std::string& address, std::uint16_t port, const HttpLimits& limits, Callbacks callbacks);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  void start();
  std::uint16_t port() const;
  const std::shared_ptr<MemoryBudget>& memory() const;
  std::size_t connections() const;
  std::size_t connection_limit() const;
  /// Connections that have a request in progress, or an answer being sent.
  std::size_t busy() const;
  /// Calls `work` periodically until the server stops, on a thread of the server's.
  void every(std::chrono::milliseconds time, std::function<void()> work);
  /// Refuses new connections and announces the end on those without a request in progress. A request that is in transit gets no answer, and
  /// its connection ends as one that may be asked again elsewhere. Takes effect soon: see connections().
  void end_connections();
  /// Accepts no more connections and ends the threads: no callback is called afterwards, and data for exchanges is dropped.
  void stop();

  struct State;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace cli::serve
