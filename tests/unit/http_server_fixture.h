// For tests of the server's HTTP layer: a server without a model, and requests to it.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "fixtures/http_client.h"
#include "serve/http/server.h"

namespace cli::serve {

using fixtures::HttpClient;
using std::chrono::milliseconds;
using std::chrono::seconds;

inline std::string get(const std::string& path) { return "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n"; }
inline std::string post(const std::string& path, const std::string& body, const std::string& fields = "") {
  return "POST " + path + " HTTP/1.1\r\nHost: localhost\r\n" + fields + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
         body;
}

/// Routes: /forbidden is refused by its header; /hold is never answered until released; /large answers 1 MiB; /throw, /memory and /drop do
/// what they say; else the body comes back.
class HttpServerTest : public testing::Test {
 protected:
  void start(HttpLimits limits = {}) {
    const auto gate = [](const HttpRequest& request) {
      return request.path == "/forbidden" ? std::optional(HttpReply{403, "text/plain", "no", {}}) : std::nullopt;
    };
    const auto handler = [this](HttpRequest request, const std::shared_ptr<Exchange>& exchange) {
      ++requests;
      if (request.path == "/throw") throw std::runtime_error("thrown");
      if (request.path == "/memory") throw std::bad_alloc();
      if (request.path == "/drop") return;
      if (request.path == "/large") {
        exchange->respond({200, "text/plain", std::string(1 << 20, 'x'), {}});
        return;
      }
      if (request.path == "/hold") {
        exchange->on_gone([this] {
          if (!was_gone.exchange(true)) gone.set_value();
        });
        const std::lock_guard lock(mutex);
        held.push_back(exchange);
        return;
      }
      exchange->respond({200, "text/plain", std::move(request.body), {}});
    };
    server = std::make_unique<HttpServer>(
        "127.0.0.1", 0, limits, HttpServer::Callbacks{gate, handler, [](std::string_view path, unsigned status, std::string_view) {
                                                        return HttpReply{status, "text/plain", "refused: " + std::string(path), {}};
                                                      }});
    server->start();
  }
  HttpClient client() const { return HttpClient(server->port()); }
  /// The exchange of a request to /hold, as soon as it is there.
  std::shared_ptr<Exchange> exchange() {
    while (true) {
      const std::lock_guard lock(mutex);
      if (!held.empty()) return held.front();
      std::this_thread::yield();
    }
  }
  void release() {
    const std::lock_guard lock(mutex);
    held.clear();
  }
  bool becomes_gone() { return gone.get_future().wait_for(seconds(60)) == std::future_status::ready; }
  void TearDown() override {
    if (server) server->stop();
    release();
    server.reset();
  }

  std::atomic<int> requests{0};
  std::mutex mutex;
  std::vector<std::shared_ptr<Exchange>> held;
  std::promise<void> gone;
  std::atomic<bool> was_gone{false};
  std::unique_ptr<HttpServer> server;
};

/// Waits until `holds`.
template <typename Holds>
bool soon(const Holds& holds) {
  for (int i = 0; i < 6000 && !holds(); ++i) std::this_thread::sleep_for(milliseconds(10));
  return holds();
}

}  // namespace cli::serve
