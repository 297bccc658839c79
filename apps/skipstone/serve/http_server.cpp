#include "serve/http_server.h"

#include <stdexcept>

#include "base/platform/system.h"
#include "serve/http_connection.h"

namespace cli::serve {
namespace {

constexpr unsigned threads_of_server = 2;

}  // namespace

void HttpServer::State::accept(const std::shared_ptr<State>& self) {
  acceptor.async_accept(asio::make_strand(context), [this, self](error_code error, tcp::socket socket) {
    if (draining || error == asio::error::operation_aborted) return;
    if (error) {  // no descriptor is left, or such: later there may be one
      auto timer = std::make_shared<asio::steady_timer>(acceptor.get_executor(), std::chrono::milliseconds(50));
      timer->async_wait([this, self, timer](error_code) { accept(self); });
      return;
    }
    bool room = false;
    {
      const std::lock_guard lock(mutex);
      room = connections.size() < limits.connections;
    }
    error_code ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    if (room) std::make_shared<HttpConnection>(std::move(socket), self)->start();
    accept(self);
  });
}

HttpServer::HttpServer(const std::string& address, std::uint16_t port, const HttpLimits& limits, Handler handler, Refusal refusal)
    : state_(std::make_shared<State>(limits, std::move(handler), std::move(refusal))) {
  error_code error;
  const auto ip = asio::ip::make_address(address == "localhost" ? "127.0.0.1" : address, error);
  if (error) throw std::runtime_error("'" + address + "' is no address of this machine; give an IP address, as 127.0.0.1 or 0.0.0.0");
  const tcp::endpoint endpoint(ip, port);
  state_->acceptor.open(endpoint.protocol(), error);
  if (!error && skipstone::platform::frees_ports_by_reuse()) state_->acceptor.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) state_->acceptor.bind(endpoint, error);
  if (!error) state_->acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) throw std::runtime_error("the server cannot listen on " + address + " port " + std::to_string(port) + ": " + error.message());
  state_->accept(state_);
  for (unsigned i = 0; i < threads_of_server; ++i) {
    state_->threads.emplace_back([state = state_.get()] { state->context.run(); });
  }
}

HttpServer::~HttpServer() {
  stop_accepting();
  state_->work.reset();
  state_->context.stop();
  state_->threads.clear();
}

std::uint16_t HttpServer::port() const { return state_->acceptor.local_endpoint().port(); }

void HttpServer::stop_accepting() {
  if (state_->draining.exchange(true)) return;
  asio::post(state_->acceptor.get_executor(), [state = state_] {
    error_code ignored;
    state->acceptor.close(ignored);
  });
  const std::lock_guard lock(state_->mutex);
  for (HttpConnection* connection : state_->connections) connection->close_if_idle();
}

std::size_t HttpServer::busy() const { return state_->busy; }

void HttpServer::after(std::chrono::milliseconds time, std::function<void()> work) {
  auto timer = std::make_shared<asio::steady_timer>(state_->context, time);
  timer->async_wait([timer, work = std::move(work)](error_code error) {
    if (!error) work();
  });
}

}  // namespace cli::serve
