// A connection's answer to its current request. For http_connection.cpp alone.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "serve/http/connection.h"

namespace cli::serve {

/// Owned by the producer of the answer. Thread-safe; the connection's strand sends.
class HttpConnection::Answer : public Exchange, public std::enable_shared_from_this<HttpConnection::Answer> {
 public:
  explicit Answer(std::shared_ptr<HttpConnection> connection);
  ~Answer() override;
  Answer(const Answer&) = delete;
  Answer& operator=(const Answer&) = delete;

  unsigned respond(HttpReply reply) override;
  void begin(std::string_view type, const Headers& headers) override;
  void send(std::string piece) override;
  void end() override;
  void on_gone(std::function<void()> callback) override;
  bool gone() const override { return gone_.load(); }
  /// Marks the client as gone. On the connection's strand.
  void set_gone();
  /// Answers with an error. If an answer has begun, it ends with the connection.
  void refuse(unsigned status, std::string_view sentence);

 private:
  std::string head_of(const HttpReply& reply, bool chunked, std::size_t length) const;
  /// Closes the connection before the end of the answer.
  void abandon();
  void give(Unsent piece, bool last);

  const std::shared_ptr<HttpConnection> connection_;
  const std::shared_ptr<HttpServer::State> server_;
  const std::string path_;
  const unsigned version_;
  const bool keep_alive_, head_;
  std::mutex mutex_;
  std::function<void()> callback_;
  std::atomic<bool> gone_{false}, begun_{false}, ended_{false};
  std::atomic<bool> ends_connection_{false};  ///< an answer of unknown length to a client without chunked encoding
};

}  // namespace cli::serve
