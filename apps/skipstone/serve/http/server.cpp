#include "serve/http/server.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <new>
#include <stdexcept>
#include <thread>

#include "base/platform/system.h"
#include "serve/http/connection.h"

namespace cli::serve {
namespace {

constexpr unsigned threads_of_server = 2;
constexpr std::size_t reserved_descriptors = 64;  // for files, devices and pipes, which connections must not use up
using std::chrono::milliseconds;

/// The wanted number of connections, or as many as the system's descriptor limit allows.
std::size_t allowed_connections(std::size_t wanted) {
  const auto free = skipstone::platform::raise_descriptor_limit();
  if (!free) return wanted;
  const std::size_t reserve = std::min(reserved_descriptors, *free / 2);
  return std::clamp<std::size_t>(*free - reserve, 1, wanted);
}

/// Retries until the wait for the next event is started, even if there is no memory for it at this moment.
template <typename Start>
void start_sometime(const Start& start) {
  while (true) {
    try {
      return start();
    } catch (const std::bad_alloc&) {
      std::this_thread::sleep_for(milliseconds(10));
    }
  }
}

}  // namespace

HttpServer::State::State(const HttpLimits& l, Callbacks c)
    : limits(l), callbacks(std::move(c)), memory(std::make_shared<MemoryBudget>(l.memory_bytes)) {
  limits.connections = allowed_connections(l.connections);
}

void HttpServer::State::accept_after(milliseconds time) {
  accept_timer->expires_after(time);
  accept_timer->async_wait([this](error_code error) {
    if (!error) accept();
  });
}

// Waits for the next connection whether or not this one succeeds.
void HttpServer::State::accept() {
  acceptor->async_accept(asio::make_strand(*context), [this](error_code error, tcp::socket socket) {
    if (draining || error == asio::error::operation_aborted) return;
    milliseconds pause{0};
    try {
      if (error) {  // no descriptor is left, or similar: a closed connection frees one
        close_longest_idle();
        pause = milliseconds(20);
      } else {
        welcome(std::move(socket));
      }
    } catch (...) {  // no memory for this connection
      pause = milliseconds(20);
    }
    start_sometime([&] { pause.count() > 0 ? accept_after(pause) : accept(); });
  });
}

void HttpServer::State::welcome(tcp::socket socket) {
  // Closes the longest idle connection to make room. If all have requests in progress, the new one cannot be served.
  if (connections >= limits.connections && !close_longest_idle()) return;
  error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  const auto connection = std::make_shared<HttpConnection>(std::move(socket), shared_from_this());
  if (connection->has_memory()) connection->start();
}

bool HttpServer::State::close_longest_idle() {
  const std::lock_guard lock(mutex);
  if (waiting.empty()) return false;
  HttpConnection* const longest = waiting.front();
  longest->leave(lock);
  longest->close_if_idle();
  return true;
}

void HttpServer::State::close_oldest_body(const HttpConnection* but) {
  const std::lock_guard lock(mutex);
  for (HttpConnection* const connection : waiting) {
    if (connection == but || connection->body_bytes() == 0) continue;
    connection->leave(lock);
    return connection->close_if_idle();
  }
}

// A handler that throws has released its connection during unwinding; the other connections continue.
void HttpServer::State::run() {
  while (true) {
    try {
      context->run();
      return;
    } catch (...) {
      std::this_thread::sleep_for(milliseconds(1));  // gives work that ran out of memory a moment to end
    }
  }
}

HttpServer::HttpServer(const std::string& address, std::uint16_t port, const HttpLimits& limits, Callbacks callbacks)
    : state_(std::make_shared<State>(limits, std::move(callbacks))) {
  error_code error;
  const auto ip = asio::ip::make_address(address == "localhost" ? "127.0.0.1" : address, error);
  if (error) throw std::runtime_error("'" + address + "' is no address of this machine; give an IP address, as 127.0.0.1 or 0.0.0.0");
  const tcp::endpoint endpoint(ip, port);
  tcp::acceptor& acceptor = *state_->acceptor;
  acceptor.open(endpoint.protocol(), error);
  if (!error && skipstone::platform::frees_ports_by_reuse()) acceptor.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) throw std::runtime_error("the server cannot listen on " + address + " port " + std::to_string(port) + ": " + error.message());
  state_->port = acceptor.local_endpoint().port();
}

void HttpServer::start() {
  state_->accept();
  for (unsigned i = 0; i < threads_of_server; ++i) {
    state_->threads.emplace_back([state = state_.get()] { state->run(); });
  }
}

// Connections own the state, and pending handlers in the context own connections: the context is destroyed first.
HttpServer::~HttpServer() {
  stop();
  state_->timers.clear();
  state_->accept_timer.reset();
  state_->acceptor.reset();
  state_->context.reset();
}

// Connections that wait in the system's queue are accepted before it closes, since closing it would reset them.
void HttpServer::end_connections() {
  asio::post(state_->acceptor->get_executor(), [state = state_.get()] {
    error_code error;
    state->draining = true;
    state->acceptor->non_blocking(true, error);
    while (!error) {
      tcp::socket socket(asio::make_strand(*state->context));
      state->acceptor->accept(socket, error);
      if (!error) state->welcome(std::move(socket));
    }
    state->acceptor->close(error);
    const std::lock_guard lock(state->mutex);
    for (HttpConnection* const connection : state->waiting) connection->end_if_idle();
  });
}

void HttpServer::stop() {
  state_->draining = true;
  state_->work.reset();
  state_->context->stop();
  state_->threads.clear();
}

std::uint16_t HttpServer::port() const { return state_->port; }
const std::shared_ptr<MemoryBudget>& HttpServer::memory() const { return state_->memory; }
std::size_t HttpServer::connections() const { return state_->connections; }
std::size_t HttpServer::connection_limit() const { return state_->limits.connections; }
std::size_t HttpServer::busy() const { return state_->busy; }

void HttpServer::every(milliseconds time, std::function<void()> work) {
  auto& timer = *state_->timers.emplace_back(std::make_unique<asio::steady_timer>(*state_->context));
  state_->repeat(timer, time, std::make_shared<std::function<void()>>(std::move(work)));
}

void HttpServer::State::repeat(asio::steady_timer& timer, milliseconds time, std::shared_ptr<std::function<void()>> work) {
  timer.expires_after(time);
  timer.async_wait([this, &timer, time, work](error_code error) {
    if (error) return;
    try {
      (*work)();
    } catch (...) {  // out of memory: the next call may succeed
    }
    start_sometime([&] { repeat(timer, time, work); });
  });
}

}  // namespace cli::serve
