// HTTP as far as routes need it: requests come whole, answers go at once or piece by piece. What clients do wrong, or slowly, ends here:
// limits, time-outs, connections that say nothing. Sockets and the protocol are Boost.Beast's.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cli::serve {

using Headers = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  std::string method, path;  ///< path: up to "?", as it was sent
  std::string authorization, host, origin;
  std::string body;
};

struct HttpLimits {
  std::size_t header_bytes = 16 << 10, body_bytes = std::size_t{8} << 20;
  /// Answers that a client does not read wait here; a client that leaves more unread than this is let go of.
  std::size_t unread_bytes = std::size_t{4} << 20;
  std::size_t connections = 4096;
  std::chrono::seconds idle{75}, reading{30}, writing{30};
  std::chrono::seconds lingering{3};  ///< that a client has to read why it was refused
};

/// The answer to one request. From any thread; what is sent to a client that is gone is dropped.
class Exchange {
 public:
  virtual ~Exchange() = default;
  /// The whole answer. Once, and not with begin().
  virtual void respond(unsigned status, std::string_view type, std::string body, const Headers& headers = {}) = 0;
  /// An answer in pieces: begin, send..., end.
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
  using Handler = std::function<void(const HttpRequest&, const std::shared_ptr<Exchange>&)>;
  /// What is sent where a request never becomes one: (status, sentence) to a body of JSON.
  using Refusal = std::function<std::string(unsigned status, std::string_view sentence)>;

  /// Listens at once. `port` 0: any that is free. Throws std::runtime_error with a sentence where it cannot. `handler` runs on the
  /// server's threads and may not take long.
  HttpServer(const std::string& address, std::uint16_t port, const HttpLimits& limits, Handler handler, Refusal refusal);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::uint16_t port() const;
  /// Takes no more connections; those without a request in work are closed.
  void stop_accepting();
  /// Connections that have a request in work, or an answer on its way.
  std::size_t busy() const;
  /// Calls `work` in so long, on a thread of the server's.
  void after(std::chrono::milliseconds time, std::function<void()> work);

  struct State;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace cli::serve
