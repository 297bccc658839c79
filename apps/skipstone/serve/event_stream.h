// Server-sent events to a client that may have to wait for the first one.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "serve/generation_request.h"
#include "serve/http/server.h"

namespace cli::serve {

/// An exchange whose answer is streamed. Its header is sent when the answer begins or its client has waited for a moment; comments, which
/// clients ignore, follow each second while there are no events, so that neither clients nor proxies take the connection for dead.
/// Thread-safe.
class EventStream : public Exchange {
 public:
  using Clock = std::chrono::steady_clock;

  EventStream(std::shared_ptr<Exchange> exchange, Form form) : exchange_(std::move(exchange)), form_(form) {}

  /// An error: after the header it is the last event.
  unsigned respond(HttpReply reply) override;
  /// Sends the header of events, unless it was sent.
  void begin(std::string_view type, const Headers& headers) override;
  /// Begins the answer if it has not begun.
  void send(std::string piece) override;
  void end() override;
  void on_gone(std::function<void()> callback) override { exchange_->on_gone(std::move(callback)); }
  bool gone() const override { return exchange_->gone(); }
  /// Sends the header or a comment if the client has heard nothing for a while. Called periodically.
  void keep_alive(Clock::time_point now);

 private:
  const std::shared_ptr<Exchange> exchange_;
  const Form form_;
  std::mutex mutex_;
  Clock::time_point last_ = Clock::now();  ///< of the last bytes, or of the request
  bool begun_ = false, ended_ = false;
};

}  // namespace cli::serve
