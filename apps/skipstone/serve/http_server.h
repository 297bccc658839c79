// HTTP as far as routes need it: requests come whole, answers leave at once or piece by piece. What clients do wrong, or slowly, ends here:
// limits, time-outs, connections that say nothing. Sockets and the protocol are Boost.Beast's.
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

#include "serve/memory_budget.h"

namespace cli::serve {

using Headers = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  std::string method, path;  ///< path: up to "?", as it was sent
  std::string authorization, host, origin;
  std::string body;
  MemoryShare memory;  ///< of the body; whoever keeps parts of it keeps this
};

struct HttpReply {
  unsigned status = 200;
  std::string type, body;
  Headers headers;
};

struct HttpLimits {
  std::size_t header_bytes = 16 << 10, body_bytes = std::size_t{8} << 20;
  /// The largest answer that is sent whole.
  std::size_t answer_bytes = std::size_t{64} << 20;
  /// Events that a client does not read wait here; a client that leaves more unread than this is disconnected.
  std::size_t unread_bytes = std::size_t{4} << 20;
  /// Of all connections, bodies, answers and events together.
  std::size_t memory_bytes = std::size_t{512} << 20;
  /// Fewer where the system allows fewer descriptors.
  std::size_t connections = 4096;
  std::chrono::seconds idle{75}, reading{30}, writing{30};
  std::chrono::seconds last_writing{300};  ///< that a client has to read the rest of an answer that has ended
  std::chrono::seconds lingering{3};       ///< that a client has to read why it was refused
};

/// The answer to one request. From any thread; what is sent to a client that is gone is dropped. An exchange that is destroyed before its
/// answer has ended closes the connection.
class Exchange {
 public:
  virtual ~Exchange() = default;
  /// The whole answer. Once, and not with begin(). Returns the status that is sent: 400 instead of an answer that is larger than
  /// HttpLimits::answer_bytes, 503 where its memory is refused.
  virtual unsigned respond(HttpReply reply) = 0;
  /// An answer in pieces: begin, send..., end. A client whose piece finds no memory is disconnected.
  virtual void begin(std::string_view type, const Headers& headers = {}) = 0;
  virtual void send(std::string piece) = 0;
  virtual void end() = 0;
  /// Called once when the client is gone before the answer has ended, on a thread of the server's. Not called where it is gone already:
  /// see gone().
  virtual void on_gone(std::function<void()> callback) = 0;
  virtual bool gone() const = 0;
};

class HttpServer {
 public:
  /// Judges a request by its header, before its body is read: nothing where it may be sent, else the answer.
  using Gate = std::function<std::optional<HttpReply>(const HttpRequest&)>;
  using Handler = std::function<void(HttpRequest, const std::shared_ptr<Exchange>&)>;
  /// What is sent where a request never becomes one: (status, sentence) to a body of JSON.
  using Refusal = std::function<std::string(unsigned status, std::string_view sentence)>;
  /// On the server's threads: they may not take long. What they throw ends the connection with 500, or 503 where memory has run out.
  struct Callbacks {
    Gate gate;
    Handler handler;
    Refusal refusal;
  };

  /// Listens; connections are served from start() on. `port` 0: any that is free. Throws std::runtime_error with a sentence where it cannot.
  HttpServer(const std::string& address, std::uint16_t port, const HttpLimits& limits, Callbacks callbacks);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  void start();
  std::uint16_t port() const;
  const std::shared_ptr<MemoryBudget>& memory() const;
  std::size_t connections() const;
  std::size_t connection_limit() const;
  /// Connections that have a request in work, or an answer on its way.
  std::size_t busy() const;
  /// Calls `work` again and again until the server stops, on a thread of the server's.
  void every(std::chrono::milliseconds time, std::function<void()> work);
  /// Takes no more connections and ends the threads: no callback is called afterwards, and what exchanges are given is dropped.
  void stop();

  struct State;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace cli::serve
